"""Exercise 03a: the type of the output is that of the input."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.typing_rules import Question, tells_types
from tvmlab.records import Exercise


def known(random: np.random.Generator) -> Iterator[Question]:
    """Sizes that are numbers, of several dtypes."""
    for dtype in ("float32", "float16", "int64", "bool"):
        shape = f"{dtype}{random.integers(1, 99, random.integers(0, 5)).tolist()}"
        yield Question((shape,), {}, shape)


def symbolic(_random: np.random.Generator) -> Iterator[Question]:
    """Sizes that are symbols."""
    for each in ("float32[n]", "float32[n, 4]", "float16[n, n, m]"):
        yield Question((each,), {}, each)


def unknown(_random: np.random.Generator) -> Iterator[Question]:
    """Only the rank, and not even that."""
    for each in ("float32[?, ?]", "float16[?]", "int32[…]"):
        yield Question((each,), {}, each)


EXERCISE = Exercise(
    id="03a",
    title="the same type",
    grade=1,
    statement=(
        "Write the type rule of an operator that works element by element: the output has the type of the input, "
        "whether its sizes are numbers, symbols, or not known at all."
    ),
    starter='''\
def type_rule(x):
    """x is a TensorType; return the TensorType of the output."""
    return ...
''',
    asks="type_rule",
    properties=(
        tells_types(known, "it is right where sizes are numbers"),
        tells_types(symbolic, "it is right where sizes are symbols"),
        tells_types(unknown, "it is right where the shape is not known"),
    ),
    hints=(
        "What do you know of the output that you do not know of the input?",
        (
            "A TensorType has a dtype, a shape and an ndim. If you build a new one, all three have to be right. Where "
            "the shape is not known, x.shape is None."
        ),
        "Outline: nothing has to be built, since what you are given is already the type that is asked for.",
    ),
    lesson="03_type_rules",
)
