"""What only teachers see of 02e."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab.course.exercises.ex02e import EXERCISE, both
from tvmlab.records import Mismatch, Property
from tvmlab.sandbox import beside

_BODY = """    define(2.0)
    first = ...
    second = ...
"""


def _cell(body: str) -> str:
    return EXERCISE.starter.replace(_BODY, body)


SOLUTION = _cell("    define(2.0)\n    first = tl.graph(function)\n    define(3.0)\n    second = tl.graph(function)\n")

WRONG = (
    (
        _cell("    define(2.0)\n    define(3.0)\n    first = tl.graph(function)\n    second = tl.graph(function)\n"),
        "the first model multiplies by 3, and should by 2",
    ),
    (
        _cell("    define(2.0)\n    first = tl.graph(function)\n    second = tl.graph(function)\n    define(3.0)\n"),
        "the second model multiplies by 2, and should by 3",
    ),
    (
        _cell(
            '    define(2.0)\n    def thrice(x: "float32[2, 3]"):\n        return tl.ops.lab.scale(x, factor=3.0)\n'
            "    first = tl.graph(function)\n    second = tl.graph(thrice)\n"
        ),
        "the default of factor is 2.0 afterwards",
    ),
    (
        _cell(
            '    def twice(x: "float32[2, 3]"):\n        return x + x\n    define(3.0)\n    first = tl.graph(twice)\n'
            "    second = tl.graph(function)\n"
        ),
        "one of the models does not call lab.scale",
    ),
)


def often(answer: Any, random: np.random.Generator) -> Mismatch | None:
    """The models of one call are right although the operator is defined again by the next call."""
    x = random.normal(size=(2, 3)).astype("float32")
    for _ in range(2):
        values, _ = beside(answer, both, x)
        if not (np.allclose(values[0], 2 * x) and np.allclose(values[1], 3 * x)):
            return Mismatch("called again, it gives other models")
    return None


HIDDEN = (Property("it can be called again and again", often),)
