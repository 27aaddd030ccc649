"""What only teachers see of 01b."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.compositions import composes
from tvmlab.course.exercises import ex01b
from tvmlab.course.values import Case

_HEAD = """
def leaky_clamp(x):
    half, zero, slope = (relax.const(v, "float32") for v in (0.5, 0.0, 0.1))
    below = relax.op.minimum(relax.op.add(x, half), zero)
    return {}
"""

SOLUTION = _HEAD.format("relax.op.add(relax.op.clip(x, -0.5, 1), relax.op.multiply(slope, below))")

WRONG = (
    (_HEAD.format("relax.op.clip(x, -0.5, 1)"), "element [0, 0] is -0.5 and should be -0.75, where x is -3"),
    (
        _HEAD.format("relax.op.add(relax.op.maximum(x, -half), relax.op.multiply(slope, below))"),
        "element [1, 2] is 4 and should be 1, where x is 4",
    ),
    (
        _HEAD.format("relax.op.subtract(relax.op.clip(x, -0.5, 1), relax.op.multiply(slope, below))"),
        "element [0, 0] is -0.25 and should be -0.75",
    ),
    (
        _HEAD.format("relax.op.negative(relax.op.negative(" + SOLUTION.rsplit("return ", 1)[1].strip() + "))"),
        "there are 7 calls, and 6 are enough",
    ),
)


def shapes(random: np.random.Generator) -> Iterator[Case]:
    """Another rank."""
    yield Case((random.uniform(-3, 3, (2, 3, 4)).astype("float32"),), {})


HIDDEN = (composes(ex01b.leaky_clamp, shapes, "it works for another rank"),)
