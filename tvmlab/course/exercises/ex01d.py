"""Exercise 01d: which of three ways is the fastest?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvmlab.course.compositions import model_of
from tvmlab.records import Exercise, Mismatch, Property

WAYS = ("compose", "emit_te", "op")
_CALLS = 60
AS_FAST = 1.5
"""Two ways are as fast as each other if the slower takes less than this many times as long."""


def models(rows: int) -> dict[str, Any]:
    """The same leaky clamp three times, over rows of 1024 numbers."""
    from tvm import relax, te, tirx

    from tvmlab import ops
    from tvmlab.ops import gallery

    op = ops.define("course.leaky_clamp", ops.read_cell(gallery.text("leaky_clamp")))

    def compute(x: Any) -> Any:
        low, high, slope, zero = (tirx.const(v, x.dtype) for v in (-1.0, 1.0, 0.01, 0.0))

        def element(*i: Any) -> Any:
            return tirx.max(low, tirx.min(high, x(*i))) + slope * tirx.min(zero, x(*i) - low)

        return te.compute(x.shape, element, name="leaky_clamp")

    def compose(x: Any) -> Any:
        low, slope, zero = (relax.const(v, "float32") for v in (-1.0, 0.01, 0.0))
        below = relax.op.minimum(relax.op.subtract(x, low), zero)
        return relax.op.add(relax.op.clip(x, -1.0, 1.0), relax.op.multiply(slope, below))

    def emit_te(x: Any) -> Any:
        return relax.BlockBuilder.current().emit_te(compute, x, primfunc_name_hint="leaky_clamp")

    ways = {"compose": compose, "emit_te": emit_te, "op": lambda x: op(x)}  # noqa: PLW0108  model_of wants a function
    return {way: model_of(function, [f"float32[{rows}, 1024]"]) for way, function in ways.items()}


def measured(build: str, rows: int, random: np.random.Generator) -> dict[str, float]:
    """Seconds of the quickest call of each way, on one thread; they take turns, so that others' work disturbs all."""
    from tvmlab import pipeline, runtime

    x = random.normal(size=(rows, 1024)).astype("float32")
    calls = {}
    for way, model in models(rows).items():
        module = pipeline.trace(model)["legalize" if build == "unfused" else "schedule"].module
        calls[way] = runtime.compile_module(module).bind(x)
    least = dict.fromkeys(calls, float("inf"))
    with runtime.threads(1):
        for _ in range(_CALLS):
            for way, call in calls.items():
                start = time.perf_counter()
                call()
                least[way] = min(least[way], time.perf_counter() - start)
    return least


def ranked(seconds: dict[str, float]) -> list[set[str]]:
    """The ways, fastest first; those that are as fast as the first of a group are in it."""
    groups: list[set[str]] = []
    first = 0.0
    for way in sorted(seconds, key=seconds.__getitem__):
        if groups and seconds[way] < AS_FAST * first:
            groups[-1].add(way)
        else:
            groups.append({way})
            first = seconds[way]
    return groups


def predicts(build: str, rows: int, name: str) -> Property:
    """A property: the ranking for a build is what is measured now."""

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        said = answer().get(build)
        try:
            groups = [set([each] if isinstance(each, str) else each) for each in said]
        except TypeError:
            groups = []
        if sorted(way for group in groups for way in group) != sorted(WAYS):
            mend = 'such as [("emit_te", "op"), "compose"]: the fastest first, those that are as fast together'
            return Mismatch(f"the ranking {said!r:.80} does not have each of {', '.join(WAYS)} once", mend=mend)
        seconds = measured(build, rows, random)
        right = ranked(seconds)
        if groups == right:
            return None
        figures = ", ".join(f"{way} {seconds[way] * 1e3:.3f} ms" for way in WAYS)
        return Mismatch(
            f"{build} you say {_shown(groups)}; it is {_shown(right)}", mend=f"measured just now: {figures}"
        )

    return Property(name, check)


def _shown(groups: Sequence[set[str]]) -> str:
    return ", then ".join(" and ".join(sorted(group)) for group in groups)


EXERCISE = Exercise(
    id="01d",
    title="predict, then measure",
    grade=2,
    statement=(
        "leaky_clamp of 256 rows of 1024 numbers, three ways: composed of five operators, as one te.compute with "
        "emit_te, and as an operator of its own. Before you measure, rank them twice: compiled without fusion, and "
        "with fusion and schedule. The fastest stands first. Put ways into one tuple if none of them takes 1.5 times "
        "as long as another. The check measures on this machine."
    ),
    starter='''\
def prediction():
    """Rank "compose", "emit_te" and "op", such as ["op", ("compose", "emit_te")]."""
    unfused = ...
    scheduled = ...
    return {"unfused": unfused, "scheduled": scheduled}
''',
    asks="prediction",
    properties=(
        predicts("unfused", 256, "unfused, the ranking is what is measured"),
        predicts("scheduled", 256, "fused and scheduled, the ranking is what is measured"),
    ),
    hints=(
        "How many kernels does each way have before fusion, and how many after it? Draw them, or let %tvm_fuse do it.",
        (
            "What do emit_te and an operator of your own become in LegalizeOps? Compare the two loop nests. The "
            "operator's name is for people and for passes; the processor never sees it."
        ),
        (
            "Outline: five kernels read and write memory five times, one kernel once. Where all three ways end as the "
            "same single loop nest, there is nothing left that could differ."
        ),
    ),
    lesson="01_first_contact",
)
