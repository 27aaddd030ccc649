"""What only teachers see of 02b."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex02b
from tvmlab.course.values import Case, has_values_of

_CELL = ex02b.EXERCISE.starter
_LINES = ["    step: float = 0.25", "    levels: int = 16", "    signed: bool = True"]


def _cell(*lines: str) -> str:
    return _CELL.replace("    # one attribute a line\n    ...", "\n".join(lines), 1)


SOLUTION = _cell(*_LINES)

WRONG = (
    (_cell(_LINES[0], "    levels: float = 16", _LINES[2]), "levels is a float, and should be a int"),
    (_cell("    step: float", *_LINES[1:]), "step has no default"),
    (_cell("    step: float = 0.5", *_LINES[1:]), "the default of step is 0.5, and should be 0.25"),
    (_cell("    step = 0.25", *_LINES[1:]), "attribute 'step' has no type"),
    (_cell(*_LINES[:2], "    signed: bool = False"), "the default of signed is False"),
    (_cell(*_LINES, "    note: str = ''"), "attribute 'note' is not a parameter of compute"),
    (_cell(*_LINES[:2]), "signed"),
)


def half(random: np.random.Generator) -> Iterator[Case]:
    """In float16."""
    yield Case((random.uniform(-4, 4, (2, 5)).astype("float16"),), {"step": 0.5})


HIDDEN = (has_values_of(ex02b.quantize, half, "it works in float16"),)
