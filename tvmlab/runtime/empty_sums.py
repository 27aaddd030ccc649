"""Sums over nothing: where sizes are symbols, a reduction may turn out to run over no element at all.

TVM sets a result to the reduction's neutral element in the first round of the loop that reduces.  If there is no round,
what was in memory before stays.  So the neutral element is written in a loop of its own, where an extent is not known.
"""

from __future__ import annotations

from typing import Any

__all__ = ["set_before_summing"]

_REDUCES = 2  # tvm.tirx.IterVar's type


def set_before_summing(module: Any) -> Any:
    """A module whose reductions over axes of unknown size set their results first.

    Parameters
    ----------
    module : tvm.IRModule
        Is not changed.

    Returns
    -------
    tvm.IRModule
        `module` itself if it has no such reduction.
    """
    import tvm
    from tvm import tirx

    changed = {
        variable: decomposed
        for variable, function in module.functions.items()
        if isinstance(function, tirx.PrimFunc) and (decomposed := _decomposed(function)) is not None
    }
    if not changed:
        return module
    functions = {variable: changed.get(variable, function) for variable, function in module.functions.items()}
    return tvm.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos)


def _decomposed(function: Any) -> Any:
    """The kernel, its neutral elements written first; None if that changes nothing."""
    import tvm

    if not _has_open_sizes(function):
        return None
    try:
        schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": function}))
        blocks = schedule.get_child_blocks(schedule.get_sblock("root"))
    except Exception:  # noqa: BLE001 - TVM raises whatever it likes where a function has no blocks
        return None
    done = False
    for block in blocks:
        loop = _place_before_summing(schedule, block)
        if loop is None:
            continue
        try:
            schedule.decompose_reduction(block, loop)
            done = True
        except tvm.s_tir.ScheduleError:
            continue  # written in a way that cannot be taken apart: it stays as TVM builds it
    return schedule.mod["main"].with_attrs(function.attrs) if done else None


def _has_open_sizes(function: Any) -> bool:
    from tvm import tirx

    return any(not isinstance(size, tirx.IntImm) for p in function.params for size in getattr(p, "shape", ()))


def _place_before_summing(schedule: Any, block: Any) -> Any:
    """The loop before which a block's result can be set, if it reduces over an axis of unknown size; else None."""
    from tvm import tirx

    statement = schedule.get(block)
    reducing = [int(variable.iter_type) == _REDUCES for variable in statement.iter_vars]
    extents = [v.dom.extent for v, reduces in zip(statement.iter_vars, reducing, strict=True) if reduces]
    if statement.init is None or all(isinstance(extent, tirx.IntImm) for extent in extents):
        return None
    loops = schedule.get_loops(block)
    # Unscheduled, there is a loop for each variable, and the result is best set right before it is summed up.
    return loops[reducing.index(True) if len(loops) == len(reducing) else 0]
