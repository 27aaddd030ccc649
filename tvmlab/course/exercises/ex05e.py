"""Exercise 05e: another lowering for another target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.operators import lowers_for_host, source_has_none_of
from tvmlab.course.values import Case, has_values_of
from tvmlab.records import Exercise

LIBRARY = ("expf", "exp", "tanhf", "tanh", "powf", "pow", "logf", "log", "erff", "fabsf")
"""Functions of C's mathematical library."""
CASE = Case((np.zeros((2, 3), "float32"),), {})


def gate(x: Any) -> Any:
    """X times the logistic function of x."""
    wide = x.astype("float64")
    return (wide / (1 + np.exp(-wide))).astype(x.dtype)


def hard_gate(x: Any) -> Any:
    """With a straight line in place of the logistic function."""
    return x * np.clip(x / 6 + np.float32(0.5), 0, 1).astype(x.dtype)


def inputs(random: np.random.Generator) -> Iterator[Case]:
    """Both ends, and what is between."""
    yield Case((np.array([[-9, -3, -1, 0], [0.5, 1, 3, 9]], "float32"),), {})
    yield Case((random.uniform(-6, 6, (3, 4)).astype("float32"),), {})


EXERCISE = Exercise(
    id="05e",
    title="another kernel for a small chip",
    grade=2,
    statement=(
        "gate(x) is x times the logistic function of x. A small chip gets C code, and has no mathematical library. "
        "Add a lowering for the target c that calls none: there a straight line replaces the logistic function, "
        "x / 6 + 1/2, cut off at 0 and at 1. On other targets nothing changes. If your function mentions te or topi, x "
        "is a te tensor, else a Relax expression."
    ),
    starter='''\
def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) * te.sigmoid(x(*i)), name="gate")

def lower_for_c(x):
    """A te.compute, or a Relax expression."""
    ...
''',
    asks="lab.gate",
    properties=(
        has_values_of(gate, inputs, "on this machine it is the gate itself"),
        source_has_none_of(LIBRARY, "c", CASE, "its source for c calls no mathematical library"),
        lowers_for_host(hard_gate, inputs, "c", "what it is lowered to for c has the straight line"),
    ),
    hints=(
        "lower_for_c is written like compute. Which two functions cut a number off at 0 and at 1?",
        "Constants have to be of x's dtype, as ever: const_like(6, x). tirx.max and tirx.min are no library calls.",
        (
            "Outline: a te.compute over x.shape; in it, for the element, the line, its smaller with one, its larger "
            "with zero, and the product with the element."
        ),
    ),
    lesson="05_wiring",
)
