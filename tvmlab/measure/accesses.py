"""What a kernel's TIR reads, writes and computes: accesses with the domains of their variables, and operations.

Conditions that hold for some iterations only are worked out on numbers where they depend on loops alone; where they
depend on data, both branches count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.pipeline.schedule.streaming import STREAM

__all__ = [
    "FUNCTIONS",
    "POINTS",
    "Access",
    "Domain",
    "Reading",
    "StatementWalk",
    "Unknown",
    "evaluate",
    "points_of",
    "read_accesses",
]

Numbers = NDArray[np.int64]
Domain = Mapping[Any, tuple[int, int]]
"""First value and number of values of each variable."""

POINTS = 1 << 20
"""As many combinations of values of variables are worked out one by one."""

_COUNTED = frozenset(["Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Max", "Min"])
FUNCTIONS = frozenset(
    (
        *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "exp", "exp10", "exp2"),
        *("log", "log10", "log1p", "log2", "pow", "sigmoid", "sin", "sinh", "tan", "tanh"),
    )
)
_SIMPLE = frozenset(["ceil", "fabs", "abs", "floor", "nearbyint", "round", "rsqrt", "sqrt", "trunc"])


class Unknown(Exception):
    """A number that depends on data, or on a size that is not known."""


@dataclass(frozen=True)
class Access:
    """Some reads or writes of a buffer.

    Parameters
    ----------
    buffer
        A variable with a shape and a dtype.
    indices : tuple or None
        TIR expressions; None for all of the buffer.
    domain : mapping
        See `Domain`.
    nest : int
        Which of the kernel's outermost loops it is in; 0 for none.
    """

    buffer: Any
    indices: tuple[Any, ...] | None
    domain: Domain
    nest: int

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for accesses to the same elements."""
        if self.indices is None:
            return ()
        used = {v: self.domain[v] for index in self.indices for v in variables(index) if v in self.domain}
        names = {v: f"<{place}>" for place, v in enumerate(used)}
        return (*(_text(index, names) for index in self.indices), *used.values())


@dataclass
class Reading:
    """What a kernel does.

    Parameters
    ----------
    reads, writes : list of Access
    flops : float
        Additions, multiplications, divisions, minima and the like of the values that are stored; no index arithmetic.
    functions : float
        Calls of ``exp``, ``tanh``, ``erf`` and their kin.
    """

    reads: list[Access] = field(default_factory=list)
    writes: list[Access] = field(default_factory=list)
    flops: float = 0
    functions: float = 0


def read_accesses(function: Any, sizes: Mapping[str, int]) -> Reading:
    """Walk a kernel.

    Parameters
    ----------
    function : tvm.tirx.PrimFunc
        Scheduled or not.
    sizes : mapping of str to int
        Values of its symbolic dimensions, by name.

    Raises
    ------
    Unknown
        The number of iterations of a loop is not known.
    """
    walk = _Walk(sizes)
    walk.statement(function.body, _Place({}, 1.0, 0))
    return walk.found


@dataclass(frozen=True)
class _Place:
    """Where the walk is: the domain of the variables, how often this is run, and the outermost loop around it."""

    domain: Domain
    times: float
    nest: int


class StatementWalk:
    """Visits a statement by the method of its kind, and where there is none what the statement holds."""

    def statement(self, node: Any, at: Any) -> None:
        """Visit a statement; `at` says where the walk is."""
        visit: Callable[[Any, Any], None] | None = getattr(self, f"_{type(node).__name__}", None)
        if visit is not None:
            visit(node, at)
            return
        for each in getattr(node, "seq", None) or [getattr(node, "body", None)]:
            if each is not None:
                self.statement(each, at)


class _Walk(StatementWalk):
    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.found = Reading()
        self.nests = 0

    def _For(self, node: Any, at: _Place) -> None:  # noqa: N802  named after TVM's node
        first = int(self.numbers(node.min, at.domain).min())
        extents = self.numbers(node.extent, at.domain)
        extent, nest = int(extents.max()), at.nest
        if not nest and extent > 1:
            self.nests += 1
            nest = self.nests
        inner = {**at.domain, node.loop_var: (first, extent)}
        self.statement(node.body, _Place(inner, at.times * float(extents.mean()), nest))

    def _SBlockRealize(self, node: Any, at: _Place) -> None:  # noqa: N802
        block = node.block
        own = {v.var: self.range(v.dom, at.domain) for v in block.iter_vars}
        inner = _Place({**at.domain, **own}, at.times * self.share(node.predicate, at.domain), at.nest)
        if block.init is not None:
            self.found.writes += [
                Access(s.buffer, tuple(s.indices), inner.domain, at.nest) for s in _stores(block.init)
            ]
        self.statement(block.body, inner)

    def _BufferStore(self, node: Any, at: _Place) -> None:  # noqa: N802
        self.found.writes.append(_access(node.buffer, node.indices, at))
        for index in node.indices:
            self.value(index, at, counted=False)
        self.value(node.value, at)

    def _IfThenElse(self, node: Any, at: _Place) -> None:  # noqa: N802
        self.value(node.condition, at, counted=False)
        share = self.share(node.condition, at.domain)
        for case, part in ((node.then_case, share), (node.else_case, 1 - share if share < 1 else 1.0)):
            if case is not None:
                self.statement(case, _Place(at.domain, at.times * part, at.nest))

    def _Evaluate(self, node: Any, at: _Place) -> None:  # noqa: N802
        """A call that gets whole buffers; the last one is taken for its result.

        A request moves nothing that is not moved anyway, and a store past the caches is a store.
        """
        call = node.value
        name = str(getattr(call.op, "name", "")).rpartition(".")[2] if hasattr(call, "op") else ""
        if name == "prefetch":
            return
        if name == "call_extern" and str(call.args[0].value).startswith(STREAM):
            self._streamed(call.args[1], call.args[2], at)
            return
        given = [v for v in variables(node.value) if hasattr(v, "shape")]
        whole = [Access(buffer, None, {}, at.nest) for buffer in given]
        self.found.reads += whole[:-1]
        self.found.writes += whole[-1:]

    def _streamed(self, address: Any, vector: Any, at: _Place) -> None:
        from tvm import DataType, tirx

        place = address.args[0]
        *others, last = place.indices
        lanes = tirx.Ramp(last, 1, DataType(str(vector.ty)).lanes)
        self.found.writes.append(_access(place.source, (*others, lanes), at))
        self.value(vector, at)

    def _Bind(self, node: Any, at: _Place) -> None:  # noqa: N802
        self.value(node.value, at)

    def value(self, node: Any, at: _Place, *, counted: bool = True) -> None:
        """Count what an expression reads and computes; in indices and conditions, only what it reads."""
        flops, functions = self.work(node, at)
        if counted:
            self.found.flops += flops * at.times
            self.found.functions += functions * at.times

    def work(self, node: Any, at: _Place) -> tuple[int, int]:
        """Operations, and calls of functions, of an expression; its reads are noted."""
        import tvm_ffi
        from tvm_ffi import WalkResult

        counts = [0, 0]

        def apart(*parts: Any) -> list[tuple[int, int]]:
            return [self.work(part, at) for part in parts]

        def visit(each: Any) -> Any:
            kind = type(each).__name__
            if kind == "TensorLoad":
                self.found.reads.append(_access(each.source, each.indices, at))
                apart(*each.indices)
                return WalkResult.SKIP
            if kind == "Select":
                apart(each.condition)
                for flops, functions in apart(each.true_value, each.false_value):
                    counts[0] += flops
                    counts[1] += functions
                return WalkResult.SKIP
            name = str(getattr(each.op, "name", "")).rpartition(".")[2] if kind == "Call" else ""
            if name == "if_then_else":
                apart(each.args[0])
                either = apart(*each.args[1:])
                counts[0] += max(flops for flops, _ in either)
                counts[1] += max(functions for _, functions in either)
                return WalkResult.SKIP
            counts[0] += kind in _COUNTED or name in _SIMPLE
            counts[1] += name in FUNCTIONS
            return None

        tvm_ffi.structural_walk(node, visit, order="pre")
        return counts[0], counts[1]

    def numbers(self, expression: Any, domain: Domain) -> Numbers:
        """Its values over a domain."""
        used = {v: domain[v] for v in variables(expression) if v in domain}
        if math.prod(extent for _, extent in used.values()) > POINTS:
            raise Unknown(str(expression))
        return evaluate(expression, points_of(used), self.sizes)

    def range(self, axis: Any, domain: Domain) -> tuple[int, int]:
        """First value and extent of a block's axis."""
        return int(self.numbers(axis.min, domain).min()), int(self.numbers(axis.extent, domain).max())

    def share(self, condition: Any, domain: Domain) -> float:
        """In which part of a domain a condition holds; 1 where that is not known."""
        try:
            return float(np.mean(self.numbers(condition, domain) != 0))
        except Unknown:
            return 1.0


def _access(buffer: Any, indices: Sequence[Any], at: _Place) -> Access:
    """A vector's lanes are walked over as a loop's turns are."""
    from tvm import tirx

    domain, plain = at.domain, []
    for index in indices:
        if isinstance(index, tirx.Ramp):
            lane = tirx.Var("lane", str(index.base.ty))
            domain = {**domain, lane: (0, int(index.lanes))}
            plain.append(index.base + index.stride * lane)
        else:
            plain.append(index)
    return Access(buffer, tuple(plain), domain, at.nest)


def points_of(domain: Domain) -> dict[Any, Numbers]:
    """Values of variables as arrays that broadcast to all combinations."""
    found = {}
    for axis, (variable, (first, extent)) in enumerate(domain.items()):
        shape = [1] * len(domain)
        shape[axis] = extent
        found[variable] = np.arange(first, first + extent, dtype=np.int64).reshape(shape)
    return found


def variables(expression: Any) -> list[Any]:
    """The variables of an expression, each once."""
    import tvm_ffi
    from tvm import tirx

    found: list[Any] = []
    tvm_ffi.structural_walk(expression, (tirx.Var, found.append))
    return list(dict.fromkeys(found))


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "Div": lambda a, b: np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)),
    "Mod": np.fmod,
    "Max": np.maximum,
    "Min": np.minimum,
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "And": np.logical_and,
    "Or": np.logical_or,
    "LShift": np.left_shift,
    "RShift": np.right_shift,
    "BitwiseAnd": np.bitwise_and,
}


def evaluate(node: Any, values: Mapping[Any, Numbers], sizes: Mapping[str, int]) -> Numbers:
    """Evaluate an expression of integers on arrays.

    Raises
    ------
    Unknown
        It reads data, or a variable that has no value here.
    """
    kind = type(node).__name__
    if kind == "IntImm":
        return np.asarray(int(node.value))
    if node in values:
        return values[node]
    if kind in ("Var", "SizeVar") and str(node.name) in sizes:
        return np.asarray(sizes[str(node.name)])
    if kind in _BINARY:
        made: Numbers = _BINARY[kind](*(evaluate(part, values, sizes) for part in (node.a, node.b)))
        return made
    if kind == "Cast":
        return evaluate(node.value, values, sizes)
    if kind == "Not":
        return np.logical_not(evaluate(node.a, values, sizes)).astype(np.int64)
    if kind == "Select":
        parts = (node.condition, node.true_value, node.false_value)
        return np.where(*(evaluate(part, values, sizes) for part in parts))
    name = str(getattr(node.op, "name", "")).rpartition(".")[2] if kind == "Call" else ""
    if name == "likely":
        return evaluate(node.args[0], values, sizes)
    if name == "if_then_else":
        return np.where(*(evaluate(part, values, sizes) for part in node.args))
    raise Unknown(str(node))


def _stores(statement: Any) -> Iterator[Any]:
    import tvm_ffi
    from tvm import tirx

    found: list[Any] = []
    tvm_ffi.structural_walk(statement, (tirx.BufferStore, found.append))
    yield from found


def _text(expression: Any, names: Mapping[Any, str]) -> str:
    """An expression's text in which variables are told by their place, since many share a name."""
    kind = type(expression).__name__
    if expression in names:
        return names[expression]
    if hasattr(expression, "a") and hasattr(expression, "b"):
        return f"{kind}({_text(expression.a, names)}, {_text(expression.b, names)})"
    return f"{kind} {expression}"
