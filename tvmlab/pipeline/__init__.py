"""From a model to machine code, in named stages."""

from __future__ import annotations

from tvmlab.pipeline.graphs import graph
from tvmlab.pipeline.live import DOMAIN, LiveCall
from tvmlab.pipeline.loading import load, skeleton_of
from tvmlab.pipeline.model import Model
from tvmlab.pipeline.tracing import STAGES, Stage, Trace, compare_levels, fuse, trace
from tvmlab.pipeline.unmatched import why_no_match

__all__ = [
    "DOMAIN",
    "STAGES",
    "LiveCall",
    "Model",
    "Stage",
    "Trace",
    "compare_levels",
    "fuse",
    "graph",
    "load",
    "skeleton_of",
    "trace",
    "why_no_match",
]
