"""What only teachers see of 03c."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises.ex03c import EXERCISE
from tvmlab.course.typing_rules import Question, tells_types

_RULE = """def type_rule(x, axis, keepdims):
    if x.ndim < 0:
        return TensorType(dtype=x.dtype, ndim=-1)
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"there is no axis {axis} of {x.ndim}")
    if x.shape is None:
        return TensorType(dtype=x.dtype, ndim=x.ndim if keepdims else x.ndim - 1)
    shape = list(x.shape)
    shape[axis : axis + 1 or None] = [1] if keepdims else []
    return TensorType(shape, x.dtype)
"""


def _cell(rule: str) -> str:
    return EXERCISE.starter.replace(
        "def type_rule(x, axis, keepdims):\n    # begin with what is known least\n    ...\n", rule
    )


SOLUTION = _cell(_RULE)

WRONG = (
    (_cell("type_rule = rules.same\n"), "compute makes"),
    (_cell("type_rule = rules.reduce()\n"), "the cell uses rules.reduce"),
    (
        _cell(_RULE.replace("if not -x.ndim <= axis < x.ndim", "if not 0 <= axis < x.ndim")),
        "axis=-1 the rule refuses, and should say float32[]",
    ),
    (_cell(_RULE.replace("x.ndim if keepdims else x.ndim - 1", "x.ndim")), "the rule says float32[?, ?, ?]"),
    (_cell(_RULE.replace("x.shape is None", "False")), "symbols, and where the shape is not known"),
    (_cell(_RULE.replace("if not -x.ndim <= axis < x.ndim", "if axis >= x.ndim")), "axis=-3 the rule says"),
    (
        _cell(_RULE.replace("shape, x.dtype", 'shape, "float32"')),
        "for float16[2, 3] the type rule says float32[2], compute makes float16[2]",
    ),
)


def more(_random: np.random.Generator) -> Iterator[Question]:
    """One axis, and five."""
    yield Question(("int32[n]",), {"axis": 0}, "int32[]")
    yield Question(("int32[n]",), {"axis": -1, "keepdims": True}, "int32[1]")
    yield Question(("float64[n, 2, m, 3, k]",), {"axis": -3}, "float64[n, 2, 3, k]")


HIDDEN = (tells_types(more, "it is right for other ranks and dtypes"),)
