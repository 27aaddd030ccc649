"""Exercise 02a: an identity card."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.refusals import refuses
from tvmlab.course.values import Case, has_values_of
from tvmlab.records import Exercise, Mismatch, Property
from tvmlab.sandbox import beside

STARTER = '''\
"""Say in one sentence what it gives, with `x` and `y`."""

def compute(x, y):
    return ...
'''


def hypot(x: Any, y: Any) -> Any:
    """The longest side of a triangle with a right angle."""
    return np.sqrt(x * x + y * y)


def inputs(random: np.random.Generator) -> Iterator[Case]:
    """Pythagoras' own numbers, and some that change."""
    yield Case((np.array([[3, 5], [-8, 0]], "float32"), np.array([[4, 12], [15, 2]], "float32")), {})
    yield Case(tuple(random.uniform(-3, 3, (2, 3, 4)).astype("float32")), {})


def other_numbers(_random: np.random.Generator) -> Iterator[Case]:
    """One tensor, and three."""
    one = np.ones((2, 3), "float32")
    yield Case((one,), {})
    yield Case((one, one, one), {})


def card(answer: Any) -> tuple[str, list[str]]:
    """What the card says of an operator, and the names of its tensors."""
    return answer.spec.doc, list(answer.spec.tensors)


def described(answer: Any, _random: np.random.Generator) -> Mismatch | None:
    """The description is a sentence of the student's own, on both inputs."""
    description, tensors = beside(answer, card)
    if tensors != ["x", "y"]:
        return Mismatch(f"its tensors are {', '.join(tensors) or 'none'}", mend="they should be x and y: compute(x, y)")
    if not description.strip() or description.strip() in STARTER:
        mend = "the docstring is the first line of the cell"
        return Mismatch(f"the card describes it as {description.strip()!r}", mend=mend)
    missing = [name for name in ("`x`", "`y`") if name not in description]
    if missing:
        return Mismatch(f"the description {description!r:.60} does not mention {missing[0]}", mend="in backticks")
    return None


EXERCISE = Exercise(
    id="02a",
    title="an identity card",
    grade=1,
    statement=(
        "Register lab.hypot(x, y), the root of x² + y², element by element. Its docstring is what the card shows: "
        "one sentence that mentions `x` and `y`, in backticks. te.sqrt is the root."
    ),
    starter=STARTER,
    asks="lab.hypot",
    properties=(
        has_values_of(hypot, inputs, "its values are right"),
        Property("the card describes it, and its two tensors", described),
        refuses(other_numbers, ("x", "y", "z"), "it refuses one tensor, and three"),
    ),
    hints=(
        "compute returns one te.compute: a shape, a function from indices to an element, and a name.",
        "Inside, x(*i) and y(*i) are the elements at the same place. The card below the cell shows the docstring.",
        "Outline: the shape of x; a lambda over *i with the root of the sum of two squares; name='hypot'.",
    ),
    lesson="02_identity_card",
)
