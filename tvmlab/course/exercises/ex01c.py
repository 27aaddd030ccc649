"""Exercise 01c: RMS-norm in two kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.compositions import composes, fuses_into
from tvmlab.course.values import Case
from tvmlab.records import Exercise


def rms_norm(x: Any, w: Any) -> Any:
    """Over the last axis."""
    wide = x.astype("float64")
    return (wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5) * w).astype("float32")


def inputs(random: np.random.Generator) -> Iterator[Case]:
    """Rows that are small, so that the constant counts, and rows that are not centred."""
    scale = np.array([[1], [0.003], [10]], "float32")
    x = (random.uniform(0.5, 1.5, (3, 8)) * scale).astype("float32")
    yield Case((x, random.uniform(0.5, 2, 8).astype("float32")), {})


EXERCISE = Exercise(
    id="01c",
    title="RMS-norm in two kernels",
    grade=2,
    statement=(
        "Compose RMS-norm: x divided by the root of the mean of its squares along the last axis, with 1e-5 added under "
        "the root, times the weights w. Then let TVM fuse it: two kernels have to be left. Do not use "
        "relax.op.nn.rms_norm, which is one operator already."
    ),
    starter='''\
def rms_norm(x, w):
    """x: float32[rows, columns], w: float32[columns]."""
    return ...
''',
    asks="rms_norm",
    properties=(
        composes(rms_norm, inputs, "its values are those of RMS-norm"),
        fuses_into(2, ["float32[64, 128]", "float32[128]"], "two kernels are left when TVM has fused it"),
    ),
    hints=(
        "What needs a whole row before it can give one number? Everything else works element by element.",
        (
            "relax.op.mean is one kernel, a sum and a division, and what follows fuses with it. keepdims=True "
            "lets the result be broadcast over the row."
        ),
        (
            "Outline: the mean of the squares, kept as a column; a constant added; the inverse root; products with x, "
            "and w. The squares stay a kernel, since nothing fuses in front of the mean; what comes after it joins it."
        ),
    ),
    lesson="01_first_contact",
)
