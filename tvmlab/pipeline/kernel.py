"""What the blocks of a kernel do, read from its TIR: what the inliner and the scheduler decide by."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Block", "Load", "blocks_of", "extent_of", "functions_of", "mentions", "nesting", "read_block"]

_SPATIAL, _REDUCTION = 0, 2  # tvm.tirx.IterVar's types
_COMPARISONS = ("EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or", "Not")
_ARITHMETIC = frozenset(
    ["Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Max", "Min", "Select", "Cast", *_COMPARISONS]
)
_COUNTED = _ARITHMETIC | {"TensorLoad", "Call"}


# Calls that LLVM turns into instructions on vectors; all others are functions.
_IN_VECTORS = frozenset(
    ["sqrt", "rsqrt", "fabs", "floor", "ceil", "trunc", "reinterpret", "shift_right", "shift_left", "likely"]
)


@dataclass(frozen=True)
class Load:
    """A load: the buffer, and its indices as TIR expressions."""

    buffer: Any
    indices: tuple[Any, ...]

    @property
    def key(self) -> str:
        """Equal for loads of the same element."""
        return ", ".join(map(str, self.indices))


@dataclass(frozen=True)
class Block:
    """One block of a kernel.

    Parameters
    ----------
    rv
        The schedule's handle.
    name : str
    spatial, reduction : tuple of IterVar
        Its iteration variables.
    loads : tuple of Load
        Distinct loads; of a reduction, without the accumulator itself.
    occurrences : mapping of buffer to int
        How often each buffer stands in its expression.
    target : Load
        What it writes.
    arithmetic : bool
        Whether it computes anything, or only moves data.
    functions : frozenset of str
        Functions such as ``exp`` that it calls, which have no instruction of their own.
    nesting : int
        How deep their calls stand in each other.
    size : int
        Loads and operations in its expression.
    single : bool
        Whether it writes one element of one buffer an iteration, as a block of a tensor expression does.
    """

    rv: Any
    name: str
    spatial: tuple[Any, ...]
    reduction: tuple[Any, ...]
    loads: tuple[Load, ...]
    occurrences: Mapping[Any, int]
    target: Load
    arithmetic: bool
    functions: frozenset[str]
    nesting: int
    size: int
    single: bool

    @property
    def calls(self) -> bool:
        """Whether it calls a function."""
        return bool(self.functions)

    @property
    def iterations(self) -> int | None:
        """How often its body runs; None if that depends on a symbolic dimension."""
        return _product([v.dom.extent for v in (*self.spatial, *self.reduction)])

    @property
    def elements(self) -> int | None:
        """How many elements it writes."""
        return _product([v.dom.extent for v in self.spatial])


def blocks_of(schedule: Any) -> list[Block]:
    """The blocks under the root, in order; none of a kernel that was written without blocks."""
    if type(schedule.mod["main"].body).__name__ != "SBlockRealize":
        return []
    root = schedule.get_sblock("root")
    return [read_block(schedule, rv) for rv in schedule.get_child_blocks(root)]


def read_block(schedule: Any, rv: Any) -> Block:
    """Read one block."""
    import tvm_ffi
    from tvm import tirx

    block = schedule.get(rv)
    stores: list[Any] = []
    tvm_ffi.structural_walk(block.body, (tirx.BufferStore, stores.append))
    plain = _Simplifier(block.iter_vars)
    target = Load(stores[0].buffer, plain(stores[0].indices)) if stores else Load(None, ())
    reduction = tuple(v for v in block.iter_vars if int(v.iter_type) == _REDUCTION)
    work = _Work(plain)
    for store in stores:
        work.read(store.value)
    own = (target.buffer, target.key) if reduction else None
    return Block(
        rv=rv,
        name=str(block.name_hint),
        spatial=tuple(v for v in block.iter_vars if int(v.iter_type) == _SPATIAL),
        reduction=reduction,
        loads=tuple(load for place, load in work.loads.items() if place != own),
        occurrences=work.occurrences,
        target=target,
        arithmetic=work.arithmetic,
        functions=work.functions,
        nesting=max((nesting(store.value) for store in stores), default=0),
        size=work.size,
        single=len(stores) == 1 and len(block.writes) == 1,
    )


class _Simplifier:
    """Simplifies indices by what is known of a block's iteration variables: ``(8 * a + b) // 8`` is ``a``."""

    def __init__(self, axes: Any) -> None:
        from tvm import sym

        self.analyzer = sym.Analyzer()
        for axis in axes:
            self.analyzer.bind(axis.var, axis.dom)

    def __call__(self, indices: Any) -> tuple[Any, ...]:
        from tvm import tirx

        atoms = (tirx.Var, tirx.IntImm)
        return tuple(index if isinstance(index, atoms) else self.analyzer.simplify(index) for index in indices)


class _Work:
    """Loads and arithmetic of a value; what stands in an index or a condition of padding is not counted."""

    def __init__(self, plain: Callable[[Any], tuple[Any, ...]]) -> None:
        self.plain = plain
        self.loads: dict[tuple[Any, str], Load] = {}
        self.occurrences: Counter[Any] = Counter()
        self.arithmetic = False
        self.functions: frozenset[str] = frozenset()
        self.size = 0

    def read(self, value: Any) -> None:
        import tvm_ffi

        tvm_ffi.structural_walk(value, self._visit, order="pre")

    def _visit(self, node: Any) -> Any:
        from tvm_ffi import WalkResult

        kind = type(node).__name__
        self.size += kind in _COUNTED
        if kind == "TensorLoad":
            self.occurrences[node.source] += 1
            load = Load(node.source, self.plain(node.indices))
            self.loads.setdefault((load.buffer, load.key), load)
            return WalkResult.SKIP
        if kind == "Call":
            name = str(getattr(node.op, "name", ""))
            if name.endswith("if_then_else"):
                for branch in node.args[1:]:
                    self.read(branch)
                return WalkResult.SKIP
            self.arithmetic = True
            self.functions |= functions_of(node)
        elif kind in _ARITHMETIC:
            self.arithmetic = True
        return None


def functions_of(call: Any) -> frozenset[str]:
    """The function that a call is of, or none where it is an instruction of the processor."""
    name = str(getattr(call.op, "name", "")).rpartition(".")[2]
    return frozenset() if name in _IN_VECTORS or name == "if_then_else" else frozenset([name])


def nesting(expression: Any) -> int:
    """How deep calls of functions stand in each other."""
    import tvm_ffi
    from tvm import ir
    from tvm_ffi import WalkResult

    deepest = 0

    def visit(call: Any) -> Any:
        nonlocal deepest
        if not functions_of(call):
            return None
        deepest = max(deepest, 1 + max(map(nesting, call.args), default=0))
        return WalkResult.SKIP

    tvm_ffi.structural_walk(expression, (ir.Call, visit), order="pre")
    return deepest


def extent_of(axis: Any) -> int | None:
    """Extent of a loop or of an iteration variable; None if it is symbolic."""
    from tvm import tirx

    extent = axis.dom.extent if hasattr(axis, "dom") else axis.extent
    return int(extent) if isinstance(extent, tirx.IntImm) else None


def mentions(expression: Any, variable: Any) -> bool:
    """Whether a variable stands in an expression."""
    import tvm_ffi
    from tvm import tirx

    found: list[Any] = []
    tvm_ffi.structural_walk(expression, (tirx.Var, found.append))
    return any(v.same_as(variable) for v in found)


def _product(extents: list[Any]) -> int | None:
    from tvm import tirx

    if not all(isinstance(e, tirx.IntImm) for e in extents):
        return None
    return math.prod(int(e) for e in extents)
