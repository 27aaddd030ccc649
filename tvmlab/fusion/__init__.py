"""The pure-Python side of fusion: of third parties it knows only NumPy and ONNX, never TVM."""

from __future__ import annotations

from tvmlab.fusion.foreign import Registration, has_registered, registrations
from tvmlab.fusion.graph import Edge, Graph, Kind
from tvmlab.fusion.grouping import Grouping
from tvmlab.fusion.kinds import kind
from tvmlab.fusion.onnx_file import model_proto
from tvmlab.fusion.onnx_functions import as_functions
from tvmlab.fusion.onnx_graph import OnnxGraph, label
from tvmlab.fusion.onnx_reader import OnnxReading, fuse_onnx, read_onnx
from tvmlab.fusion.partition import (
    partition,
)  # hides the module of that name, which nobody needs to import from outside
from tvmlab.fusion.rewrites import clean_up
from tvmlab.fusion.template_gallery import shipped as shipped_templates
from tvmlab.fusion.templates import Match, Template, either, impose, match_templates, maybe, op, template, value

__all__ = [
    "Edge",
    "Graph",
    "Grouping",
    "Kind",
    "Match",
    "OnnxGraph",
    "OnnxReading",
    "Registration",
    "Template",
    "as_functions",
    "clean_up",
    "either",
    "fuse_onnx",
    "has_registered",
    "impose",
    "kind",
    "label",
    "match_templates",
    "maybe",
    "model_proto",
    "op",
    "partition",
    "read_onnx",
    "registrations",
    "shipped_templates",
    "template",
    "value",
]
