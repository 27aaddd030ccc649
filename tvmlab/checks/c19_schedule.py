"""C19: its own schedule applies, keeps the values, and is worth it."""

from __future__ import annotations

import time
from statistics import median, quantiles
from typing import Any

import tvm
from tvm.tirx import PrimFunc

from tvmlab.checks import variants
from tvmlab.checks.comparison import Expectation, first_mismatch
from tvmlab.checks.inputs import rounds
from tvmlab.checks.kernels import Kernel
from tvmlab.checks.outcome import Outcome, failed, ok, skipped, warning
from tvmlab.checks.subject import Configuration, Refused, Subject, legalized
from tvmlab.errors import TvmlabError
from tvmlab.runtime import Executable, compile_module, isolate
from tvmlab.runtime.executable import first_line

_ELEMENTS = 1 << 18
_REPEATS = 15
_WORTH = 1.05


def run(subject: Subject) -> Outcome:
    """Compile with the schedule and without, at several sizes, and time both in turns at a large one."""
    spec = subject.spec
    if spec.schedule is None:
        return skipped("the cell has no schedule: the CPU scheduler's own rules are used")
    where = spec.source.of_function(spec.schedule)
    tried = 0
    for configuration in variants.configurations(subject, 8):
        if any(0 in s for s in configuration.shapes):
            continue
        scheduled = _scheduled(subject, configuration)
        if isinstance(scheduled, Outcome):
            return scheduled
        prepared = subject.prepare(configuration)
        for each in rounds(subject, prepared, 2):
            try:
                evaluation = subject.safe(prepared, each.arrays)
            except Refused:
                continue
            plain = subject.run(configuration, each.arrays)
            got = subject.call(scheduled, each.arrays)
            errors = None if evaluation is None else evaluation.errors
            mismatch = first_mismatch(got, Expectation(plain, plain), errors)
            if mismatch is not None:
                return failed(
                    f"scheduled it gives {mismatch.got} at {configuration}, unscheduled {mismatch.expected}",
                    "a schedule may reorder loops, not what they compute; look at reductions and their init",
                    where,
                )
            tried += 1
    large = _large(subject)
    scheduled = _scheduled(subject, large)
    if isinstance(scheduled, Outcome):
        return scheduled
    plain_one = subject.kernel(large)
    if not (isinstance(plain_one, Executable) and isinstance(scheduled, Executable)):
        return skipped(f"valid in {tried} calls with equal values, and not timed: its kernel may end this process")
    low, middle, high = _ratios(subject, large, plain_one, scheduled)
    shown = f"{middle:.2f} times as fast as unscheduled ({low:.2f} to {high:.2f}) at {large}"
    if middle < _WORTH:
        return warning(f"the schedule is valid, but {shown}", "leave it out, or vectorise and parallelise", where)
    return ok(f"valid in {tried} calls with equal values, and {shown}")


def _scheduled(subject: Subject, configuration: Configuration) -> Kernel | Outcome:
    spec = subject.spec
    assert spec.schedule is not None
    module = legalized(subject.op, configuration.types, configuration.attributes)
    try:
        functions = {v: _apply(spec.schedule, f) if isinstance(f, PrimFunc) else f for v, f in module.functions.items()}
        changed = tvm.IRModule(functions)
        return compile_module(changed) if isinstance(subject.kernel(configuration), Executable) else isolate(changed)
    except TvmlabError as error:
        return failed(f"scheduled it does not compile at {configuration}: {error.what}", error.mend)
    except Exception as error:  # noqa: BLE001  a schedule raises whatever it likes
        return failed(
            f"the schedule fails at {configuration}: {first_line(error)}",
            "ask for loops and blocks that are there: sch.get_loops(block)",
            spec.source.of_exception(error) or spec.source.of_function(spec.schedule),
        )


def _apply(schedule: Any, function: PrimFunc) -> PrimFunc:
    made = tvm.s_tir.Schedule(tvm.IRModule({"main": function}))
    schedule(made, made.get_child_blocks(made.get_sblock("root"))[-1])
    return made.mod["main"]


def _large(subject: Subject) -> Configuration:
    """The base, its sizes doubled as long as it takes them and they are not too large."""
    base = subject.base
    best, factor = base, 2
    while factor <= 1024:
        shapes = tuple(tuple(d * factor if d > 1 else d for d in s) for s in base.shapes)
        candidate = Configuration(shapes, base.dtypes, base.attributes)
        sizes = [1]
        for shape in shapes:
            product = 1
            for d in shape:
                product *= d
            sizes.append(product)
        if max(sizes) > _ELEMENTS or not subject.takes(candidate):
            break
        best, factor = candidate, factor * 2
    return best


def _ratios(
    subject: Subject, configuration: Configuration, plain: Executable, scheduled: Executable
) -> tuple[float, float, float]:
    arrays = rounds(subject, subject.prepare(configuration), 1)[0].arrays
    calls = [plain.bind(*arrays), scheduled.bind(*arrays)]
    pairs = []
    for turn in range(_REPEATS + 2):
        seconds = [0.0, 0.0]
        for side in (0, 1) if turn % 2 else (1, 0):
            started = time.perf_counter()
            calls[side]()
            seconds[side] = time.perf_counter() - started
        if turn >= 2:
            pairs.append(seconds[0] / seconds[1])
    low, _, high = quantiles(pairs, n=4)
    return low, median(pairs), high
