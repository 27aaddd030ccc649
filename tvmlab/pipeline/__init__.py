"""From a model to machine code, in named stages."""

from __future__ import annotations

from tvmlab.pipeline.graphs import graph
from tvmlab.pipeline.live import DOMAIN, LiveCall
from tvmlab.pipeline.loading import load
from tvmlab.pipeline.model import Model

__all__ = ["DOMAIN", "LiveCall", "Model", "graph", "load"]
