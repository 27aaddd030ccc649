"""From an ONNX graph to a Relax module, with the way back from each Relax variable to its node."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

from tvmlab import tvm_api
from tvmlab.errors import LoadError
from tvmlab.fusion.onnx_file import inner_graphs
from tvmlab.fusion.onnx_graph import OnnxGraph, attributes, is_standard, label, subgraphs
from tvmlab.fusion.onnx_reader import labels_of
from tvmlab.pipeline.dimensions import with_named_dimensions
from tvmlab.pipeline.guarded import guarded
from tvmlab.pipeline.live import DOMAIN, LiveCall
from tvmlab.pipeline.skeletons import unknown_operators
from tvmlab.pipeline.variable_names import identifier, with_telling_names
from tvmlab.runtime.executable import first_line

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["Imported", "import_graph", "unknown_nodes"]

# What a Constant may hold beside a tensor, which is all that TVM's importer knows.
_CONSTANTS = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
_CONTRIBUTED = "com.microsoft"
# Operators of onnxruntime's own that bear a name of ONNX's and mean the same, or are what TVM has a converter for.
_SHARED = frozenset(("Attention", "DequantizeLinear", "Gelu", "GridSample", "Pad", "QuantizeLinear", "Range", "Trilu"))


@dataclass(frozen=True)
class Imported:
    """A Relax module, and the ONNX node behind each of its variables.

    Parameters
    ----------
    module : tvm.IRModule
    provenance : mapping of str to str
        From the name of a Relax variable to the label of its node.
    """

    module: Any
    provenance: Mapping[str, str]


def import_graph(graph: OnnxGraph, live: Mapping[str, LiveCall]) -> Imported:
    """Import a graph whose own nodes call live operators.

    Parameters
    ----------
    graph : OnnxGraph
    live : mapping of str to LiveCall
        From the first output of a node of our own domain to the operator it calls.

    Raises
    ------
    LoadError
        TVM cannot import a node.
    """
    _refuse_unknown(graph)
    at: list[NodeProto] = []

    def own_call(node: NodeProto, inputs: list[Any]) -> Any:
        at[:] = [node]
        return live[node.output[0]].bind(inputs) if node.domain == DOMAIN else _pairwise(node, inputs)

    def explain(error: Exception) -> LoadError:
        node = f"node {label(at[0])!r} ({at[0].op_type})" if at else "the model"
        return LoadError(
            f"TVM cannot import {node}: {first_line(error)}",
            f"inputs {', '.join(at[0].input)}" if at else None,
            "export the model with constant shapes and static dimensions, or replace that node by a live operator",
        )

    view = SimpleNamespace(
        node=[_as_tvm_reads_it(node) for node in graph.nodes],
        input=with_named_dimensions(graph.inputs),
        output=graph.outputs,
    )
    module, results = guarded(
        lambda: tvm_api.import_onnx_graph(view, graph.opset, _arrays(graph), variable_name, own_call), explain
    )
    provenance = dict(_provenance(module, results, labels_of(graph.nodes)))
    return Imported(*with_telling_names(module, provenance))


def _as_tvm_reads_it(node: NodeProto) -> NodeProto:
    """The node, or what TVM's importer takes for the same where it reads an operator otherwise than ONNX does."""
    given = attributes(node)
    if not is_standard(node):
        return node
    if node.op_type == "BatchNormalization" and given.get("training_mode", 0):
        # There, momentum is the part of the batch in the statistics.
        return _with_attribute(node, "momentum", "momentum", 1 - given.get("momentum", 0.9))
    if node.op_type == "Constant":
        for name, dtype in _CONSTANTS.items():
            if name in given:
                return _with_attribute(node, name, "value", numpy_helper.from_array(np.asarray(given[name], dtype)))
    return node


def _with_attribute(node: NodeProto, old: str, new: str, value: Any) -> NodeProto:
    """The node with one attribute in the place of another."""
    changed = onnx.NodeProto()
    changed.CopyFrom(node)
    kept = [attribute for attribute in node.attribute if attribute.name != old]
    del changed.attribute[:]
    changed.attribute.extend([*kept, onnx.helper.make_attribute(new, value)])
    return changed


def _pairwise(node: NodeProto, inputs: list[Any]) -> Any:
    """A Max or Min as maxima or minima of two: TVM imports them as broadcast, stack and reduce, which blocks fusion."""
    from tvm import relax

    if not is_standard(node) or node.op_type not in ("Max", "Min") or len(inputs) < 2:
        return None
    return functools.reduce(relax.op.maximum if node.op_type == "Max" else relax.op.minimum, inputs)


def variable_name(node: NodeProto) -> str:
    """The node's label as an identifier."""
    return identifier(label(node))


def _arrays(graph: OnnxGraph) -> Iterator[tuple[str, Any]]:
    for name, value in graph.constants.items():
        yield name, value if isinstance(value, np.ndarray) else numpy_helper.to_array(value)


def _refuse_unknown(graph: OnnxGraph) -> None:
    """Refuse nodes that TVM would take for others, since it looks at their type alone, or does not know."""
    if unknown := unknown_nodes(graph):
        raise unknown_operators(unknown, graph.versions)
    for node in _inner_nodes(graph):
        if node.domain == DOMAIN:
            raise LoadError(
                f"the live operator {node.op_type} stands inside of another node, where it cannot be imported",
                f"node {label(node)!r}",
                "let it stand in the graph itself, or export the model without the branch or loop around it",
            )


def _imported(node: NodeProto, known: frozenset[str]) -> bool:
    if node.domain == _CONTRIBUTED:
        return node.op_type in known and (node.op_type in _SHARED or not onnx.defs.has(node.op_type))
    return is_standard(node) and node.op_type in known


def _inner_nodes(graph: OnnxGraph) -> Iterator[NodeProto]:
    for node in graph.nodes:
        for own in subgraphs(node):
            for inner in inner_graphs(own):
                yield from inner.node


def unknown_nodes(graph: OnnxGraph) -> list[NodeProto]:
    """Nodes, those inside of others too, that TVM cannot import, and that are not of our own domain."""
    known = tvm_api.onnx_operators()
    every = itertools.chain(graph.nodes, _inner_nodes(graph))
    return [node for node in every if node.domain != DOMAIN and not _imported(node, known)]


def _provenance(
    module: Any, results: list[tuple[NodeProto, list[Any]]], labels: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Bindings stand in the order of their nodes: all up to a node's last result are that node's."""
    from tvm import relax

    bindings = [b for block in module["main"].body.blocks for b in block.bindings]
    position = {binding.var: index for index, binding in enumerate(bindings)}
    done = 0
    for (_, expressions), name in zip(results, labels, strict=True):
        ends = [position[e] + 1 for e in expressions if isinstance(e, relax.Var) and e in position]
        for binding in bindings[done : max(ends, default=done)]:
            yield binding.var.name, name
        done = max([done, *ends])
