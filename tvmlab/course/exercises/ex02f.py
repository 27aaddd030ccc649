"""Exercise 02f: any number of tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.refusals import refuses
from tvmlab.course.values import Case, has_values_of
from tvmlab.records import Exercise

NAMES = ("a", "b", "c", "d", "e")


def weighted(*xs: Any, weights: Any = (1.0, 1.0)) -> Any:
    """Sum of the tensors, each times its weight."""
    total = xs[0] * xs[0].dtype.type(weights[0])
    for x, weight in zip(xs[1:], weights[1:], strict=True):
        total = total + x * x.dtype.type(weight)
    return total


def call(random: np.random.Generator, count: int, weights: int | None = None, dtype: str = "float32") -> Case:
    """A call with so many tensors, and so many weights."""
    tensors = tuple(random.uniform(-2, 2, (count, 2, 3)).astype(dtype))
    chosen = tuple(round(float(w), 2) for w in random.uniform(-2, 2, count if weights is None else weights))
    return Case(tensors, {"weights": chosen})


def several(random: np.random.Generator) -> Iterator[Case]:
    """One tensor to five, and two without weights."""
    for count in (2, 1, 5):
        yield call(random, count)
    yield Case(call(random, 2).tensors, {})


def meaningless(random: np.random.Generator) -> Iterator[Case]:
    """More tensors than weights, more weights than tensors, and tensors that differ in shape."""
    yield call(random, 3, 2)
    yield call(random, 2, 3)
    yield Case((np.ones((2, 3), "float32"), np.ones((2, 4), "float32")), {"weights": (1.0, 1.0)})
    yield Case((np.ones((2, 3), "float32"), np.ones((3, 3), "float32")), {"weights": (1.0, 1.0)})


def halves(random: np.random.Generator) -> Iterator[Case]:
    """In float16, which has to stay."""
    yield call(random, 3, dtype="float16")


EXERCISE = Exercise(
    id="02f",
    title="any number of tensors",
    grade=3,
    statement=(
        "Register lab.weighted(*xs, weights): the sum of any number of tensors, each times its weight. Two tensors "
        "with weights of 1 are the default. Refuse another number of weights than tensors, and tensors of different "
        "shapes. A float16 stays a float16."
    ),
    starter="""\
class Attrs:
    weights: tuple[float, ...] = (1.0, 1.0)

def compute(*xs, weights):
    # xs is a tuple of te tensors
    ...
""",
    asks="lab.weighted",
    properties=(
        has_values_of(weighted, several, "it is right for one tensor, for two and for five"),
        refuses(meaningless, NAMES, "it refuses weights and tensors that do not fit"),
        has_values_of(weighted, halves, "float16 stays float16"),
    ),
    hints=(
        "xs is a tuple of te tensors. How do you write the sum of one element of each, whatever their number?",
        (
            "Python builds the expression: a loop or a sum over zip(xs, weights), each weight made a constant of the "
            "dtype with const_like. Begin with the first, since 0 + … would be an integer zero."
        ),
        (
            "Outline: a ValueError if the two lengths differ; a function of *i that adds up products; one te.compute. "
            "For the shapes a type_rule does it, and rules has one that wants all tensors the same."
        ),
    ),
    lesson="02_identity_card",
)
