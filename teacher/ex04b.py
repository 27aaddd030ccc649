"""What only teachers see of 04b."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex04a, ex04b
from tvmlab.course.values import Case, has_values_of

_HEAD = """
class Attrs:
    lower: float = -1.0
    upper: float = 1.0
    slope: float = 0.01

def compute(x, lower, upper, slope):
    lo, hi, leak, zero = (const_like(v, x) for v in (lower, upper, slope, 0))

    def clamp(*i):
        return {}

    return te.compute(x.shape, clamp, name="leaky_clamp")
"""

SOLUTION = _HEAD.format("te.max(te.min(x[i], hi), lo) + leak * te.min(x[i] - lo, zero)")

_CALLED = ex04b.EXERCISE.starter.replace("return _compute\n", "return _compute([data])\n")

WRONG = (
    (ex04b.EXERCISE.starter, "compute returns a function (_compute), not a te tensor"),
    (_CALLED, "a constant widened float16"),
    (
        _HEAD.format("te.max(te.min(x[i], hi), hi) + leak * te.min(x[i] - lo, zero)"),
        "element [0, 0] is 0.98 and should be -1.02, where x is -3",
    ),
    (_HEAD.format("te.max(te.min(x[i], hi), lo) + leak * te.min(x[i] + hi, zero)"), "for other attributes"),
)


def half(random: np.random.Generator) -> Iterator[Case]:
    """In float16."""
    yield Case((random.uniform(-3, 3, (2, 5)).astype("float16"),), {"lower": -0.5, "slope": 0.5})


HIDDEN = (has_values_of(ex04a.leaky_clamp, half, "it works in float16"),)
