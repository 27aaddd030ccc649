"""Exercise 02e: a default changes, and what was built before keeps the old one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab.records import Exercise, Mismatch, Property
from tvmlab.sandbox import beside


def both(answer: Any, x: Any) -> tuple[list[Any], list[str]]:
    """What the two models give, and how they call the operator."""
    from tvmlab import pipeline

    models = answer()
    values, calls = [], []
    for model in models:
        values.append(pipeline.trace(model).executable.run(x))
        calls.append(next((part for part in model.module.script().split() if part.startswith("R.lab.scale(")), ""))
    return values, calls


def live_default(answer: Any) -> Any:
    """The default of factor once both models were built."""
    from tvmlab import ops

    answer()
    return next((each.default for each in ops.find("lab.scale").spec.attributes if each.name == "factor"), None)


def two_live_models(answer: Any, random: np.random.Generator) -> Mismatch | None:
    """The first multiplies by 2, the second by 3."""
    x = random.normal(size=(2, 3)).astype("float32")
    values, calls = beside(answer, both, x)
    if len(values) != 2:
        return Mismatch(f"there are {len(values)} models, and two are asked for")
    if not all(calls):
        return Mismatch("one of the models does not call lab.scale", mend="build both of function")
    for which, got, factor in zip(("first", "second"), values, (2, 3), strict=True):
        if got.shape != x.shape or not np.allclose(got, factor * x):
            said = got.flat[0] / x.flat[0]
            return Mismatch(f"the {which} model multiplies by {said:.3g}, and should by {factor}")
    return None


def the_default_changed(answer: Any, _random: np.random.Generator) -> Mismatch | None:
    """And is not given in a call."""
    default = beside(answer, live_default)
    if default != 3:
        return Mismatch(f"the default of factor is {default} afterwards", mend="define the operator again, with 3.0")
    return None


EXERCISE = Exercise(
    id="02e",
    title="the old default lives on",
    grade=1,
    statement=(
        "define(factor) makes lab.scale live with that default, function calls it without giving a factor, and "
        "tl.graph(function) builds a model. Return two models of the same function: the first multiplies by 2, the "
        "second by 3. Both have to be right after both were built."
    ),
    starter="""\
import tvmlab as tl

def two_models():
    def define(default):
        @tl.op("lab.scale")
        class Scale:
            class Attrs:
                factor: float = default

            def compute(x, factor):
                return te.compute(x.shape, lambda *i: x(*i) * const_like(factor, x), name="scale")

    def function(x: "float32[2, 3]"):
        return tl.ops.lab.scale(x)

    define(2.0)
    first = ...
    second = ...
    return first, second
""",
    asks="two_models",
    properties=(
        Property("the first model multiplies by 2 and the second by 3", two_live_models),
        Property("the live default is 3", the_default_changed),
    ),
    hints=(
        "When is the default looked up: when the operator is defined, when a model is built, or when it is run?",
        "Build a model between the two definitions. It keeps the operator that it was built with.",
        "Outline: a graph of function; the definition again, with the other default; a second graph of function.",
    ),
    lesson="02_identity_card",
)
