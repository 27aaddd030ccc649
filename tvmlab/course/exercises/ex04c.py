"""Exercise 04c: softmax of each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.values import Case, has_values_of
from tvmlab.records import Exercise


def softmax(x: Any) -> Any:
    """Over the last axis, in float64."""
    wide = x.astype("float64")
    power = np.exp(wide - wide.max(-1, keepdims=True))
    return (power / power.sum(-1, keepdims=True)).astype(x.dtype)


def small(_random: np.random.Generator) -> Iterator[Case]:
    """To look at."""
    yield Case((np.array([[0, 0, 0, 0], [0, 1, 2, 3], [-1, 4, -1, 0]], "float32"),), {})


def far_apart(random: np.random.Generator) -> Iterator[Case]:
    """Rows of different sizes, where exp overflows in float32, and where it becomes zero."""
    centre = np.array([[0], [500], [-500]], "float32")
    yield Case(((random.normal(0, 2, (3, 5)) + centre).astype("float32"),), {})


EXERCISE = Exercise(
    id="04c",
    title="softmax of each row, for numbers of any size",
    grade=2,
    statement=(
        "Write softmax over the rows of a matrix: exp of each element, over the sum of exp of its row. exp(100) is "
        "no float32 any more. Subtract the largest element of the row first: that changes no quotient."
    ),
    starter='''\
def compute(x):
    """x: [rows, columns]."""
    rows, columns = x.shape
    k = te.reduce_axis((0, columns), name="k")
    ...
''',
    asks="lab.row_softmax",
    properties=(
        has_values_of(softmax, small, "it is right for small numbers"),
        has_values_of(softmax, far_apart, "it is right for rows around 500 and -500"),
    ),
    hints=(
        "How many stages do you need? A te.sum or te.max has to be the whole body of its te.compute.",
        (
            "Four: the largest of each row, the powers, their sum, the quotients. Each reduction needs a "
            "te.reduce_axis of its own."
        ),
        (
            "Outline: a te.compute over rows with te.max along k; one over the whole matrix with te.exp of a "
            "difference; one over rows with te.sum along a second axis; and one over the whole matrix that divides."
        ),
    ),
    lesson="04_construction_crew",
)
