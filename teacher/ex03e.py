"""What only teachers see of 03e."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises.ex03e import EXERCISE
from tvmlab.course.typing_rules import Question, tells_types

_RULE = """def type_rule(x):
    if x.ndim == 0:
        raise ValueError("there is no axis")
    if x.shape is None:
        return TensorType(dtype=x.dtype, ndim=x.ndim), TensorType(dtype="int64", ndim=x.ndim)
    last = x.shape[-1]
    if isinstance(last, tirx.IntImm) and int(last) < 2:
        raise ValueError(f"the last axis has {last}")
    shape = [*list(x.shape)[:-1], 2]
    return TensorType(shape, x.dtype), TensorType(shape, "int64")
"""


def _cell(rule: str) -> str:
    return EXERCISE.starter.replace(
        "def type_rule(x):\n    # one type for the values, one for the places\n    ...\n", rule
    )


SOLUTION = _cell(_RULE)

WRONG = (
    (_cell(_RULE.replace('TensorType(shape, "int64")', "TensorType(shape, x.dtype)")), "compute makes"),
    (
        _cell(
            _RULE.replace(
                'return TensorType(shape, x.dtype), TensorType(shape, "int64")', "return TensorType(shape, x.dtype)"
            )
        ),
        "compute makes",
    ),
    (_cell(_RULE.replace("int(last) < 2", "int(last) < 1")), "float32[3, 1] the rule says"),
    (
        _cell(_RULE.replace("    if isinstance(last, tirx.IntImm) and int(last) < 2:", "    if int(last) < 2:")),
        "symbols",
    ),
    (_cell(_RULE.replace("ndim=x.ndim)", "ndim=-1)")), "float32[?, ?] the rule says (float32[…], int64[…])"),
    (_cell(_RULE.replace("x.ndim == 0", "False")), "float32[]"),
    (_cell(_RULE.replace("x.shape is None", "False")), "not known"),
)


def more(_random: np.random.Generator) -> Iterator[Question]:
    """Of three axes."""
    yield Question(("int8[n, 3, m]",), {}, "(int8[n, 3, 2], int64[n, 3, 2])")
    yield Question(("float64[?]",), {}, "(float64[?], int64[?])")


HIDDEN = (tells_types(more, "it is right for other ranks and dtypes"),)
