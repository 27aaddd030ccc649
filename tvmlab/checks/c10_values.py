"""C10: the values are the reference's, on inputs chosen to take every branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.checks import variants
from tvmlab.checks.comparison import Mismatch, all_lost, expectation, first_mismatch
from tvmlab.checks.inputs import HUGE, Round, rounds, sought
from tvmlab.checks.interpreter import Decision
from tvmlab.checks.outcome import Outcome, failed, ok, skipped, warning
from tvmlab.checks.repro import compare_cell
from tvmlab.checks.shrinking import Counterexample, shrink
from tvmlab.checks.subject import Configuration, Prepared, Refused, Subject, call_text
from tvmlab.errors import TvmlabError
from tvmlab.ops import bounds
from tvmlab.ops.evaluate import NotEvaluable
from tvmlab.ops.lowering import location_of_compute

Array = NDArray[Any]

_LONGEST = 300
_MEND = "compare compute with the reference at this input: an index, a constant, or max for min"


def run(subject: Subject) -> Outcome:
    """Compare with the reference over attributes, shapes and rounds of inputs, evaluated and then as compiled."""
    if subject.spec.reference is None:
        return skipped("the cell has no reference to compare with; add def reference(x, …) in NumPy")
    counter = Counter(subject)
    for configuration in variants.configurations(subject, 6 if subject.quick else 32):
        try:
            prepared = subject.prepare(configuration)
        except (Refused, TvmlabError):
            continue  # C05 tells
        counter.configuration(prepared)
        if counter.hard:
            break
    if not counter.hard and not subject.quick:
        counter.compiled()
    return counter.outcome()


class Counter:
    """Goes through configurations, and keeps the first counterexample and what was seen.

    Parameters
    ----------
    subject : Subject
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.hard: Counterexample | None = None
        self.soft: Counterexample | None = None
        self.outside: str | None = None
        self.compared = 0
        self.calls = 0
        self.refusals: list[str] = []
        self.decisions: dict[Any, Decision] = {}
        self.seen: list[tuple[Configuration, list[Round]]] = []

    def configuration(self, prepared: Prepared) -> None:
        """All rounds of one configuration."""
        decisions: dict[Any, Decision] = {}
        configuration = prepared.configuration
        chosen = rounds(self.subject, prepared, 6 if self.subject.quick else 14)
        for each in chosen:
            self._round(prepared, each, decisions)
            if self.hard:
                return
        try:
            more = sought(prepared, decisions)
        except NotEvaluable:
            more = None
        if more is not None:
            chosen.append(more)
            self._round(prepared, more, decisions)
        self.seen.append((configuration, chosen))
        if len(decisions) >= len(self.decisions):
            self.decisions = {k: _sum(self.decisions.get(k), d) for k, d in decisions.items()}

    def _round(self, prepared: Prepared, each: Round, decisions: dict[Any, Decision]) -> None:
        subject, configuration = self.subject, prepared.configuration
        try:
            wanted = expectation(subject, configuration, each.arrays)
        except Refused as refusal:
            self.refusals.append(str(refusal))
            return
        errors: Sequence[Array] | None
        try:
            evaluation = prepared.evaluate(each.arrays, decisions)
            if evaluation.hazards:
                self._outside(prepared)
                return
            got, errors = tuple(evaluation.outputs), evaluation.errors
        except NotEvaluable:
            try:
                subject.safe(prepared, each.arrays)
                got, errors = subject.run(configuration, each.arrays), None
            except (Refused, TvmlabError) as refusal:
                if isinstance(refusal, TvmlabError) and subject.death:
                    raise
                self.refusals.append(str(refusal).split("\n", maxsplit=1)[0])
                return
        self._compare(prepared, each, got, wanted, errors)

    def _outside(self, prepared: Prepared) -> None:
        """What an element outside of an input holds is no value of the reference's; what depends on data, C09 tells."""
        try:
            read = bounds.first_read_outside(prepared.outputs)
        except NotEvaluable:
            return
        if read is not None and self.outside is None:
            self.outside = f"for {prepared.configuration} it reads {read.tensor} at {read.value} on axis {read.axis}"

    def _compare(self, prepared: Prepared, each: Round, got: Any, wanted: Any, errors: Any) -> None:
        mismatch = first_mismatch(got, wanted, errors)
        if mismatch is None and not each.special:
            mismatch = all_lost(got, wanted)
        self.calls += 1
        self.compared += sum(g.size for g in got)
        if mismatch is None:
            return
        found = Counterexample(prepared.configuration, each.arrays, mismatch)
        if _is_soft(prepared, each, mismatch):
            self.soft = self.soft or found
        else:
            self.hard = found

    def compiled(self) -> None:
        """The same inputs on compiled kernels, of different attributes and shapes."""
        for configuration, chosen in _spread(self.seen, 10):
            prepared = self.subject.prepare(configuration)
            for each in chosen:
                try:
                    evaluation = self.subject.safe(prepared, each.arrays)
                    wanted = expectation(self.subject, configuration, each.arrays)
                    got = self.subject.run(configuration, each.arrays)
                except Refused as refusal:
                    self.refusals.append(str(refusal))
                    continue
                self._compare(prepared, each, got, wanted, None if evaluation is None else evaluation.errors)
                if self.hard:
                    return

    def outcome(self) -> Outcome:
        """What was found, in a sentence."""
        notes = self._notes()
        if self.hard:
            small = shrink(self.subject, self.hard)
            return failed(
                _sentence(self.subject, small),
                _MEND,
                location_of_compute(self.subject.spec),
                compare_cell(self.subject.op, small.arrays, small.configuration.attributes),
                notes,
            )
        if self.outside:
            return failed(
                f"{self.outside}, outside of it, where the reference has a value",
                "%tvm_check --only C09 shows the read; guard it with tirx.if_then_else",
                location_of_compute(self.subject.spec),
                notes=notes,
            )
        if not self.calls:
            reason = next(iter(self.refusals), "it took none of the inputs that were tried")
            if self.refusals and not self.subject.death:
                return warning(f"nothing could be compared: {reason}", "let the reference take what compute takes")
            return skipped(reason)
        how = "" if self.subject.quick else ", also as compiled"
        why = f"{self.compared:,} values in {self.calls} calls equal the reference's{how}"
        if self.soft:
            small = shrink(self.subject, self.soft)
            return warning(
                f"where numbers are not ordinary, it differs: {_sentence(self.subject, small)}",
                "guard against overflow and NaN, or leave it if such inputs cannot occur",
                location_of_compute(self.subject.spec),
                compare_cell(self.subject.op, small.arrays, small.configuration.attributes),
                notes,
            )
        return ok(why, notes)

    def _notes(self) -> tuple[str, ...]:
        told = []
        tied = [d for d in self.decisions.values() if d.below + d.above + d.equal and not d.decided_both_ways]
        one_way = [d for d in tied if not (d.equal and (d.below or d.above))]
        if one_way:
            word = "comparison" if len(one_way) == 1 else "comparisons"
            told.append(f"{len(one_way)} {word} of the kernel always came out the same way on what was tried")
        return tuple(told)


def _sum(old: Decision | None, new: Decision) -> Decision:
    if old is None:
        return new
    return Decision(new.node, old.below + new.below, old.equal + new.equal, old.above + new.above, new.difference)


def _is_soft(prepared: Prepared, each: Round, mismatch: Mismatch) -> bool:
    """Whether a difference is one that TVM's own reductions have, or an overflow on the way at huge inputs."""
    if mismatch.index is None:
        return False
    with np.errstate(invalid="ignore"):
        floats = [a for a in each.arrays if a.dtype.kind == "f"]
        nan = any(np.isnan(a).any() for a in floats)
        huge = any((np.isfinite(a) & (np.abs(a.astype("float64")) > HUGE)).any() for a in floats)
        infinite = any(np.isinf(a).any() for a in floats)
    if (nan and prepared.compares) or (infinite and prepared.orders):
        return True
    # TVM computes 0 * x while it builds, for an attribute that is 0, and does not ask whether x is finite.
    no_number = isinstance(mismatch.expected, float) and np.isnan(mismatch.expected)
    if (nan or infinite) and no_number and _has_zero(prepared.configuration.attributes):
        return True
    return huge


def _has_zero(attributes: Mapping[str, Any]) -> bool:
    return any(isinstance(value, float) and value == 0 for value in attributes.values())


def _spread(seen: list[tuple[Configuration, list[Round]]], count: int) -> list[tuple[Configuration, list[Round]]]:
    """Some of them: all attributes before second shapes."""
    first: dict[str, tuple[Configuration, list[Round]]] = {}
    for each in seen:
        first.setdefault(repr(sorted(each[0].attributes.items())), each)
    chosen = list(first.values())
    chosen += [each for each in seen if each not in chosen]
    return chosen[:count]


def _sentence(subject: Subject, found: Counterexample) -> str:
    where = ""
    if found.mismatch.index and any(found.mismatch.index):
        where = f" at {list(found.mismatch.index)}"
    call = call_text(subject.op, found.arrays, found.configuration.attributes)
    if len(call) > _LONGEST:
        call = f"{subject.op.name} on {found.configuration}"
    return f"{call}{where} {found.mismatch}"
