"""What only teachers see of 04f."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex04f
from tvmlab.course.values import Case, has_values_of

_HEAD = '''
def compute(x):
    """x: [rows, columns]."""
    rows, columns = x.shape

    def blur(i, j):
        left = {}
        right = {}
        return (left + x[i, j] + right) / const_like(3, x)

    return te.compute(x.shape, blur, name="blur")
'''
_LEFT = "tirx.if_then_else(j > 0, x[i, j - 1], x[i, j])"
_RIGHT = "tirx.if_then_else(j < columns - 1, x[i, j + 1], x[i, j])"

SOLUTION = _HEAD.format(_LEFT, _RIGHT)

WRONG = (
    (ex04f.EXERCISE.starter, "compute reads x out of bounds"),
    (ex04f.EXERCISE.starter.replace("j <= columns", "j < columns"), "the index j - 1 runs from -1"),
    (ex04f.EXERCISE.starter.replace("tirx.Select", "tirx.if_then_else"), "the index j + 1 runs from 1"),
    (
        _HEAD.format(_LEFT.replace("x[i, j])", "const_like(0, x))"), _RIGHT.replace("x[i, j])", "const_like(0, x))")),
        "element [0, 3] is 5 and should be 8",
    ),
    (
        _HEAD.format("x[i, (j + columns - 1) % columns]", "x[i, (j + 1) % columns]"),
        "element [0, 0] is 4 and should be 1",
    ),
    (_HEAD.format("x[i, tirx.max(j - 1, 0)]", "x[i, tirx.min(j + 1, columns)]"), "compute reads x out of bounds"),
)


def tall(random: np.random.Generator) -> Iterator[Case]:
    """More rows than columns, and many columns."""
    for shape in ((9, 2), (1, 50)):
        yield Case((random.normal(size=shape).astype("float32"),), {})


HIDDEN = (has_values_of(ex04f.blur, tall, "it is right for tall and for wide matrices"),)
