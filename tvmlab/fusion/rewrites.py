"""Clean-up on the ONNX level: what need not be computed at run time is computed here, in NumPy.

Every rewrite is a function from a graph to a graph, sound for every input, and changes nothing in place.  TVM does some
of this too, but leaves arithmetic on constants to run time, or compiles a kernel for each constant.

Sound means: the same numbers, infinities and NaNs included, up to rounding where weights are folded.  So ``x + 0``
stays: it makes 0 of -0, and one over that is another infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from tvmlab.errors import GraphError
from tvmlab.fusion.onnx_graph import OnnxGraph, attributes, fresh_names, is_standard, reads, subgraphs, value_names

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto

__all__ = [
    "REWRITES",
    "clean_model",
    "clean_up",
    "evaluate_constant_arithmetic",
    "evaluate_constant_layout",
    "fold_batchnorm_into_conv",
    "read_constant_nodes",
    "remove_no_ops",
    "sum_of_two_to_add",
]

Array = NDArray[Any]
Attributes = Mapping[str, Any]
Maker = Callable[..., Array | None]

_BROADCASTING_ADD = 7  # before this operator set, Add did not broadcast
_DEEPEST = 16  # graphs inside of graphs; what is deeper stays as it is
_SMALL = 1024  # elements: arithmetic on constants up to here is done beforehand
_LARGEST_MADE = 1 << 31  # elements: a ConstantOfShape beyond is left to fail where it is needed


def clean_up(graph: OnnxGraph) -> OnnxGraph:
    """All rewrites of this module, in an order in which each finds what the one before it made.

    Graphs inside of nodes are cleaned up too, with the constants that they see around them.

    Raises
    ------
    GraphError
        That is no `OnnxGraph`; `clean_model` takes a model.
    """
    if not isinstance(graph, OnnxGraph):
        raise GraphError(
            f"clean_up takes an OnnxGraph, not a {type(graph).__name__}",
            mend="clean_up(OnnxGraph.of(model)), or clean_model(model) for a ModelProto",
        )
    return _clean_up(graph, _DEEPEST)


def clean_model(model: ModelProto) -> ModelProto:
    """A copy of a model with its graph cleaned up.

    Raises
    ------
    LoadError
        Its nodes are no graph.
    """
    before = OnnxGraph.of(model)
    graph = clean_up(before)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = max(model.ir_version, 4)  # before, initializers had to be inputs, and were constants all the same
    del copy.graph.input[:]
    copy.graph.input.extend(
        i for i in model.graph.input if i.name not in before.constants or i.name in before.overridable
    )
    unread = before.overridable - graph.constants.keys()  # the caller may still give them
    made = [_tensor(name, constant) for name, constant in graph.constants.items()]
    _fill(copy.graph, graph.nodes, [*made, *(t for t in model.graph.initializer if t.name in unread)])
    return copy


def _clean_up(graph: OnnxGraph, depth: int) -> OnnxGraph:
    for rewrite in REWRITES:
        graph = rewrite(graph)
    if not depth or not any(map(_has_subgraph, graph.nodes)):
        return graph
    reserved = frozenset(value_names(graph))
    nodes = [_cleaned_inside(node, graph, reserved, depth) if _has_subgraph(node) else node for node in graph.nodes]
    return graph.with_(nodes, graph.constants)


def _has_subgraph(node: NodeProto) -> bool:
    return next(subgraphs(node), None) is not None


def _cleaned_inside(node: NodeProto, around: OnnxGraph, reserved: frozenset[str], depth: int) -> NodeProto:
    """A copy of a node with the graphs inside of it cleaned up."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for inner, target in zip(subgraphs(node), subgraphs(copy), strict=True):
        view = OnnxGraph.of_inner(inner, around.opset)
        own = {i.name for i in inner.input} | {name for n in inner.node for name in n.output}
        seen = {name: constant for name, constant in around.constants.items() if name not in own}
        overridable = (around.overridable & seen.keys()) - view.constants.keys()
        overridable |= {i.name for i in inner.input} & view.constants.keys()
        view = replace(view, constants={**seen, **view.constants}, overridable=overridable, reserved=reserved)
        cleaned = _clean_up(view, depth - 1)
        made = [_tensor(n, c) for n, c in cleaned.constants.items() if seen.get(n) is not c]
        kept = [t for t in inner.initializer if t.name in overridable and t.name not in cleaned.constants]
        _fill(target, cleaned.nodes, [*made, *kept])
    return copy


def _fill(graph: GraphProto, nodes: Iterable[NodeProto], constants: Iterable[TensorProto]) -> None:
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(constants)


def _tensor(name: str, constant: TensorProto | Array) -> TensorProto:
    return numpy_helper.from_array(constant, name) if isinstance(constant, np.ndarray) else constant


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


def evaluate_constant_arithmetic(graph: OnnxGraph) -> OnnxGraph:
    """Evaluate ``Add``, ``Sub``, ``Mul`` and ``Div`` of small constants, of one shape or with a single number."""
    if graph.opset < _BROADCASTING_ADD:
        return graph
    operations = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
    return _evaluate(graph, {name: _arithmetic(operation) for name, operation in operations.items()})


def _arithmetic(operation: Callable[[Array, Array], Any]) -> Maker:
    def make(_: Attributes, a: Array, b: Array) -> Array | None:
        dtypes_fit = a.dtype == b.dtype and a.dtype in (np.float32, np.float64)
        if not dtypes_fit or max(a.size, b.size) > _SMALL or (a.size != 1 != b.size and a.shape != b.shape):
            return None
        with np.errstate(all="ignore"):  # it overflows at run time just the same
            return np.asarray(operation(a, b), a.dtype)

    return make


def _evaluate(graph: OnnxGraph, makers: Mapping[str, Maker]) -> OnnxGraph:
    """Replace standard nodes by their value where all they read is constant."""
    constants = dict(graph.constants)
    view = replace(graph, constants=constants)  # sees what is added below
    kept, outputs = [], graph.output_names
    for node in graph.nodes:
        make = makers.get(node.op_type) if is_standard(node) else None
        arguments = [view.constant(name) for name in node.input if name]
        if node.output and graph.reserved and node.output[0] in outputs:
            make = None  # what a graph inside of a node returns must be made by a node of it
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


def remove_no_ops(graph: OnnxGraph) -> OnnxGraph:
    """Remove nodes that hand on their input: who reads the one reads the other then, in graphs inside of nodes too.

    These are ``Identity``, ``Dropout`` at inference, ``x * 1``, ``x / 1``, ``x - 0``, ``x ** 1``, a ``Transpose`` that
    leaves all axes in place, and a ``Sum``, ``Mean``, ``Max``, ``Min`` or ``Concat`` of one.

    An output of the graph keeps its name: the node that makes the value is made to write it under that name; where that
    cannot be, as with a graph input that is also an output, an ``Identity`` stays.
    """
    origins = _origins(graph)
    if not origins:
        return graph
    written = _written_as(graph, origins)
    renamed = {name: written.get(origin, origin) for name, origin in origins.items()} | written
    kept = []
    for node in graph.nodes:
        name = node.output[0] if node.output else ""
        if name not in origins:
            kept.append(_renamed(node, renamed))
        elif name in graph.output_names and renamed[name] != name:
            identity = helper.make_node("Identity", [renamed[name]], [name], name=node.name)
            kept.append(identity)
    return graph.with_(kept, graph.constants)


def _origins(graph: OnnxGraph) -> dict[str, str]:
    """From each value that is but another one to where that comes from, over any number of steps."""
    readers = graph.readers()
    hidden = _defined_inside(graph)
    origins: dict[str, str] = {}
    for node in graph.nodes:
        if not is_standard(node) or any(readers[name] for name in node.output[1:]):
            continue
        source = _handed_on(node, graph)
        origin = origins.get(source, source) if source else None
        if origin and not hidden & {origin, node.output[0]}:
            origins[node.output[0]] = origin
    return origins


def _defined_inside(graph: OnnxGraph) -> set[str]:
    """Names that mean something else in a graph inside of a node, if they mean anything out here."""
    found: set[str] = set()
    waiting = [inner for node in graph.nodes for inner in subgraphs(node)]
    while waiting:
        inner = waiting.pop()
        found.update(info.name for info in [*inner.input, *inner.initializer])
        for node in inner.node:
            found.update(node.output)
            waiting += subgraphs(node)
    return found


def _written_as(graph: OnnxGraph, origins: Mapping[str, str]) -> dict[str, str]:
    """Under which graph output's name a value is to be written that was handed on to it."""
    outputs = graph.output_names
    makers = {name: node for node in graph.nodes if is_standard(node) for name in node.output if name}
    written: dict[str, str] = {}
    for name, origin in origins.items():
        if name in outputs and origin in makers and origin not in outputs:
            written.setdefault(origin, name)
    return written


def _handed_on(node: NodeProto, graph: OnnxGraph) -> str | None:
    """The input that is a node's first output as it is; None if there is none."""
    first: str | None = node.input[0] if node.input else None
    match node.op_type:
        case "Identity":
            return first
        case "Sum" | "Mean" | "Max" | "Min" | "Concat" if len(node.input) == 1:
            return first
        case "Transpose":
            turned = attributes(node).get("perm")
            return first if turned and list(turned) == sorted(turned) else None
        case "Dropout" if graph.opset >= _BROADCASTING_ADD:
            trains: str = node.input[2] if len(node.input) > 2 else ""
            given = graph.constant(trains) if trains else np.array(False)
            return first if given is not None and not given.any() else None
        case "Mul" | "Div" | "Sub" | "Pow" | "Add" if graph.opset >= _BROADCASTING_ADD:
            return _neutral(node, graph)
        case _:
            return None


def _neutral(node: NodeProto, graph: OnnxGraph) -> str | None:
    """The operand that the other one, a constant, leaves as it is."""
    ways: list[tuple[str, str]] = [(node.input[0], node.input[1])]
    if node.op_type in ("Mul", "Add"):
        ways.append((node.input[1], node.input[0]))
    for name, other in ways:
        constant = graph.constant(other)
        if constant is None or constant.size != 1 or constant.ndim > _least_rank(graph, name):
            continue
        number = constant.reshape(())
        if node.op_type in ("Mul", "Div", "Pow"):
            neutral = bool(number == 1)
        else:  # -0 + 0 is 0, but -0 + -0 and -0 - 0 are -0
            negative = bool(np.signbit(number)) if number.dtype.kind == "f" else node.op_type == "Add"
            neutral = number.dtype.kind in "fiu" and bool(number == 0) and negative == (node.op_type == "Add")
        if neutral:
            return name
    return None


def _least_rank(graph: OnnxGraph, name: str) -> int:
    """How many dimensions a value has at least, as far as is seen at once."""
    constant = graph.constants.get(name)
    if constant is not None:
        return constant.ndim if isinstance(constant, np.ndarray) else len(constant.dims)
    info = next((i for i in graph.inputs if i.name == name), None)
    return len(info.type.tensor_type.shape.dim) if info is not None else 0


def _renamed(node: NodeProto, names: Mapping[str, str]) -> NodeProto:
    """The node with values under other names, in graphs inside of it too."""
    if not any(name in names for name in [*reads(node), *node.output]):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = [names.get(name, name) for name in copy.input]
    copy.output[:] = [names.get(name, name) for name in copy.output]
    waiting = [(inner, names) for inner in subgraphs(copy)]
    while waiting:
        graph, around = waiting.pop()
        own = {i.name for i in [*graph.input, *graph.initializer]} | {o for n in graph.node for o in n.output}
        seen = {old: new for old, new in around.items() if old not in own}
        for inner in graph.node:
            inner.input[:] = [seen.get(name, name) for name in inner.input]
            waiting += [(deeper, seen) for deeper in subgraphs(inner)]
        for output in graph.output:
            output.name = seen.get(output.name, output.name)
    return copy


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


REWRITES: tuple[Callable[[OnnxGraph], OnnxGraph], ...] = (
    read_constant_nodes,
    evaluate_constant_layout,
    evaluate_constant_arithmetic,
    remove_no_ops,
    fold_batchnorm_into_conv,
    sum_of_two_to_add,
)
"""What the clean-up consists of, in order."""
