"""C12: every dtype keeps its own precision: nothing is widened, narrowed or cut off without a word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.checks import variants
from tvmlab.checks.comparison import expectation, first_mismatch
from tvmlab.checks.inputs import rounds
from tvmlab.checks.outcome import Outcome, failed, ok
from tvmlab.checks.repro import call_cell, compare_cell
from tvmlab.checks.shrinking import Counterexample, differs, shrink
from tvmlab.checks.subject import Configuration, Refused, Subject, call_text
from tvmlab.errors import TvmlabError
from tvmlab.ops import lowering
from tvmlab.ops.evaluate import NotEvaluable

FLOATS = ("float16", "float32", "float64")
OTHERS = ("int8", "int32", "int64", "uint8", "bool")


def run(subject: Subject) -> Outcome:
    """Compare the dtype of the result over the dtypes of the inputs, then values in each."""
    taken: list[str] = []
    refused: list[str] = []
    for configuration in _configurations(subject):
        problem = _changed_dtype(subject, configuration)
        if problem:
            return problem
    compared = 0
    for dtype in FLOATS[::2] if subject.quick else (*FLOATS, *OTHERS):
        found = _values(subject, dtype)
        if isinstance(found, Outcome):
            return found
        (taken if found is not None else refused).append(dtype)
        compared += found or 0
    notes = (f"not for {', '.join(refused)}: it refuses them in words",) if refused and not subject.quick else ()
    values = f", {compared:,} values of them equal the reference's" if compared else ""
    return ok(f"{', '.join(taken) or 'no dtype'} stay what they are{values}", notes)


def _configurations(subject: Subject) -> Iterator[Configuration]:
    """Configurations that differ in their attributes."""
    seen = set()
    for configuration in variants.configurations(subject, 12 if subject.quick else 32):
        key = repr(sorted(configuration.attributes.items()))
        if key not in seen:
            seen.add(key)
            yield configuration


def _changed_dtype(subject: Subject, configuration: Configuration) -> Outcome | None:
    """A result whose dtype follows that of the inputs in one case and not in another."""
    made: dict[str, list[str]] = {}
    for dtype in FLOATS:
        try:
            made[dtype] = [str(o.dtype) for o in subject.prepare(configuration.with_dtype(dtype)).outputs]
        except (Refused, TvmlabError):
            continue
    for output in range(max(map(len, made.values()), default=0)):
        results = {d: r[output] for d, r in made.items() if len(r) > output}
        if len(set(results.values())) < 2:
            continue  # the same for all: a dtype that is meant
        wrong = next((d for d, r in results.items() if "float" in r and r != d), None)
        if wrong is not None:
            verb = "widened to" if np.dtype(results[wrong]).itemsize > np.dtype(wrong).itemsize else "narrowed to"
            return failed(
                f"{wrong} is {verb} {results[wrong]}, while {_kept(results)} stays",
                "wrap each constant: const_like(0.5, x) instead of 0.5; cast with .astype(x.dtype)",
                lowering.location_of_compute(subject.spec),
                call_cell(subject.op, configuration.with_dtype(wrong)),
            )
    return None


def _kept(results: dict[str, str]) -> str:
    return next((d for d, r in results.items() if r == d), "another dtype")


def _values(subject: Subject, dtype: str) -> Outcome | int | None:
    """How many values are right in a dtype; None if the operator does not take it."""
    if dtype == "bool" and "bool" not in subject.base.dtypes:
        return 0 if subject.takes(subject.base.with_dtype(dtype)) else None  # NumPy's arithmetic of truth is another
    configurations = [c.with_dtype(dtype) for c in _configurations(subject)]
    taken = [c for c in configurations[: 2 if subject.quick else 6] if subject.takes(c)]
    if not taken or not (subject.quick or _lowers(subject, taken[0])):
        return None
    if subject.spec.reference is None:
        return 0
    compared = 0
    for configuration in taken:
        try:
            prepared = subject.prepare(configuration)
        except (Refused, TvmlabError):
            continue
        for each in rounds(subject, prepared, 2 if subject.quick else 6):
            if each.special:
                continue
            try:
                evaluation = prepared.evaluate(each.arrays, precision=dtype if "float" in dtype else None)
                wanted = expectation(subject, prepared.configuration, each.arrays)
            except (Refused, NotEvaluable):
                break
            if evaluation.hazards or _other_kind(evaluation.outputs, wanted.own):
                break
            mismatch = first_mismatch(evaluation.outputs, wanted, evaluation.errors)
            if mismatch is not None and not mismatch.special and not _also_in_base(subject, configuration, each.arrays):
                precision = dtype if "float" in dtype else None
                small = shrink(subject, Counterexample(prepared.configuration, each.arrays, mismatch), precision)
                call = call_text(subject.op, small.arrays, small.configuration.attributes)
                return failed(
                    f"in {dtype}, {call} {small.mismatch}",
                    "compute in the dtype of the inputs: const_like(value, x) for constants, no astype on the way",
                    lowering.location_of_compute(subject.spec),
                    compare_cell(subject.op, small.arrays, small.configuration.attributes),
                )
            compared += sum(o.size for o in evaluation.outputs)
    return compared


def _also_in_base(subject: Subject, configuration: Configuration, arrays: Sequence[NDArray[Any]]) -> bool:
    """Whether it is wrong in its own dtype too: C10 tells that."""
    base = subject.base
    same = Configuration(configuration.shapes, base.dtypes, configuration.attributes)
    given = [a.astype(d) for a, d in zip(arrays, base.dtypes, strict=True)]
    return configuration.dtypes != base.dtypes and differs(subject, same, given) is not None


def _lowers(subject: Subject, configuration: Configuration) -> bool:
    """Whether its kernel is one of that dtype: exp of integers is not."""
    try:
        lowered = lowering.lower(subject.spec, configuration.types, configuration.attributes)
        lowering.check_kernel(subject.spec, lowered)
    except TvmlabError:
        return False
    return True


def _other_kind(got: Sequence[NDArray[Any]], wanted: Sequence[NDArray[Any]]) -> bool:
    """Whether the reference leaves the integers, where there is nothing to compare with."""
    return any(g.dtype.kind not in (w.dtype.kind, "f") for g, w in zip(got, wanted, strict=False))
