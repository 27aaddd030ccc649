"""C13: compiled once for open sizes, it gives at every size what it gives when compiled for that size."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.relax import TensorType

from tvmlab.checks import variants
from tvmlab.checks.comparison import Expectation, first_mismatch
from tvmlab.checks.inputs import rounds
from tvmlab.checks.kernels import Kernel, runnable
from tvmlab.checks.outcome import Outcome, failed, ok, skipped
from tvmlab.checks.repro import call_cell
from tvmlab.checks.subject import Configuration, Refused, Subject, legalized
from tvmlab.errors import TvmlabError
from tvmlab.ops import lowering
from tvmlab.ops.evaluate import NotEvaluable

_ATTRIBUTES = 3
_SIZES = 7
_EMPTY = 3


def run(subject: Subject) -> Outcome:
    """Compile with symbols for sizes, and run at several."""
    ran = compiled = 0
    reason = ""
    for attributes in variants.attribute_variants(subject, 8)[:_ATTRIBUTES]:
        base = Configuration(subject.base.shapes, subject.base.dtypes, attributes)
        if not subject.takes(base):
            continue
        made = _compiled(subject, base)
        if isinstance(made, str):
            reason = reason or made
            continue
        kernel, pattern = made
        compiled += 1
        for configuration in _sizes(subject, base, pattern):
            found = _run(subject, kernel, configuration)
            if isinstance(found, Outcome):
                return found
            ran += found
    if not compiled:
        return skipped(f"it needs sizes that are known when it is compiled: {reason}" if reason else "no inputs fit")
    if not ran:
        return skipped(subject.death or "none of the inputs that were tried could be run")
    why = f"compiled {compiled} times for open sizes, it gave in {ran} calls what it gives compiled for each size"
    return ok(why)


def _compiled(subject: Subject, base: Configuration) -> tuple[Kernel, list[list[Any]]] | str:
    """The kernel for open sizes, and the sizes or symbols of its inputs; or why there is none."""
    symbols: dict[int, tirx.Var] = {}
    pattern: list[list[Any]] = [
        [d if d == 1 else symbols.setdefault(d, tirx.Var(f"n{len(symbols)}", "int64")) for d in shape]
        for shape in base.shapes
    ]
    if not symbols:
        return "there is no size above 1"
    types = [TensorType(dims, dtype) for dims, dtype in zip(pattern, base.dtypes, strict=True)]
    try:
        return runnable(legalized(subject.op, types, base.attributes)), pattern
    except TvmlabError as error:
        return error.what


def _sizes(subject: Subject, base: Configuration, pattern: list[list[Any]]) -> list[Configuration]:
    """Shapes of the pattern, some of them with a size of 0."""
    filled: list[Configuration] = []
    empty: list[Configuration] = []
    for shapes in variants.shape_variants(subject):
        bound: dict[Any, int] = {}
        fits = [len(s) for s in shapes] == [len(p) for p in pattern] and all(
            (d == p if isinstance(p, int) else bound.setdefault(p, d) == d)
            for shape, dims in zip(shapes, pattern, strict=True)
            for d, p in zip(shape, dims, strict=True)
        )
        candidate = Configuration(tuple(shapes), base.dtypes, base.attributes)
        if fits and subject.takes(candidate):
            (empty if any(0 in shape for shape in shapes) else filled).append(candidate)
    return filled[:_SIZES] + empty[:_EMPTY]


def _run(subject: Subject, kernel: Kernel, configuration: Configuration) -> Outcome | int:
    """How many calls were right."""
    try:
        prepared = subject.prepare(configuration)
    except (Refused, TvmlabError):
        return 0
    ran = 0
    for each in rounds(subject, prepared, 3):
        try:
            evaluation = subject.safe(prepared, each.arrays)
            if evaluation is not None:
                fixed, errors = tuple(evaluation.outputs), evaluation.errors
            else:
                fixed, errors = subject.run(configuration, each.arrays), None
            got = subject.call(kernel, each.arrays)
        except (Refused, NotEvaluable):
            continue
        except TvmlabError as error:
            return failed(f"compiled for open sizes, it fails at {configuration}: {error.what}", error.mend)
        mismatch = first_mismatch(got, Expectation(fixed, fixed), errors)
        ran += 1
        if mismatch is not None and not (prepared.orders and mismatch.special):
            return failed(
                f"compiled for open sizes it gives {mismatch.got} at {configuration}, and compiled for these sizes "
                f"{mismatch.expected}",
                "let compute treat symbolic sizes as it treats numbers: no if on a size, no int(size)",
                lowering.location_of_compute(subject.spec),
                call_cell(subject.op, configuration),
            )
    return ran
