"""Rule for any kernel of a tensor expression: every block by itself, in parallel and contiguous."""

from __future__ import annotations

import math
from typing import Any

from tvmlab.pipeline.kernel import Block, Load, extent_of, mentions

__all__ = ["WORTH_A_THREAD", "parallel", "spatial_and_reductions", "steps_by_one"]

WORTH_A_THREAD = 1 << 14  # iterations: waking threads costs about as much as ten thousand additions
_ENOUGH_TASKS = 16  # parallel iterations that share the work well among a few threads
_LANES = (16, 8, 4)
_SHORT = 20  # loads and operations: functions in vectors are longer
_STRIP = 64  # elements of an output row that are accumulated together


def spatial_and_reductions(schedule: Any, blocks: list[Block]) -> str | None:
    """Outer loops in parallel; the innermost contiguous, in vectors where it divides; reductions just around it."""
    return "; ".join(f"{block.name}: {_schedule(schedule, block)}" for block in blocks)


def _schedule(schedule: Any, block: Block) -> str:
    if not block.single or len(block.spatial) + len(block.reduction) != len(schedule.get_loops(block.rv)):
        return "as it is"
    return _reduction(schedule, block) if block.reduction else _spatial(schedule, block)


def _spatial(schedule: Any, block: Block) -> str:
    """Fuse the trailing axes along which all is contiguous, and the others."""
    loops = schedule.get_loops(block.rv)
    if not loops:
        return "as it is"
    joined = max(contiguous_axes(block), 1)
    outer, inner = loops[:-joined], schedule.fuse(*loops[-joined:])
    said = [] if block.calls or not contiguous_axes(block) else _vectors(schedule, inner, block)
    if said or outer:
        outer = schedule.get_loops(block.rv)[: len(outer) + bool(said)] if said else outer
        return ", ".join([*parallel(schedule, block, outer), *said]) or "in order"
    return ", ".join(parallel(schedule, block, [inner])) or "in order"


def _reduction(schedule: Any, block: Block) -> str:
    """Reduction loops around the last spatial one if that is contiguous, else innermost."""
    loops = schedule.get_loops(block.rv)
    spatial, reduction = loops[: len(block.spatial)], loops[len(block.spatial) :]
    said = []
    inner = _last_wide(block)
    if inner is not None and _runs_along(block, inner):
        outer, last = [*spatial[:inner], *spatial[inner + 1 :]], spatial[inner]
        if tasks(block, skip=inner) < _ENOUGH_TASKS and (extent_of(block.spatial[inner]) or 0) > _STRIP:
            strip, last = schedule.split(last, [None, _STRIP])
            outer.append(strip)
        schedule.reorder(*outer, *reduction, last)
        said.append("reduction around the contiguous axis")
        if unit_stride(block, inner):
            said += _vectors(schedule, last, block)
    else:
        outer = spatial
    said = [*parallel(schedule, block, outer), *said]
    schedule.decompose_reduction(block.rv, reduction[0])
    return ", ".join(said) or "in order"


def parallel(schedule: Any, block: Block, loops: list[Any]) -> list[str]:
    """Fuse the outer loops into one that runs in parallel, if there is work enough; no more than give tasks enough.

    A fused loop divides its variable into the others at every turn, which the innermost of them would feel: where it
    is needed for tasks enough, a part of it stays apart.
    """
    if not loops or (block.iterations is not None and block.iterations < WORTH_A_THREAD):
        return []
    count, before, tasks = 0, 1, 1
    while count < len(loops) and tasks < _ENOUGH_TASKS:
        before, tasks = tasks, tasks * (extent_of(schedule.get(loops[count])) or _ENOUGH_TASKS)
        count += 1
    if count == len(loops) > 1 and tasks > before:
        extent = tasks // before
        parts = next(n for n in range(1, extent + 1) if extent % n == 0 and n * before >= min(_ENOUGH_TASKS, tasks))
        loops = [*loops[:-1], *schedule.split(loops[-1], [parts, None])]
    schedule.parallel(schedule.fuse(*loops[:count]) if count > 1 else loops[0])
    return ["parallel"]


def _vectors(schedule: Any, loop: Any, block: Block) -> list[str]:
    """Split off vectors, where they divide the loop; LLVM takes care of the other cases, of short expressions."""
    extent = extent_of(schedule.get(loop))
    lanes = next((n for n in _LANES if extent and extent % n == 0), None)
    if lanes is None and block.size > _SHORT:
        lanes = vector_width(extent, _LANES[0])
    if lanes is None or lanes == 1:
        return []
    schedule.vectorize(loop if extent == lanes else schedule.split(loop, [None, lanes])[1])
    return [f"vectors of {lanes}"]


def vector_width(extent: int | None, lanes: int) -> int:
    """Elements of a vector that divide an axis and leave few lanes of a processor's vectors unused; 1 if none is.

    An axis of 250 is walked in vectors of 25, which LLVM makes of two of 16 lanes.
    """
    if extent is None or extent % lanes == 0:
        return 1 if extent is None else lanes
    divisors = [n for n in range(2, 2 * lanes + 1) if extent % n == 0]
    return max(divisors, key=lambda n: n / (math.ceil(n / lanes) * lanes), default=1)


def contiguous_axes(block: Block) -> int:
    """How many trailing axes can be walked as one, with all loads and the store contiguous or standing still."""
    count = 0
    while count < len(block.spatial) and all(_linear(block, count + 1, p) for p in (block.target, *block.loads)):
        count += 1
    return count


def _linear(block: Block, count: int, place: Load) -> bool:
    """Whether a load or store walks memory element by element, or stands still, over the last `count` axes."""
    axes = block.spatial[len(block.spatial) - count :]
    wide = [a for a in axes if extent_of(a) != 1]
    if not any(mentions(index, axis.var) for index in place.indices for axis in wide):
        return place is not block.target or not wide
    tail = place.indices[-count:]
    shape = place.buffer.shape[-count:]
    if len(tail) < count:
        return False
    exact = all(index.same_as(axis.var) or extent_of(axis) == 1 for index, axis in zip(tail, axes, strict=True))
    whole = all(str(size) == str(axis.dom.extent) for size, axis in zip(shape[1:], axes[1:], strict=True))
    elsewhere = any(mentions(index, axis.var) for index in place.indices[:-count] for axis in wide)
    return exact and whole and not elsewhere


def _last_wide(block: Block) -> int | None:
    """Position of the last spatial axis that is longer than 1."""
    return next((i for i in range(len(block.spatial) - 1, -1, -1) if extent_of(block.spatial[i]) != 1), None)


def _runs_along(block: Block, axis: int) -> bool:
    """Whether the largest load that moves with the axis moves along its last dimension."""
    variable = block.spatial[axis].var
    moving = [load for load in block.loads if any(mentions(i, variable) for i in load.indices)]
    return all(mentions(load.indices[-1], variable) for load in moving)


def unit_stride(block: Block, axis: int) -> bool:
    """Whether the store and all loads that move with the axis go one element further with it."""
    variable = block.spatial[axis].var
    return all(steps_by_one(p, variable) for p in (block.target, *block.loads))


def steps_by_one(place: Load, variable: Any) -> bool:
    from tvm import sym

    if not any(mentions(index, variable) for index in place.indices):
        return True
    if any(mentions(index, variable) for index in place.indices[:-1]):
        return False
    step = sym.Analyzer().simplify(place.indices[-1] - variable)
    return not mentions(step, variable)


def tasks(block: Block, skip: int) -> int:
    """Iterations of the spatial axes but one; symbolic ones count as many."""
    count = 1
    for position, axis in enumerate(block.spatial):
        if position != skip:
            count *= extent_of(axis) or _ENOUGH_TASKS
    return count
