"""What only teachers see of 04e."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex04e
from tvmlab.course.values import Case, has_values_of

_HEAD = '''
def compute(x):
    """x: [rows, columns], of a floating-point dtype."""
    rows, columns = x.shape
    k = te.reduce_axis((0, columns), name="k")
    wide = {}

    def square(i):
        return te.sum({}, axis=k)

    squares = te.compute((rows,), square, name="squares")
    return te.compute((rows,), lambda i: {}, name="rms")
'''
_WIDE = '"float64" if str(x.dtype) == "float64" else "float32"'
_SQUARE = "x[i, k].astype(wide) * x[i, k].astype(wide)"
_ROOT = "te.sqrt(squares[i] / columns.astype(wide))"

SOLUTION = _HEAD.format(_WIDE, _SQUARE, f"{_ROOT}.astype(x.dtype)")

WRONG = (
    (_HEAD.format("x.dtype", _SQUARE, _ROOT), "float16 stays float16, and does not overflow"),
    (
        _HEAD.format(_WIDE, "(x[i, k] * x[i, k]).astype(wide)", f"{_ROOT}.astype(x.dtype)"),
        "is inf and should be",
    ),
    (_HEAD.format('"float32"', _SQUARE, f"{_ROOT}.astype(x.dtype)"), "float64 keeps its precision"),
    (_HEAD.format(_WIDE, _SQUARE, _ROOT), "float16"),
    (_HEAD.format(_WIDE, _SQUARE, "te.sqrt(squares[i]).astype(x.dtype)"), "it is right in float32"),
)


def long_rows(random: np.random.Generator) -> Iterator[Case]:
    """Of float16: many squares to add."""
    yield Case((random.uniform(0.5, 2, (2, 3000)).astype("float16"),), {})


HIDDEN = (has_values_of(ex04e.rms, long_rows, "3,000 squares of float16 add up"),)
