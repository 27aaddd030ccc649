"""Rule for a packed convolution: a tile of columns and vectors of output channels stays in registers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvmlab import runtime
from tvmlab.pipeline.kernel import Block, extent_of
from tvmlab.pipeline.packing import CONVOLUTION, REACH
from tvmlab.pipeline.schedule.ahead import ask_for_next_weights
from tvmlab.pipeline.schedule.loops import spatial_and_reductions
from tvmlab.pipeline.schedule.reaching import keep_to_reach

__all__ = ["packed_convolution"]

_WIDE = 64  # bytes: such a machine has 32 registers, others 16
_NEAR = 16 << 10  # bytes: half of a small first level
_TURNS = 8  # of a loop within which nothing is asked for
_STACK = 1024  # bytes: TVM allocates accumulators that are as many anew for each tile, elsewhere
_SPATIAL = 5  # image, block of channels, row, column, channel of the block


def packed_convolution(schedule: Any, blocks: list[Block]) -> str | None:
    """Accumulate a tile in registers over the whole window, then compute what follows on it, all in parallel."""
    convolution = next((b for b in blocks if CONVOLUTION in schedule.get(b.rv).annotations), None)
    if convolution is None:
        return None
    position = blocks.index(convolution)
    before, after = blocks[:position], blocks[position + 1 :]
    padding = before[0] if len(before) == 1 and _row_by_row(schedule, before[0], convolution) else None
    said = [_before(schedule, block) for block in before if block is not padding]
    said.append(_tile(schedule, convolution, after, by_rows=padding is not None))
    if padding is not None:
        schedule.compute_at(padding.rv, schedule.get_loops(convolution.rv)[0])
        if len(padding.spatial) == _SPATIAL:
            schedule.vectorize(schedule.get_loops(padding.rv)[-1])
        said.append(f"{padding.name}: row by row")
    return "; ".join(said)


def _before(schedule: Any, block: Block) -> str:
    """Padding is a block of its own; a plain copy goes."""
    if not block.arithmetic and not _conditional(schedule, block):
        schedule.compute_inline(block.rv)
        return f"{block.name}: inlined"
    return spatial_and_reductions(schedule, [block]) or ""


def _row_by_row(schedule: Any, block: Block, convolution: Block) -> bool:
    """Whether a padding is best computed for each row of the output, by the convolution's own threads.

    Threads are then woken once.  But an input row is padded for each window that it is in, which may be twice at most;
    and a row of all channels is computed before the next one, so its inputs and all weights should stay near.
    """
    channels, padded, *others = (extent_of(axis) or 0 for axis in block.spatial[1:])
    window = [extent_of(axis) or 0 for axis in convolution.reduction]
    if block.calls or len(others) < _SPATIAL - 4 or not _conditional(schedule, block):
        return False
    rows, outputs = (extent_of(convolution.spatial[n]) or 0 for n in (2, 1))
    lanes = extent_of(convolution.spatial[4]) or 0
    near = channels * window[1] * math.prod(others) + outputs * lanes * math.prod(window)
    return window[1] * rows < 2 * padded and near * _item_bytes(block) <= _NEAR


def _item_bytes(block: Block) -> int:
    return np.dtype(str(block.target.buffer.dtype)).itemsize


def _conditional(schedule: Any, block: Block) -> bool:
    return type(schedule.get(block.rv).body.value).__name__ != "TensorLoad"


def _tile(schedule: Any, block: Block, after: list[Block], by_rows: bool) -> str:
    loops = schedule.get_loops(block.rv)
    image, channels, row, column, lane = loops[:_SPATIAL]
    window = loops[_SPATIAL:]
    plain = len(after) == 1 and len(after[0].target.indices) < _SPATIAL
    alone = REACH in schedule.get(block.rv).annotations  # each vector has its own inputs
    columns, vectors = _shape(extent_of(block.spatial[3]) or 1, 1 if alone else extent_of(block.spatial[1]) or 1, plain)
    outer_channels, inner_channels = schedule.split(channels, [None, vectors])
    outer_column, inner_column = schedule.split(column, [None, columns])
    tasks = (image, row, outer_channels) if by_rows else (image, outer_channels, row)
    schedule.reorder(*tasks, outer_column, *window, inner_column, inner_channels, lane)
    if len(after) == 1:
        schedule.reverse_compute_at(after[0].rv, outer_column)
        *unrolled, vector = schedule.get_loops(after[0].rv)[4:]
        if plain:  # whole lines of the cache are written, channel by channel
            wide = [loop for loop in unrolled if extent_of(schedule.get(loop)) == columns]
            if wide and columns > 1:
                schedule.reorder(vector, wide[-1])
                unrolled, vector = [loop for loop in unrolled if loop is not wide[-1]], wide[-1]
        if not after[0].calls:
            schedule.vectorize(vector)
            for loop in unrolled:
                schedule.unroll(loop)
    schedule.vectorize(lane)
    schedule.unroll(inner_channels)
    schedule.unroll(inner_column)
    schedule.parallel(schedule.fuse(*tasks[:2] if by_rows else tasks))
    walked = _walked(schedule, block, window)
    schedule.decompose_reduction(block.rv, walked[0])
    keep_to_reach(schedule, block.rv, walked[0])
    if len(walked) > 1 and _far(block):
        ask_for_next_weights(schedule, walked[-2], vectors)
    return f"{block.name}: tile of {columns} columns and {vectors} vectors of channels, parallel"


def _walked(schedule: Any, block: Block, window: list[Any]) -> list[Any]:
    """The loops over the inputs that are longer than 1; a single one in two, of which the inner one is short."""
    walked = [loop for loop in window if extent_of(schedule.get(loop)) != 1] or window[:1]
    if len(walked) > 1:
        return walked
    reach = schedule.get(block.rv).annotations.get(REACH)
    inputs = extent_of(schedule.get(walked[0])) if reach is None else int(reach[2])
    return list(schedule.split(walked[0], [None, max(n for n in range(1, _TURNS + 1) if (inputs or 1) % n == 0)]))


def _far(block: Block) -> bool:
    """Whether a convolution's weights are too many to stay near, and there are rows to share the requests for them."""
    _, channels, rows, _, lanes = (extent_of(axis) or 1 for axis in block.spatial[:_SPATIAL])
    weights = channels * lanes * math.prod(extent_of(axis) or 1 for axis in block.reduction)
    return rows > 1 and weights * _item_bytes(block) > _NEAR


def _shape(columns: int, blocks: int, plain: bool) -> tuple[int, int]:
    """Columns and vectors of channels of a tile, whose accumulators stay in registers beside what they meet."""
    wide = runtime.vector_bytes() >= _WIDE
    most = _STACK // _WIDE - 1 if wide else 8
    if plain:
        return max(w for w in range(1, most + 1) if columns % w == 0), 1
    several = (4, 2, 1) if wide else (2, 1)
    shapes = [(w, v) for v in several for w in range(1, most + 1) if columns % w == 0 and blocks % v == 0]
    return max((shape for shape in shapes if shape[0] * shape[1] <= most), key=_worth)


def _worth(shape: tuple[int, int]) -> tuple[float, int]:
    """Multiplications a load, with each tile's start and end counted as loads; then more vectors."""
    width, vectors = shape
    return width * vectors / (width + vectors + 1), vectors
