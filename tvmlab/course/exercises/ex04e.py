"""Exercise 04e: as wide as it must be, and no wider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.values import Case, has_values_of
from tvmlab.records import Exercise


def rms(x: Any) -> Any:
    """Root of the mean of the squares, along the last axis."""
    return np.sqrt((x.astype("float64") ** 2).mean(-1)).astype(x.dtype)


def single(random: np.random.Generator) -> Iterator[Case]:
    """Of float32."""
    yield Case((random.uniform(-3, 3, (3, 5)).astype("float32"),), {})


def half(random: np.random.Generator) -> Iterator[Case]:
    """Of float16, whose squares overflow beyond 256."""
    yield Case((random.uniform(-3, 3, (2, 4)).astype("float16"),), {})
    yield Case((random.uniform(300, 2000, (2, 4)).astype("float16"),), {})


def double(random: np.random.Generator) -> Iterator[Case]:
    """Of float64."""
    yield Case((random.uniform(-3, 3, (2, 5)),), {})


EXERCISE = Exercise(
    id="04e",
    title="as wide as it must be, and no wider",
    grade=2,
    statement=(
        "Write the root of the mean square of each row, so that it works in float16, float32 and float64. The result "
        "has the dtype of x. Squares of float16 numbers overflow beyond 255, so add up in float32 there; float64 must "
        "not be narrowed on the way."
    ),
    starter='''\
def compute(x):
    """x: [rows, columns], of a floating-point dtype."""
    rows, columns = x.shape
    k = te.reduce_axis((0, columns), name="k")
    wide = ...
    squares = te.compute((rows,), lambda i: te.sum(x[i, k] * x[i, k], axis=k), name="squares")
    return te.compute((rows,), lambda i: te.sqrt(squares[i] / columns), name="rms")
''',
    asks="lab.rms",
    properties=(
        has_values_of(rms, single, "it is right in float32"),
        has_values_of(rms, half, "float16 stays float16, and does not overflow"),
        has_values_of(rms, double, "float64 keeps its precision"),
    ),
    hints=(
        "Which dtype should the sum have, for each of the three? str(x.dtype) is the dtype of x.",
        (
            "value.astype(wide) casts. Cast before the square: afterwards it is too late. columns is an integer, and "
            "has an astype too."
        ),
        (
            "Outline: wide is float64 for float64, and float32 for the others. Cast both factors to it, and columns; "
            "cast the root back to x's dtype."
        ),
    ),
    lesson="04_construction_crew",
)
