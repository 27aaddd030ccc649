"""What only teachers see of 02c."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab.course.exercises.ex02c import refusal
from tvmlab.records import Mismatch, Property

_HEAD = """
class Attrs:
    lower: float = -1.0
    upper: float = 1.0

    def validate(self):
        if {}:
            raise ValueError(f"lower ({{self.lower}}) is above upper ({{self.upper}})")

def compute(x, lower, upper):
    lo, hi = (const_like(v, x) for v in (lower, upper))
    return te.compute(x.shape, lambda *i: tirx.max(lo, tirx.min(hi, x(*i))), name="clamp")
"""

SOLUTION = _HEAD.format("self.lower > self.upper")

WRONG = (
    (_HEAD.format("self.lower > 1.0"), "refused, and is legal"),
    (_HEAD.format("self.lower >= self.upper"), "equal limits are taken"),
    (_HEAD.format("False"), "taken, and is illegal"),
    (_HEAD.format("self.lower > self.upper or self.upper < 0"), "refused, and is legal"),
    (_HEAD.format("abs(self.lower) > abs(self.upper)"), "and is"),
)


def near(answer: Any, random: np.random.Generator) -> Mismatch | None:
    """Limits that differ by very little."""
    for _ in range(50):
        limit = float(random.normal(0, 3))
        for upper in (np.nextafter(limit, 9e9), np.nextafter(limit, -9e9)):
            if (found := refusal(answer, limit, float(upper))) is not None:
                return found
    return None


HIDDEN = (Property("limits that differ by the last bit are told apart", near),)
