"""Exercise 07d: seven ways to get no fusion without a word, mended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlab.course.modules import (
    arrays_for,
    chain_module,
    chain_of,
    dense,
    dense_module,
    differs,
    outcome,
    pick_chain,
    unmarked,
)
from tvmlab.records import Exercise, Mismatch, Property
from tvmlab.sandbox import beside

CASES = ("not legalized", "no kinds", "no dataflow", "emitted", "opaque", "max_depth", "pattern")


def given(case: str, names: Sequence[str], bias_first: bool) -> Any:
    """The module of a case as the student gets it."""
    from tvmlab.pipeline import stages

    if case == "pattern":
        return dense_module(bias_first=bias_first)
    plain = chain_module(names, dataflow=case != "no dataflow", emitted=case == "emitted")
    if case == "not legalized":
        return plain
    legal = stages.legalize(plain)
    if case == "no kinds":
        return legal
    annotated = stages.annotate(legal)
    return marked_opaque(annotated) if case == "opaque" else annotated


def options_of(case: str) -> dict[str, int]:
    """Options of the passes that somebody has set around the answer."""
    return {"relax.FuseOps.max_depth": 1} if case == "max_depth" else {}


def mended(
    answer: Callable[..., Any], case: str, names: Sequence[str], bias_first: bool, arrays: Sequence[Any]
) -> tuple[str, int, Any]:
    """What the answer makes of the module of a case."""
    import tvm

    with tvm.transform.PassContext(config=options_of(case)):
        made = answer(case, given(case, names, bias_first))
    return outcome(made, arrays)


def marked_opaque(module: Any) -> Any:
    """The module with opaque kernels."""
    import tvm
    from tvm import tirx

    made = unmarked(module)
    return tvm.IRModule(
        {v: f.with_attr("op_pattern", 8) if isinstance(f, tirx.PrimFunc) else f for v, f in made.functions.items()}
    )


def fuses(cases: tuple[str, ...], name: str, times: int = 1) -> Property:
    """A property: of the module of each case the answer makes one with a single call in main, and the same values."""

    def check(answer: Callable[..., Any], random: np.random.Generator) -> Mismatch | None:
        return next(filter(None, (_wrong(answer, case, random) for _ in range(times) for case in cases)), None)

    return Property(name, check)


def _wrong(answer: Callable[..., Any], case: str, random: np.random.Generator) -> Mismatch | None:
    names, bias_first = pick_chain(random), bool(random.integers(2))
    arrays = arrays_for(random, *([(4, 8), (8, 6), (6,)] if case == "pattern" else []))
    outcome_of_it = beside(answer, mended, case, list(names), bias_first, arrays)
    computes = dense if case == "pattern" else chain_of(names)
    found = differs(outcome_of_it, computes(*arrays))
    if found is not None:
        return Mismatch(f"{case}: {found.what}", mend=found.mend)
    calls = outcome_of_it[1]
    if calls != 1:
        mend = _reason(case, names, bias_first)
        return Mismatch(f"{case}: main calls {calls} kernels, and should call 1", mend=mend)
    return None


def _reason(case: str, names: Sequence[str], bias_first: bool) -> str:
    """What the fuser, or the matcher, says of the module that was given."""
    if case == "pattern":
        return "tl.why_no_match(module, pattern) says where the pattern and the module part"
    from tvmlab.pipeline import fuse

    partition = fuse(given(case, names, bias_first), max_depth=options_of(case).get("relax.FuseOps.max_depth", 256))
    first, second = (group.nodes[0] for group in partition.groups[:2])
    return f"what tl.fuse(module).why says: {partition.why(first, second)}"


EXERCISE = Exercise(
    id="07d",
    title="seven ways to get no fusion",
    grade=2,
    statement=(
        "Each module below is left unfused by FuseOps, or by FuseOpsByPattern, without a word. mend(case, module) "
        "returns the fused module: main has a single call, and computes what it did. The modules are those of the "
        "notebook, with other operators."
    ),
    starter='''\
import tvm
from tvm.relax.dpl import is_op, wildcard

passes = relax.transform

def mend(case, module):
    """The module with a single call in main."""
    if case == "not legalized":  # its calls are still Relax operators
        return passes.FuseOps()(passes.AnnotateTIROpPattern()(passes.LegalizeOps()(module)))
    if case == "no kinds":  # legalized, and that is all
        return ...
    if case == "no dataflow":  # annotated; its bindings are in no dataflow block
        return ...
    if case == "emitted":  # annotated; every value leaves the block, though only the last is returned
        return ...
    if case == "opaque":  # somebody wrote op_pattern 8 on each kernel
        return ...
    if case == "max_depth":  # annotated; somebody around you set relax.FuseOps.max_depth to 1
        return ...
    # "pattern": relu of (x @ w + b), not legalized; this pattern matches nothing
    product = is_op("relax.multiply")(wildcard(), wildcard())
    pattern = is_op("relax.nn.relu")(is_op("relax.add")(wildcard(), product))
    return passes.FuseOpsByPattern([("lab.dense", pattern)])(module)
''',
    asks="mend",
    properties=(
        fuses(CASES[:2], "modules without kernels, or without kinds, are fused"),
        fuses(CASES[2:4], "modules whose values escape are fused"),
        fuses(CASES[4:6], "modules that are told not to fuse are fused"),
        fuses(CASES[6:], "the pattern matches, wherever the bias stands", 2),
    ),
    hints=(
        "tl.fuse(module) takes a module as it stands, and .why(a, b) says which of the conditions is not met.",
        (
            "There is a pass for each of the first four: AnnotateTIROpPattern, ConvertToDataflow, "
            "CanonicalizeBindings. An attribute goes by function.without_attr, and module.functions lists the "
            "functions. An option of a pass is set by a tvm.transform.PassContext around it."
        ),
        (
            "Outline: FuseOps at the end of each of the first six. Before it: annotate; convert to dataflow; "
            "canonicalize; take op_pattern off every PrimFunc and annotate again; a context with a limit of 256. Last: "
            "the product is a matmul, and addition is matched in either order."
        ),
    ),
    lesson="07_pattern_kinds",
)
