"""The pure-Python side of fusion: of third parties it knows only NumPy and ONNX, never TVM."""

from __future__ import annotations

from tvmlab.fusion.onnx_graph import OnnxGraph, label
from tvmlab.fusion.rewrites import clean_up

__all__ = ["OnnxGraph", "clean_up", "label"]
