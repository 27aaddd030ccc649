"""What only teachers see of 01c."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.compositions import composes
from tvmlab.course.exercises import ex01c
from tvmlab.course.values import Case

_HEAD = """
def rms_norm(x, w):
    mean = relax.op.mean(relax.op.multiply(x, x), axis=-1, keepdims=True)
    inverse = relax.op.rsqrt(relax.op.add(mean, relax.const(1e-5, "float32")))
    return {}
"""

SOLUTION = _HEAD.format("relax.op.multiply(relax.op.multiply(x, inverse), w)")

WRONG = (
    (_HEAD.format("relax.op.multiply(x, inverse)"), "its values are those of RMS-norm"),
    (SOLUTION.replace("1e-5", "0.0"), "its values are those of RMS-norm"),
    (SOLUTION.replace("relax.op.multiply(x, x)", "x"), "its values are those of RMS-norm"),
    ("def rms_norm(x, w):\n    return relax.op.nn.rms_norm(x, w, axes=[-1])\n", "1 left when TVM has fused it"),
    (
        SOLUTION.replace(
            "    return", "    x = relax.op.divide(x, relax.op.sum(relax.const([1.0], 'float32')))\n    return"
        ),
        "3 left when TVM has fused it",
    ),
)


def long_rows(random: np.random.Generator) -> Iterator[Case]:
    """Of another rank too."""
    yield Case((random.normal(size=(2, 3, 33)).astype("float32"), random.uniform(0.5, 2, 33).astype("float32")), {})


HIDDEN = (composes(ex01c.rms_norm, long_rows, "it works for another rank and odd sizes"),)
