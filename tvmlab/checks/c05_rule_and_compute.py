"""C05: the type rule promises what compute makes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tvm import tirx
from tvm.relax import TensorType

from tvmlab.checks import variants
from tvmlab.checks.outcome import Outcome, failed, ok, skipped, warning
from tvmlab.checks.repro import call_cell, given
from tvmlab.checks.subject import Configuration, Refused, Subject, Unkept
from tvmlab.errors import TvmlabError
from tvmlab.ops import guards, lowering

_DTYPES = ("float32", "float16", "float64", "int32", "int8", "uint8", "bool")


def run(subject: Subject) -> Outcome:
    """Compare shape, dtype and number of outputs over attributes, shapes, dtypes and symbolic sizes."""
    spec = subject.spec
    if subject.op.examination.example is None:
        return _without_inputs(subject)
    tried = 0
    failures: list[tuple[Configuration, Unkept]] = []
    for configuration in _configurations(subject):
        try:
            subject.prepare(configuration)
        except Unkept as failure:
            filled = all(d for shape in configuration.shapes for d in shape)
            if filled and configuration.dtypes == subject.base.dtypes:
                failures.append((configuration, failure))
            continue
        except Refused:
            continue
        except TvmlabError as error:
            return failed(error.what, error.mend, error.where, call_cell(subject.op, configuration))
        tried += 1
    slip = next((each for each in failures if each[1].slip and _ranks(each[0]) == _ranks(subject.base)), None)
    if slip is not None:
        return failed(
            f"compute fails on {slip[0]}{given(slip[0])}: {_reason(slip[1])}",
            "mend compute for these attributes; what it cannot take, validate() of Attrs or the rule has to refuse",
            lowering.location_of_compute(spec),
            call_cell(subject.op, slip[0]),
        )
    if not tried:
        return skipped("it took none of the inputs that were tried")
    if spec.type_rule is None:
        return ok("there is no type_rule: the type is derived from compute, and cannot disagree")
    symbolic = _symbolic(subject)
    if isinstance(symbolic, Outcome):
        return symbolic
    promised = next((each for each in failures if each[1].promised), None)
    if promised is not None:
        return warning(
            f"the rule takes {promised[0]}{given(promised[0])}, and compute does not: {_reason(promised[1])}",
            "let the rule raise ValueError for what compute cannot take, such as another number of axes",
            spec.source.of_function(spec.type_rule.function),
            call_cell(subject.op, promised[0]),
        )
    return ok(f"rule and compute agree on {tried} combinations of attributes, shapes and dtypes, {symbolic} symbolic")


def _without_inputs(subject: Subject) -> Outcome:
    """What to say of an operator that took nothing: does at least its rule?"""
    spec = subject.spec
    for shapes in guards.shapes_for(spec):
        values = spec.schema.values(spec.schema.make({}))
        configuration = Configuration(tuple(shapes), ("float32",) * len(shapes), values)
        try:
            subject.prepare(configuration)
        except Unkept as failure:
            if failure.promised:
                return failed(
                    f"the rule takes {configuration}, and compute refuses all that was tried: {_reason(failure)}",
                    "mend compute; or let the rule refuse what compute cannot take, and add examples",
                    spec.source.of_function(spec.compute.function),
                    call_cell(subject.op, configuration),
                )
        except (Refused, TvmlabError):
            continue
    return warning(
        f"nothing could be checked: {next(iter(subject.op.examination.remarks), 'it took no inputs')}",
        "write examples = [{'x': (2, 3)}] with shapes that it takes",
        spec.source.of_function(spec.compute.function),
    )


def _symbolic(subject: Subject) -> Outcome | int:
    """On how many types with open sizes rule and compute agree."""
    spec = subject.spec
    assert spec.type_rule is not None
    agreed = 0
    for configuration in itertools.islice(_accepted(subject), 3 if subject.quick else 12):
        for open_axes in (_all_open, _first_open):
            types = open_axes(configuration)
            try:
                declared = lowering.run_type_rule(spec, types, configuration.attributes)
                computed = lowering.lower(spec, types, configuration.attributes).type
            except TvmlabError:
                continue
            if not lowering.agree(declared, computed):
                found = lowering.disagreement(spec, types, declared, computed)
                return failed(found.what, found.mend, found.where, call_cell(subject.op, configuration))
            agreed += 1
    return agreed


def _ranks(configuration: Configuration) -> list[int]:
    return [len(shape) for shape in configuration.shapes]


def _reason(failure: Unkept) -> str:
    """What went wrong, without the name of the operator and of the part."""
    text = str(failure)
    return text.partition(" fails: ")[2] or text.partition(" refuses its inputs: ")[2] or text


def _configurations(subject: Subject) -> Iterator[Configuration]:
    limit = 12 if subject.quick else 60
    found = variants.configurations(subject, limit, failing=True)
    yield from found
    yield from (c for c in variants.other_ranks(subject) if all(d for s in c.shapes for d in s))
    if not subject.quick:
        for configuration in found[:4]:
            yield from (configuration.with_dtype(dtype) for dtype in _DTYPES)


def _accepted(subject: Subject) -> Iterator[Configuration]:
    """Configurations of different attributes, at sizes that are not zero."""
    seen = set()
    for configuration in variants.configurations(subject, 40):
        key = repr(sorted(configuration.attributes.items()))
        if key not in seen and all(d for s in configuration.shapes for d in s):
            seen.add(key)
            yield configuration


def _all_open(configuration: Configuration) -> list[TensorType]:
    """A symbol for each size; equal sizes have one symbol, 1 stays."""
    symbols: dict[int, tirx.Var] = {}
    made = []
    for shape, dtype in zip(configuration.shapes, configuration.dtypes, strict=True):
        dims = [1 if d == 1 else symbols.setdefault(d, tirx.Var(f"n{d}", "int64")) for d in shape]
        made.append(TensorType(dims, dtype))
    return made


def _first_open(configuration: Configuration) -> list[TensorType]:
    """A symbol for the first size alone, wherever it is."""
    sizes = [d for shape in configuration.shapes for d in shape if d > 1]
    first, symbol = next(iter(sizes), None), tirx.Var("n", "int64")
    return [
        TensorType([symbol if d == first else d for d in shape], dtype)
        for shape, dtype in zip(configuration.shapes, configuration.dtypes, strict=True)
    ]
