"""From an ONNX model to the graph that is partitioned.

Nodes of the graph are the model's nodes in topological order, without its leaves: ``Constant``, and ``ConstantOfShape``
of a constant shape.  Values are told apart by their names, nodes by their places: names of nodes need not be unique.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

from tvmlab.errors import CallError
from tvmlab.fusion.graph import Graph, Kind
from tvmlab.fusion.grouping import MAX_DEPTH, Grouping
from tvmlab.fusion.kinds import STANDARD, Shape, Use, kind_of
from tvmlab.fusion.onnx_file import model_proto
from tvmlab.fusion.onnx_graph import OnnxGraph, attributes, captures, is_standard
from tvmlab.fusion.partition import partition
from tvmlab.records import Partition

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

    from tvmlab.fusion.templates import Template

__all__ = ["OnnxReading", "fuse_onnx", "labels_of", "read_onnx"]

_SMALL = 1024  # elements: constants up to here may decide shapes


@dataclass(frozen=True, eq=False, repr=False)
class OnnxReading:
    """A model, and its graph.

    Parameters
    ----------
    graph : Graph
        Its labels are those of `nodes`: a node's name if that is unique, else its first output.
    nodes : tuple of NodeProto
        The model's node behind each node of the graph.
    model : ModelProto
    view : OnnxGraph
        All of the model's nodes in topological order, and its constants.
    shapes : mapping of str to Shape
        Shapes of values, as far as they are known.
    """

    graph: Graph
    nodes: tuple[NodeProto, ...] = field(repr=False)
    model: ModelProto = field(repr=False)
    view: OnnxGraph = field(repr=False)
    shapes: Mapping[str, Shape] = field(repr=False)
    dtypes: Mapping[str, int] = field(repr=False)

    def __repr__(self) -> str:
        return f"<OnnxReading: {len(self.nodes)} nodes>"

    def use(self, node: int) -> Use:
        """What a node does: its operator, attributes, and what is known of its inputs and outputs."""
        return self._kinds.use(self.nodes[node])

    @functools.cached_property
    def _kinds(self) -> _Kinds:
        return _Kinds(self.view, self.shapes, _opsets(self.model), _functions(self.model))

    def bodies(self) -> Iterator[tuple[str, str, Graph]]:
        """Graphs inside of nodes (branches of If, bodies of Loop and Scan): label, attribute and the graph of each."""
        functions = _functions(self.model)
        opsets = _opsets(self.model)
        for label, node in zip(self.graph.labels, self.nodes, strict=True):
            for attribute in node.attribute:
                for inner in [attribute.g, *attribute.graphs] if attribute.HasField("g") else attribute.graphs:
                    view = OnnxGraph.of_inner(inner, self.view.opset)
                    yield label, attribute.name, _graph(view, {}, opsets, functions, {})[1]


def read_onnx(source: Any, *, kinds: Mapping[str, Kind | int | str] | None = None) -> OnnxReading:
    """Read a model for grouping; weights are not touched.

    Parameters
    ----------
    source : path, str, bytes or ModelProto
    kinds : mapping, optional
        Kinds of single nodes, by their labels, instead of what the table says; see also `tvmlab.fusion.kind`.

    Raises
    ------
    LoadError
        It is no model, or its nodes are no graph: they form a cycle, read what nothing makes, make a value twice.
    """
    model = model_proto(source)
    view = OnnxGraph.of(model)
    shapes, dtypes = _inferred(model, view)
    nodes, graph = _graph(view, shapes, _opsets(model), _functions(model), kinds or {})
    sizes = tuple(_bytes_written(node, shapes, dtypes) for node in nodes)
    describe = functools.partial(_described, nodes, shapes, dtypes)
    graph = dataclasses.replace(graph, sizes=sizes, describe=describe)
    return OnnxReading(graph, nodes, model, view, shapes, dtypes)


def labels_of(nodes: tuple[NodeProto, ...]) -> tuple[str, ...]:
    """A label for each node, unique: its name, else its first output."""
    outputs = [next((o for o in node.output if o), f"{node.op_type} {at}") for at, node in enumerate(nodes)]
    counted = Counter(node.name for node in nodes)
    labels = [
        node.name if node.name and counted[node.name] == 1 else output
        for node, output in zip(nodes, outputs, strict=True)
    ]
    while len(set(labels)) < len(labels):  # a name that is another one's output
        counted = Counter(labels)
        renamed = [output if counted[label] > 1 else label for label, output in zip(labels, outputs, strict=True)]
        if renamed == labels:
            return tuple(f"{label} {at}" for at, label in enumerate(labels))
        labels = renamed
    return tuple(labels)


def _graph(
    view: OnnxGraph,
    shapes: Mapping[str, Shape],
    opsets: Mapping[str, int],
    functions: set[tuple[str, str]],
    kinds: Mapping[str, Kind | int | str],
) -> tuple[tuple[NodeProto, ...], Graph]:
    reader = _Kinds(view, shapes, opsets, functions)
    nodes = tuple(node for node in view.nodes if not reader.leaf(node))
    labels = labels_of(nodes)
    codes = bytearray(reader.kind(node) for node in nodes)
    makers = {name: (at, place) for at, node in enumerate(nodes) for place, name in enumerate(node.output) if name}
    edges = [
        (*makers[name], at, place)
        for at, node in enumerate(nodes)
        for place, name in enumerate([*node.input, *captures(node)])
        if name in makers
    ]
    producers, places, consumers, operands = np.ascontiguousarray(np.array(edges, np.int32).reshape(-1, 4).T)
    outputs = view.output_names
    external = [at for at, node in enumerate(nodes) if any(name in outputs for name in node.output if name)]
    graph = Graph.of_edges(bytes(codes), producers, places, consumers, operands, external, labels)
    taken = set(labels)
    aliases = {name: at for name, (at, _) in makers.items() if name not in taken}
    graph = dataclasses.replace(graph, aliases=aliases)
    for name, kind in kinds.items():
        codes[graph.index(name)] = Kind.of(kind)
    operations = tuple(node.op_type for node in nodes)
    foreign = (at for at, node in enumerate(nodes) if not is_standard(node) and codes[at] == Kind.OPAQUE)
    notes = dict.fromkeys(foreign, "since nothing is known of its operator (fusion.kind tells it)")
    notes |= dict.fromkeys(external, "is an output of the model")
    graph = dataclasses.replace(graph, kinds=bytes(codes), operations=operations, notes=notes)
    return nodes, graph


def _described(nodes: Sequence[NodeProto], shapes: Mapping[str, Shape], dtypes: Mapping[str, int], at: int) -> str:
    """Types of what a node writes, and its attributes."""
    types = []
    for name in filter(None, nodes[at].output):
        shape, dtype = shapes.get(name), dtypes.get(name)
        item = onnx.TensorProto.DataType.Name(dtype).lower() if dtype in onnx.TensorProto.DataType.values() else "?"
        types.append(f"{item}[{', '.join('?' if d is None else str(d) for d in shape) if shape is not None else '…'}]")
    given = (f"{name}={_worded(value)}" for name, value in _small_attributes(nodes[at]).items())
    return "\n".join(filter(None, (", ".join(types), ", ".join(given))))


def _worded(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _bytes_written(node: NodeProto, shapes: Mapping[str, Shape], dtypes: Mapping[str, int]) -> int | None:
    total = 0
    for name in filter(None, node.output):
        shape, dtype = shapes.get(name), dtypes.get(name)
        if shape is None or dtype is None or not all(isinstance(d, int) for d in shape):
            return None
        try:
            item = onnx.helper.tensor_dtype_to_np_dtype(dtype).itemsize
        except KeyError:
            return None
        total += math.prod(d for d in shape if isinstance(d, int)) * item
    return total


def fuse_onnx(
    source: Any,
    *,
    name: str | None = None,
    engine: str = "python",
    table: Mapping[str, Kind | int | str] | None = None,
    kinds: Mapping[int | str, Kind | int | str] | None = None,
    max_depth: int | None = None,
    without: Sequence[str] = (),
    templates: Sequence[Template | str] = (),
) -> Partition:
    """Which nodes of an ONNX model, as it is, share a kernel.

    Parameters
    ----------
    source : path, str, bytes or ModelProto
    name : str, optional
        What to call the model.
    engine : {"python", "none"}
    table : mapping, optional
        Kinds of nodes that the table does not know, by their labels.
    kinds, max_depth, without
        See `Grouping.what_if`.
    templates : sequence of Template or str
        What is matched first, in this order, each match a group (see `impose`); a string names a shipped one.

    Raises
    ------
    LoadError, GraphError
    CallError
        The engine is unknown, or the changes are not for it.
    """
    if engine not in ("python", "none"):
        raise CallError(f"engine={engine!r} is not known", mend="take one of 'python', 'none'")
    asked = {"kinds": kinds or None, "max_depth": max_depth, "without": without or None}
    changes: dict[str, Any] = {what: given for what, given in asked.items() if given is not None}
    if engine == "none" and (changes or templates):
        raise CallError(
            f'{", ".join([*changes, *(["templates"] if templates else [])])} is for engine="python"',
            mend="leave it out, or take that engine",
        )
    reading = read_onnx(source, kinds=table)
    if name is None:
        name = Path(source).stem if isinstance(source, str | os.PathLike) else reading.model.graph.name or "model"
    grouping: Grouping = partition(reading.graph, MAX_DEPTH if engine == "python" else 0)
    if templates and engine == "python":
        from tvmlab.fusion.templates import impose, match_templates  # they read what is read here

        grouping = impose(reading.graph, match_templates(reading, templates))
    if changes:
        grouping = grouping.what_if(**changes)
    return grouping.record(name, engine, "onnx")


class _Kinds:
    """Kinds of a graph's nodes."""

    def __init__(
        self,
        view: OnnxGraph,
        shapes: Mapping[str, Shape],
        opsets: Mapping[str, int],
        functions: set[tuple[str, str]],
    ) -> None:
        self.view, self.shapes, self.opsets, self.functions = view, shapes, opsets, functions
        self.known = set(view.constants) - view.overridable
        self.made: dict[str, NodeProto] = {}
        for node in view.nodes:
            if self.leaf(node):
                self.known.update(node.output)
                self.made.update(dict.fromkeys(node.output, node))

    def leaf(self, node: NodeProto) -> bool:
        if not is_standard(node) or (node.domain, node.op_type) in self.functions:
            return False
        return node.op_type == "Constant" or (
            node.op_type == "ConstantOfShape" and all(name in self.known for name in node.input)
        )

    def kind(self, node: NodeProto) -> Kind:
        if (node.domain, node.op_type) in self.functions:
            return Kind.OPAQUE
        return kind_of(self.use(node))

    def use(self, node: NodeProto) -> Use:
        return Use(
            domain=node.domain,
            op=node.op_type,
            opset=self.opsets.get("" if node.domain in STANDARD else node.domain, 1),
            attributes=_small_attributes(node),
            inputs=tuple(self.shapes.get(name) if name else None for name in node.input),
            outputs=tuple(self.shapes.get(name) if name else None for name in node.output),
            constant=tuple(not name or name in self.known for name in node.input),
            present=tuple(map(bool, node.output)),
            values=functools.partial(self._values, node),
        )

    def _values(self, node: NodeProto, position: int) -> list[float] | None:
        """The elements of a small constant input; none of an absent one."""
        name = node.input[position] if position < len(node.input) else ""
        if not name:
            return []
        if name not in self.known:
            return None
        maker = self.made.get(name)
        if maker is not None:
            given = attributes(maker)
            value = next((v for k, v in given.items() if k.startswith("value")), None)
            if isinstance(value, onnx.TensorProto):
                return _elements(value)
            return None if value is None else np.ravel(value).tolist()
        constant = self.view.constants[name]
        return _elements(constant) if isinstance(constant, onnx.TensorProto) else np.ravel(constant).tolist()


def _elements(tensor: TensorProto) -> list[float] | None:
    if not _is_small(tensor):
        return None
    try:
        return [float(v) for v in np.ravel(numpy_helper.to_array(tensor))]
    except (ValueError, TypeError):
        return None  # its data is not what it claims, which is told where it is needed


def _is_small(tensor: TensorProto) -> bool:
    local = tensor.data_location != onnx.TensorProto.EXTERNAL
    return local and all(d >= 0 for d in tensor.dims) and math.prod(tensor.dims) <= _SMALL


def _small_attributes(node: NodeProto) -> dict[str, Any]:
    """A node's attributes without tensors and graphs."""
    wanted = (onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT, onnx.AttributeProto.STRING, onnx.AttributeProto.INTS)
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute if a.type in wanted}


def _functions(model: ModelProto) -> set[tuple[str, str]]:
    return {(function.domain, function.name) for function in model.functions}


def _opsets(model: ModelProto) -> dict[str, int]:
    return {"" if o.domain in STANDARD else o.domain: o.version for o in model.opset_import}


def _inferred(model: ModelProto, view: OnnxGraph) -> tuple[dict[str, Shape], dict[str, int]]:
    """Shapes and element types of values, as far as ONNX's own inference finds them."""
    shapes: dict[str, Shape] = {
        name: tuple(c.dims if isinstance(c, onnx.TensorProto) else c.shape) for name, c in view.constants.items()
    }
    dtypes = {name: c.data_type for name, c in view.constants.items() if isinstance(c, onnx.TensorProto)}
    try:
        graph = onnx.shape_inference.infer_shapes(_skeleton(model, view)).graph
    except Exception:  # noqa: BLE001 - inference is a help; a model that it fails on is grouped with fewer shapes
        graph = model.graph
    for info in [*graph.input, *graph.value_info, *graph.output]:
        kind = info.type.tensor_type
        if info.type.HasField("tensor_type") and kind.HasField("shape"):
            shapes.setdefault(info.name, tuple(map(_dimension, kind.shape.dim)))
        if kind.elem_type:
            dtypes.setdefault(info.name, kind.elem_type)
    return shapes, dtypes


def _dimension(dimension: Any) -> int | str | None:
    if dimension.HasField("dim_value"):
        return int(dimension.dim_value) if dimension.dim_value >= 0 else None
    return dimension.dim_param or None


def _skeleton(model: ModelProto, view: OnnxGraph) -> ModelProto:
    """The model without its weights: inputs in their place, and only small constants as they are."""
    skeleton = onnx.ModelProto(ir_version=max(model.ir_version, 4), opset_import=model.opset_import)
    own = _functions(model)
    if not any((node.domain, node.op_type) in own for f in model.functions for node in f.node):
        skeleton.functions.extend(model.functions)  # nested ones might unfold without end
    graph = skeleton.graph
    graph.name = "skeleton"
    graph.input.extend(view.inputs)
    for name, constant in view.constants.items():
        if isinstance(constant, onnx.TensorProto) and _is_small(constant):
            graph.initializer.append(constant)
        elif isinstance(constant, onnx.TensorProto):
            dims = [d if d >= 0 else None for d in constant.dims]
            graph.input.append(onnx.helper.make_tensor_value_info(name, constant.data_type, dims))
    graph.node.extend(view.nodes)
    graph.value_info.extend(model.graph.value_info)
    graph.output.extend(view.outputs)
    return skeleton
