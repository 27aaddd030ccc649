"""Each fused kernel against the unfused kernels of its nodes, on the same inputs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tvmlab.errors import CallError, PipelineError
from tvmlab.measure.fused_steps import fused_truths, labels_of_steps, truths_in_order
from tvmlab.measure.kernel_checks import Level, Tolerance, Truth, check_level, level_of
from tvmlab.measure.steps import Environment, Probes, Step, steps_of, walk
from tvmlab.measure.watching import watch
from tvmlab.records import GroupComparison

if TYPE_CHECKING:
    from tvmlab.pipeline import Model, Trace

__all__ = ["compare_groups", "level_after", "unfused_level"]

Array = NDArray[Any]

FUSED = ("fuse", "inline", "schedule", "build")


def compare_groups(model: Model, feeds: Sequence[Array], stage: str, tolerance: Tolerance) -> GroupComparison:
    """Run every kernel of a stage on what the unfused kernels give it.

    Raises
    ------
    CallError
        Nothing is fused at that stage.
    PipelineError
        A stage has other calls than the one before it.
    """
    from tvmlab import pipeline

    if stage not in FUSED:
        raise CallError(f"nothing is fused at stage {stage!r}", mend=f"take one of {', '.join(FUSED)}")
    started = time.perf_counter()
    trace = pipeline.trace(model)
    level = unfused_level(trace, feeds)
    for name in FUSED[: FUSED.index(stage) + 1]:
        if name != "build":
            level = level_after(trace, level, name)
    built = stage == "build"
    groups = watch(trace.executable, level, feeds, tolerance) if built else check_level(level, tolerance)
    return GroupComparison(model.name, stage, groups, time.perf_counter() - started)


def unfused_level(trace: Trace, feeds: Sequence[Array]) -> Level:
    """The stage ``annotate``, with what its own kernels give."""
    module = trace["annotate"].module
    steps = steps_of(module)
    probes = Probes(module)
    probes.prepare(steps)
    labels = labels_of_steps(trace, steps)
    truths: list[Truth | None] = []

    def take(step: Step, environment: Environment) -> Any:
        own = probes.run(step, environment)
        truths.append(Truth(own, own, (labels[step.position],), step.position))
        return own

    walk(module, feeds, take)
    return level_of(module, feeds, truths)


def level_after(trace: Trace, before: Level, stage: str) -> Level:
    """A stage after ``annotate``, each of its steps with what it should give.

    Raises
    ------
    PipelineError
        It has other calls than the stage before it.
    """
    module = trace[stage].module
    if stage == "fuse":
        truths: list[Truth | None] | None = fused_truths(trace, before, module)
    else:
        truths = truths_in_order(before, steps_of(module))
    if truths is None:
        raise PipelineError(f"the stage {stage} has other calls than the one before it", where=f"stage {stage}")
    return level_of(module, list(map(before.environment.of, before.module["main"].params)), truths)
