"""Which block of a kernel multiplies matrices, read from its TIR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvmlab.pipeline.kernel import Block, Load, extent_of, mentions

__all__ = ["Matmul", "find_matmul"]

_MULTIPLY_ADD = 5  # nodes of: accumulator + left * right


@dataclass(frozen=True)
class Matmul:
    """A product of matrices, perhaps in batches.

    Parameters
    ----------
    block : Block
        Its spatial axes are those of the batch, of rows, and one of columns; its only reduction axis is the inner one.
    left, right : Load
        Only `right` moves with the columns.
    batch : int
        How many leading axes both sides have; the others, but the last, are rows.
    """

    block: Block
    left: Load
    right: Load
    batch: int

    @property
    def rows(self) -> int | None:
        """Rows of one matrix; None if that is symbolic."""
        count = 1
        for axis in self.block.spatial[self.batch : -1]:
            extent = extent_of(axis)
            if extent is None:
                return None
            count *= extent
        return count

    @property
    def tiled_rows(self) -> int | None:
        """Rows that a tile may be cut from: those of the last axis that has several, since no tile is on two axes."""
        wide = self._wide_rows
        return extent_of(wide[-1]) if wide else 1

    @property
    def rows_on_one_axis(self) -> bool:
        return len(self._wide_rows) <= 1

    def rows_divide_by(self, height: int) -> bool:
        """Whether the rows that tiles are cut from make whole tiles, as far as can be told."""
        from tvm import sym

        wide = self._wide_rows
        return bool(sym.Analyzer().can_prove_equal(wide[-1].dom.extent % height, 0)) if wide else height == 1

    @property
    def _wide_rows(self) -> list[Any]:
        return [axis for axis in self.block.spatial[self.batch : -1] if extent_of(axis) != 1]

    @property
    def columns(self) -> int | None:
        return extent_of(self.block.spatial[-1])

    @property
    def inner(self) -> int | None:
        return extent_of(self.block.reduction[0])

    @property
    def plain(self) -> bool:
        """Whether the right side is one matrix, its rows or columns as they are."""
        axes = (self.block.reduction[0].var, self.block.spatial[-1].var)
        return len(self.right.indices) == len(axes) and all(any(i.same_as(a) for i in self.right.indices) for a in axes)

    @property
    def turned(self) -> bool:
        """Whether the right side is stored column by column."""
        return mentions(self.right.indices[-1], self.block.reduction[0].var)


def find_matmul(blocks: list[Block]) -> Matmul | None:
    """The first product of matrices among some blocks, with static columns and inner size."""
    return next((found for found in map(_read, blocks) if found is not None), None)


def _read(block: Block) -> Matmul | None:
    if not block.single or len(block.reduction) != 1 or len(block.loads) != 2 or not block.spatial:
        return None
    if block.calls or block.size != _MULTIPLY_ADD or len(block.target.indices) != len(block.spatial):
        return None
    inner, column = block.reduction[0].var, block.spatial[-1].var
    sides = sorted(block.loads, key=lambda load: _moves(load, column))
    left, right = sides
    if _moves(left, column) or not _moves(right, column) or len(right.indices) < 2 or not left.indices:
        return None
    if sum(mentions(index, inner) for index in right.indices) != 1 or not any(i.same_as(inner) for i in right.indices):
        return None
    if not left.indices[-1].same_as(inner) or any(mentions(i, inner) for i in left.indices[:-1]):
        return None
    shared = [_moves(right, axis.var) and extent_of(axis) != 1 for axis in block.spatial[:-1]]
    batch = next((i for i in range(len(shared), 0, -1) if shared[i - 1]), 0)
    rows = block.spatial[batch:-1]
    exact = all(i.same_as(a.var) for i, a in zip(block.target.indices, block.spatial, strict=True) if extent_of(a) != 1)
    if not exact or extent_of(block.spatial[-1]) is None or extent_of(block.reduction[0]) is None:
        return None
    return Matmul(block, left, right, batch) if all(extent_of(a) == 1 or _moves(left, a.var) for a in rows) else None


def _moves(load: Load, variable: Any) -> bool:
    return any(mentions(index, variable) for index in load.indices)
