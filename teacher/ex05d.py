"""What only teachers see of 05d."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab.course.mutants import EQUIVALENT, mutation_score
from tvmlab.records import Mismatch, Property, ShownMismatch

_HEAD = """
def tests():
    calls = [{}]
    return calls, {!r}
"""
_X = 'np.array([-3, -0.5, 0, 0.25, 2, np.nan], "float32")'

SOLUTION = _HEAD.format(f'({_X}, {{"lower": -0.5, "upper": 0.75, "slope": 0.25}})', "order")

WRONG = (
    (
        _HEAD.format('(np.array([-0.5, 0, 0.5], "float32"), {})', "order"),
        "1 call kills 0 of 8 mutants; alive are no_leak, sign",
    ),
    (_HEAD.format(f"({_X}, {{}})", "order"), "1 call kills 4 of 8 mutants; alive are slope, mirror, plus_one, order"),
    (
        _HEAD.format(f'({_X}[:-1], {{"lower": -0.5, "upper": 0.75, "slope": 0.25}})', "order"),
        "1 call kills 6 of 8 mutants; alive are nan, order",
    ),
    (SOLUTION.replace("'order'", "'nan'"), "nan is not it: there is a legal call that kills it"),
    (SOLUTION.replace("'order'", "'none'"), "'none' is no mutant"),
    (SOLUTION.replace('"lower": -0.5', '"lower": 1.5'), "call 1: lower is above upper, which leaky_clamp refuses"),
    (SOLUTION.replace('"float32"', '"float64"'), "call 1: x is float64 of 6 elements"),
    (_HEAD.format("", "order"), "a list of 1 to 20 calls is wanted"),
    ("def tests():\n    return []\n", "and not two things"),
)


def again(answer: Any, _random: np.random.Generator) -> Mismatch | None:
    """Inputs that are drawn blindly may be lucky once."""
    for _ in range(3):
        score = mutation_score(answer()[0])
        if any(each.mutant not in EQUIVALENT for each in score.alive):
            return ShownMismatch(f"when it is called again, {score.headline}", record=score)
    return None


HIDDEN = (Property("the calls kill them every time", again),)
