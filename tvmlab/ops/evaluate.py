"""Evaluate one element of a te.compute by hand, in Python.

It takes microseconds where compiling takes tens of milliseconds, which is what a check after every cell can afford.
Only pure arithmetic is known; anything else raises `NotEvaluable`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tvm import te
from tvm.ir import Call, Var, prim


class NotEvaluable(Exception):
    """The expression holds something that is not evaluated here."""


def _divide(a: float, b: float) -> float:
    if isinstance(a, int) and isinstance(b, int) and b != 0:
        return int(a / b)
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _select_max(a: Any, b: Any) -> Any:
    return max(b, a)


def _select_min(a: Any, b: Any) -> Any:
    return min(b, a)


# TVM lowers max(a, b) to select(a > b, a, b): a NaN in a is lost, a NaN in b stays.
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": _divide,
    "FloorDiv": operator.floordiv,
    "FloorMod": operator.mod,
    "Mod": lambda a, b: int(math.fmod(a, b)) if isinstance(a, int) else math.fmod(a, b),
    "BitwiseAnd": operator.and_,
    "BitwiseOr": operator.or_,
    "BitwiseXor": operator.xor,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "Max": _select_max,
    "Min": _select_min,
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}


def _domain(function: Callable[..., float]) -> Callable[..., float]:
    def guarded(*args: float) -> float:
        try:
            return function(*args)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return guarded


_CALLS: dict[str, Callable[..., Any]] = {
    **{
        name: _domain(getattr(math, name))
        for name in ("exp", "log", "log2", "sqrt", "tanh", "sin", "cos", "erf", "pow")
    },
    **{name: _domain(getattr(math, name)) for name in ("floor", "ceil", "trunc", "atan", "sinh", "cosh", "log1p")},
    "fabs": abs,
    "abs": abs,
    "sigmoid": lambda x: 1 / (1 + _domain(math.exp)(-x)),
    "rsqrt": lambda x: _divide(1.0, _domain(math.sqrt)(x)),
    "isnan": math.isnan,
}


def element(tensor: te.Tensor, index: Sequence[int], inputs: Mapping[te.Tensor, Any]) -> Any:
    """Value of one element of a te tensor.

    Parameters
    ----------
    tensor : te.Tensor
        The result of a te.compute without reductions.
    index : sequence of int
        Which element.
    inputs : mapping
        Arrays (anything indexed by a tuple of ints) by placeholder.

    Raises
    ------
    NotEvaluable
        For a reduction, an extern, or an intrinsic that is not known here.
    """
    for known, array in inputs.items():
        if known.same_as(tensor):
            return array[tuple(index)]
    if not isinstance(tensor.op, te.ComputeOp):
        raise NotEvaluable(type(tensor.op).__name__)
    bound = {axis.var: value for axis, value in zip(tensor.op.axis, index, strict=True)}
    return _value(tensor.op.body[tensor.value_index], bound, inputs)


def _value(node: Any, bound: Mapping[Var, int], inputs: Mapping[te.Tensor, Any]) -> Any:
    kind = type(node).__name__
    if kind in ("IntImm", "FloatImm"):
        return node.value
    if isinstance(node, Var) and node in bound:
        return bound[node]
    if kind == "And":
        return _value(node.a, bound, inputs) and _value(node.b, bound, inputs)
    if kind == "Or":
        return _value(node.a, bound, inputs) or _value(node.b, bound, inputs)
    if kind == "Not":
        return not _value(node.a, bound, inputs)
    if kind in _BINARY:
        return _BINARY[kind](_value(node.a, bound, inputs), _value(node.b, bound, inputs))
    if kind == "Cast":
        value = _value(node.value, bound, inputs)
        return float(value) if "float" in str(node.ty) else int(value)
    if kind == "Select":
        chosen = node.true_value if _value(node.condition, bound, inputs) else node.false_value
        return _value(chosen, bound, inputs)
    if isinstance(node, Call):
        return _call(node, bound, inputs)
    raise NotEvaluable(kind)


def _call(node: Call, bound: Mapping[Var, int], inputs: Mapping[te.Tensor, Any]) -> Any:
    name = node.op.name.rsplit(".", 1)[-1]
    if name == "tensor_load":
        source, *index = node.args
        return element(source, [_value(i, bound, inputs) for i in index], inputs)
    if name == "if_then_else":
        condition, yes, no = node.args
        return _value(yes if _value(condition, bound, inputs) else no, bound, inputs)
    if name == "likely":
        return _value(node.args[0], bound, inputs)
    if name in _CALLS:
        return _CALLS[name](*(_value(a, bound, inputs) for a in node.args))
    raise NotEvaluable(name)


def compute_value(node: Any, bound: Mapping[Var, int]) -> Any:
    """Value of an expression of axes alone.

    Raises
    ------
    NotEvaluable
        If it reads a tensor, or holds something that is not evaluated here.
    """
    return _value(node, bound, {})


def depth(tensors: Sequence[te.Tensor], limit: int) -> int:
    """Depth of the deepest expression of te tensors, counted up to `limit`.

    A visitor in C++ recurses once a level, and a deep expression overflows its stack, which ends the process.
    """
    seen: set[Any] = set()  # tensors without axes cannot be compared, and so not be in a set
    deepest = 0
    queue: list[Any] = list(tensors)
    while queue:
        tensor = queue.pop()
        if tensor.op in seen or not isinstance(tensor.op, te.ComputeOp):
            continue
        seen.add(tensor.op)
        level: list[Any] = list(tensor.op.body)
        count = 0
        while level and count <= limit:
            count += 1
            queue.extend(loaded for node in level for loaded in _loaded(node))
            level = [child for node in level for child in children(node)]
        deepest = max(deepest, count)
    return deepest


def _loaded(node: Any) -> list[te.Tensor]:
    return [a for a in node.args if isinstance(a, te.Tensor)] if isinstance(node, Call) else []


def children(node: Any) -> list[Any]:
    """The expressions directly inside an expression; the tensors that it reads are not among them."""
    if isinstance(node, Call):
        return [a for a in node.args if not isinstance(a, te.Tensor)]
    if isinstance(node, prim.Let):
        return [node.value, node.body]
    if isinstance(node, prim.Select):
        return [node.condition, node.true_value, node.false_value]
    if hasattr(node, "a") and hasattr(node, "b"):
        return [node.a, node.b]
    if hasattr(node, "source"):
        return [*node.source, node.condition]
    if type(node).__name__ in ("Cast", "Not"):
        return [node.value if hasattr(node, "value") else node.a]
    return []
