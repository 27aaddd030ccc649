"""What only teachers see of 02f."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex02f
from tvmlab.course.values import Case, has_values_of

SOLUTION = """
class Attrs:
    weights: tuple[float, ...] = (1.0, 1.0)

type_rule = rules.same

def compute(*xs, weights):
    if len(xs) != len(weights):
        raise ValueError(f"{len(xs)} tensors have {len(weights)} weights")

    def element(*i):
        total = xs[0](*i) * const_like(weights[0], xs[0])
        for x, weight in zip(xs[1:], weights[1:]):
            total += x(*i) * const_like(weight, x)
        return total

    return te.compute(xs[0].shape, element, name="weighted")
"""

WRONG = (
    (SOLUTION.replace("type_rule = rules.same\n", ""), "a: float32[2, 3], b: float32[2, 4]"),
    (SOLUTION.replace("len(xs) != len(weights)", "not xs"), "is taken, and means nothing"),
    (
        SOLUTION.replace("const_like(weight, x)", "const_like(1.0, x)"),
        "it is right for one tensor, for two and for five",
    ),
    (SOLUTION.replace("zip(xs[1:], weights[1:])", "zip(xs[1:2], weights[1:2])"), "for five"),
    (SOLUTION.replace("const_like(weight, x)", "weight").replace("const_like(weights[0], xs[0])", "1.0"), "float16"),
)


def seven(random: np.random.Generator) -> Iterator[Case]:
    """Of another rank."""
    tensors = tuple(random.uniform(-1, 1, (7, 4)).astype("float32"))
    yield Case(tensors, {"weights": tuple(range(1, 8))})


HIDDEN = (has_values_of(ex02f.weighted, seven, "it works for seven tensors, and weights that are whole numbers"),)
