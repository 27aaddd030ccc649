"""An operator as an ONNX function: its te expressions, written with ONNX's operators.

Sizes are symbols while it is read, so that the function holds for all of them.  Attributes that are floats stay
attributes of the function: the operator is read twice with other values of them, and what differs must be one of them.
Whatever has no counterpart in ONNX is named, and refused.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from tvm import te, tirx
from tvm.ir import Call, Var
from tvm.sym import Analyzer

from tvmlab.errors import CallError, ComputeError
from tvmlab.ops import lowering
from tvmlab.ops.attributes import REQUIRED
from tvmlab.runtime import quiet

if TYPE_CHECKING:
    from onnx import FunctionProto, NodeProto

    from tvmlab.ops.op import Op
    from tvmlab.ops.spec import OpSpec

__all__ = ["NotExpressible", "onnx_function"]

OLDEST = 15  # CastLike
_AXES_ARE_INPUTS = 18  # of ReduceMax and its kin

_BINARY = {
    "Add": "Add",
    "Sub": "Sub",
    "Mul": "Mul",
    "Div": "Div",
    "And": "And",
    "Or": "Or",
    "EQ": "Equal",
    "LT": "Less",
    "LE": "LessOrEqual",
    "GT": "Greater",
    "GE": "GreaterOrEqual",
}
_CALLS = {
    **{name: name.capitalize() for name in ("exp", "log", "sqrt", "tanh", "erf", "floor", "ceil", "sigmoid", "abs")},
    **{name: name.capitalize() for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh")},
    **{name: name.capitalize() for name in ("asinh", "acosh", "atanh", "pow")},
    "fabs": "Abs",
    "isnan": "IsNaN",
    "nearbyint": "Round",
}
_REDUCTIONS = {"Add": "ReduceSum", "Mul": "ReduceProd", "Max": "ReduceMax", "Min": "ReduceMin"}


class NotExpressible(ComputeError):
    """ONNX has no counterpart for something in an operator."""


def onnx_function(
    op: Op, attributes: Mapping[str, Any], domain: str | None = None, name: str | None = None, opset: int = 18
) -> FunctionProto:
    """See `Op.to_onnx_function`."""
    spec = op.spec
    if type(opset) is not int or not OLDEST <= opset <= onnx.defs.onnx_opset_version():
        raise CallError(
            f"opset={opset!r} is none that a function can be written in",
            mend=f"from {OLDEST} to {onnx.defs.onnx_opset_version()}",
        )
    namespace, short = spec.name.split(".")
    example = op.examination.symbolic
    if example is None:
        raise NotExpressible(
            f"{spec.name} does not lower for sizes that are symbols, and a function is for all sizes",
            lowering.location_of_compute(spec) or spec.signature,
            "let compute take any shape: x.shape in place of numbers",
        )
    # What is given is fixed, and so is what is no float; the others stay attributes.
    free = [a for a in spec.attributes if a.annotation is float and a.name not in attributes]
    needed = {a.name: float(example.attributes.get(a.name, 1.0)) for a in free if a.default is REQUIRED}
    values = spec.schema.values(spec.schema.make({**needed, **attributes}))
    readings = []
    for step in (1, 2):
        marks = {a.name: _mark(values[a.name], at, step) for at, a in enumerate(free)}
        given = {**values, **marks}
        reading = _Reading(spec, opset, marks)
        with quiet():
            reading.read(example.types, given)
        readings.append(reading)
    constants = _constants(*readings)
    fixed = ", ".join(f"{n}={v!r}" for n, v in values.items() if n not in readings[0].marks)
    return helper.make_function(
        domain or namespace,
        name or short,
        list(readings[0].inputs),
        readings[0].outputs,
        [*constants, *readings[0].nodes],
        [helper.make_opsetid("", opset)],
        attributes=list(needed),
        attribute_protos=[helper.make_attribute(a.name, float(values[a.name])) for a in free if a.name not in needed],
        doc_string=f"{spec.signature}; " + (f"fixed in it: {fixed}; " if fixed else "") + readings[0].rank_said,
    )


def _mark(value: float, position: int, step: int) -> float:
    """A number near an attribute's value that stands in no text, float32 all the same."""
    nudge = step * 1e-3 * math.sqrt(2 + position)
    near = value * (1 + nudge) + (nudge if value == 0 else 0)
    return float(np.float32(near))


@dataclasses.dataclass(frozen=True)
class _Value:
    """A value of the function: its name, and which axes it varies along; it has a dimension for each, or none."""

    name: str
    axes: frozenset[int] = frozenset()
    dtype: str = "float32"


class _Reading:
    """One reading of an operator for one set of attributes: nodes, and the constants that they use."""

    def __init__(self, spec: OpSpec, opset: int, marks: Mapping[str, float]) -> None:
        self.spec, self.opset, self.marks = spec, opset, marks
        self.nodes: list[NodeProto] = []
        self.constants: list[tuple[str, str, float]] = []  # name, dtype, value
        self.inputs: tuple[str, ...] = spec.tensors
        self.outputs: list[str] = []
        self.rank_said = "for any rank"
        self._made: dict[Any, str] = {}
        self._known: dict[tuple[Any, ...], str] = {}
        self._sizes: dict[Any, tuple[str, int]] = {}
        self._analyzer = Analyzer()
        self._ranks: tuple[int, ...] = ()
        self._main = "float32"

    def read(self, types: Sequence[Any], attributes: Mapping[str, Any]) -> None:
        """Write nodes for what the operator computes on inputs of these types."""
        if len(types) != len(self.inputs):
            self.inputs = (*self.inputs, *(f"x{at}" for at in range(len(self.inputs), len(types))))
        tensors = [te.placeholder(t.shape.values, str(t.dtype), n) for t, n in zip(types, self.inputs, strict=True)]
        self._ranks = tuple(len(t.shape) for t in tensors)
        self._main = str(tensors[0].dtype) if tensors else "float32"
        for tensor, name in zip(tensors, self.inputs, strict=True):
            self._made[tensor] = name
            for at, size in enumerate(tensor.shape):
                if isinstance(size, Var):
                    self._sizes.setdefault(size, (name, at))
        results = lowering.run_compute(self.spec, tensors, attributes)
        for at, tensor in enumerate(results):
            output = "result" if len(results) == 1 else f"result{at}"
            self.nodes.append(helper.make_node("Identity", [self._named(tensor)], [output]))
            self.outputs.append(output)

    def refuse(self, what: str) -> NotExpressible:
        """The error for something that ONNX does not have."""
        return NotExpressible(
            f"{self.spec.name} cannot be an ONNX function: {what}",
            lowering.location_of_compute(self.spec) or self.spec.signature,
            "register it for its nodes instead: tl.onnx.register(domain, type, op)",
        )

    def emit(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The value of a node; that of an equal one if there is one."""
        key = (kind, inputs, tuple(sorted((n, str(v)) for n, v in attributes.items())))
        if key not in self._known:
            self._known[key] = f"v{len(self._known)}"
            self.nodes.append(helper.make_node(kind, list(inputs), [self._known[key]], **attributes))
        return self._known[key]

    def constant(self, value: float, dtype: str) -> str:
        """A scalar constant; of the inputs' dtype if it is of the first one's."""
        name = f"c{len(self.constants)}"
        self.constants.append((name, dtype, value))
        return self.emit("CastLike", name, self.inputs[0]) if self._is_main(dtype) else name

    def _is_main(self, dtype: str) -> bool:
        return bool(self.inputs) and dtype == self._main

    def integers(self, values: Sequence[int]) -> str:
        """A list of integers as a value."""
        tensor = numpy_helper.from_array(np.array(values, np.int64))
        return self.emit("Constant", value=tensor)

    def _named(self, tensor: Any) -> str:
        """The value that a tensor is."""
        if tensor not in self._made:
            self._made[tensor] = self._stage(tensor)
        return self._made[tensor]

    def _stage(self, tensor: Any) -> str:
        if not isinstance(tensor.op, te.ComputeOp):
            raise self.refuse(f"it uses a {type(tensor.op).__name__}, whose code is not a te.compute")
        spatial = [axis.var for axis in tensor.op.axis]
        body = tensor.op.body[tensor.value_index]
        if type(body).__name__ == "Reduce":
            return self._reduced(tensor, body, spatial)
        value = self._value(body, _Axes(tensor, spatial))
        return self._whole(value, tensor, spatial)

    def _whole(self, value: _Value, tensor: Any, spatial: Sequence[Any]) -> str:
        """The value with a dimension for each axis."""
        extents = tensor.shape
        missing = [at for at in range(len(spatial)) if at not in value.axes]
        for at in missing:
            if not self._equal(extents[at], 1):
                raise self.refuse(f"nothing that {tensor.op.name} reads has the size of its axis {at}")
        if not missing:
            return value.name
        if not value.axes:
            return self.emit("Reshape", value.name, self.integers([1] * len(spatial)))
        return value.name  # what varies along an axis has a dimension, of size 1 if need be, for each

    def _reduced(self, tensor: Any, reduction: Any, spatial: Sequence[Any]) -> str:
        along = [axis.var for axis in reduction.axis]
        kind = type(reduction.combiner.result[0]).__name__
        if len(reduction.source) != 1 or kind not in _REDUCTIONS:
            raise self.refuse(f"its reduction {tensor.op.name} is no sum, product, maximum or minimum")
        if any(not self._equal(axis.dom.min, 0) for axis in reduction.axis):
            raise self.refuse(f"its reduction {tensor.op.name} does not begin at 0")
        axes = _Axes(tensor, [*spatial, *along], [*tensor.shape, *(axis.dom.extent for axis in reduction.axis)])
        source = reduction.source[reduction.value_index]
        if kind == "Add" and (product := self._einsum(source, axes, len(spatial))) is not None:
            return product
        value = self._value(source, axes)
        absent = [at for at in range(len(axes.variables)) if at not in value.axes]
        if absent:
            raise self.refuse(f"nothing that {tensor.op.name} reads has the size of its axis {absent[0]}")
        positions = list(range(len(spatial), len(axes.variables)))
        self._say_rank()
        operator = _REDUCTIONS[kind]
        if operator == "ReduceSum" or self.opset >= _AXES_ARE_INPUTS:
            return self.emit(operator, value.name, self.integers(positions), keepdims=0)
        return self.emit(operator, value.name, axes=positions, keepdims=0)

    def _einsum(self, source: Any, axes: _Axes, spatial: int) -> str | None:
        """A sum of products of two reads: a matrix product and its kin."""
        if type(source).__name__ != "Mul":
            return None
        letters = "abcdefghijklmnopqrstuvwxyz"
        names, terms = [], []
        for each in (source.a, source.b):
            if not (isinstance(each, Call) and each.op.name.endswith("tensor_load")):
                return None
            loaded, *index = each.args
            at = [axes.position(i) for i in index]
            if any(position is None for position in at) or len(set(at)) < len(at):
                return None
            self._require_whole(loaded, at, axes)
            names.append(self._named(loaded))
            terms.append("".join(letters[position] for position in at if position is not None))
        result = letters[:spatial]
        if not set(letters[: len(axes.variables)]) <= set("".join(terms)):
            return None
        self._say_rank()
        return self.emit("Einsum", *names, equation=f"{','.join(terms)}->{result}")

    def _say_rank(self) -> None:
        ranks = ", ".join(map(str, self._ranks))
        self.rank_said = f"for inputs with {ranks} dimensions"

    def _equal(self, one: Any, other: Any) -> bool:
        return bool(self._analyzer.can_prove_equal(one, other))

    def _value(self, node: Any, axes: _Axes) -> _Value:
        kind = type(node).__name__
        if kind in ("IntImm", "FloatImm"):
            dtype = _dtype(node)
            return _Value(self.constant(node.value, dtype), dtype=dtype)
        if isinstance(node, Var):
            return self._size(node)
        if isinstance(node, Call):
            return self._call(node, axes)
        if kind in ("Max", "Min"):
            # TVM's max(a, b) is a where a > b, else b: a NaN in a is lost, one in b stays.
            a, b = self._value(node.a, axes), self._value(node.b, axes)
            compared = self.emit("Greater" if kind == "Max" else "Less", a.name, b.name)
            return _Value(self.emit("Where", compared, a.name, b.name), a.axes | b.axes, _dtype(node))
        if kind == "NE":
            a, b = self._value(node.a, axes), self._value(node.b, axes)
            return _Value(self.emit("Not", self.emit("Equal", a.name, b.name)), a.axes | b.axes, "bool")
        if kind == "Div" and "float" not in _dtype(node):
            raise self.refuse("it divides integers, which ONNX rounds otherwise")
        if kind in _BINARY:
            a, b = self._value(node.a, axes), self._value(node.b, axes)
            return _Value(self.emit(_BINARY[kind], a.name, b.name), a.axes | b.axes, _dtype(node))
        if kind == "Not":
            a = self._value(node.a, axes)
            return _Value(self.emit("Not", a.name), a.axes, "bool")
        if kind == "Select":
            return self._where(node.condition, node.true_value, node.false_value, axes)
        if kind == "Cast":
            return self._cast(self._value(node.value, axes), _dtype(node))
        raise self.refuse(f"ONNX has no operator for {kind}, as in {_short(node)}")

    def _cast(self, value: _Value, dtype: str) -> _Value:
        if self._is_main(dtype):
            return _Value(self.emit("CastLike", value.name, self.inputs[0]), value.axes, dtype)
        elements = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return _Value(self.emit("Cast", value.name, to=elements), value.axes, dtype)

    def _where(self, condition: Any, yes: Any, no: Any, axes: _Axes) -> _Value:
        parts = [self._value(each, axes) for each in (condition, yes, no)]
        name = self.emit("Where", *(part.name for part in parts))
        return _Value(name, frozenset().union(*(part.axes for part in parts)), parts[1].dtype)

    def _size(self, variable: Any) -> _Value:
        """A size that is computed with, such as the n of a mean."""
        if variable not in self._sizes:
            raise self.refuse(f"it computes with the position of an element ({variable})")
        name, at = self._sizes[variable]
        self._say_rank()
        size = self.emit("Gather", self.emit("Shape", name), self.emit("Constant", value_int=at))
        return _Value(self.emit("Cast", size, to=_tensor_type(str(variable.ty))), dtype=str(variable.ty))

    def _call(self, node: Any, axes: _Axes) -> _Value:
        name = node.op.name.rsplit(".", 1)[-1]
        if name == "tensor_load":
            return self._load(node.args[0], list(node.args[1:]), axes)
        if name == "if_then_else":
            condition, yes, no = node.args
            return self._where(condition, yes, no, axes)
        if name == "likely":
            return self._value(node.args[0], axes)
        if name == "rsqrt":
            root = self._value(node.args[0], axes)
            return _Value(self.emit("Reciprocal", self.emit("Sqrt", root.name)), root.axes, root.dtype)
        if name not in _CALLS:
            raise self.refuse(f"ONNX has no operator for {name}, as in {_short(node)}")
        parts = [self._value(each, axes) for each in node.args]
        made = self.emit(_CALLS[name], *(part.name for part in parts))
        return _Value(made, frozenset().union(*(part.axes for part in parts)), _dtype(node))

    def _load(self, tensor: Any, index: Sequence[Any], axes: _Axes) -> _Value:
        """A tensor as it is read: a dimension for each axis, in their order, of size 1 where it does not vary."""
        name = self._named(tensor)
        at = [axes.position(each) for each in index]
        fixed = [place for place, position in enumerate(at) if position is None]
        for place in reversed(fixed):
            if not isinstance(index[place], tirx.IntImm):
                raise self.refuse(f"it reads {tensor.op.name} at {_short(index[place])}, which is no axis as it is")
            name = self.emit("Gather", name, self.emit("Constant", value_int=int(index[place])), axis=place)
        self._require_whole(tensor, at, axes)
        varying = [position for position in at if position is not None]
        if len(set(varying)) < len(varying):
            raise self.refuse(f"it reads a diagonal of {tensor.op.name}")
        order = sorted(range(len(varying)), key=varying.__getitem__)
        if order != list(range(len(order))):
            name = self.emit("Transpose", name, perm=order)
        missing = [place for place in range(len(axes.variables)) if place not in varying]
        if varying and missing:
            name = self.emit("Unsqueeze", name, self.integers(missing))
        if missing or fixed or order != list(range(len(order))):
            self._say_rank()
        return _Value(name, frozenset(varying), str(tensor.dtype))

    def _require_whole(self, tensor: Any, at: Sequence[int | None], axes: _Axes) -> None:
        for place, position in enumerate(at):
            if position is not None and not self._equal(tensor.shape[place], axes.extents[position]):
                raise self.refuse(
                    f"it reads {tensor.op.name} along axis {place} from 0 to {_short(axes.extents[position])}, "
                    f"a part of its {_short(tensor.shape[place])}"
                )


class _Axes:
    """The axes of a te.compute, those that it reduces over last."""

    def __init__(self, tensor: Any, variables: Sequence[Any], extents: Sequence[Any] | None = None) -> None:
        self.variables = list(variables)
        self.extents = list(tensor.shape) if extents is None else list(extents)

    def position(self, index: Any) -> int | None:
        """Which axis an index is; None if it is none as it is."""
        return next((at for at, each in enumerate(self.variables) if index is each or _same(index, each)), None)


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, Var) and bool(one.same_as(other))


def _dtype(node: Any) -> str:
    return str(getattr(node, "dtype", None) or node.ty)


def _tensor_type(dtype: str) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _short(node: Any) -> str:
    text = " ".join(str(node).split())
    return text if len(text) <= 60 else f"{text[:57]}…"


def _constants(one: _Reading, other: _Reading) -> list[NodeProto]:
    """Nodes for the constants: numbers where both readings agree, else the attribute that makes the difference.

    Raises
    ------
    NotExpressible
        Something else differs.
    """
    fixed = list(one.marks)
    if one.nodes != other.nodes or len(one.constants) != len(other.constants):
        raise one.refuse(
            f"what it computes depends on {' and '.join(fixed)} otherwise than by the number itself; "
            f"fix it: to_onnx_function({', '.join(f'{name}=…' for name in fixed)})"
        )
    nodes: list[NodeProto] = []
    for (name, dtype, first), (_, _, second) in zip(one.constants, other.constants, strict=True):
        if first == second or (first != first and second != second):  # noqa: PLR0124 - NaN
            tensor = numpy_helper.from_array(np.asarray(first, dtype))
            nodes.append(helper.make_node("Constant", [], [name], value=tensor))
            continue
        attribute, sign = _attribute(one, other, first, second)
        made = name if sign > 0 else f"{name}_positive"
        node = helper.make_node("Constant", [], [made])
        node.attribute.append(
            onnx.AttributeProto(name="value_float", ref_attr_name=attribute, type=onnx.AttributeProto.FLOAT)
        )
        nodes.append(node)
        if sign < 0:
            nodes.append(helper.make_node("Neg", [made], [name]))
    return nodes


def _attribute(one: _Reading, other: _Reading, first: float, second: float) -> tuple[str, int]:
    for name, mark in one.marks.items():
        for sign in (1, -1):
            if np.float32(first) == np.float32(sign * mark) and np.float32(second) == np.float32(
                sign * other.marks[name]
            ):
                return name, sign
    names = list(one.marks)
    raise one.refuse(
        f"Python computes the number {first:.6g} from {' or '.join(names)}, which a function cannot; "
        f"fix it: to_onnx_function({', '.join(f'{name}=…' for name in names)})"
    )
