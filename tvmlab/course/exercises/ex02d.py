"""Exercise 02d: a list of axes, of which some count from the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.refusals import refuses
from tvmlab.course.values import Case, has_values_of
from tvmlab.records import Exercise


def flip(x: Any, axes: Any = (-1,)) -> Any:
    """The other way round along each of the axes."""
    return np.flip(x, tuple(axes))


def _x(random: np.random.Generator, *shape: int) -> Any:
    return random.integers(-99, 99, shape).astype("float32")


def from_the_start(random: np.random.Generator) -> Iterator[Case]:
    """One axis, two, and none."""
    yield Case((np.arange(6, dtype="float32").reshape(2, 3),), {"axes": (1,)})
    for axes in ((0,), (2, 0), ()):
        yield Case((_x(random, 2, 3, 4),), {"axes": axes})


def from_the_end(random: np.random.Generator) -> Iterator[Case]:
    """Negative axes, alone and beside others, also as a list."""
    for axes in ((-1,), (-3, 2), [0, -2]):
        yield Case((_x(random, 2, 3, 4),), {"axes": axes})
    yield Case((_x(random, 5),), {})


def meaningless(random: np.random.Generator) -> Iterator[Case]:
    """Axes that are not there, and one named twice."""
    for axes in ((2,), (-3,), (0, 0), (1, -1), (7, -7)):
        yield Case((_x(random, 2, 3),), {"axes": axes})


EXERCISE = Exercise(
    id="02d",
    title="axes that count from the end",
    grade=2,
    statement=(
        "lab.flip turns x round along each of its axes. An axis may count from the end, as in NumPy: -1 is the last. "
        "Make `chosen`, the axes as numbers from 0, and refuse an axis that is not there and one that is named twice, "
        "also if it is named once from each end."
    ),
    starter="""\
class Attrs:
    axes: tuple[int, ...] = (-1,)

def compute(x, axes):
    rank = len(x.shape)
    chosen = ...

    def element(*i):
        return x(*(x.shape[a] - 1 - v if a in chosen else v for a, v in enumerate(i)))

    return te.compute(x.shape, element, name="flip")
""",
    asks="lab.flip",
    properties=(
        has_values_of(flip, from_the_start, "axes that count from the start are right"),
        has_values_of(flip, from_the_end, "axes that count from the end are right"),
        refuses(meaningless, ("x",), "axes that are not there, or named twice, are refused"),
    ),
    hints=(
        "What has to be added to -1 so that it is the number of the last axis?",
        "Normalise first, then look: are all within range(rank), and are there as many as different ones?",
        (
            "Outline: a list in which the rank is added to what is below zero; an if with a raise of a ValueError for "
            "what is outside of the range; another for when a set of them is shorter than the list. rules has a "
            "function that does all of it, and validate cannot: it does not know the rank."
        ),
    ),
    lesson="02_identity_card",
)
