"""Rule for kernels that reduce rows and use the result on the same rows, as softmax and normalizations do."""

from __future__ import annotations

from typing import Any

from tvmlab import runtime
from tvmlab.pipeline.kernel import Block, blocks_of, extent_of, mentions
from tvmlab.pipeline.schedule.loops import WORTH_A_THREAD, vector_width
from tvmlab.pipeline.schedule.prefetching import ask_for_next_row

__all__ = ["reduced_rows"]

_BYTES = {"float32": 4, "float64": 8}
_STRANDS = 4  # vectors of a sum that do not wait for each other


def reduced_rows(schedule: Any, blocks: list[Block]) -> str | None:
    """Take row by row through all blocks while it is in the cache; sums of a row are taken in vectors."""
    depth = _rows(blocks)
    if depth is None:
        return None
    said = [f"sums of {_reduce_in_vectors(schedule, b)} lanes" for b in blocks if b.reduction and _lanes(b) > 1]
    last = blocks[-1].rv
    row = schedule.get_loops(last)[depth - 1]
    for block in reversed(blocks_of(schedule)[:-1]):
        schedule.compute_at(block.rv, row, preserve_unit_loops=True)
    sums = [found for block in blocks_of(schedule) if (found := _in_vectors(schedule, block, depth)) is not None]
    outer = schedule.get_loops(last)[:depth]
    row = schedule.fuse(*outer) if depth > 1 else outer[0]
    if sum(block.iterations or WORTH_A_THREAD for block in blocks) >= WORTH_A_THREAD:
        schedule.parallel(row)
        said.append("parallel")
    for block, reduction in sums:
        schedule.decompose_reduction(block, reduction)
    if _asks(schedule, blocks, row):
        said.append("next row asked for")
    return ", ".join([f"{len(blocks)} blocks row by row", *said])


def _asks(schedule: Any, blocks: list[Block], row: Any) -> bool:
    """Ask for what comes and goes in whole rows, in the loop of a block between that only computes."""
    between = [block for block in blocks[1:-1] if not block.reduction and _wide(block) == _wide(blocks[-1])]
    if not between:
        return False
    *_, column, lane = schedule.get_loops(between[0].rv)
    rows = blocks[-1].target.buffer.shape
    parameters = [p for p in schedule.mod["main"].params if hasattr(p, "shape")]
    tensors = [p for p in parameters if list(map(str, p.shape)) == list(map(str, rows))]
    if str(schedule.get(lane).kind) == "0" or extent_of(schedule.get(lane)) != _lanes_of(between[0]):
        return False
    written = blocks[-1].target.buffer
    ask_for_next_row(schedule, row, column, [(t, t.same_as(written)) for t in tensors])
    return bool(tensors)


def _rows(blocks: list[Block]) -> int | None:
    """How many leading axes all blocks share; None if the kernel is not of this kind."""
    sums = [block for block in blocks if block.reduction]
    if not sums or not all(block.single for block in blocks):
        return None
    depth = max(_wide(sums[0]), default=-1) + 1
    if depth == 0 or any(not _sums_last_axis(block) for block in sums):
        return None
    leading = [str(axis.dom.extent) for axis in sums[0].spatial[:depth]]
    same = all([str(axis.dom.extent) for axis in block.spatial[:depth]] == leading for block in blocks)
    walked = all(len([i for i in _wide(block) if i >= depth]) <= (not block.reduction) for block in blocks)
    return depth if same and walked else None


def _wide(block: Block) -> list[int]:
    return [i for i, axis in enumerate(block.spatial) if extent_of(axis) != 1]


def _sums_last_axis(block: Block) -> bool:
    """Whether a block reduces one axis, along which its loads are contiguous or stand still."""
    if len(block.reduction) != 1:
        return False
    inner = block.reduction[0].var
    moving = [load for load in block.loads if any(mentions(i, inner) for i in load.indices)]
    return all(load.indices[-1].same_as(inner) for load in moving) and bool(moving)


def _lanes(block: Block) -> int:
    """Lanes of a vector that divide the axis that is reduced."""
    size = _BYTES.get(str(block.target.buffer.dtype))
    extent = extent_of(block.reduction[0])
    if size is None or extent is None or block.calls:
        return 1
    lanes = runtime.vector_bytes() // size
    while extent % lanes:
        lanes //= 2
    return lanes if extent > lanes else 1


def _reduce_in_vectors(schedule: Any, block: Block) -> int:
    """Sum lane by lane; of a long row several vectors at once, which are then added to one."""
    lanes = _lanes(block)
    whole = (extent_of(block.reduction[0]) or 1) // lanes
    for width in [_STRANDS * lanes, lanes] if whole > _STRANDS and whole % _STRANDS == 0 else [lanes]:
        _, lane = schedule.split(schedule.get_loops(block.rv)[-1], [None, width])
        schedule.rfactor(lane, len(block.spatial))
    return lanes


def _in_vectors(schedule: Any, block: Block, depth: int) -> tuple[Any, Any] | None:
    """Put the lanes of a block into vectors; of a sum, return the block and the loop before which it is set to 0."""
    loops = [loop for loop in schedule.get_loops(block.rv)[depth:] if extent_of(schedule.get(loop)) != 1]
    if not block.reduction:
        if len(loops) == 1 and not block.calls:
            _vectorize(schedule, block, loops[0])
        return None
    count = len([axis for axis in block.reduction if extent_of(axis) != 1])
    lanes, reduction = loops[: len(loops) - count], loops[len(loops) - count :]
    if lanes:  # partial sums
        schedule.reorder(*reduction, lanes[0])
        strand, lane = schedule.split(lanes[0], [None, _lanes_of(block)])
        schedule.unroll(strand)
        schedule.vectorize(lane)
    return (block.rv, reduction[0]) if reduction else None


def _lanes_of(block: Block) -> int:
    """Elements of a block's type that a vector holds; 1 where the type is none that is computed in vectors."""
    return runtime.vector_bytes() // _BYTES.get(str(block.target.buffer.dtype), runtime.vector_bytes())


def _vectorize(schedule: Any, block: Block, loop: Any) -> None:
    lanes = vector_width(extent_of(schedule.get(loop)), _lanes_of(block))
    if lanes > 1:
        schedule.vectorize(schedule.split(loop, [None, lanes])[1])
