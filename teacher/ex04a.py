"""What only teachers see of 04a."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex04a
from tvmlab.course.values import Case, has_values_of

_HEAD = """
class Attrs:
    lower: float = -1.0
    upper: float = 1.0
    slope: float = 0.01

def compute(x, lower, upper, slope):
    lo, hi, leak, zero = (const_like(v, x) for v in (lower, upper, slope, 0))

    def clamp(*i):
        v = x(*i)
        return {}

    return te.compute(x.shape, clamp, name="leaky_clamp")
"""

SOLUTION = _HEAD.format("tirx.max(lo, tirx.min(hi, v)) + leak * tirx.min(zero, v - lo)")

WRONG = (
    (_HEAD.format("tirx.max(lo, tirx.min(hi, v))"), "element [0, 0] is -1 and should be -1.02, where x is -3"),
    (_HEAD.format("tirx.max(lo, v) + leak * tirx.min(zero, v - lo)"), "element [1, 3] is 4 and should be 1"),
    (
        _HEAD.format("tirx.max(lo, tirx.min(hi, v)) + const_like(0.01, x) * tirx.min(zero, v - lo)"),
        "for other attributes",
    ),
    (_HEAD.format("tirx.max(-hi, tirx.min(hi, v)) + leak * tirx.min(zero, v + hi)"), "for other attributes"),
    (_HEAD.format("tirx.max(tirx.min(v, hi), lo) + leak * tirx.min(v - lo, zero)"), "should be nan"),
)


def half(random: np.random.Generator) -> Iterator[Case]:
    """The constants have to be of x's dtype."""
    yield Case((random.uniform(-3, 3, (2, 5)).astype("float16"),), {"lower": -0.5, "slope": 0.5})


def ranks(random: np.random.Generator) -> Iterator[Case]:
    """From a scalar to a tensor of four axes."""
    for shape in ((), (7,), (1, 2, 3, 2)):
        yield Case((random.uniform(-3, 3, shape).astype("float32"),), {"upper": 0.25})


HIDDEN = (
    has_values_of(ex04a.leaky_clamp, half, "it works in float16"),
    has_values_of(ex04a.leaky_clamp, ranks, "it works for every rank"),
)
