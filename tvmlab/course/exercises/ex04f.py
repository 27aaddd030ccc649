"""Exercise 04f: find what is read outside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.values import Case, has_values_of
from tvmlab.records import Exercise


def blur(x: Any) -> Any:
    """Mean of three neighbours along the last axis; the row goes on with its last element."""
    padded = np.pad(x.astype("float64"), ((0, 0), (1, 1)), mode="edge")
    return ((padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / 3).astype(x.dtype)


def small(_random: np.random.Generator) -> Iterator[Case]:
    """To look at."""
    yield Case((np.array([[0, 3, 6, 9], [9, 0, 0, 9]], "float32"),), {})


def sizes(random: np.random.Generator) -> Iterator[Case]:
    """Rows of one, two and more elements."""
    for columns in (1, 2, 6):
        yield Case((random.uniform(-3, 3, (2, columns)).astype("float32"),), {})


EXERCISE = Exercise(
    id="04f",
    title="read inside",
    grade=2,
    statement=(
        "A blur: each element becomes the mean of itself and its two neighbours in the row; beyond an end of the row, "
        "the element at that end counts again. This compute is guarded on both sides, and still reads outside on both. "
        "Find out where, and mend it."
    ),
    starter='''\
def compute(x):
    """x: [rows, columns]."""
    rows, columns = x.shape

    def blur(i, j):
        left = tirx.Select(j > 0, x[i, j - 1], x[i, j])
        right = tirx.if_then_else(j <= columns - 1, x[i, j + 1], x[i, j])
        return (left + x[i, j] + right) / const_like(3, x)

    return te.compute(x.shape, blur, name="blur")
''',
    asks="lab.blur",
    properties=(
        has_values_of(blur, small, "it is right on a small matrix"),
        has_values_of(blur, sizes, "it is right for rows of one, two and six elements"),
    ),
    hints=(
        "For which j does each of the three reads go beyond its row? Put the first and the last j into the conditions.",
        (
            "One guard is off by one. The other is right, but a Select computes both of its sides and then chooses; "
            "if_then_else computes only the one that is needed."
        ),
        (
            "Outline: both sides with tirx.if_then_else; the right only where j + 1 is still a column. Or clamp the "
            "two indices themselves with tirx.max and tirx.min, and guard nothing."
        ),
    ),
    lesson="04_construction_crew",
)
