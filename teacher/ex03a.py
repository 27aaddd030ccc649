"""What only teachers see of 03a."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.typing_rules import Question, tells_types

_HEAD = "def type_rule(x):\n    return {}\n"

SOLUTION = _HEAD.format("x")

WRONG = (
    (_HEAD.format('TensorType(x.shape, "float32")'), "the rule says float32["),
    (_HEAD.format("x.shape"), "and should say"),
    (_HEAD.format("TensorType([int(d) for d in x.shape], x.dtype)"), "it is right where sizes are symbols"),
    (_HEAD.format("TensorType(dtype=x.dtype, ndim=x.ndim)"), "and should say float32["),
    (_HEAD.format("TensorType(x.shape, x.dtype)"), "float32[?, ?] the rule says float32[…]"),
    (_HEAD.format("(x,)"), "the rule says (float32["),
)


def others(_random: np.random.Generator) -> Iterator[Question]:
    """Formulas as sizes."""
    for each in ("bfloat16[n, k]", "uint8[?, ?, ?]", "float64[]"):
        yield Question((each,), {}, each)


HIDDEN = (tells_types(others, "it is right for other dtypes and ranks"),)
