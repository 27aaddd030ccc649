"""What only teachers see of 04c."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex04c
from tvmlab.course.values import Case, has_values_of

SOLUTION = '''
def compute(x):
    """x: [rows, columns]."""
    rows, columns = x.shape
    k, j = (te.reduce_axis((0, columns), name=name) for name in "kj")
    largest = te.compute((rows,), lambda r: te.max(x[r, k], axis=k), name="largest")
    power = te.compute(x.shape, lambda r, c: te.exp(x[r, c] - largest[r]), name="power")
    total = te.compute((rows,), lambda r: te.sum(power[r, j], axis=j), name="total")
    return te.compute(x.shape, lambda r, c: power[r, c] / total[r], name="softmax")
'''

WRONG = (
    (SOLUTION.replace(" - largest[r]", ""), "is nan and should be 0.907254"),
    (SOLUTION.replace(" / total[r]", ""), "element [0, 0] is 1 and should be 0.25"),
    (
        SOLUTION.replace("te.max(x[r, k], axis=k)", "te.sum(x[r, k], axis=k)"),
        "it is right for rows around 500 and -500",
    ),
    (
        """
def compute(x):
    rows, columns = x.shape
    k, j = (te.reduce_axis((0, rows), name=name) for name in "kj")
    largest = te.compute((columns,), lambda c: te.max(x[k, c], axis=k), name="largest")
    power = te.compute(x.shape, lambda r, c: te.exp(x[r, c] - largest[c]), name="power")
    total = te.compute((columns,), lambda c: te.sum(power[j, c], axis=j), name="total")
    return te.compute(x.shape, lambda r, c: power[r, c] / total[c], name="softmax")
""",
        "it is right for small numbers",
    ),
    ("def compute(x):\n    return topi.exp(x) / topi.sum(topi.exp(x))\n", "it is right for small numbers"),
)


def sizes(random: np.random.Generator) -> Iterator[Case]:
    """One row, one column, and odd sizes."""
    for shape in ((1, 7), (5, 1), (3, 9)):
        yield Case((random.normal(0, 30, shape).astype("float32"),), {})


HIDDEN = (has_values_of(ex04c.softmax, sizes, "it is right for one row, one column, and odd sizes"),)
