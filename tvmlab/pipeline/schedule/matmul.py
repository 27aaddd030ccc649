"""Rule for a product of matrices: a tile of rows and vectors of columns stays in registers."""

from __future__ import annotations

from typing import Any

from tvmlab import runtime
from tvmlab.pipeline.kernel import Block, extent_of
from tvmlab.pipeline.matmul import Matmul, find_matmul
from tvmlab.pipeline.packing import PANEL
from tvmlab.pipeline.register_tiles import SYMBOLIC_HEIGHT, RegisterTile, register_tile
from tvmlab.pipeline.schedule.caches import second_level_bytes
from tvmlab.pipeline.schedule.loops import parallel, spatial_and_reductions

__all__ = ["packed_matmul"]

_BYTES = {"float32": 4, "float64": 8}
_ENOUGH_PANELS = 4  # tasks, where rows are no tasks


def packed_matmul(schedule: Any, blocks: list[Block]) -> str | None:
    """Accumulate a tile in registers over the whole inner axis, then compute what follows on it, all in parallel."""
    found = find_matmul(blocks)
    size = None if found is None else _BYTES.get(str(found.left.buffer.dtype))
    if found is None or size is None or found.turned:
        return None
    lanes = _lanes(found.columns or 1, runtime.vector_bytes() // size)
    if lanes == 1:
        return None
    position = next(i for i, b in enumerate(blocks) if b.name == found.block.name)
    said = [_before(schedule, block, lanes) for block in blocks[:position]]
    said.append(_tile(schedule, found, blocks[position + 1 :], lanes, size))
    return "; ".join(said)


def _before(schedule: Any, block: Block, lanes: int) -> str:
    """Rows that are padded are copied in vectors: whether a row is there is asked once for each."""
    if block.arithmetic or type(schedule.get(block.rv).body.value).__name__ == "TensorLoad":
        return spatial_and_reductions(schedule, [block]) or ""
    *rows, last = schedule.get_loops(block.rv)
    said = parallel(schedule, block, rows)
    if (extent_of(schedule.get(last)) or 1) % lanes == 0:
        schedule.vectorize(schedule.split(last, [None, lanes])[1])
    return ", ".join([f"{block.name}: row by row", *said])


def _tile(schedule: Any, matmul: Matmul, after: list[Block], lanes: int, size: int) -> str:
    rv = matmul.block.rv
    loops = schedule.get_loops(rv)
    batch, rows, column, inner = loops[: matmul.batch], loops[matmul.batch : -2], loops[-2], loops[-1]
    row = schedule.fuse(*rows) if rows else schedule.add_unit_loop(column)
    panel = schedule.get(rv).annotations.get(PANEL)
    tile = _shape(matmul, lanes, None if panel is None else int(panel) // lanes)
    outer_column, vector, lane = schedule.split(column, [None, tile.vectors, lanes])
    panels = (matmul.columns or 1) // (lanes * tile.vectors)
    together = _together(matmul, tile, size, panels)
    block_of_rows, middle_row, inner_row = schedule.split(row, [*together, tile.height])
    schedule.reorder(*batch, block_of_rows, outer_column, middle_row, inner, inner_row, vector, lane)
    if len(after) == 1:
        schedule.reverse_compute_at(after[0].rv, middle_row)
        depth = len(batch) + 3
        remaining = schedule.get_loops(after[0].rv)[depth:]
        _finish(schedule, after[0], remaining, lanes)
    schedule.vectorize(lane)
    schedule.unroll(vector)
    schedule.unroll(inner_row)
    schedule.parallel(schedule.fuse(*batch, block_of_rows, outer_column))
    schedule.decompose_reduction(rv, inner)
    return f"{matmul.block.name}: tile of {tile.height} rows and {tile.vectors} vectors of {lanes} columns, parallel"


def _shape(matmul: Matmul, lanes: int, vectors: int | None) -> RegisterTile:
    """The tile; where its height does not divide the rows, the next best that does."""
    across = (matmul.columns or 1) // lanes
    rows = matmul.tiled_rows
    if rows is None and not matmul.rows_divide_by(SYMBOLIC_HEIGHT):
        rows = 1
    tile = register_tile(across, rows, vectors)
    if rows is None or rows % tile.height == 0:
        return tile
    height = max(h for h in range(1, tile.height + 1) if rows % h == 0)
    return RegisterTile(tile.vectors, height)


def _together(matmul: Matmul, tile: RegisterTile, size: int, panels: int) -> tuple[int | None, int | None]:
    """Blocks of rows, and tiles of each: those whose rows stay in the cache while panel after panel meets them."""
    if matmul.rows is None:
        return (1, None) if panels >= _ENOUGH_PANELS else (None, 1)
    tiles = (matmul.rows or 1) // tile.height
    most = second_level_bytes() // 2 // ((matmul.inner or 1) * size * tile.height)
    return None, max(d for d in range(1, min(max(most, 1), max(tiles, 1)) + 1) if tiles % d == 0)


def _finish(schedule: Any, block: Block, loops: list[Any], lanes: int) -> None:
    if block.calls or not loops:
        return
    *outer, last = loops
    extent = extent_of(schedule.get(last)) or 1
    if extent % lanes:
        return
    if extent > lanes:
        unrolled, last = schedule.split(last, [None, lanes])
        outer.append(unrolled)
    schedule.vectorize(last)
    for loop in outer:
        schedule.unroll(loop)


def _lanes(columns: int, most: int) -> int:
    lanes = most
    while columns % lanes:
        lanes //= 2
    return lanes
