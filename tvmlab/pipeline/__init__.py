"""From a model to machine code, in named stages."""

from __future__ import annotations

from tvmlab.pipeline.graphs import graph
from tvmlab.pipeline.live import DOMAIN, LiveCall
from tvmlab.pipeline.loading import load, skeleton_of
from tvmlab.pipeline.model import Model
from tvmlab.pipeline.saving import CompiledModel, is_part_of_saved, is_saved, open_saved, save
from tvmlab.pipeline.tracing import STAGES, Stage, Trace, compare_levels, fuse, trace
from tvmlab.pipeline.unmatched import why_no_match

__all__ = [
    "DOMAIN",
    "STAGES",
    "CompiledModel",
    "LiveCall",
    "Model",
    "Stage",
    "Trace",
    "compare_levels",
    "fuse",
    "graph",
    "is_part_of_saved",
    "is_saved",
    "load",
    "open_saved",
    "save",
    "skeleton_of",
    "trace",
    "why_no_match",
]
