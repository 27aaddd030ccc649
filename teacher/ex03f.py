"""What only teachers see of 03f."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab.records import Mismatch, Property

_HEAD = "def liars():\n    return {}\n"

SOLUTION = _HEAD.format('{"halves": "float32[2, 5]", "scaled": "float16[3]"}')

WRONG = (
    (_HEAD.format('{"halves": "float32[2, 4]", "scaled": "float16[3]"}'), "for float32[2, 4] halves does not lie"),
    (_HEAD.format('{"halves": "float32[2, 5]", "scaled": "float32[3]"}'), "for float32[3] scaled does not lie"),
    (_HEAD.format('{"halves": "float32[2, 5]"}'), "1 of the two liars are named"),
    (_HEAD.format('{"turned": "float32[2, 3]", "halves": "float32[2, 5]"}'), "turned does not lie"),
    (_HEAD.format('{"rows": "float32[2]"}'), "is no input of rows"),
    (_HEAD.format('{"halfs": "float32[5]"}'), "there is no suspect 'halfs'"),
    (_HEAD.format('["halves", "scaled"]'), "and no claim"),
)


def small(answer: Any, _random: np.random.Generator) -> Mismatch | None:
    """A witness that fits on a blackboard."""
    large = next((each for each in answer().values() if len(each) > 30), None)
    return None if large is None else Mismatch(f"{large} is a large input")


HIDDEN = (Property("the inputs are small", small),)
