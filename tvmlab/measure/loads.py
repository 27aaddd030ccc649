"""How often a kernel loads an element of a buffer: counted exactly, at every iteration of its loops.

A load under a condition counts where the condition holds.  A condition that depends on data is taken to hold.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.errors import CallError, ComputeError
from tvmlab.measure.accesses import POINTS, StatementWalk, Unknown, evaluate, points_of
from tvmlab.ops.guarded import guarded
from tvmlab.ops.lowering import user_error
from tvmlab.ops.source import caller
from tvmlab.records import BufferLoads, Loads

__all__ = ["count_loads", "loads_of"]


def loads_of(op: Any, arrays: Sequence[NDArray[Any]], attributes: Mapping[str, Any]) -> Loads:
    """Count the loads of the kernels that a call of an operator is lowered to.

    Parameters
    ----------
    op : tvmlab.ops.Op
    arrays : sequence of ndarray
        Only their shapes and dtypes matter.
    attributes : mapping
        Other than the defaults.

    Returns
    -------
    Loads
        The schedule does not matter: it is counted on the loops as they are written.

    Raises
    ------
    CallError
        It does not take such arrays; or there are too many iterations, or their number depends on data.
    """
    from tvm import relax
    from tvm.tirx import PrimFunc

    types = [relax.TensorType(array.shape, array.dtype.name) for array in arrays]
    module = guarded(
        lambda: op.legalized(types, attributes), lambda e: user_error(op.spec, op.spec.compute, e, ComputeError, types)
    )
    kernels = [function for function in module.functions.values() if isinstance(function, PrimFunc)]
    try:
        buffers = tuple(each for kernel in kernels for each in count_loads(kernel))
    except Unknown as error:
        what = f"the loads of {op.name} cannot be counted: {error}"
        raise CallError(what, caller() or op.spec.signature, "give it smaller arrays") from error
    result = module["main"].ret_ty
    fields = getattr(result, "fields", [result])
    return Loads(op.name, buffers, sum(math.prod(int(size) for size in field.shape) for field in fields))


def count_loads(function: Any) -> tuple[BufferLoads, ...]:
    """Count the loads of one kernel, buffer by buffer.

    Parameters
    ----------
    function : tvm.tirx.PrimFunc
        Scheduled or not, of known sizes.

    Raises
    ------
    Unknown
        There are too many iterations, or their number depends on data.
    """
    walk = _Walk()
    walk.statement(function.body, _Place())
    loads: Counter[Any] = Counter()
    for buffer, place in walk.found:
        loads[buffer] += _times(place)

    def role(buffer: Any) -> str:
        if not any(given.same_as(buffer) for given in function.params):
            return "between"
        return "result" if buffer in walk.written else "input"

    return tuple(
        BufferLoads(str(buffer.name), role(buffer), times, math.prod(int(size) for size in buffer.shape))
        for buffer, times in loads.items()
    )


@dataclass(frozen=True)
class _Place:
    """Where the walk is: loops with first value and extent, what block axes stand for, and conditions on the way."""

    loops: tuple[tuple[Any, tuple[int, int]], ...] = ()
    bound: tuple[tuple[Any, Any], ...] = ()
    conditions: tuple[tuple[Any, bool], ...] = ()

    def under(self, condition: Any, holds: bool) -> _Place:
        return _Place(self.loops, self.bound, (*self.conditions, (condition, holds)))


class _Walk(StatementWalk):
    def __init__(self) -> None:
        self.found: list[tuple[Any, _Place]] = []
        self.written: set[Any] = set()

    def _For(self, node: Any, at: _Place) -> None:  # noqa: N802  named after TVM's node
        first, extent = (int(evaluate(each, {}, {})) for each in (node.min, node.extent))
        self.statement(node.body, _Place((*at.loops, (node.loop_var, (first, extent))), at.bound, at.conditions))

    def _SBlockRealize(self, node: Any, at: _Place) -> None:  # noqa: N802
        axes = zip(node.block.iter_vars, node.iter_values, strict=True)
        inner = _Place(at.loops, (*at.bound, *((axis.var, value) for axis, value in axes)), at.conditions)
        self.statement(node.block.body, inner.under(node.predicate, holds=True))  # init stores constants alone

    def _BufferStore(self, node: Any, at: _Place) -> None:  # noqa: N802
        self.written.add(node.buffer)
        for part in (*node.indices, node.value):
            self.value(part, at)

    def _IfThenElse(self, node: Any, at: _Place) -> None:  # noqa: N802
        self.value(node.condition, at)
        self.statement(node.then_case, at.under(node.condition, holds=True))
        if node.else_case is not None:
            self.statement(node.else_case, at.under(node.condition, holds=False))

    def _Evaluate(self, node: Any, at: _Place) -> None:  # noqa: N802
        self.value(node.value, at)

    def _Bind(self, node: Any, at: _Place) -> None:  # noqa: N802
        self.value(node.value, at)

    def value(self, node: Any, at: _Place) -> None:
        """Count what an expression loads."""
        import tvm_ffi
        from tvm_ffi import WalkResult

        def visit(each: Any) -> Any:
            if type(each).__name__ == "TensorLoad":
                self.found.append((each.source, at))
                for index in each.indices:
                    self.value(index, at)
                return WalkResult.SKIP
            name = str(getattr(each.op, "name", "")).rpartition(".")[2] if type(each).__name__ == "Call" else ""
            if name != "if_then_else":  # a Select evaluates both of its sides
                return None
            condition, first, second = each.args
            self.value(condition, at)
            self.value(first, at.under(condition, holds=True))
            self.value(second, at.under(condition, holds=False))
            return WalkResult.SKIP

        tvm_ffi.structural_walk(node, visit, order="pre")


def _times(at: _Place) -> int:
    """At how many iterations all conditions hold."""
    domain = dict(at.loops)
    whole = tuple(extent for _, extent in domain.values())
    if math.prod(whole) > POINTS:
        raise Unknown(f"there are {math.prod(whole):,} iterations")
    values = points_of(domain)
    for variable, value in at.bound:
        values[variable] = evaluate(value, values, {})
    holding = np.ones((1,) * len(whole), bool)
    for condition, holds in at.conditions:
        try:
            holding = holding & ((evaluate(condition, values, {}) != 0) == holds)
        except Unknown:
            continue  # it depends on data
    return int(np.broadcast_to(holding, whole).sum())
