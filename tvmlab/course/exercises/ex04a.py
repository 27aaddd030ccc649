"""Exercise 04a: the compute of leaky_clamp."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.values import Case, has_values_of
from tvmlab.records import Exercise

SMALL = np.array([[-3, -1.5, -1, -0.5], [0, 0.5, 1, 4]], "float32")


def leaky_clamp(x: Any, lower: float = -1.0, upper: float = 1.0, slope: float = 0.01) -> Any:
    """What the operator should be, in x's dtype."""
    kind = x.dtype.type
    low, high, leak = kind(lower), kind(upper), kind(slope)
    return np.maximum(low, np.minimum(high, x)) + leak * np.minimum(kind(0), x - low)


def defaults(_random: np.random.Generator) -> Iterator[Case]:
    """Every branch and both borders, small enough to be looked at."""
    yield Case((SMALL,), {})


def attributes(random: np.random.Generator) -> Iterator[Case]:
    """Limits that are not each other's negatives, and other slopes."""
    for _ in range(3):
        lower = round(float(random.uniform(-2, 0)), 3)
        upper = round(lower + float(random.uniform(0.5, 2)), 3)
        slope = round(float(random.uniform(0.1, 0.9)), 3)
        x = random.uniform(-5, 5, (3, 4)).astype("float32")
        yield Case((x,), {"lower": lower, "upper": upper, "slope": slope})


def special(random: np.random.Generator) -> Iterator[Case]:
    """NaN and infinities at places that change."""
    x = random.uniform(-3, 3, (3, 4)).astype("float32")
    x.flat[random.choice(12, 3, replace=False)] = [np.nan, np.inf, -np.inf]
    yield Case((x,), {})


EXERCISE = Exercise(
    id="04a",
    title="leaky_clamp, element by element",
    grade=1,
    statement=(
        "Write the compute of leaky_clamp. Between lower and upper it is x. Above upper it is upper. Below lower it is "
        "lower, and leaks: slope times as far below as x is. A NaN stays a NaN."
    ),
    starter='''\
"""Clamp to [lower, upper], leaking with `slope` below `lower`."""

class Attrs:
    lower: float = -1.0
    upper: float = 1.0
    slope: float = 0.01

def compute(x, lower, upper, slope):
    lo, hi, leak, zero = (const_like(v, x) for v in (lower, upper, slope, 0))

    def clamp(*i):
        v = x(*i)
        return ...

    return te.compute(x.shape, clamp, name="leaky_clamp")
''',
    asks="lab.leaky_clamp",
    properties=(
        has_values_of(leaky_clamp, defaults, "it is right for the default attributes"),
        has_values_of(leaky_clamp, attributes, "it is right for other attributes"),
        has_values_of(leaky_clamp, special, "NaN stays NaN, and infinities are clamped"),
    ),
    hints=(
        "Look at the three ranges one by one: what is the result below lower, between the two, and above upper?",
        "tirx.max and tirx.min clamp. The leak is a term that is added, and that is zero where x is not below lower.",
        (
            "Outline: the larger of lo and the smaller of hi and v, plus leak times a distance that is never above "
            "zero. Give the constant first and the element second to tirx.max and tirx.min: a NaN then comes through."
        ),
    ),
    lesson="04_construction_crew",
)
