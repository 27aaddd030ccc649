"""Random weights for networks that were stripped of theirs.

The weights of such a network are one value each, so its outputs are constant and prove nothing.  Here each gets
random values of a size that keeps the signal alive through a hundred layers: He's rule, with mean and variance of what
flows into a layer estimated on the way, so that residual sums and weights that were kept do not blow up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from tvmlab.fusion.onnx_graph import OnnxGraph, attributes, is_standard
from tvmlab.fusion.rewrites import read_constant_nodes

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

__all__ = ["with_random_weights"]

Array = NDArray[Any]

_BIAS = 0.1
_LEAST = 1e-12
_LAYOUT = ("Identity", "Reshape", "Squeeze", "Unsqueeze", "Transpose")


class Flow(NamedTuple):
    """Mean and variance of the values that flow through an edge, taken for normal ones."""

    mean: float = 0.0
    variance: float = 1.0

    @property
    def square(self) -> float:
        """Mean of the squares."""
        return self.mean**2 + self.variance


def with_random_weights(proto: ModelProto, seed: int) -> ModelProto:
    """A copy of a model in which weights of one value have become random initializers.

    Parameters
    ----------
    proto : ModelProto
        Is not changed.
    seed : int
        The same seed gives the same weights.
    """
    graph = OnnxGraph.of(proto)
    made = _Filler(read_constant_nodes(graph), np.random.default_rng(seed)).fill()
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    del copy.graph.node[:]
    del copy.graph.initializer[:]
    copy.graph.node.extend(node for node in graph.nodes if node.output[0] not in made)
    copy.graph.initializer.extend(t for t in proto.graph.initializer if t.name not in made)
    copy.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in made.items())
    return copy


def has_constant_weights(proto: ModelProto) -> bool:
    """Whether a model has weights, and all of its matrices and kernels are one constant value each."""
    graph = read_constant_nodes(OnnxGraph.of(proto))
    filler = _Filler(graph, np.random.default_rng(0))
    shapes = {name: value.shape for name in graph.constants if (value := graph.constant(name)) is not None}
    weights = [name for name, shape in shapes.items() if len(shape) > 1]
    return bool(weights) and all(name in filler.hollow for name in weights)


@dataclass
class _Filler:
    """Walks a graph in order, fills constants when their reader tells what they are, and follows mean and variance."""

    graph: OnnxGraph
    random: np.random.Generator
    made: dict[str, Array] = field(default_factory=dict)
    flows: dict[str, Flow] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.hollow = {name for name in self.graph.constants if self._is_hollow(name)}
        self.origin = {name: name for name in self.hollow}  # through nodes that only change the layout

    def _is_hollow(self, name: str) -> bool:
        value = self.graph.constant(name)
        return value is not None and value.dtype.kind == "f" and value.size > 1 and bool((value == value.flat[0]).all())

    def fill(self) -> dict[str, Array]:
        for node in self.graph.nodes:
            if is_standard(node) and node.op_type in _LAYOUT and node.input[0] in self.origin:
                self.origin[node.output[0]] = self.origin[node.input[0]]
                continue
            for position, name in enumerate(node.input):
                hollow = self.origin.get(name, "")
                if hollow in self.hollow and hollow not in self.made:
                    self._fill(hollow, node, position)
            flow = self._after(node)
            self.flows.update((output, flow) for output in node.output)
        return self.made

    def _fill(self, name: str, node: NodeProto, position: int) -> None:
        old = self.graph.constant(name)
        assert old is not None
        values = self._values(node, position, old.shape)
        if values is not None:
            self.made[name] = values.astype(old.dtype)

    def _values(self, node: NodeProto, position: int, shape: tuple[int, ...]) -> Array | None:
        """Values for the constant that a node reads at a position; None if its role is not known."""
        flowing = self._flow(node.input[0]).square
        match node.op_type, position:
            case (("Conv" | "ConvTranspose" | "Gemm" | "MatMul"), 1):
                size = 1 / math.sqrt(max(_fan_in(node, shape) * flowing, _LEAST))
                return self.random.standard_normal(shape, np.float32) * np.float32(size)
            case "BatchNormalization", 4:
                return flowing * self.random.uniform(0.8, 1.25, shape)
            case ("BatchNormalization", 1) | ("Mul" | "Div", _):
                return self.random.uniform(0.8, 1.25, shape)
            case "PRelu", 1:
                return self.random.uniform(0.05, 0.25, shape)
            case (("Conv" | "ConvTranspose" | "Gemm" | "BatchNormalization" | "Add" | "Sub" | "Sum"), _):
                return _BIAS * self.random.standard_normal(shape)
        return None

    def _value(self, name: str) -> Array | None:
        name = self.origin.get(name, name)
        return self.made[name] if name in self.made else self.graph.constant(name)

    def _flow(self, name: str) -> Flow:
        """Mean and variance of a value; an input is taken for standard normal."""
        if name not in self.flows:
            value = self._value(name)
            if value is not None and value.dtype.kind == "f" and value.size > 0:
                self.flows[name] = Flow(float(value.mean()), float(value.var()))
            else:
                self.flows[name] = Flow()
        return self.flows[name]

    def _after(self, node: NodeProto) -> Flow:
        """What a node makes of what flows into it; an operator that is not listed passes its first input on."""
        flows = [self._flow(name) for name in node.input if name] or [Flow()]
        first = flows[0]
        match node.op_type:
            case "Conv" | "ConvTranspose" | "Gemm" | "MatMul":
                weight, bias = self._value(node.input[1]), Flow(0, 0) if len(flows) < 3 else flows[2]
                inner = 1 if weight is None else _fan_in(node, weight.shape)
                return Flow(bias.mean, inner * first.square * flows[1].square + bias.variance)
            case "BatchNormalization":
                return self._normalized(node, first)
            case "Add" | "Sum":
                return Flow(sum(f.mean for f in flows), sum(f.variance for f in flows))
            case "Mul":
                mean = math.prod(f.mean for f in flows)
                return Flow(mean, math.prod(f.square for f in flows) - mean**2)
            case "Concat":
                mean = sum(f.mean for f in flows) / len(flows)
                return Flow(mean, sum(f.square for f in flows) / len(flows) - mean**2)
            case "Relu" | "LeakyRelu" | "PRelu" | "Clip":
                return _rectified(first)
            case "MaxPool":
                size = math.prod(attributes(node).get("kernel_shape", [1]))
                return Flow(first.mean + math.sqrt(first.variance * math.log(size)), first.variance / math.sqrt(size))
            case "AveragePool" | "GlobalAveragePool":
                return Flow(first.mean, first.variance / 2)
            case "Sigmoid" | "Softmax":
                return Flow(0.5, 0.05)
        return first

    def _normalized(self, node: NodeProto, flow: Flow) -> Flow:
        values = [self._value(name) for name in node.input[1:5]]
        if any(v is None for v in values):
            return Flow()
        gamma, beta, mean, variance = (np.asarray(v, np.float64) for v in values)
        scale = gamma / np.sqrt(variance + attributes(node).get("epsilon", 1e-5))
        means = scale * (flow.mean - mean) + beta
        return Flow(float(means.mean()), float((scale**2 * flow.variance + means**2).mean() - means.mean() ** 2))


def _rectified(flow: Flow) -> Flow:
    """A normal variable with its negative values set to 0."""
    sigma = math.sqrt(max(flow.variance, _LEAST))
    at = flow.mean / sigma
    density = math.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
    above = (1 + math.erf(at / math.sqrt(2))) / 2
    mean = sigma * density + flow.mean * above
    return Flow(mean, flow.square * above + flow.mean * sigma * density - mean**2)


def _fan_in(node: NodeProto, shape: tuple[int, ...]) -> int:
    if node.op_type == "Conv":
        return math.prod(shape[1:])
    if node.op_type == "Gemm" and attributes(node).get("transB", 0):
        return shape[1]
    return shape[-2] if node.op_type == "MatMul" and len(shape) > 1 else shape[0]
