"""Exercise 04d: the products of all elements so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.operators import not_opaque
from tvmlab.course.values import Case, has_values_of
from tvmlab.records import Exercise


def cumprod(x: Any) -> Any:
    """Along the last axis."""
    return np.cumprod(x, -1, dtype=x.dtype)


def small(_random: np.random.Generator) -> Iterator[Case]:
    """Signs, zeros and a row of twos."""
    yield Case((np.array([[2, 2, 2, 2], [1, -2, 3, -1], [3, 0, 5, 7]], "float32"),), {})


def many(random: np.random.Generator) -> Iterator[Case]:
    """Around one, of both signs."""
    x = random.uniform(0.5, 1.5, (4, 7)) * random.choice([-1, 1], (4, 7))
    yield Case((x.astype("float32"),), {})


EXERCISE = Exercise(
    id="04d",
    title="products of all so far",
    grade=2,
    statement=(
        "Write cumprod along the rows of a matrix: element [i, j] is the product of x[i, 0] to x[i, j]. A te.compute "
        "cannot read what it writes. So let each element multiply all that it needs. te.comm_reducer makes a reduction "
        "out of any operation that may be done in any order."
    ),
    starter='''\
def compute(x):
    """x: [rows, columns]."""
    rows, columns = x.shape
    product = te.comm_reducer(lambda a, b: a * b, lambda dtype: tirx.const(1, dtype), name="product")
    k = te.reduce_axis((0, columns), name="k")

    def element(i, j):
        return ...

    return te.compute(x.shape, element, name="cumprod")
''',
    asks="lab.cumprod",
    properties=(
        has_values_of(cumprod, small, "it is right for signs, zeros and twos"),
        has_values_of(cumprod, many, "it is right for random numbers"),
        not_opaque("TVM sees into its kernel"),
    ),
    hints=(
        "k runs over the whole row, for every j. Which of its elements should count, and what may the others be?",
        "tirx.if_then_else(condition, a, b) chooses. What number changes no product?",
        (
            "Outline: the reduction, along k, of x at row i and place k where k is not beyond j, and of a one, of "
            "x's dtype, elsewhere."
        ),
    ),
    lesson="04_construction_crew",
)
