"""What only teachers see of 03d."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises.ex03d import EXERCISE
from tvmlab.course.typing_rules import Question, tells_types

_RULE = """def type_rule(x, w, stride, padding):
    if x.dtype != w.dtype:
        raise ValueError(f"{x.dtype} and {w.dtype}")
    for t in (x, w):
        if t.ndim not in (3, -1):
            raise ValueError(f"{rules.show(t)} has {t.ndim} axes, and not 3")
    if x.shape is None or w.shape is None:
        return TensorType(dtype=x.dtype, ndim=3)
    batch, channels, length = x.shape
    outputs, expected, kernel = w.shape
    if rules.different(channels, expected):
        raise ValueError(f"{channels} channels, and w has {expected}")
    left = length + 2 * padding - kernel
    if isinstance(left, tirx.IntImm) and int(left) < 0:
        raise ValueError(f"the kernel is longer than the padded x: {kernel}")
    return TensorType([batch, outputs, left // stride + 1], x.dtype)
"""


def _cell(rule: str) -> str:
    return EXERCISE.starter.replace(
        "def type_rule(x, w, stride, padding):\n    # refuse first, then count\n    ...\n", rule
    )


SOLUTION = _cell(_RULE)

WRONG = (
    (_cell(_RULE.replace("left // stride + 1", "left // stride")), "compute makes"),
    (_cell(_RULE.replace("2 * padding", "padding")), "60 random sizes"),
    (
        _cell(_RULE.replace("left // stride + 1", "(left + stride) // stride if stride < 3 else left // stride")),
        "60 random",
    ),
    (_cell(_RULE.replace("    if rules.different(channels, expected)", "    if False")), "float32[8, 5, 3]"),
    (_cell(_RULE.replace("int(left) < 0", "False")), "should refuse"),
    (_cell(_RULE.replace("(3, -1)", "(3,)")), "float32[…], float32[8, 4, 3] the rule refuses"),
    (_cell(_RULE.replace("length + 2", "int(length) + 2")), "symbols"),
    (_cell(_RULE.replace("x.dtype != w.dtype", "False")), "float16[8, 4, 3] the rule says"),
)


def more(_random: np.random.Generator) -> Iterator[Question]:
    """In float16, and with other symbols."""
    yield Question(("float16[b, 4, n]", "float16[m, 4, k]"), {}, "float16[b, m, n - k + 1]")
    yield Question(("float16[1, 1, 1]", "float16[1, 1, 1]"), {"stride": 5}, "float16[1, 1, 1]")


HIDDEN = (tells_types(more, "it is right for other symbols and dtypes"),)
