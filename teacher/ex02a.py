"""What only teachers see of 02a."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex02a
from tvmlab.course.values import Case, has_values_of

_CELL = '''
"""{}"""

def compute(x, y):
    return te.compute(x.shape, lambda *i: {}, name="hypot")
'''
_SENTENCE = "The length of the vector (`x`, `y`), element by element."
_ROOT = "te.sqrt(x(*i) * x(*i) + y(*i) * y(*i))"

_VARIADIC = '''
"""`x` and `y`."""

def compute(*xs):
    x, y = xs[0], xs[-1]
    return te.compute(x.shape, lambda *i: te.sqrt(x(*i) * x(*i) + y(*i) * y(*i)), name="hypot")
'''

SOLUTION = _CELL.format(_SENTENCE, _ROOT)

WRONG = (
    (_CELL.format(_SENTENCE, "x(*i) * x(*i) + y(*i) * y(*i)"), "element [0, 0] is 25 and should be 5"),
    (_CELL.format(_SENTENCE, "x(*i) + y(*i)"), "should be 5, where x is 3 and y is 4"),
    (_CELL.format("Say in one sentence what it gives, with `x` and `y`.", _ROOT), "the card describes it as"),
    (_CELL.format("The length of the vector (`x`, y).", _ROOT), "does not mention `y`"),
    (SOLUTION.replace(f'"""{_SENTENCE}"""', ""), "the card describes it as ''"),
    (_VARIADIC, "its tensors are none"),
)


def wide(random: np.random.Generator) -> Iterator[Case]:
    """Another dtype and rank."""
    yield Case(tuple(random.uniform(-3, 3, (2, 5)).astype("float64")), {})


HIDDEN = (has_values_of(ex02a.hypot, wide, "it works in float64"),)
