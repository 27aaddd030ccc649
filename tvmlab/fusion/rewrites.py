"""Clean-up on the ONNX level: what need not be computed at run time is computed here, in NumPy.

Every rewrite is a function from a graph to a graph, sound for every input, and changes nothing in place.  TVM does some
of this too, but leaves arithmetic on constants to run time, or compiles a kernel for each constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from tvmlab.fusion.onnx_graph import OnnxGraph, attributes, fresh_names, is_standard

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = [
    "clean_up",
    "evaluate_constant_layout",
    "fold_batchnorm_into_conv",
    "read_constant_nodes",
    "sum_of_two_to_add",
]

Array = NDArray[Any]
Attributes = Mapping[str, Any]
Maker = Callable[..., Array | None]

_BROADCASTING_ADD = 7  # before this operator set, Add did not broadcast
_LARGEST_MADE = 1 << 31  # elements: a ConstantOfShape beyond is left to fail where it is needed


def clean_up(graph: OnnxGraph) -> OnnxGraph:
    """All rewrites of this module, in an order in which each finds what the one before it made."""
    for rewrite in (
        read_constant_nodes,
        evaluate_constant_layout,
        fold_batchnorm_into_conv,
        sum_of_two_to_add,
    ):
        graph = rewrite(graph)
    return graph


def read_constant_nodes(graph: OnnxGraph) -> OnnxGraph:
    """Turn ``Constant``, and ``ConstantOfShape`` of a constant shape, into constants of the graph.

    The made ones take no memory: they are one value, broadcast.
    """
    makers: dict[str, Maker] = {"Constant": _of_constant, "ConstantOfShape": _of_shape}
    return _evaluate(graph, makers)


def evaluate_constant_layout(graph: OnnxGraph) -> OnnxGraph:
    """Evaluate ``Reshape``, ``Transpose``, ``Squeeze``, ``Unsqueeze`` and ``Identity`` of constants."""
    makers: dict[str, Maker] = {
        "Reshape": _reshape,
        "Transpose": lambda given, data: np.transpose(data, given.get("perm")),
        "Squeeze": lambda given, data, axes=None: np.squeeze(data, _axes(given, axes)),
        "Unsqueeze": lambda given, data, axes=None: np.expand_dims(data, _axes(given, axes) or ()),
        "Identity": lambda _, data: data,
    }
    return _evaluate(graph, makers)


def _evaluate(graph: OnnxGraph, makers: Mapping[str, Maker]) -> OnnxGraph:
    """Replace standard nodes by their value where all they read is constant."""
    constants = dict(graph.constants)
    view = replace(graph, constants=constants)  # sees what is added below
    kept = []
    for node in graph.nodes:
        make = makers.get(node.op_type) if is_standard(node) else None
        arguments = [view.constant(name) for name in node.input if name]
        value = None if make is None or any(a is None for a in arguments) else make(attributes(node), *arguments)
        if value is None:
            kept.append(node)
        else:
            constants[node.output[0]] = value
    return graph.with_(kept, constants)


def _of_constant(given: Attributes) -> Array | None:
    if "value" in given:
        return numpy_helper.to_array(given["value"])
    dtypes = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    return next((np.array(given[name], dtype) for name, dtype in dtypes.items() if name in given), None)


def _of_shape(given: Attributes, shape: Array) -> Array | None:
    dimensions = tuple(map(int, shape))
    if any(d < 0 for d in dimensions) or math.prod(dimensions) > _LARGEST_MADE:
        return None
    value = numpy_helper.to_array(given["value"]) if "value" in given else np.zeros(1, np.float32)
    return np.broadcast_to(value.reshape(()), dimensions)


def _reshape(given: Attributes, data: Array, shape: Array) -> Array:
    wanted = [int(d) for d in shape]
    if not given.get("allowzero", 0):
        wanted = [data.shape[i] if d == 0 else d for i, d in enumerate(wanted)]
    return data.reshape(wanted)


def _axes(given: Attributes, axes: Array | None) -> tuple[int, ...] | None:
    found = given.get("axes") if axes is None else axes
    return None if found is None else tuple(map(int, found))


@dataclass(frozen=True)
class _Affine:
    """An inference BatchNormalization as ``scale * x + shift``, one value a channel, in float64."""

    scale: Array
    shift: Array


def _affine(node: NodeProto, graph: OnnxGraph) -> _Affine | None:
    """What a BatchNormalization computes at inference; None in training mode or without constant parameters."""
    if node.op_type != "BatchNormalization" or not is_standard(node) or any(node.output[1:]):
        return None
    given = attributes(node)
    trains = given.get("training_mode", 0) or (graph.opset < 7 and not given.get("is_test", 0))
    if trains or not given.get("spatial", 1):
        return None
    parameters = [graph.constant(name) for name in node.input[1:]]
    if any(p is None for p in parameters):
        return None
    gamma, beta, mean, variance = (np.asarray(p, np.float64) for p in parameters)
    scale = gamma / np.sqrt(variance + given.get("epsilon", 1e-5))
    return _Affine(scale, beta - mean * scale)


def fold_batchnorm_into_conv(graph: OnnxGraph) -> OnnxGraph:
    """Fold a BatchNormalization into the Conv before it: other weights and another bias, no BatchNormalization.

    Not where the Conv's result is read by anything else, where a parameter is no constant (an initializer that the
    caller may override is none), or where the BatchNormalization trains.
    """
    constants = dict(graph.constants)
    convs = {node.output[0]: node for node in graph.nodes if node.op_type == "Conv" and is_standard(node)}
    readers = graph.readers()
    fresh = fresh_names(graph)
    replaced: dict[str, list[NodeProto]] = {}
    for node in graph.nodes:
        conv = convs.get(node.input[0]) if node.op_type == "BatchNormalization" else None
        if conv is None or readers[conv.output[0]] != 1:
            continue
        affine, weight, bias = _affine(node, graph), graph.constant(conv.input[1]), _bias(conv, graph)
        if affine is None or weight is None or bias is None:
            continue
        names = [fresh(f"{conv.output[0]}_{part}") for part in ("weight", "bias")]
        per_channel = affine.scale.reshape(-1, *[1] * (weight.ndim - 1))
        constants[names[0]] = (weight * per_channel).astype(weight.dtype)
        constants[names[1]] = (bias * affine.scale + affine.shift).astype(weight.dtype)
        replaced[conv.output[0]] = []
        replaced[node.output[0]] = [_remade(conv, "Conv", [conv.input[0], *names], [node.output[0]])]
    return graph.with_(_spliced(graph, replaced), constants)


def _bias(conv: NodeProto, graph: OnnxGraph) -> Array | None:
    """A Conv's constant bias, 0 if it has none; None if it is no constant."""
    return graph.constant(conv.input[2]) if len(conv.input) > 2 and conv.input[2] else np.zeros(())


def sum_of_two_to_add(graph: OnnxGraph) -> OnnxGraph:
    """Write a ``Sum`` of two as an ``Add``: TVM imports ``Sum`` as broadcast, stack and reduce, which blocks fusion."""
    replaced = {
        node.output[0]: [_remade(node, "Add", node.input, node.output)]
        for node in graph.nodes
        if node.op_type == "Sum" and is_standard(node) and len(node.input) == 2 and graph.opset >= _BROADCASTING_ADD
    }
    return graph.with_(_spliced(graph, replaced), graph.constants)


def _spliced(graph: OnnxGraph, replaced: Mapping[str, list[NodeProto]]) -> Iterator[NodeProto]:
    """The nodes, with others in place of those whose first output is in `replaced`."""
    for node in graph.nodes:
        yield from replaced.get(node.output[0], [node]) if node.output else [node]


def _remade(node: NodeProto, op_type: str, inputs: Iterable[str], outputs: Iterable[str]) -> NodeProto:
    """A node like another, with the same name and attributes."""
    made = helper.make_node(op_type, list(inputs), list(outputs), name=node.name)
    made.attribute.extend(node.attribute)
    return made
