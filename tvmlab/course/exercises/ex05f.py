"""Exercise 05f: every check that an operator can pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.operators import passes_checks
from tvmlab.course.values import Case, has_values_of
from tvmlab.errors import TvmlabError
from tvmlab.records import Exercise, Mismatch, Property
from tvmlab.sandbox import beside

FIRST, SECOND, THIRD = (tuple(f"C{n:02}" for n in range(*ends)) for ends in ((1, 7), (7, 13), (13, 19)))


def soft_shrink(x: Any, threshold: float = 0.5) -> Any:
    """In x's dtype; a NaN stays one."""
    t = x.dtype.type(threshold)
    return np.where(np.isnan(x), x, np.maximum(x - t, 0) + np.minimum(x + t, 0)).astype(x.dtype)


def inputs(random: np.random.Generator) -> Iterator[Case]:
    """Every branch, both borders and a NaN."""
    yield Case((np.array([[-2, -0.5, -0.25, 0], [0.25, 0.5, 2, np.nan]], "float32"),), {})
    threshold = round(float(random.uniform(0.1, 2)), 3)
    yield Case((random.uniform(-4, 4, (3, 4)).astype("float32"),), {"threshold": threshold})


def no_negative(answer: Any, random: np.random.Generator) -> Mismatch | None:
    """A property's check: no call can be made with a negative threshold."""
    below = -round(float(random.uniform(0.1, 2)), 3)
    if beside(answer, takes, below):
        return Mismatch(f"threshold={below!r} is taken, and is illegal", mend="write validate in Attrs, as in 02c")
    return None if beside(answer, takes, 0.0) else Mismatch("threshold=0.0 is refused, and is legal")


def takes(answer: Any, threshold: float) -> bool:
    """Whether an operator takes a threshold, without compiling it."""
    from tvm import relax

    try:
        answer(relax.Var("x", relax.TensorType((2,), "float32")), threshold=threshold)
    except TvmlabError:
        return False
    return True


EXERCISE = Exercise(
    id="05f",
    title="a certificate without a gap",
    grade=3,
    statement=(
        "soft_shrink(x, threshold) moves x towards zero by threshold, and makes zero of what is nearer than that: "
        "x - threshold above it, x + threshold below -threshold. A NaN stays a NaN, and a negative threshold is "
        "illegal. Write all of the operator: what it is, its attributes, type rule, compute, reference and "
        "gradient(dy, x, threshold), where dy is the gradient of the result. C01 to C18 have to be ok, with no "
        "warning and nothing skipped. C19 and C20 are about speed, and not judged."
    ),
    starter="""\
class Attrs:
    threshold: float = 0.5

def compute(x, threshold):
    t, zero = const_like(threshold, x), const_like(0, x)
    ...
""",
    asks="lab.soft_shrink",
    properties=(
        has_values_of(soft_shrink, inputs, "its values are those of soft_shrink"),
        Property("a negative threshold is refused, and 0 is not", no_negative),
        passes_checks(FIRST, "level 1, what it is and its types: C01 to C06 are ok"),
        passes_checks(SECOND, "level 2, its kernel and its values: C07 to C12 are ok"),
        passes_checks(THIRD, "level 3, in a model, with gradient and on targets: C13 to C18 are ok"),
    ),
    hints=(
        (
            "Begin with compute alone, and let the verdict lead you: it names the first check that is not ok, and what "
            "to add. %tvm_check lab.soft_shrink shows all of them."
        ),
        (
            "What to add: a docstring as the first line; validate in Attrs; a type_rule, from rules; reference in "
            "NumPy, without the attributes' dtype in mind; gradient(dy, x, threshold), made of relax.op, where "
            "const_like works on x too."
        ),
        (
            "Outline: the sum of a term that is never below zero and one that is never above; the constant comes first "
            "in tirx.max and tirx.min, so that a NaN stays. The gradient is dy where the absolute value of x is above "
            "the threshold, and zero elsewhere: relax.op.where."
        ),
    ),
    lesson="05_wiring",
)
