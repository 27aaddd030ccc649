"""The stage that removes intermediate buffers from kernels, where that computes nothing twice.

Fusion alone puts blocks into one kernel, which still writes every intermediate value to memory.  Here a block is moved
into its reader, unless the reader would compute it again: a row vector that is broadcast over a thousand rows would be
computed a thousand times.  What was done and why stands in the kernel itself, in the attribute ``tvmlab.inline``.
"""

from __future__ import annotations

import math
from typing import Any

from tvmlab.pipeline.kernel import Block, blocks_of, read_block
from tvmlab.pipeline.own_schedules import MARK
from tvmlab.pipeline.schedule.loops import contiguous_axes
from tvmlab.pipeline.schedule.vector_math import DEEPEST, VECTOR_FUNCTIONS
from tvmlab.runtime.executable import first_line

__all__ = ["ATTRIBUTE", "inline_kernel"]

ATTRIBUTE = "tvmlab.inline"

# Loads and operations; without a limit, a chain of squares doubles its expression at every step.
_LARGEST_EXPRESSION = 200


def inline_kernel(function: Any) -> Any:
    """A PrimFunc with producers moved into their readers.

    Parameters
    ----------
    function : tvm.tirx.PrimFunc
        Is not changed.

    Returns
    -------
    tvm.tirx.PrimFunc
        The same one if it has a single block, or is written in a way that TVM cannot schedule.
    """
    import tvm

    try:
        schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": function}))
        blocks = blocks_of(schedule)
    except Exception:  # noqa: BLE001 - TVM raises whatever it likes where a function has no blocks
        return function
    left = dict(enumerate(blocks))
    decisions: list[str] = []
    for position, block in reversed(list(enumerate(blocks))):  # so that its readers are joined before a block is met
        readers = [i for i, b in left.items() if any(load.buffer.same_as(block.target.buffer) for load in b.loads)]
        if not readers:
            continue  # it writes a result of the kernel
        own = MARK in schedule.get(block.rv).annotations
        reason = "it has a schedule of its own" if own else _refusal(block, [left[reader] for reader in readers])
        if reason is None:
            try:
                schedule.compute_inline(block.rv)
            except tvm.s_tir.ScheduleError as error:
                reason = first_line(error)
        decisions.insert(0, f"{block.name} inlined" if reason is None else f"{block.name} kept: {reason}")
        if reason is None:
            del left[position]
            left |= {reader: read_block(schedule, left[reader].rv) for reader in readers}
    if not decisions:
        return function
    return schedule.mod["main"].with_attr(ATTRIBUTE, "; ".join(decisions))


def _refusal(block: Block, readers: list[Block]) -> str | None:
    """Why a block should not be moved into its readers; None if it should."""
    if block.reduction:
        return "it reduces"
    if not block.single:
        return "it writes several values"
    if not block.loads and not block.calls:
        return None  # a constant, or an index
    if any(r.size + block.size * r.occurrences[block.target.buffer] > _LARGEST_EXPRESSION for r in readers):
        return "its expression would grow too large"
    apart = _functions_that_do_not_mix(block, readers)
    if apart is not None:
        return apart
    times = [_times(block, reader) for reader in readers]
    total = math.inf if None in times else sum(t for t in times if t is not None)
    if total <= 1:
        return None
    if not block.arithmetic and not any(reader.reduction for reader in readers):
        return None  # only moves data, and is read where it would have been written again anyway
    if math.isinf(total):
        return "with a symbolic dimension, it may be computed several times"
    return f"it would be computed {total:g} times" if block.arithmetic else f"it would be read {total:g} times apart"


def _functions_that_do_not_mix(block: Block, readers: list[Block]) -> str | None:
    """Why the functions that a block calls should not stand in one expression with its readers'."""
    if any(block.functions and block.nesting + reader.nesting > DEEPEST for reader in readers):
        return f"more than {DEEPEST} functions would stand in each other, for which TVM takes long to compile"
    turned = not block.arithmetic and contiguous_axes(block) == 0
    for reader in readers:
        if turned and reader.functions and contiguous_axes(reader):
            return f"its reads jump, and would keep {min(reader.functions)} from vectors"
        for ours, theirs in ((block, reader), (reader, block)):
            scalar = sorted(ours.functions - VECTOR_FUNCTIONS.keys())
            if scalar and theirs.functions and theirs.functions <= VECTOR_FUNCTIONS.keys():
                return f"{scalar[0]} has no vector form, and would keep {min(theirs.functions)} from its own"
    return None


def _times(block: Block, reader: Block) -> float | None:
    """How often a reader would compute each element of a block; None if that cannot be told."""
    places: int = sum(load.buffer.same_as(block.target.buffer) for load in reader.loads)
    elements, iterations = block.elements, reader.iterations
    if elements is not None and iterations is not None:
        return places * iterations / max(elements, 1)
    return float(places) if _same_domain(block, reader) else None


def _same_domain(block: Block, reader: Block) -> bool:
    """Whether a reader iterates over as many elements as the block has, symbolic ones included."""
    ours, theirs = ([str(v.dom.extent) for v in b.spatial] for b in (block, reader))
    return not reader.reduction and ours == theirs
