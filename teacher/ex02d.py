"""What only teachers see of 02d."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex02d
from tvmlab.course.values import Case, has_values_of

_CELL = ex02d.EXERCISE.starter


def _cell(chosen: str, *lines: str) -> str:
    return _CELL.replace("    chosen = ...", "\n".join([f"    chosen = {chosen}", *lines]))


_NORMAL = "[a + rank if a < 0 else a for a in axes]"
_RANGE = "    if any(not 0 <= a < rank for a in chosen):\n        raise ValueError(f'{axes} for {rank} axes')"
_TWICE = "    if len(set(chosen)) < len(chosen):\n        raise ValueError(f'{axes} names one twice')"

SOLUTION = _cell(_NORMAL, _RANGE, _TWICE)

WRONG = (
    (_cell("list(axes)", _TWICE), "from the end are right"),
    (_cell("[a % rank for a in axes]", _TWICE), "axes=(2,) is taken, and means nothing"),
    (_cell(_NORMAL, _RANGE), "axes=(0, 0) is taken, and means nothing"),
    (_cell("[abs(a) for a in axes]", _RANGE, _TWICE), "should be"),
    (_cell("list(range(rank))"), "element [0, 0] is 5 and should be 2"),
    (_cell("axes", "    if len(set(axes)) < len(axes):\n        raise ValueError('twice')"), "from the end are right"),
    (
        _cell(_NORMAL, "    if len(set(axes)) < len(axes):\n        raise ValueError('twice')", _RANGE),
        "(1, -1) is taken",
    ),
)


def high(random: np.random.Generator) -> Iterator[Case]:
    """Four axes, of another dtype."""
    x = random.integers(-99, 99, (2, 1, 3, 2)).astype("int32")
    yield Case((x,), {"axes": (-4, 3)})


HIDDEN = (has_values_of(ex02d.flip, high, "it works for four axes of integers"),)
