"""Run an ONNX model that holds live operators: cut it at them, and let each one's NumPy reference run between."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from tvmlab.errors import PipelineError
from tvmlab.fusion.onnx_graph import OnnxGraph, reads
from tvmlab.measure.onnx_engines import Engine
from tvmlab.pipeline.live import DOMAIN

__all__ = ["Segment", "cut", "live_nodes", "run_cut"]

Array = NDArray[Any]
Reference = Callable[[onnx.NodeProto, Sequence[Array]], Sequence[Array]]

_OLDEST_WITH_PLAIN_INITIALIZERS = 4  # before IR version 4, every initializer had to be an input too


@dataclass(frozen=True)
class Segment:
    """Nodes between two cuts: what they read from outside (initializers included), and what others read of theirs."""

    nodes: tuple[onnx.NodeProto, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def live_nodes(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """The nodes of live operators, in order."""
    return [node for node in model.graph.node if node.domain == DOMAIN]


def cut(model: onnx.ModelProto, outputs: Iterable[str]) -> list[Segment | onnx.NodeProto]:
    """Cut a model at its live operators.

    Parameters
    ----------
    model : onnx.ModelProto
    outputs : iterable of str
        Names of the values that are wanted in the end.

    Returns
    -------
    list
        Segments and live nodes in an order in which they can run.

    Raises
    ------
    LoadError
        The nodes read each other in a circle.
    PipelineError
        A live operator stands in a branch or a loop body, where it cannot be cut out.
    """
    nodes = OnnxGraph.of(model).nodes
    for node in nodes:
        for inner in _inner_nodes(node):
            if inner.domain == DOMAIN:
                raise PipelineError(
                    f"the live operator {inner.op_type} stands inside an {node.op_type}: it cannot be checked there",
                    where=f"node {node.name or node.output[0]}",
                )
    bounds = [-1, *(i for i, node in enumerate(nodes) if node.domain == DOMAIN), len(nodes)]
    later = set(outputs)
    parts: list[Segment | onnx.NodeProto] = []
    for start, stop in reversed(list(itertools.pairwise(bounds))):
        if stop < len(nodes):
            parts.append(nodes[stop])
            later |= set(reads(nodes[stop]))
        segment = _segment(nodes[start + 1 : stop], later)
        if segment.writes:
            parts.append(segment)
            later |= set(segment.reads)
    return parts[::-1]


def run_cut(
    model: onnx.ModelProto,
    feeds: Mapping[str, Array],
    engine: Engine,
    reference: Reference,
    also: Sequence[str] = (),
) -> list[Array]:
    """Run a model that holds live operators.

    Parameters
    ----------
    model : onnx.ModelProto
    feeds : dict
        The model's inputs by name.
    engine : Engine
        Runs the segments.
    reference : callable
        From a live node and its inputs to its outputs.
    also : sequence of str
        Names of values inside that are wanted too.

    Returns
    -------
    list of ndarray
        The model's outputs, then the values of `also`.
    """
    outputs = [*(output.name for output in model.graph.output), *also]
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    values: dict[str, Array] = dict(feeds)

    def value(name: str) -> Array:
        return values[name] if name in values else numpy_helper.to_array(constants[name])

    for part in cut(model, outputs):
        if isinstance(part, onnx.NodeProto):
            results = reference(part, [value(name) for name in part.input])
            values.update(zip(part.output, results, strict=True))
        else:
            inputs = {name: values[name] for name in part.reads if name in values}
            held = [constants[name] for name in part.reads if name not in values]
            values.update(zip(part.writes, engine.run(_model_of(part, model, inputs, held), inputs), strict=True))
    return [value(name) for name in outputs]


def _segment(nodes: Sequence[onnx.NodeProto], later: Iterable[str]) -> Segment:
    made = [name for node in nodes for name in node.output if name]
    read = dict.fromkeys(name for node in nodes for name in reads(node))
    later, own = set(later), set(made)
    return Segment(tuple(nodes), tuple(n for n in read if n not in own), tuple(n for n in made if n in later))


def _model_of(
    part: Segment, model: onnx.ModelProto, inputs: Mapping[str, Array], held: Sequence[onnx.TensorProto]
) -> onnx.ModelProto:
    graph = helper.make_graph(
        part.nodes,
        "segment",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in inputs.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in part.writes],  # their types are inferred
        initializer=held,
    )
    opsets = [opset for opset in model.opset_import if opset.domain != DOMAIN]
    version = max(model.ir_version, _OLDEST_WITH_PLAIN_INITIALIZERS)
    return helper.make_model(graph, opset_imports=opsets, ir_version=version, functions=model.functions)


def _graphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == onnx.AttributeProto.GRAPHS:
            yield from attribute.graphs


def _inner_nodes(node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    for graph in _graphs(node):
        for inner in graph.node:
            yield inner
            yield from _inner_nodes(inner)
