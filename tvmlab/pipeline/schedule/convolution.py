"""Rule for a packed convolution: a tile of columns and vectors of output channels stays in registers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvmlab import runtime
from tvmlab.pipeline.kernel import Block, extent_of
from tvmlab.pipeline.packing import CONVOLUTION, REACH
from tvmlab.pipeline.schedule.ahead import ask_for_next_weights
from tvmlab.pipeline.schedule.caches import second_level_bytes
from tvmlab.pipeline.schedule.loops import spatial_and_reductions
from tvmlab.pipeline.schedule.reaching import keep_to_reach

__all__ = ["packed_convolution"]

_WIDE = 64  # bytes: such a machine has 32 registers, others 16
_NEAR = 16 << 10  # bytes: half of a small first level
_TURNS = 8  # of a loop within which nothing is asked for
_STACK = 1024  # bytes: TVM allocates accumulators that are as many anew for each tile, elsewhere
_ENOUGH_TASKS = 8
_MANY = 256 << 10  # bytes of weights: fewer come in time without being asked for
_SPATIAL = 5  # image, block of channels, row, column, channel of the block


def packed_convolution(schedule: Any, blocks: list[Block]) -> str | None:
    """Accumulate a tile in registers over the whole window, then compute what follows on it, all in parallel."""
    convolution = next((b for b in blocks if CONVOLUTION in schedule.get(b.rv).annotations), None)
    if convolution is None:
        return None
    position = blocks.index(convolution)
    before, after = blocks[:position], blocks[position + 1 :]
    rows = _rows_together(schedule, before[0], convolution) if len(before) == 1 else 0
    padding = before[0] if rows else None
    said = [_before(schedule, block) for block in before if block is not padding]
    said.append(_tile(schedule, convolution, after, rows))
    if padding is not None:
        schedule.compute_at(padding.rv, schedule.get_loops(convolution.rv)[0])
        if len(padding.spatial) == _SPATIAL:
            schedule.vectorize(schedule.get_loops(padding.rv)[-1])
        said.append(f"{padding.name}: {'row by row' if rows == 1 else f'for {rows} rows at a time'}")
    return "; ".join(said)


def _before(schedule: Any, block: Block) -> str:
    """Padding is a block of its own; a plain copy goes."""
    if not block.arithmetic and not _conditional(schedule, block):
        schedule.compute_inline(block.rv)
        return f"{block.name}: inlined"
    return spatial_and_reductions(schedule, [block]) or ""


def _rows_together(schedule: Any, block: Block, convolution: Block) -> int:
    """For how many rows of the output a padding is best computed at once, by the convolution's own threads; 0 if apart.

    Threads are then woken once, and each reads what it has written itself.  But an input row is padded for each window
    that it is in: for rows one by one twice at most, else half as often again; and what is between two uses of an
    input, or of a weight, should stay near.
    """
    channels, padded, *others = (extent_of(axis) or 0 for axis in block.spatial[1:])
    if block.calls or len(others) < _SPATIAL - 4 or not _conditional(schedule, block):
        return 0
    images, outputs, rows, _, lanes = (extent_of(axis) or 1 for axis in convolution.spatial[:_SPATIAL])
    window = [extent_of(axis) or 1 for axis in convolution.reduction]
    size, height = _item_bytes(block), window[1]
    line, weights = channels * math.prod(others) * size, outputs * lanes * math.prod(window) * size
    if height * rows < 2 * padded and height * line + weights <= _NEAR:
        return 1
    step = (padded - height) // max(rows - 1, 1)
    half = second_level_bytes() // 2
    together = [
        count
        for count in range(2, rows + 1)
        if rows % count == 0 and images * rows // count >= _ENOUGH_TASKS and weights <= half
        if 2 * ((count - 1) * step + height) <= 3 * count * step and ((count - 1) * step + height) * line <= half
    ]
    return max(together, default=0)


def _item_bytes(block: Block) -> int:
    return np.dtype(str(block.target.buffer.dtype)).itemsize


def _conditional(schedule: Any, block: Block) -> bool:
    return type(schedule.get(block.rv).body.value).__name__ != "TensorLoad"


def _tile(schedule: Any, block: Block, after: list[Block], rows: int) -> str:
    loops = schedule.get_loops(block.rv)
    image, channels, row, column, lane = loops[:_SPATIAL]
    window = loops[_SPATIAL:]
    plain = len(after) == 1 and len(after[0].target.indices) < _SPATIAL
    alone = REACH in schedule.get(block.rv).annotations  # each vector has its own inputs
    columns, vectors = _shape(extent_of(block.spatial[3]) or 1, 1 if alone else extent_of(block.spatial[1]) or 1, plain)
    outer_channels, inner_channels = schedule.split(channels, [None, vectors])
    outer_column, inner_column = schedule.split(column, [None, columns])
    outer_row, *inner_row = schedule.split(row, [None, rows]) if rows > 1 else [row]
    tasks = [image, outer_row] if rows else [image, outer_channels, row]
    around = [*tasks, *([outer_channels, *inner_row] if rows else []), outer_column]
    schedule.reorder(*around, *window, inner_column, inner_channels, lane)
    if len(after) == 1:
        schedule.reverse_compute_at(after[0].rv, outer_column)
        *unrolled, vector = schedule.get_loops(after[0].rv)[len(around) :]
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
    schedule.parallel(schedule.fuse(*tasks))
    walked = _walked(schedule, block, window)
    schedule.decompose_reduction(block.rv, walked[0])
    keep_to_reach(schedule, block.rv, walked[0])
    if len(walked) > 1 and not rows and _far(block):
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
    return rows > 1 and weights * _item_bytes(block) > _MANY


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
