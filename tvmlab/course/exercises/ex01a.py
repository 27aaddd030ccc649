"""Exercise 01a: swish is in the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.compositions import calls_at_most, composes
from tvmlab.course.values import Case
from tvmlab.records import Exercise


def swish(x: Any) -> Any:
    """What is looked for."""
    return x / (1 + np.exp(-x))


def inputs(random: np.random.Generator) -> Iterator[Case]:
    """A small one to look at, and one that changes."""
    yield Case((np.array([[-4, -1, -0.5], [0, 1, 4]], "float32"),), {})
    yield Case((random.uniform(-6, 6, (3, 4)).astype("float32"),), {})


EXERCISE = Exercise(
    id="01a",
    title="swish is there already",
    grade=1,
    statement=(
        "Swish is x · sigmoid(x). Before you add an operator, look whether the library has it, perhaps under another "
        "name. Return one call of it."
    ),
    starter='''\
def swish(x):
    """x is a Relax expression; relax.op.nn has the activations."""
    return ...
''',
    asks="swish",
    properties=(
        composes(swish, inputs, "its values are those of swish"),
        calls_at_most(1, ["float32[3, 4]"], "it is one call"),
    ),
    hints=(
        (
            "dir(relax.op.nn) lists what there is. Which names sound like an activation? help(relax.op.nn.selu) shows "
            "the formula of one; so it does for the others."
        ),
        "In papers and in other frameworks swish with a factor of 1 is also called the sigmoid linear unit.",
        "Outline: the function is in relax.op.nn, its name has four letters, and x is its only argument.",
    ),
    lesson="01_first_contact",
)
