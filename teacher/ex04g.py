"""What only teachers see of 04g."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex04g
from tvmlab.course.operators import reads_at_most
from tvmlab.course.values import Case, has_values_of

_HEAD = """
class Attrs:
    padding: int = 1

def compute(x, w, padding):
    channels, height, width = x.shape
    rows, columns = int(w.shape[1]), int(w.shape[2])
    zero = const_like(0, x)

    def tap(c, y, z, i, j):
        inside = tirx.all(y + i >= padding, y + i < height + padding, z + j >= padding, z + j < width + padding)
        return {}

    def element(c, y, z):
        total = zero
        for i in range(rows):
            for j in range(columns):
                total = total + tap(c, y, z, i, j)
        return total

    size = (channels, height + 2 * padding - rows + 1, width + 2 * padding - columns + 1)
    return te.compute(size, element, name="depthwise")
"""
_PLACE = "x[c, y + i - padding, z + j - padding]"

SOLUTION = _HEAD.format(f"tirx.if_then_else(inside, {_PLACE} * w[c, i, j], zero)")

_SUM = """
    i, j = te.reduce_axis((0, rows), name="i"), te.reduce_axis((0, columns), name="j")

    def element(c, y, z):
        return te.sum(tap(c, y, z, i, j), axis=[i, j])
"""
_LOOPS = SOLUTION.partition("    def element")[2].partition("    size =")[0]

_STAGES = """
class Attrs:
    padding: int = 1

def compute(x, w, padding):
    channels, height, width = x.shape
    rows, columns = int(w.shape[1]), int(w.shape[2])
    zero = const_like(0, x)

    def pad(c, y, z):
        inside = tirx.all(y >= padding, y < height + padding, z >= padding, z < width + padding)
        return tirx.if_then_else(inside, x[c, y - padding, z - padding], zero)

    padded = te.compute((channels, height + 2 * padding, width + 2 * padding), pad, name="padded")
    i, j = te.reduce_axis((0, rows), name="i"), te.reduce_axis((0, columns), name="j")
    size = (channels, height + 2 * padding - rows + 1, width + 2 * padding - columns + 1)
    return te.compute(
        size, lambda c, y, z: te.sum(padded[c, y + i, z + j] * w[c, i, j], axis=[i, j]), name="depthwise"
    )
"""

WRONG = (
    (_STAGES, "for float32[2, 4, 4], float32[2, 3, 3] it loads 896 elements, and 400 do"),
    (SOLUTION.replace(f"    def element{_LOOPS}", _SUM.lstrip("\n")), "it loads 688 elements, and 400 do"),
    (
        _HEAD.format(f"tirx.if_then_else(inside, {_PLACE}, zero) * w[c, i, j]"),
        "it loads 488 elements, and 400 do",
    ),
    (_HEAD.format(f"{_PLACE} * w[c, i, j]"), "compute reads x out of bounds"),
    (
        _HEAD.format(f"tirx.if_then_else(inside, {_PLACE} * w[c, rows - 1 - i, columns - 1 - j], zero)"),
        "it is right for other sizes, filters and paddings",
    ),
)


def large(random: np.random.Generator) -> Iterator[Case]:
    """A filter of five by five, and more padding than it needs."""
    x, w = random.normal(size=(2, 7, 8)), random.normal(size=(2, 5, 5))
    yield Case((x.astype("float32"), w.astype("float32")), {"padding": 3})


HIDDEN = (
    has_values_of(ex04g.depthwise, large, "it is right for a filter of five by five"),
    reads_at_most(ex04g.par, large, "and under par there too"),
)
