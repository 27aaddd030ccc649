"""What only teachers see of 05a."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex04a, ex05a
from tvmlab.course.lowerings import lowers_to
from tvmlab.course.values import Case

_HEAD = ex05a.EXERCISE.starter.replace("    ...\n", "    {}\n").replace("{v", "{{v")
_ATTRIBUTES = "call.attrs.lower, call.attrs.upper, call.attrs.slope"
_NAMED = 'primfunc_name_hint="leaky_clamp"'

SOLUTION = _HEAD.format(f"return bb.call_te(compute, call.args[0], {_ATTRIBUTES}, {_NAMED})")

WRONG = (
    (
        _HEAD.format(
            f"return bb.call_te(compute, call.args[0], call.attrs.upper, call.attrs.lower, call.attrs.slope, {_NAMED})"
        ),
        "with the default attributes its kernel is right",
    ),
    (_HEAD.format(f"return bb.call_te(compute, call.args[0], -1.0, 1.0, 0.01, {_NAMED})"), "with other attributes too"),
    (
        _HEAD.format(f"return bb.call_te(compute, call.args[0], {_ATTRIBUTES})"),
        "the kernels are compute, and should be leaky_clamp",
    ),
    (
        _HEAD.format(f"bb.call_te(compute, call.args[0], {_ATTRIBUTES}, {_NAMED})"),
        "legalize returns nothing: a return is missing",
    ),
    (_HEAD.format("return call"), "legalize returns a call of the operator itself"),
    (_HEAD.format("return compute"), "legalize returns function, which is no Relax expression"),
    (
        _HEAD.format(f"return bb.call_te(compute, call.args[0], {_NAMED})"),
        "a function is called without 'lower', 'upper', and 'slope'",
    ),
)


def ranks(random: np.random.Generator) -> Iterator[Case]:
    """Other ranks, and float16."""
    yield Case((random.uniform(-3, 3, (2, 3, 2)).astype("float32"),), {"upper": 0.25})
    yield Case((random.uniform(-3, 3, (7,)).astype("float16"),), {"lower": -0.5, "slope": 0.5})


HIDDEN = (lowers_to(ex05a.OPERATOR, ex04a.leaky_clamp, ranks, "it works for other ranks, and in float16"),)
