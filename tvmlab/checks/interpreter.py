"""Evaluate a te.compute in NumPy, all elements at once, and bound the rounding error of each.

A kernel that reads outside of its inputs or divides an integer by zero ends the process.  Here the same inputs only
make a remark.  The arithmetic is the kernel's: one rounding an operation, in the dtype of each expression, reductions
in the order of their loops.  Beside each value runs a bound of its distance from the exact one, so that a comparison
needs no tolerance of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm import te
from tvm.ir import Call, Var
from tvm.tirx import IntImm

from tvmlab.ops.evaluate import NotEvaluable

__all__ = ["MAX_POINTS", "Decision", "Evaluation", "evaluate"]

Array = NDArray[Any]

MAX_POINTS = 1 << 18
"""Elements of one stage, reduction axes counted, that are evaluated at most."""
_MAX_STEPS = 4096
_ULPS_OF_FUNCTION = 4.0
"""Error of a function of the C library or of TVM's own approximations, in units in the last place, with a reserve."""


@dataclass
class Decision:
    """Which of two values a kernel compares is the larger, over all elements that were evaluated.

    Parameters
    ----------
    node
        The comparison, maximum or minimum.
    below, equal, above : int
        Elements whose first value is smaller than, equal to, larger than the second.
    difference : ndarray
        First minus second, of the last evaluation.
    """

    node: Any
    below: int = 0
    equal: int = 0
    above: int = 0
    difference: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def decided_both_ways(self) -> bool:
        """Whether some elements went one way and some the other."""
        return self.below > 0 and self.above > 0


@dataclass
class Evaluation:
    """Values, error bounds and what was seen on the way.

    Parameters
    ----------
    outputs : list of ndarray
        In the kernel's dtypes.
    errors : list of ndarray
        Bounds of the absolute rounding error, float64, of the outputs' shapes.
    decisions : dict
        `Decision` by its place in the expression.
    hazards : list of str
        What would be undefined, or end the process, if a kernel did it.
    """

    outputs: list[Array]
    errors: list[Array]
    decisions: dict[Any, Decision]
    hazards: list[str]


class _Value:
    """An array, the bound of its error, and whether it depends on the inputs' elements."""

    __slots__ = ("data", "error", "value")

    def __init__(self, value: Any, error: Any = 0.0, data: bool = False) -> None:
        self.value, self.error, self.data = value, error, data


def evaluate(
    outputs: Sequence[te.Tensor],
    inputs: Mapping[te.Tensor, Array],
    decisions: dict[Any, Decision] | None = None,
    precision: str | None = None,
) -> Evaluation:
    """Evaluate te tensors on arrays.

    Parameters
    ----------
    outputs : sequence of te.Tensor
        With known sizes.
    inputs : mapping
        The array of each placeholder.
    decisions : dict, optional
        Where decisions are counted; those of an earlier evaluation of the same tensors are added to.
    precision : str, optional
        A floating-point dtype whose rounding alone is excused: what is lost on the way in a narrower one is an error.

    Raises
    ------
    NotEvaluable
        If they hold an extern, a scan, an unknown function, a symbolic size, or too many elements.
    """
    run = _Run(inputs, {} if decisions is None else decisions, precision)
    with np.errstate(all="ignore"):
        values = [run.tensor(output) for output in outputs]
    shapes = [tuple(int(d) for d in output.shape) for output in outputs]
    return Evaluation(
        [np.array(np.broadcast_to(v.value, s)) for v, s in zip(values, shapes, strict=True)],
        [np.broadcast_to(np.asarray(v.error, "float64"), s) for v, s in zip(values, shapes, strict=True)],
        run.decisions,
        run.hazards,
    )


class _Run:
    def __init__(
        self, inputs: Mapping[te.Tensor, Array], decisions: dict[Any, Decision], precision: str | None
    ) -> None:
        self.precision = None if precision is None else np.dtype(precision)
        self.known: dict[tuple[Any, int], _Value] = {}
        for tensor, array in inputs.items():
            self.known[tensor.op, tensor.value_index] = _Value(np.asarray(array), 0.0, True)
        self.decisions = decisions
        self.hazards: list[str] = []
        self.place = 0
        self.bound: dict[Var, _Value] = {}
        self.mask: Any = True

    def tensor(self, tensor: te.Tensor) -> _Value:
        key = (tensor.op, tensor.value_index)
        if key not in self.known:
            if not isinstance(tensor.op, te.ComputeOp):
                raise NotEvaluable(type(tensor.op).__name__)
            for loaded in tensor.op.input_tensors:
                self.tensor(loaded)
            self._compute(tensor)
        return self.known[key]

    def _compute(self, tensor: te.Tensor) -> None:
        axes = [*tensor.op.axis, *tensor.op.reduce_axis]
        if not all(isinstance(a.dom.extent, IntImm) for a in axes):
            raise NotEvaluable("symbolic sizes")
        sizes = [int(a.dom.extent) for a in axes]
        if math.prod(sizes) > MAX_POINTS:
            raise NotEvaluable("too many elements")
        self.bound, self.mask = {}, np.True_
        for number, axis in enumerate(axes):
            shape = [1] * len(axes)
            shape[number] = sizes[number]
            start = int(axis.dom.min)
            self.bound[axis.var] = _Value(np.arange(start, start + sizes[number]).reshape(shape))
        spatial = tuple(sizes[: len(tensor.op.axis)])
        bodies = list(tensor.op.body)
        if tensor.op.reduce_axis:
            results = self._reduce(bodies[0], sizes, len(spatial))
        else:
            results = [self.node(body) for body in bodies]
        for index, result in enumerate(results):
            value = np.broadcast_to(np.asarray(result.value), spatial)
            error = np.broadcast_to(np.asarray(result.error, "float64"), spatial)
            self.known[tensor.op, index] = _Value(value, error, True)

    def _reduce(self, reduction: Any, sizes: list[int], spatial: int) -> list[_Value]:
        """Combine element after element, in the order of the loops."""
        steps = math.prod(sizes[spatial:])
        if steps > _MAX_STEPS:
            raise NotEvaluable("too long a reduction")
        sources = []
        for each in reduction.source:
            made = self.node(each)
            full = np.broadcast_to(made.value, sizes).reshape([*sizes[:spatial], steps])
            error = np.broadcast_to(np.asarray(made.error, "float64"), sizes).reshape(full.shape)
            sources.append((full, error, made.data))
        combiner = reduction.combiner
        if steps and len(sources) == 1 and _adds(combiner):
            return [self._sum(*sources[0])]
        outer, self.mask = self.mask, np.True_
        total = [self.node(identity) for identity in combiner.identity_element]
        first = self.place
        for step in range(steps):
            self.place = first
            for variable, left in zip(combiner.lhs, total, strict=True):
                self.bound[variable] = left
            for variable, (full, error, data) in zip(combiner.rhs, sources, strict=True):
                self.bound[variable] = _Value(full[..., step], error[..., step], data)
            total = [self.node(result) for result in combiner.result]
        self.mask = outer
        return total

    def _sum(self, full: Array, error: Array, data: bool) -> _Value:
        """The sum along the last axis, rounded after each addition as a loop does."""
        partial = np.add.accumulate(full, axis=-1, dtype=full.dtype)
        rounding = np.asarray(_rounding(partial[..., 1:], self._excused(partial.dtype)))
        total = error.sum(axis=-1) + rounding.sum(axis=-1, initial=0.0)
        return _Value(partial[..., -1], _settled(partial[..., -1], total), data)

    def node(self, node: Any) -> _Value:
        kind = type(node).__name__
        handler = _HANDLERS.get(kind)
        if handler is not None:
            return handler(self, node)
        if kind in _ARITHMETIC:
            return self._arithmetic(kind, node)
        if kind in _COMPARISONS:
            return self._compare(kind, node)
        raise NotEvaluable(kind)

    def on_constant(self, node: Any) -> _Value:
        dtype = _dtype(node)
        value = np.asarray(node.value).astype(dtype)
        exact = dtype.kind != "f" or _exact(value)
        return _Value(value, 0.0 if exact else _rounding(value, self._excused(dtype)))

    def _excused(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The dtype whose rounding is no error."""
        narrow = self.precision is not None and dtype.kind == "f" and dtype.itemsize < self.precision.itemsize
        return self.precision if narrow and self.precision is not None else dtype

    def on_variable(self, node: Var) -> _Value:
        if node not in self.bound:
            raise NotEvaluable(f"the variable {node.name}")
        return self.bound[node]

    def _arithmetic(self, kind: str, node: Any) -> _Value:
        a, b = self.node(node.a), self.node(node.b)
        dtype = _dtype(node)
        if dtype.kind == "b":
            raise NotEvaluable(f"{kind} of booleans")  # NumPy has no difference of them, and other quotients
        if dtype.kind in "iu" and kind in ("Div", "FloorDiv", "FloorMod", "Mod"):
            b = self._divisor(a, b, dtype)
        value = np.asarray(_ARITHMETIC[kind](a.value, b.value)).astype(dtype)
        data = a.data or b.data
        if kind in ("Max", "Min"):
            self._decide(node, a, b)
        return _Value(value, _error(kind, a, b, value, self._excused(dtype)), data)

    def _divisor(self, a: _Value, b: _Value, dtype: np.dtype[Any]) -> _Value:
        zero = np.asarray(b.value) == 0
        overflow = (np.asarray(b.value) == -1) & (np.asarray(a.value) == np.iinfo(dtype).min)
        if np.any((zero | overflow) & self.mask):
            self.hazards.append("an integer is divided by zero" if np.any(zero & self.mask) else "a quotient overflows")
        return _Value(np.where(zero | overflow, np.asarray(1, np.asarray(b.value).dtype), b.value), b.error, b.data)

    def _compare(self, kind: str, node: Any) -> _Value:
        a, b = self.node(node.a), self.node(node.b)
        self._decide(node, a, b)
        doubt = _doubt(a, b)
        return _Value(np.asarray(_COMPARISONS[kind](a.value, b.value)), doubt, a.data or b.data)

    def _decide(self, node: Any, a: _Value, b: _Value) -> None:
        self.place += 1
        if not (a.data or b.data):
            return
        decision = self.decisions.setdefault(self.place, Decision(node))
        decision.difference = np.asarray(a.value, "float64") - np.asarray(b.value, "float64")
        seen = np.broadcast_to(decision.difference, np.broadcast_shapes(decision.difference.shape, np.shape(self.mask)))
        seen = seen[np.broadcast_to(self.mask, seen.shape)]
        decision.below += int(np.count_nonzero(seen < 0))
        decision.equal += int(np.count_nonzero(seen == 0))
        decision.above += int(np.count_nonzero(seen > 0))

    def on_logic(self, node: Any) -> _Value:
        a, b = self.node(node.a), self.node(node.b)
        combine = np.logical_and if type(node).__name__ == "And" else np.logical_or
        return _Value(combine(a.value, b.value), np.maximum(a.error, b.error), a.data or b.data)

    def on_not(self, node: Any) -> _Value:
        a = self.node(node.a)
        return _Value(np.logical_not(a.value), a.error, a.data)

    def on_cast(self, node: Any) -> _Value:
        a = self.node(node.value)
        dtype, old = _dtype(node), np.asarray(a.value).dtype
        value = np.asarray(a.value).astype(dtype)
        if dtype.kind == "f":
            return _Value(value, a.error + (_rounding(value, self._excused(dtype)) if old != dtype else 0.0), a.data)
        if old.kind != "f":
            return _Value(value, a.error, a.data)
        low, high = (np.trunc(np.asarray(a.value, "float64") + sign * a.error) for sign in (-1, 1))
        limits = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        defined = np.isfinite(a.value) & (low >= limits[0]) & (high <= limits[1])
        return _Value(value, np.where(defined | (dtype.kind == "b"), high - low, np.inf), a.data)

    def on_select(self, node: Any) -> _Value:
        condition = self.node(node.condition)
        return _chosen(condition, self.node(node.true_value), self.node(node.false_value))

    def on_let(self, node: Any) -> _Value:
        self.bound[node.var] = self.node(node.value)
        return self.node(node.body)

    def on_call(self, node: Call) -> _Value:
        name = str(getattr(node.op, "name", "")).rsplit(".", 1)[-1]
        if name == "tensor_load":
            source, *index = node.args
            return self._load(source, [self.node(i) for i in index])
        if name == "if_then_else":
            return self._branch(*node.args)
        if name == "likely":
            return self.node(node.args[0])
        if name in _FUNCTIONS:
            return self._function(_FUNCTIONS[name], [self.node(a) for a in node.args], _dtype(node), name)
        raise NotEvaluable(name or "a call")

    def _branch(self, condition: Any, yes: Any, no: Any) -> _Value:
        asked = self.node(condition)
        outer = self.mask
        self.mask = outer & np.asarray(asked.value, bool)
        first = self.node(yes)
        self.mask = outer & ~np.asarray(asked.value, bool)
        second = self.node(no)
        self.mask = outer
        return _chosen(asked, first, second)

    def _load(self, source: te.Tensor, index: list[_Value]) -> _Value:
        stored = self.known[source.op, source.value_index]
        places, doubt = [], False
        for axis, (at, size) in enumerate(zip(index, np.shape(stored.value), strict=True)):
            wanted = np.asarray(at.value)
            if wanted.dtype.kind not in "iu":
                raise NotEvaluable("an index that is no integer")
            outside = ((wanted < 0) | (wanted >= size)) & self.mask
            if np.any(outside):
                first = int(np.broadcast_to(wanted, outside.shape)[outside].flat[0])
                self.hazards.append(f"{source.op.name} is read at {first} on axis {axis}, whose size is {size}")
            doubt = doubt or bool(np.any(at.error))
            places.append(np.clip(wanted, 0, max(size - 1, 0)))
        if 0 in np.shape(stored.value):
            shape = np.broadcast_shapes(*(p.shape for p in places))
            return _Value(np.zeros(shape, np.asarray(stored.value).dtype), 0.0, True)
        at_once = tuple(places)
        error = stored.error[at_once] if np.ndim(stored.error) else stored.error
        return _Value(stored.value[at_once], np.inf if doubt else error, True)

    def _function(self, function: Callable[..., Any], args: list[_Value], dtype: np.dtype[Any], name: str) -> _Value:
        wide = [np.asarray(a.value).astype("float64") for a in args]
        exact = np.asarray(function(*wide))
        value = exact.astype(dtype)
        if dtype.kind != "f":
            doubtful = any(np.any(a.error) for a in args)
            return _Value(value, 1.0 if doubtful else 0.0, any(a.data for a in args))
        error = np.zeros(exact.shape)
        if any(np.any(a.error) for a in args):
            for signs in [(-1, -1), (1, 1)] + [(-1, 1)] * (len(args) == 2):
                moved = function(*(w + s * a.error for w, s, a in zip(wide, signs, args, strict=False)))
                error = np.maximum(error, np.where(moved == exact, 0.0, np.abs(moved - exact)))
        own = (
            0.0 if name in _EXACT else _ULPS_OF_FUNCTION * 2 * _rounding(value, self._excused(dtype)) + _flushed(dtype)
        )
        if name in _CANCELLING:
            own = own + _ULPS_OF_FUNCTION * float(np.finfo(self._excused(dtype)).eps)
        return _Value(value, _settled(value, error + own), any(a.data for a in args))


def _adds(combiner: Any) -> bool:
    """Whether a reduction is a plain sum."""
    result = combiner.result[0]
    sides = (combiner.lhs[0], combiner.rhs[0])
    return type(result).__name__ == "Add" and result.a.same_as(sides[0]) and result.b.same_as(sides[1])


def _dtype(node: Any) -> np.dtype[Any]:
    try:
        return np.dtype(str(node.ty))
    except TypeError as error:
        raise NotEvaluable(str(node.ty)) from error


def _exact(value: Array) -> bool:
    """Whether a constant is what was written: a multiple of a power of two that a person would write."""
    number = float(value)
    return not math.isfinite(number) or abs(number) > 1 << 40 or (number * 1024).is_integer()


def _rounding(value: Array, dtype: np.dtype[Any]) -> Any:
    """Largest error of one correctly rounded operation with that result."""
    if dtype.kind != "f":
        return 0.0
    limits = np.finfo(dtype)
    size = np.abs(np.asarray(value, "float64"))
    return np.where(np.isfinite(size), float(limits.eps) / 2 * size + float(limits.smallest_subnormal), 0.0)


def _flushed(dtype: np.dtype[Any]) -> float:
    """What a function may lose of numbers too small to be normal; those of float16 are computed in float32."""
    return 0.0 if dtype.itemsize < 4 else float(np.finfo(dtype).tiny)


def _doubt(a: _Value, b: _Value) -> Any:
    """1 where the errors of two values leave open which is the larger."""
    slack = np.asarray(a.error) + np.asarray(b.error)
    if not np.any(slack):
        return 0.0
    apart = np.abs(np.asarray(a.value, "float64") - np.asarray(b.value, "float64"))
    return ((apart <= slack) & (slack > 0)).astype("float64")


def _error(kind: str, a: _Value, b: _Value, value: Array, dtype: np.dtype[Any]) -> Any:
    ea, eb = np.asarray(a.error), np.asarray(b.error)
    rounding = _rounding(value, dtype)
    if not (np.any(ea) or np.any(eb)):
        return 0.0 if kind in ("Max", "Min") else rounding
    va, vb = np.abs(np.asarray(a.value, "float64")), np.abs(np.asarray(b.value, "float64"))
    if kind in ("Add", "Sub"):
        return _settled(value, ea + eb + rounding)
    if kind in ("Max", "Min"):
        return np.where(_doubt(a, b) > 0, np.maximum(ea, eb), np.where(_ARITHMETIC["First" + kind](a, b), ea, eb))
    if kind == "Mul":
        grown = np.where(eb > 0, va * eb, 0.0) + np.where(ea > 0, vb * ea, 0.0)
        sure = (np.isinf(va) & (vb > eb)) | (np.isinf(vb) & (va > ea))
        return _settled(value, np.where(sure, 0.0, grown + ea * eb + rounding))
    if kind == "Div" and dtype.kind == "f":
        room = vb - eb
        quotient = np.abs(np.asarray(value, "float64"))
        grown = (ea + np.where((eb > 0) & np.isfinite(quotient), quotient * eb, 0.0)) / room
        return _settled(value, np.where(room > 0, grown, np.inf) + rounding)
    return np.full(np.shape(value), np.inf)  # jumps: any value may be right


def _settled(value: Any, error: Any) -> Any:
    """The error of a value; none where it is infinite or no number beyond doubt, as after an overflow."""
    return np.where(np.isfinite(value) | ~np.isfinite(error), error, 0.0)


def _chosen(condition: _Value, yes: _Value, no: _Value) -> _Value:
    asked = np.asarray(condition.value, bool)
    value = np.where(asked, yes.value, no.value)
    error: Any = np.where(asked, yes.error, no.error)
    if np.any(condition.error):
        apart = np.abs(np.asarray(yes.value, "float64") - np.asarray(no.value, "float64"))
        other = np.where(asked, no.error, yes.error)
        open_ = np.asarray(condition.error) > 0
        error = np.where(open_, error + other + np.where(np.isnan(apart), np.inf, apart), error)
    return _Value(value, error, condition.data or yes.data or no.data)


def _truncated(a: Any, b: Any) -> Any:
    """Quotient as C has it: towards zero for integers."""
    if np.asarray(a).dtype.kind in "iu" and np.asarray(b).dtype.kind in "iu":
        floor = np.floor_divide(a, b)
        return np.where((np.remainder(a, b) != 0) & ((a < 0) != (b < 0)), floor + 1, floor)
    return np.divide(a, b)


# TVM lowers max(a, b) to select(a > b, a, b): a NaN in a is lost, a NaN in b stays.
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": _truncated,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.remainder,
    "Mod": np.fmod,
    "Max": lambda a, b: np.where(a > b, a, b),
    "Min": lambda a, b: np.where(a < b, a, b),
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "LShift": np.left_shift,
    "RShift": np.right_shift,
    "FirstMax": lambda a, b: a.value > b.value,
    "FirstMin": lambda a, b: a.value < b.value,
}
_COMPARISONS: dict[str, Callable[..., Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


def _half_away(x: Array) -> Array:
    return np.where(np.abs(x) < 1 << 52, np.trunc(x + np.copysign(0.5, x)), x)


_erf = np.vectorize(math.erf, otypes=["float64"])
_SAME_IN_NUMPY = (
    "exp exp2 log log2 log10 log1p sqrt tanh sin cos tan sinh cosh floor ceil trunc fabs hypot copysign nextafter"
)
_FUNCTIONS: dict[str, Callable[..., Any]] = {name: getattr(np, name) for name in _SAME_IN_NUMPY.split()} | {
    "exp10": lambda x: np.power(10.0, x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": lambda x: np.where(np.isnan(x), np.nan, _erf(np.nan_to_num(x))),
    "pow": np.power,
    "fmod": np.fmod,
    "atan2": np.arctan2,
    "abs": np.abs,
    "nearbyint": np.rint,
    "round": _half_away,
    "isnan": np.isnan,
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
_EXACT = frozenset(("floor", "ceil", "trunc", "fabs", "abs", "copysign", "round", "nearbyint", "fmod"))
_CANCELLING = frozenset(("tanh", "sinh", "asinh", "atanh", "acosh", "log1p"))
"""TVM computes these from exp and log of numbers near 1, so that small results lose digits."""
_HANDLERS: dict[str, Callable[[_Run, Any], _Value]] = {
    "IntImm": _Run.on_constant,
    "FloatImm": _Run.on_constant,
    "Var": _Run.on_variable,
    "And": _Run.on_logic,
    "Or": _Run.on_logic,
    "Not": _Run.on_not,
    "Cast": _Run.on_cast,
    "Select": _Run.on_select,
    "Let": _Run.on_let,
    "Call": _Run.on_call,
}
