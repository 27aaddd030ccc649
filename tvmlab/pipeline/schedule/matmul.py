"""Rule for a product of matrices: a tile of rows and vectors of columns stays in registers."""

from __future__ import annotations

from typing import Any

from tvmlab import runtime
from tvmlab.pipeline.kernel import Block, extent_of
from tvmlab.pipeline.matmul import Matmul, find_matmul
from tvmlab.pipeline.packing import PANEL
from tvmlab.pipeline.schedule.loops import spatial_and_reductions

__all__ = ["packed_matmul"]

_CACHED = 1 << 18  # bytes of the left side that are used again for each panel of columns
_WIDE = 64  # bytes: such a machine has 32 registers, others 16


def packed_matmul(schedule: Any, blocks: list[Block]) -> str | None:
    """Accumulate a tile in registers over the whole inner axis, then compute what follows on it, all in parallel."""
    found = find_matmul(blocks)
    if found is None:
        return None
    size = 4 if str(found.left.buffer.dtype) == "float32" else 8
    lanes = _lanes(found.columns or 1, runtime.vector_bytes() // size)
    if lanes == 1 or str(found.left.buffer.dtype) not in ("float32", "float64") or found.turned:
        return None
    position = next(i for i, b in enumerate(blocks) if b.name == found.block.name)
    said = [spatial_and_reductions(schedule, [block]) or "" for block in blocks[:position]]
    said.append(_tile(schedule, found, blocks[position + 1 :], lanes, size))
    return "; ".join(said)


def _tile(schedule: Any, matmul: Matmul, after: list[Block], lanes: int, size: int) -> str:
    rv = matmul.block.rv
    loops = schedule.get_loops(rv)
    batch, rows, column, inner = loops[: matmul.batch], loops[matmul.batch : -2], loops[-2], loops[-1]
    row = schedule.fuse(*rows) if rows else schedule.add_unit_loop(column)
    vectors, height = _shape((matmul.columns or 1) // lanes, matmul.rows or 1)
    panel = schedule.get(rv).annotations.get(PANEL)
    if panel is not None:
        vectors = int(panel) // lanes
        height = _height(vectors, matmul.rows or 1)
    outer_column, vector, lane = schedule.split(column, [None, vectors, lanes])
    many = max(1, _CACHED // ((matmul.inner or 1) * size * height)) if matmul.rows else 1
    tiles = (matmul.rows or 1) // height
    many = max(d for d in range(1, min(many, tiles) + 1) if tiles % d == 0)
    block_of_rows, middle_row, inner_row = schedule.split(row, [None, many, height])
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
    return f"{matmul.block.name}: tile of {height} rows and {vectors} vectors of {lanes} columns, parallel"


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


def _shape(blocks: int, rows: int) -> tuple[int, int]:
    """Vectors of columns and rows of a tile."""
    choices = (4, 3, 2, 1) if rows < 4 else (2, 3, 1)
    vectors = next(v for v in choices if blocks % v == 0)
    return vectors, _height(vectors, rows)


def _height(vectors: int, rows: int) -> int:
    most = (8 if runtime.vector_bytes() < _WIDE else 16) // vectors
    return max(d for d in range(1, most + 1) if rows % d == 0)
