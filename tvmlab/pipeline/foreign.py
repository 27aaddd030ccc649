"""Nodes of other domains as calls of live operators.

A registration says which operator stands for a node.  When a model is loaded, such nodes become nodes of our own
domain, as `Model.replace` makes them: from then on nothing need know where they came from.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from tvmlab import ops
from tvmlab.errors import LoadError, NameRefused, TvmlabError
from tvmlab.fusion.foreign import Registration, chosen
from tvmlab.fusion.onnx_file import inner_graphs
from tvmlab.fusion.onnx_graph import OnnxGraph, fresh_names, label
from tvmlab.ops import lowering
from tvmlab.pipeline.foreign_attributes import given_attributes
from tvmlab.pipeline.live import DOMAIN, VERSION, LiveCall, call_of, live_call, node_of
from tvmlab.records import TensorInfo
from tvmlab.runtime import quiet
from tvmlab.runtime.signature import parameter_of

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from tvmlab.ops import Op

__all__ = [
    "PendingCall",
    "completed",
    "pending_call",
    "settled",
    "with_live_nodes",
]

Array = NDArray[Any]


class PendingCall:
    """A call whose absent inputs, and whose outputs, are known when its inputs have types."""

    def __init__(self, call: LiveCall, node: NodeProto, absent: Mapping[str, Any]) -> None:
        self.call, self.node, self.absent = call, node, absent
        self.where = described(node)
        self.filled: dict[int, Array] = {}
        self.types: tuple[Any, ...] = ()

    @property
    def op(self) -> Op:
        """The operator."""
        op: Op = self.call.op
        return op

    def bind(self, inputs: Sequence[Any]) -> Any:
        """The call as a Relax expression; inputs that are None get what stands for them.

        Raises
        ------
        LoadError
            The node does not fit the operator.
        """
        from tvm import relax

        self.filled = self.stand_ins([each if each is None else _info("", each.ty) for each in inputs])
        given = completed(inputs, {at: relax.const(array) for at, array in self.filled.items()})
        with quiet():
            made = lowering.run_type_rule(self.op.spec, [each.ty for each in given], self.call.attributes)
        self.types = tuple(made.fields) if isinstance(made, relax.TupleType) else (made,)
        if len(self.node.output) > len(self.types):
            raise LoadError(
                f"the node has {len(self.node.output)} outputs, {self.op.name} gives {len(self.types)}",
                self.where,
                "let compute return a tuple with one tensor for each output",
            )
        return self.call.bind(given)

    def stand_ins(self, inputs: Sequence[TensorInfo | None]) -> dict[int, Array]:
        """What stands for each input that is absent, by its position.

        Parameters
        ----------
        inputs : sequence of TensorInfo or None
            Shapes and dtypes of those that are there; their names do not matter.

        Raises
        ------
        LoadError
            Nothing stands for an input, or there are too many or too few.
        """
        spec = self.op.spec
        present = list(inputs)
        while present and present[-1] is None:
            present.pop()
        present += [None] * (len(spec.tensors) - len(present))
        if not spec.compute.accepts(len(present)):
            raise LoadError(
                f"the node has {len(present)} inputs, {spec.name} takes {len(spec.tensors)}",
                self.where,
                f"the signature is {spec.signature}",
            )
        types = {
            name: TensorInfo(name, each.shape, each.dtype)
            for name, each in zip(spec.tensors, present, strict=False)
            if each is not None
        }
        return {at: self._stand_in(at, types) for at, each in enumerate(present) if each is None}

    def _stand_in(self, position: int, types: Mapping[str, TensorInfo]) -> Array:
        tensors = self.op.spec.tensors
        name = tensors[position] if position < len(tensors) else ""
        if name not in self.absent:
            raise LoadError(
                f"the node leaves out the input {name or position}, which {self.op.name} takes",
                self.where,
                f"say what stands for it: register(…, absent={{{name or 'name'!r}: 0.0}}), "
                "or a function of the other inputs",
            )
        value = self.absent[name]
        if callable(value):
            value = _called(value, name, types, self.where)
        if isinstance(value, int | float):  # a bool too
            first = next(iter(types.values()), None)
            return np.asarray(value, first.dtype if first is not None and first.dtype else "float32")
        try:
            array = np.asarray(value)
        except ValueError:
            array = np.asarray(None)
        if array.dtype.kind not in "biuf":
            raise LoadError(
                f"what stands for the absent input {name} is {value!r}, no array of numbers",
                self.where,
                "give a number or an ndarray, or a function that returns one",
            )
        return array


def completed(inputs: Sequence[Any], stand_ins: Mapping[int, Any]) -> list[Any]:
    """The inputs with something in the place of each that is absent."""
    there = [at for at, each in enumerate(inputs) if each is not None]
    count = max([*there, *stand_ins], default=-1) + 1
    return [stand_ins[at] if at in stand_ins else inputs[at] for at in range(count)]


def _called(function: Callable[..., Any], name: str, types: Mapping[str, TensorInfo], where: str) -> Any:
    try:
        takes = inspect.signature(function).parameters
        return function(**{each: types[each] for each in takes})
    except KeyError as error:
        raise LoadError(
            f"absent: the function for {name} takes {error}, which is no tensor that the node gives",
            where,
            f"it may take {', '.join(types) or 'nothing'}, each with shape and dtype",
        ) from error
    except Exception as error:
        raise LoadError(
            f"absent: the function for {name} failed: {type(error).__name__}: {error}",
            where,
            "it is given " + (", ".join(map(str, types.values())) or "nothing"),
        ) from error


def described(node: NodeProto) -> str:
    """What an error calls a node."""
    full = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    return f"node {label(node)!r} ({full})"


def with_live_nodes(proto: ModelProto) -> tuple[ModelProto, dict[str, Any]]:
    """A model whose nodes of registered operators are nodes of our own domain, and the calls behind all of these.

    Returns
    -------
    ModelProto
        The model itself if there are no such nodes, else a copy.
    dict of str to LiveCall or PendingCall
        By each node's first output.

    Raises
    ------
    LoadError
        A node does not fit its operator.
    NameRefused, AttributeSchemaError
        A node of our own domain names no live operator, or gives it attributes that it does not take.
    """
    graph = OnnxGraph.of(proto)
    found = [(node, chosen(node, graph.versions)) for node in graph.nodes]
    calls: dict[str, Any] = {node.output[0]: _named_by(node) for node, _ in found if node.domain == DOMAIN}
    if not any(registration for _, registration in found):
        return proto, calls
    fresh = fresh_names(graph)
    nodes = []
    for node, registration in found:
        if registration is None:
            nodes.append(node)
        elif node.output:
            named = _with_names(node, fresh)
            call = pending_call(named, registration)
            calls[named.output[0]] = call
            nodes.append(_as_live(call))
    return _with_nodes(proto, nodes), calls


def _named_by(node: NodeProto) -> LiveCall:
    """The call that a node of our own domain stands for."""
    try:
        return call_of(node)
    except NameRefused as error:
        mend = f"{error.mend}; on the command line, --ops FILE.py"
        raise NameRefused(error.what, f"node {label(node)!r}", mend) from error


def _with_names(node: NodeProto, fresh: Callable[[str], str]) -> NodeProto:
    """The node with a name for each output that it leaves out before others."""
    named = onnx.NodeProto()
    named.CopyFrom(node)
    for at, name in enumerate(named.output):
        named.output[at] = name or fresh(f"{label(node)}_{at}")
    return named


def pending_call(node: NodeProto, registration: Registration) -> PendingCall:
    """The call that a node of a registered operator stands for.

    Raises
    ------
    LoadError
        Its attributes do not fit the operator.
    NameRefused
        The operator is not live.
    """
    where = described(node)
    op = ops.find(registration.op)
    given = given_attributes(node, op, registration.attributes, where)
    try:
        call = live_call(op, given)
    except TvmlabError as error:
        raise LoadError(error.what, where, error.mend) from error
    return PendingCall(call, node, registration.absent)


def _as_live(pending: PendingCall) -> NodeProto:
    return node_of(pending.call, pending.node)


def _with_nodes(proto: ModelProto, nodes: Sequence[NodeProto]) -> ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    del copy.graph.node[:]
    copy.graph.node.extend(nodes)
    used = {node.domain for graph in inner_graphs(copy.graph) for node in graph.node} | {"", "ai.onnx"}
    kept = [opset for opset in copy.opset_import if opset.domain in used - {DOMAIN}]
    del copy.opset_import[:]
    copy.opset_import.extend([*kept, helper.make_opsetid(DOMAIN, VERSION)])
    return copy


def settled(proto: ModelProto, live: Mapping[str, Any]) -> tuple[ModelProto, dict[str, LiveCall]]:
    """A model whose pending calls have been bound, with their absent inputs and outputs written down, and types.

    Parameters
    ----------
    proto : ModelProto
        Made by `with_live_nodes`; it is changed if a call was pending.
    """
    pending = {name: call for name, call in live.items() if isinstance(call, PendingCall)}
    if pending:
        fresh = fresh_names(OnnxGraph.of(proto))
        known = {info.name: info for info in [*proto.graph.value_info, *proto.graph.output]}
        for node in proto.graph.node:
            if node.domain == DOMAIN and node.output[0] in pending:
                _settle(proto, node, pending[node.output[0]], fresh, known)
    return proto, {name: call.call if name in pending else call for name, call in live.items()}


def _settle(
    proto: ModelProto,
    node: NodeProto,
    call: PendingCall,
    fresh: Callable[[str], str],
    known: Mapping[str, onnx.ValueInfoProto],
) -> None:
    stand_ins = {at: fresh(f"{label(node)}_absent_{at}") for at in call.filled}
    proto.graph.initializer.extend(numpy_helper.from_array(call.filled[at], name) for at, name in stand_ins.items())
    inputs = completed([name or None for name in node.input], stand_ins)
    del node.input[:]
    node.input.extend(inputs)
    node.output.extend(fresh(f"{label(node)}_{at}") for at in range(len(node.output), len(call.types)))
    for name, kind in zip(node.output, call.types, strict=True):
        info = _info(name, kind)
        if name in known:
            _refuse_contradiction(known[name], info, call)
        elif info.shape is not None and info.dtype and all(map(_is_dimension, info.shape)):
            elements = helper.np_dtype_to_tensor_dtype(np.dtype(info.dtype))
            proto.graph.value_info.append(helper.make_tensor_value_info(name, elements, info.shape))


def _refuse_contradiction(said: onnx.ValueInfoProto, info: TensorInfo, call: PendingCall) -> None:
    """Refuse a result that the model itself says is another: the operator is probably not the one that is meant."""
    tensor = said.type.tensor_type
    shape = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
    there = info.shape if info.shape is not None and tensor.HasField("shape") else None
    differs = there is not None and (
        len(there) != len(shape)
        or any(isinstance(a, int) and b not in (None, a) for a, b in zip(there, shape, strict=True))
    )
    if tensor.elem_type and info.dtype:
        differs |= helper.np_dtype_to_tensor_dtype(np.dtype(info.dtype)) != tensor.elem_type
    if differs:
        given = str(info).partition(": ")[2]
        claimed = onnx.TensorProto.DataType.Name(tensor.elem_type).lower() if tensor.elem_type else ""
        sizes = ", ".join("?" if d is None else str(d) for d in shape)
        raise LoadError(
            f"{call.op.name} gives {given}, the model says that {said.name} is {claimed}[{sizes}]",
            call.where,
            "is it the operator that the node means?  Correct its type_rule, or the model",
        )


def _unequal(dimension: int | str, said: int | None) -> bool:
    return isinstance(dimension, int) and said not in (None, dimension)


def _is_dimension(dimension: int | str) -> bool:
    return isinstance(dimension, int) or dimension.isidentifier()


def _info(name: str, kind: Any) -> TensorInfo:
    read = parameter_of(name, kind)
    return TensorInfo(name, read.shape, "" if read.dtype is None else read.dtype.name)
