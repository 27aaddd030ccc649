"""What only teachers see of 04d."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex04d
from tvmlab.course.values import Case, has_values_of

_HEAD = '''
def compute(x):
    """x: [rows, columns]."""
    rows, columns = x.shape
    product = te.comm_reducer(lambda a, b: a * b, lambda dtype: tirx.const(1, dtype), name="product")
    k = te.reduce_axis((0, columns), name="k")

    def element(i, j):
        return {}

    return te.compute(x.shape, element, name="cumprod")
'''

SOLUTION = _HEAD.format("product(tirx.if_then_else(k <= j, x[i, k], const_like(1, x)), axis=k)")

WRONG = (
    (
        _HEAD.format("product(tirx.if_then_else(k < j, x[i, k], const_like(1, x)), axis=k)"),
        "element [0, 0] is 1 and should be 2",
    ),
    (
        _HEAD.format("product(tirx.if_then_else(k >= j, x[i, k], const_like(1, x)), axis=k)"),
        "element [0, 0] is 16 and should be 2",
    ),
    (
        _HEAD.format("te.sum(tirx.if_then_else(k <= j, x[i, k], const_like(0, x)), axis=k)"),
        "element [0, 2] is 6 and should be 8",
    ),
    (
        _HEAD.format("product(tirx.if_then_else(k <= j, x[i, k], const_like(0, x)), axis=k)"),
        "element [0, 0] is 0 and should be 2",
    ),
    (
        """
def compute(x):
    rows, columns = x.shape
    k = te.reduce_axis((0, columns), name="k")
    zero = const_like(0, x)
    total = te.compute(
        x.shape, lambda i, j: te.sum(tirx.if_then_else(k <= j, te.log(x[i, k]), zero), axis=k), name="total"
    )
    return te.compute(x.shape, lambda i, j: te.exp(total[i, j]), name="cumprod")
""",
        "element [1, 1] is nan and should be -2",
    ),
    ("def compute(x):\n    return topi.cumprod(x, axis=1)\n", "its kernel is kOpaque"),
)


def sizes(random: np.random.Generator) -> Iterator[Case]:
    """One column, and long rows."""
    for shape in ((3, 1), (2, 40)):
        yield Case((random.uniform(0.8, 1.2, shape).astype("float32"),), {})


HIDDEN = (has_values_of(ex04d.cumprod, sizes, "it is right for one column, and long rows"),)
