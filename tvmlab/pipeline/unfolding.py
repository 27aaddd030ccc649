"""Functions of an ONNX model, unfolded into its graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from tvmlab.errors import LoadError
from tvmlab.fusion.foreign import chosen
from tvmlab.fusion.kinds import STANDARD
from tvmlab.fusion.onnx_graph import subgraphs

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["without_functions"]


def without_functions(proto: ModelProto, where: str) -> ModelProto:
    """The model with its own functions unfolded, those apart for which an operator is registered.

    Raises
    ------
    LoadError
        A function cannot be unfolded.
    """
    if not proto.functions:
        return proto
    versions = {"" if o.domain in STANDARD else o.domain: o.version for o in proto.opset_import}
    kept = [
        (function.domain, function.name)
        for function in proto.functions
        if chosen(onnx.NodeProto(domain=function.domain, op_type=function.name), versions)
    ]
    try:
        from onnx import inliner

        unfolded = inliner.inline_selected_functions(_with_defaults(proto), kept, exclude=True)
    except Exception as error:
        said = " ".join(str(error).split())
        raise LoadError(f"the model's functions cannot be unfolded: {said}", where, "export it without them") from error
    del unfolded.functions[:]
    return unfolded


def _with_defaults(proto: ModelProto) -> ModelProto:
    """A copy whose nodes give functions the attributes that have defaults, which the unfolding would lose."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    defaults = {(f.domain, f.name): f.attribute_proto for f in copy.functions if f.attribute_proto}
    waiting = [*copy.graph.node, *(node for f in copy.functions for node in f.node)]
    while waiting:
        node = waiting.pop()
        given = {attribute.name for attribute in node.attribute}
        node.attribute.extend(a for a in defaults.get((node.domain, node.op_type), ()) if a.name not in given)
        waiting += [inner for graph in subgraphs(node) for inner in graph.node]
    return copy
