"""A trace as a list of steps, its stages and the passes within them, each with its functions before and after.

Text is made of a function when it is asked for: all of ResNet-50's would be 50 MB.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tvmlab.matching import Matching, match_lines, without_boilerplate

if TYPE_CHECKING:
    from tvmlab.pipeline import Stage, Trace
    from tvmlab.pipeline.passes import PassRun
    from tvmlab.records import StageDiff

__all__ = ["Step", "of_diff", "of_passes", "of_trace", "of_two"]


@dataclass(frozen=True, eq=False)
class Step:
    """A stage, a pass, or the runs of one pass that follow one another.

    Parameters
    ----------
    level : int
        0 for a stage; how deep a pass is nested in it.
    seconds : float or None
    before, after : mapping of str to a function of TVM
    pending : bool
        It has not run yet.
    """

    name: str
    level: int
    seconds: float | None
    before: Mapping[str, Any] = field(repr=False)
    after: Mapping[str, Any] = field(repr=False)
    pending: bool = False

    @functools.cached_property
    def changed(self) -> tuple[str, ...]:
        """Names of the functions that are different, new or gone."""
        from tvmlab.pipeline.passes import changed_functions

        return changed_functions(self.before, self.after)

    def state(self, function: str) -> str:
        """``"changed"``, ``"new"`` or ``"gone"``."""
        return "new" if function not in self.before else "gone" if function not in self.after else "changed"

    def texts(self, function: str) -> tuple[str, str]:
        """A function as TVMScript before and after; empty where it is not there."""
        return _script(self.before.get(function)), _script(self.after.get(function))

    def matching(self, function: str, boilerplate: bool = True) -> Matching:
        """How a function became what it is after."""
        texts = self.texts(function)
        return match_lines(*(texts if boilerplate else map(without_boilerplate, texts)))


class _TextStep(Step):
    """One whose functions are text already."""

    @functools.cached_property
    def changed(self) -> tuple[str, ...]:
        return tuple(name for name in {**self.before, **self.after} if self.before.get(name) != self.after.get(name))

    def texts(self, function: str) -> tuple[str, str]:
        return self.before.get(function, ""), self.after.get(function, "")


def of_trace(record: Trace) -> list[Step]:
    """All steps of a trace; what is not built yet is pending."""
    steps = list(_between(record.stages))
    if record.is_built:
        return [*steps, *_of_stage(record["build"], _functions(record.stages[-1].module))]
    last = _functions(record.stages[-1].module)
    return [*steps, Step("build", 0, None, last, last, pending=True)]


def of_diff(record: StageDiff) -> list[Step]:
    """The difference of two stages as one step, and then what happened between them."""
    before = {f.name: f.before for f in record.functions if f.before}
    after = {f.name: f.after for f in record.functions if f.after}
    whole = _TextStep(f"{record.before} → {record.after}", 0, None, before, after)
    if record.trace is None:
        return [whole]
    made = record.trace.stages
    names = [stage.name for stage in made]
    if record.before not in names or record.after not in names:
        return [whole]
    first, last = names.index(record.before), names.index(record.after)
    return [whole, *_between(made[first + 1 : last + 1], _functions(made[first].module))]


def of_two(left: Trace, right: Trace) -> list[Step]:
    """One step a stage: from the one trace to the other."""
    return [
        Step(a.name, 0, None, _functions(a.module), _functions(b.module))
        for a, b in zip(left.stages, right.stages, strict=True)
    ]


def _between(stages: Sequence[Stage], before: Mapping[str, Any] | None = None) -> Iterator[Step]:
    """The steps of stages that follow one another."""
    for stage in stages:
        yield from _of_stage(stage, before or {})
        before = _functions(stage.module)


def _of_stage(stage: Stage, before: Mapping[str, Any]) -> Iterator[Step]:
    yield Step(stage.name, 0, stage.seconds, before, _functions(stage.module))
    yield from of_passes(stage.passes, 1)


def of_passes(runs: Sequence[PassRun], level: int = 1) -> Iterator[Step]:
    """The passes of a stage, each before those inside of it; runs of one pass in a row are one step."""
    for name, alike in itertools.groupby(runs, key=lambda run: run.name):
        same = list(alike)
        if len(same) > 1:
            yield _repeated(name, same, level)
        else:
            within = f" ({same[0].unkept:,} more passes within)" if same[0].unkept else ""
            before, after = (_functions(side) for side in (same[0].before, same[0].after))
            yield Step(name + within, level, same[0].seconds, before, after)
            yield from of_passes(same[0].passes, level + 1)


def _repeated(name: str, runs: Sequence[PassRun], level: int) -> Step:
    """One pass on one kernel after the other, as schedules run it."""
    sides: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for number, run in enumerate(runs, 1):
        for side, module in zip(sides, (run.before, run.after), strict=True):
            side.update({f"{function}, run {number}": f for function, f in _functions(module).items()})
    return Step(f"{name} × {len(runs)}", level, sum(run.seconds for run in runs), *sides)


def _functions(module: Any) -> dict[str, Any]:
    from tvmlab.pipeline.passes import functions_by_name

    return functions_by_name(module)


def _script(function: Any) -> str:
    if function is None:
        return ""
    from tvmlab import runtime

    with runtime.quiet():
        return str(function.script())
