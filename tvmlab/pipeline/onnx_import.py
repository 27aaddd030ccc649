"""From an ONNX graph to a Relax module, with the way back from each Relax variable to its node."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

from tvmlab import tvm_api
from tvmlab.errors import LoadError
from tvmlab.fusion.onnx_graph import OnnxGraph, attributes, is_standard, label
from tvmlab.fusion.onnx_reader import labels_of
from tvmlab.pipeline.dimensions import with_named_dimensions
from tvmlab.pipeline.guarded import guarded
from tvmlab.pipeline.live import DOMAIN, LiveCall
from tvmlab.pipeline.variable_names import identifier, with_telling_names
from tvmlab.runtime.executable import first_line

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["Imported", "import_graph"]

_IMPORTED_DOMAINS = ("", "ai.onnx", "com.microsoft")


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
        node=[_with_tvms_momentum(node) for node in graph.nodes],
        input=with_named_dimensions(graph.inputs),
        output=graph.outputs,
    )
    module, results = guarded(
        lambda: tvm_api.import_onnx_graph(view, graph.opset, _arrays(graph), variable_name, own_call), explain
    )
    provenance = dict(_provenance(module, results, labels_of(graph.nodes)))
    return Imported(*with_telling_names(module, provenance))


def _with_tvms_momentum(node: NodeProto) -> NodeProto:
    """A training BatchNormalization as TVM reads it: there, momentum is the part of the batch in the statistics."""
    given = attributes(node)
    if node.op_type != "BatchNormalization" or not is_standard(node) or not given.get("training_mode", 0):
        return node
    changed = onnx.NodeProto()
    changed.CopyFrom(node)
    kept = [attribute for attribute in node.attribute if attribute.name != "momentum"]
    del changed.attribute[:]
    changed.attribute.extend([*kept, onnx.helper.make_attribute("momentum", 1 - given.get("momentum", 0.9))])
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
    known = tvm_api.onnx_operators()
    unknown: dict[str, list[str]] = {}
    for node in graph.nodes:
        imported = node.domain in _IMPORTED_DOMAINS and node.op_type in known
        if not imported and node.domain != DOMAIN:
            full = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
            unknown.setdefault(full, []).append(label(node))
    if unknown:
        first = next(iter(unknown.values()))[0]
        raise LoadError(
            f"TVM's importer does not know {', '.join(sorted(unknown))}",
            where=f"node {first!r}" + (f" and {sum(map(len, unknown.values())) - 1} more" if len(unknown) > 1 else ""),
            mend="define the operator live (%%tvm_op) and put it in the node's place, or export the model without it",
        )


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
