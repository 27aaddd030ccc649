"""C09: it reads inside its inputs and divides by no zero, at every size and attribute that it accepts."""

from __future__ import annotations

import dataclasses

from tvmlab.checks import variants
from tvmlab.checks.inputs import rounds
from tvmlab.checks.outcome import Outcome, failed, failed_by, ok, warning
from tvmlab.checks.repro import call_cell, given
from tvmlab.checks.subject import Prepared, Refused, Subject, divides_integers
from tvmlab.checks.walking import data_reads
from tvmlab.errors import PipelineError, TvmlabError
from tvmlab.ops import bounds, lowering, reading, rules
from tvmlab.ops.evaluate import NotEvaluable
from tvmlab.records import Reads
from tvmlab.runtime import Isolated


def run(subject: Subject) -> Outcome:
    """Prove every read, or try it out; then look at what depends on data."""
    proved = tried = 0
    hazard = ""
    unseen = False
    for configuration in variants.configurations(subject, 10 if subject.quick else 48):
        try:
            prepared = subject.prepare(configuration)
        except (Refused, TvmlabError):
            continue
        unproved = bounds.unproved_reads(prepared.outputs)
        proved += not unproved
        if unproved:
            try:
                read = bounds.first_read_outside(prepared.outputs)
            except NotEvaluable:
                read = None
            else:
                tried += 1
            if read is not None:
                return _outside(subject, prepared, read)
            if not subject.quick:
                try:
                    lowered = lowering.lower(subject.spec, configuration.types, configuration.attributes)
                    lowering.check_kernel(subject.spec, lowered)
                except TvmlabError as error:
                    return failed_by(error, call_cell(subject.op, configuration))
        for each in rounds(subject, prepared, 3):
            try:
                found = prepared.evaluate(each.arrays).hazards
            except NotEvaluable:
                unseen = True
                break
            hazard = hazard or next(iter(found), "")
    if unseen and not subject.quick:
        died = _tried_out(subject)
        if died is not None:
            return died
    by_data = data_reads(subject.prepare(subject.base))
    if by_data:
        return warning(
            f"it reads {by_data[0]} where its data says; a number outside would read foreign memory or end the process",
            "keep the index inside: tirx.max(0, tirx.min(index, size - 1))",
            lowering.location_of_compute(subject.spec),
        )
    if hazard or divides_integers(subject.prepare(subject.base)):
        return warning(
            f"on some inputs {hazard or 'an integer is divided by zero'}, which ends the process",
            "guard the divisor: tirx.if_then_else(d == 0, 1, d)",
            lowering.location_of_compute(subject.spec),
        )
    how = f"{proved} kernels of different sizes and attributes are proved to read inside"
    return ok(f"{how}, {tried} were tried out at every element" if tried else how)


def _tried_out(subject: Subject) -> Outcome | None:
    """Run what cannot be evaluated, such as loops that were written by hand, in a child; what it died of, if it did."""
    kernel = subject.kernel(subject.base)
    if not isinstance(kernel, Isolated):
        return None
    prepared = subject.prepare(subject.base)
    try:
        for each in rounds(subject, prepared, 2):
            subject.call(kernel, each.arrays)
    except PipelineError as error:
        return failed(
            f"on {subject.base} {error.what}",
            error.mend,
            lowering.location_of_compute(subject.spec),
            call_cell(subject.op, subject.base),
        )
    return None


def _outside(subject: Subject, prepared: Prepared, read: bounds.Read) -> Outcome:
    configuration = prepared.configuration
    index, size = rules.as_written(read.index), rules.as_written(read.size)
    said = failed(
        f"for {configuration}{given(configuration)} it reads {read.tensor} at {read.value} on axis {read.axis}, "
        f"whose size is {size}",
        f"guard the read: tirx.if_then_else(tirx.all({index} >= 0, {index} < {size}), …, const_like(0, {read.tensor}))",
        lowering.location_of_compute(subject.spec),
        call_cell(subject.op, configuration),
    )
    return dataclasses.replace(said, reads=_drawn(subject, prepared))


def _drawn(subject: Subject, prepared: Prepared) -> Reads | None:
    """Which elements the first element reads that reads one that does not exist."""
    for output, tensor in enumerate(prepared.outputs):
        at = reading.first_outside(tensor)
        if at is not None:
            return reading.reads_of(subject.op.name, prepared.outputs, at, output, prepared.placeholders)
    return None
