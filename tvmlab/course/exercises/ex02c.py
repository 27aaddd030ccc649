"""Exercise 02c: attributes that cannot be illegal."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab.errors import TvmlabError
from tvmlab.records import Exercise, Mismatch, Property
from tvmlab.sandbox import beside


def refusal(answer: Any, lower: float, upper: float) -> Mismatch | None:
    """What is wrong with what an operator does with two limits."""
    given = f"lower={lower!r}, upper={upper!r}"
    refused = beside(answer, why_refused, lower, upper)
    if refused is not None:
        return Mismatch(f"{given} is refused, and is legal", mend=refused) if lower <= upper else None
    return Mismatch(f"{given} is taken, and is illegal") if lower > upper else None


def why_refused(answer: Any, lower: float, upper: float) -> str | None:
    """Why an operator refuses two limits, without compiling it; None if it takes them."""
    from tvm import relax

    x = relax.Var("x", relax.TensorType((2,), "float32"))
    try:
        answer(x, lower=lower, upper=upper)
    except TvmlabError as error:
        return error.what
    return None


def apart(answer: Any, random: np.random.Generator) -> Mismatch | None:
    """Two limits of any size and sign."""
    for _ in range(100):
        lower, upper = (round(float(each), 3) for each in random.normal(0, 3, 2))
        if (found := refusal(answer, lower, upper)) is not None:
            return found
    return None


def equal(answer: Any, random: np.random.Generator) -> Mismatch | None:
    """Both limits the same."""
    for _ in range(20):
        limit = round(float(random.normal(0, 3)), 3)
        if (found := refusal(answer, limit, limit)) is not None:
            return found
    return None


EXERCISE = Exercise(
    id="02c",
    title="limits that cannot be the wrong way round",
    grade=2,
    statement=(
        "A clamp whose lower limit is above its upper one means nothing. Write the validate of the attributes, so that "
        "no call with such limits can be made. Equal limits are legal, and so are negative ones."
    ),
    starter='''\
class Attrs:
    lower: float = -1.0
    upper: float = 1.0

    def validate(self):
        """Raise ValueError, with a message that names both values."""
        ...

def compute(x, lower, upper):
    lo, hi = (const_like(v, x) for v in (lower, upper))
    return te.compute(x.shape, lambda *i: tirx.max(lo, tirx.min(hi, x(*i))), name="clamp")
''',
    asks="lab.clamp",
    properties=(
        Property("limits are refused if lower is above upper, and taken otherwise", apart),
        Property("equal limits are taken", equal),
    ),
    hints=(
        "validate is called with the values of one call. What has to be true of self.lower and self.upper?",
        "Compare the two with each other, not with a number: both may be negative, and both may be large.",
        "Outline: an if over the two attributes, and under it a raise of a ValueError with an f-string.",
    ),
    lesson="02_identity_card",
)
