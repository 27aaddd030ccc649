"""Rule for a convolution of few inputs a window, on images that keep their layout: vectors run along the columns."""

from __future__ import annotations

from typing import Any

from tvmlab import runtime
from tvmlab.pipeline.convolution import Convolution, find_convolution
from tvmlab.pipeline.kernel import Block, extent_of
from tvmlab.pipeline.packing import is_direct
from tvmlab.pipeline.schedule.loops import spatial_and_reductions

__all__ = ["direct_convolution"]

_ACCUMULATORS = 14
_WIDE = 64  # bytes: such a machine has 32 registers, others 16
_MANY_ACCUMULATORS = 24
_FLAT_VECTORS = 4
_BYTES = {"float32": 4, "float64": 8}


def direct_convolution(schedule: Any, blocks: list[Block]) -> str | None:
    """Accumulate vectors of columns for several output channels at once, then compute what follows on them."""
    found = find_convolution(blocks)
    if found is None or not is_direct(found):
        return None
    position = next(i for i, block in enumerate(blocks) if block.name == found.block.name)
    said = [_before(schedule, block) for block in blocks[:position]]
    said.append(_tile(schedule, found, blocks[position + 1 :]))
    return "; ".join(said)


def _before(schedule: Any, block: Block) -> str:
    """Padding is a block of its own, of which the inside is a plain copy; without padding, it goes."""
    if type(schedule.get(block.rv).body.value).__name__ == "TensorLoad":
        schedule.compute_inline(block.rv)
        return f"{block.name}: inlined"
    return spatial_and_reductions(schedule, [block]) or ""


def _tile(schedule: Any, found: Convolution, after: list[Block]) -> str:
    return _flat_tile(schedule, found, after) if found.flat else _rows_tile(schedule, found, after)


def _flat_tile(schedule: Any, found: Convolution, after: list[Block]) -> str:
    """A product of matrices, but for the name: the pixels' tile stays in the cache while all channels meet it."""
    block = found.block
    _join_pixels(schedule, block, after)
    image, channel, pixel, inner, *window = schedule.get_loops(block.rv)
    pixels = (extent_of(block.spatial[2]) or 1) * (extent_of(block.spatial[3]) or 1)
    lanes = runtime.vector_bytes() // _BYTES[str(block.target.buffer.dtype)]
    vectors = _divisor(pixels // lanes, _FLAT_VECTORS)
    sums = _ACCUMULATORS if runtime.vector_bytes() < _WIDE else _MANY_ACCUMULATORS
    together = _divisor(found.out_channels, max(sums // vectors, 1))
    outer_channel, inner_channel = schedule.split(channel, [None, together])
    outer_pixel, vector, lane = schedule.split(pixel, [None, vectors, lanes])
    schedule.reorder(image, outer_pixel, outer_channel, inner, *window, inner_channel, vector, lane)
    if len(after) == 1:
        schedule.reverse_compute_at(after[0].rv, outer_channel)
        *others, last = schedule.get_loops(after[0].rv)[3:]
        _finish(schedule, after[0], others, last, lanes)
    schedule.vectorize(lane)
    for loop in (inner_channel, vector, *window):
        schedule.unroll(loop)
    schedule.parallel(schedule.fuse(image, outer_pixel))
    schedule.decompose_reduction(block.rv, inner)
    return f"{block.name}: tile of {together} channels and {vectors} vectors of {lanes} pixels, parallel"


def _join_pixels(schedule: Any, block: Block, after: list[Block]) -> None:
    """Let the convolution and what follows walk over rows and columns as one axis."""
    from tvm.tirx import IndexMap

    width = extent_of(block.spatial[3]) or 1
    if after:
        schedule.transform_layout(block.rv, ("write", 0), lambda n, c, h, w: (n, c, h * width + w))
    for each in (block, *after):
        axes = len(each.spatial) + len(each.reduction)
        joined = IndexMap.from_func(lambda n, c, h, w, *rest: (n, c, h * width + w, *rest), ndim=axes)
        schedule.transform_block_layout(each.rv, joined)


def _finish(schedule: Any, block: Block, others: list[Any], last: Any, lanes: int) -> None:
    if block.calls:
        return
    unrolled, last = schedule.split(last, [None, lanes])
    schedule.vectorize(last)
    for loop in (*others, unrolled):
        schedule.unroll(loop)


def _rows_tile(schedule: Any, found: Convolution, after: list[Block]) -> str:
    block = found.block
    image, channel, row, column, *window = schedule.get_loops(block.rv)
    lanes = lanes_along(extent_of(block.spatial[3]) or 1, str(block.target.buffer.dtype))
    across = (extent_of(block.spatial[3]) or 1) // lanes
    together = 1 if found.depthwise else _divisor(found.group_outputs, 8)
    vectors = _divisor(across, max(_ACCUMULATORS // together, 1))
    outer_channel, inner_channel = schedule.split(channel, [None, together])
    outer_column, vector, lane = schedule.split(column, [None, vectors, lanes])
    schedule.reorder(image, outer_channel, row, outer_column, *window, inner_channel, vector, lane)
    if len(after) == 1:
        schedule.reverse_compute_at(after[0].rv, outer_column)
        *others, last = schedule.get_loops(after[0].rv)[4:]
        _finish(schedule, after[0], others, last, lanes)
    schedule.vectorize(lane)
    for loop in (inner_channel, vector, *window[1:]):
        schedule.unroll(loop)
    schedule.parallel(schedule.fuse(image, outer_channel, row))
    schedule.decompose_reduction(block.rv, window[0])
    return f"{block.name}: tile of {together} channels and {vectors} vectors of {lanes} columns, parallel"


def lanes_along(columns: int, dtype: str) -> int:
    """Lanes of a vector that divide the columns."""
    lanes = runtime.vector_bytes() // _BYTES.get(dtype, runtime.vector_bytes())
    while columns % lanes:
        lanes //= 2
    return lanes


def _divisor(extent: int, most: int) -> int:
    return max(d for d in range(1, most + 1) if extent % d == 0)
