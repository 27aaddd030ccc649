"""How large a tile of a product of matrices is whose sums stay in registers."""

from __future__ import annotations

from dataclasses import dataclass

from tvmlab import runtime

__all__ = ["SYMBOLIC_HEIGHT", "RegisterTile", "register_tile"]

SYMBOLIC_HEIGHT = 4  # rows of a tile where nobody knows how many there are: a single row pays for three more
_WIDE = 64  # bytes: such a machine has 32 registers, others 16
_SUMS = 24  # registers of a machine with 32 that hold sums; the others hold columns and a row's element
_FEWER_SUMS = 8
_HIGHEST, _WIDEST = 12, 8
_PADDING = 1.25  # what copying the rows into whole tiles has to gain


@dataclass(frozen=True)
class RegisterTile:
    """Vectors of columns, and rows."""

    vectors: int
    height: int


def register_tile(across: int, rows: int | None, vectors: int | None = None) -> RegisterTile:
    """The tile with most multiplications a load.

    Parameters
    ----------
    across : int
        Vectors that all columns make; those of a tile divide them.
    rows : int or None
        None if that is symbolic.  A height that does not divide them asks for padding.
    vectors : int, optional
        Take so many.
    """
    most = _SUMS if runtime.vector_bytes() >= _WIDE else _FEWER_SUMS
    shapes = [
        (v, h)
        for v in range(1, min(across, _WIDEST) + 1)
        if across % v == 0 and vectors in (None, v)
        for h in _heights(rows, most)
        if v * h <= most
    ]
    width, height = max(shapes, key=lambda s: _worth(s[0], s[1], rows), default=(vectors or 1, 1))
    return RegisterTile(width, height)


def _heights(rows: int | None, most: int) -> range:
    if rows is None:
        return range(SYMBOLIC_HEIGHT, SYMBOLIC_HEIGHT + 1)
    if 3 * rows <= most:  # all rows at once: the columns are read once
        return range(max(rows, 1), max(rows, 1) + 1)
    return range(1, min(rows, _HIGHEST) + 1)


def _worth(vectors: int, height: int, rows: int | None) -> tuple[float, int]:
    """Multiplications a load, less those of padding; then more rows."""
    used = 1.0
    if rows is not None and rows % height:
        used = rows / (-(-rows // height) * height) / _PADDING
    return used * vectors * height / (vectors + height), height
