"""What only teachers see of 01a."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.compositions import composes
from tvmlab.course.exercises import ex01a
from tvmlab.course.values import Case

_HEAD = "def swish(x):\n    return {}\n"

SOLUTION = _HEAD.format("relax.op.nn.silu(x)")

WRONG = (
    (_HEAD.format("relax.op.nn.gelu(x)"), "its values are those of swish"),
    (_HEAD.format("relax.op.nn.relu(x)"), "element [0, 0] is 0 and should be -0.0719448, where x is -4"),
    (_HEAD.format("relax.op.multiply(x, relax.op.sigmoid(x))"), "there are 2 calls, and 1 are enough"),
    (_HEAD.format("x"), "its values are those of swish"),
)


def large(random: np.random.Generator) -> Iterator[Case]:
    """Where the exponential is very small."""
    yield Case((random.uniform(-40, 40, (2, 3, 4)).astype("float32"),), {})


HIDDEN = (composes(ex01a.swish, large, "it is right far from zero"),)
