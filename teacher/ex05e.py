"""What only teachers see of 05e."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex05e
from tvmlab.course.operators import lowers_for_host
from tvmlab.course.values import Case, has_values_of

_HEAD = """
def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) * te.sigmoid(x(*i)), name="gate")

def lower_for_c(x):
    def gate(*i):
        v = x(*i)
        line = v / const_like(6, x) + const_like(0.5, x)
        return {}
    return te.compute(x.shape, gate, name="gate")
"""

SOLUTION = _HEAD.format("v * tirx.max(const_like(0, x), tirx.min(const_like(1, x), line))")

WRONG = (
    (
        _HEAD.format("v / (const_like(1, x) + te.exp(-v))"),
        "its source for c calls expf",
    ),
    (_HEAD.format("v * line"), "what it is lowered to for c has the straight line"),
    (
        SOLUTION.replace("lambda *i: x(*i) * te.sigmoid(x(*i))", "lambda *i: x(*i)"),
        "on this machine it is the gate itself",
    ),
    (
        "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) * te.sigmoid(x(*i)), name='gate')\n",
        "its source for c calls expf",
    ),
    (
        """
def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) * te.sigmoid(x(*i)), name="gate")

def lower_for_c(x):
    return relax.op.multiply(x, relax.op.clip(x, 0, 1))
""",
        "what it is lowered to for c has the straight line",
    ),
)


def shapes(random: np.random.Generator) -> Iterator[Case]:
    """Other ranks."""
    for shape in ((7,), (2, 3, 2)):
        yield Case((random.uniform(-6, 6, shape).astype("float32"),), {})


HIDDEN = (
    has_values_of(ex05e.gate, shapes, "the gate works for other ranks"),
    lowers_for_host(ex05e.hard_gate, shapes, "c", "and so does the straight line"),
)
