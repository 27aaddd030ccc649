"""Where do values leave the tolerance first?  Stage by stage, and in a stage kernel by kernel.

Every kernel is fed with the values that it should get, so that a fault does not spread.  What these are, an oracle says
for each node of an ONNX model that is still there after the clean-up, and TVM's unfused kernels in between; a live
operator's NumPy reference stands in its place.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvmlab import ongoing
from tvmlab.errors import PipelineError
from tvmlab.fusion import OnnxGraph, clean_up
from tvmlab.measure.fused_steps import labels_of_steps, truths_in_order
from tvmlab.measure.groups import level_after
from tvmlab.measure.kernel_checks import Level, Tolerance, Truth, check_level, errors_of, level_of
from tvmlab.measure.oracles import Answer, ask
from tvmlab.measure.plain_build import Substitutes
from tvmlab.measure.steps import Environment, Probes, Step, returned_variables, steps_of, walk
from tvmlab.measure.watching import watch
from tvmlab.pipeline.onnx_import import variable_name
from tvmlab.records import Bisection, KernelCheck, StageCheck

if TYPE_CHECKING:
    from tvmlab.pipeline import Model, Trace

__all__ = ["bisect"]

Array = NDArray[Any]
Value = Any

_SAME_AS = {"legalize": "import", "annotate": "legalize", "inline": "fuse", "schedule": "inline"}
_COMPARED = {
    "import": "operators as TVM defines them, live ones as their NumPy reference, against the oracle",
    "legalize": "each kernel against its operator",
    "annotate": "as after legalize",
    "fuse": "each fused kernel against the unfused ones",
    "inline": "each kernel against the unfused ones",
    "schedule": "each kernel against the unfused ones, compiled alone",
    "build": "the kernels of the compiled model while it runs",
}
_WHOLE = "all kernels, each reading what others gave"
_PLAINEST = {"kind": "llvm", "opt-level": 0}


def bisect(model: Model, feeds: Sequence[Array], tolerance: Tolerance) -> Bisection:
    """Go through the stages of a model's trace until one is wrong.

    Parameters
    ----------
    tolerance : callable
        From a dtype to the largest difference allowed, as a part of the largest value.

    Raises
    ------
    PipelineError
        No oracle can run the model, or a stage has other calls than the one before it.
    """
    from tvmlab import pipeline

    started = time.perf_counter()
    search = _Search(model, pipeline.trace(model), feeds, tolerance)
    search.go()
    done = {stage.name for stage in search.stages}
    left = tuple(name for name in pipeline.STAGES if name not in done)
    notes = (*search.answer.notes, *search.notes)
    return Bisection(model.name, search.answer.oracle, tuple(search.stages), left, time.perf_counter() - started, notes)


@dataclass
class _Search:
    model: Model
    trace: Trace
    feeds: Sequence[Array]
    tolerance: Tolerance
    stages: list[StageCheck] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    answer: Answer = field(default_factory=lambda: Answer("", ()))

    def go(self) -> None:
        """Take one stage after the other; the last one may be wrong."""
        level = self.import_stage()
        if level is None:
            return
        for name in ("legalize", "annotate", "fuse", "inline", "schedule"):
            following = self.stage(name, level)
            if following is None:
                return
            level = following
        self.build_stage(level)

    def build_stage(self, level: Level) -> None:
        """The compiled model: its kernels, and once more as a whole, each kernel reading what others gave."""
        started = time.perf_counter()
        ongoing.say("comparing the build")
        executable = self.trace.executable
        checks = watch(executable, level, self.feeds, self.tolerance)
        result = executable.run(*self.feeds)
        got = result if isinstance(result, tuple) else (result,)
        whole = KernelCheck("main", ("outputs",), errors_of(self.answer.outputs, got, self.tolerance), _WHOLE)
        seconds = time.perf_counter() - started
        self.stages.append(StageCheck("build", (*checks, whole), seconds, _COMPARED["build"]))

    def import_stage(self) -> Level | None:
        """What every call of the imported module gives, if that is what the oracle says."""
        started = time.perf_counter()
        ongoing.say("comparing the import with the oracle")
        sought = _nodes_of_variables(self.model, self.trace.cleanup)
        self.answer = ask(self.model, self.feeds, list(dict.fromkeys(sought.values())))
        known = {variable: self.answer.inner[name] for variable, name in sought.items()}
        module = self.trace["import"].module
        level, checks = _run_import(module, self.feeds, known, self.answer.outputs, self.tolerance)
        stage = StageCheck("import", checks, time.perf_counter() - started, _COMPARED["import"])
        if not stage.ok:
            stage = self._blamed_of_import(level, stage)
        self.stages.append(stage)
        return level if stage.ok else None

    def _blamed_of_import(self, level: Level, stage: StageCheck) -> StageCheck:
        """Whose fault it is that the imported operators give wrong values."""
        if self._compiled_wrongly(level, stage):
            return dataclasses.replace(stage, name="build")
        if self._mended_without_cleanup():
            return stage
        # Values are there only when operators have kernels.
        self.stages.append(StageCheck("import", (), 0.0, "no values yet"))
        return dataclasses.replace(stage, name="legalize")

    def _mended_without_cleanup(self) -> bool:
        from tvmlab import pipeline

        trace = pipeline.trace(self.model, cleanup="none")
        sought = _nodes_of_variables(self.model, "none")
        answer = ask(self.model, self.feeds, list(dict.fromkeys(sought.values())))
        known = {variable: answer.inner[name] for variable, name in sought.items()}
        _, checks = _run_import(trace["import"].module, self.feeds, known, answer.outputs, self.tolerance)
        right = all(check.ok for check in checks)
        if right:
            self.notes.append("without the clean-up (cleanup='none') the imported model is right")
        return right

    def stage(self, name: str, before: Level) -> Level | None:
        """Check a stage; the level of it if it is right."""
        level = self.level(name, before)
        started = time.perf_counter()
        checks = check_level(level, self.tolerance, before)
        stage = StageCheck(name, checks, time.perf_counter() - started, _COMPARED[name])
        if not stage.ok and self._compiled_wrongly(level, stage):
            stage = dataclasses.replace(stage, name="build")
        self.stages.append(stage)
        return level if stage.ok else None

    def level(self, name: str, before: Level) -> Level:
        """What the steps of a stage should give, from what those of the stage before it should."""
        if name == "legalize":
            return _legalized_level(self.trace, before, self.feeds)
        if name == "annotate":
            module = self.trace["annotate"].module
            truths = truths_in_order(before, steps_of(module))
            if truths is None:
                raise PipelineError("the stage annotate has other calls than the one before it", "stage annotate")
            return level_of(module, self.feeds, truths)
        return level_after(self.trace, before, name)

    def _compiled_wrongly(self, level: Level, stage: StageCheck) -> bool:
        """Whether the first wrong kernel is right if it is compiled in the plainest way."""
        import tvm

        position = next(i for i, check in enumerate(stage.kernels) if not check.ok)
        step = level.steps[position] if position < len(level.steps) else None
        if step is None or step.function_in(level.module) is None:
            return False
        truth = level.truths[position]
        assert truth is not None
        right = truth.given if stage.name == "import" else truth.expected
        got = Probes(level.module, tvm.target.Target(_PLAINEST)).run(step, level.environment)
        if not all(error.within(0.0) for error in errors_of(right, got, self.tolerance)):
            return False
        self.notes.append(
            f"the kernel {step.kernel} of the stage {stage.name}, compiled without optimisation for any processor, is "
            "right: the code generator is at fault"
        )
        return True


def _nodes_of_variables(model: Model, cleanup: str) -> dict[str, str]:
    """From variables of the imported module to the values of the ONNX model that they should hold."""
    if model.onnx is None:
        return {}
    original = OnnxGraph.of(model.onnx)
    graph = clean_up(original) if cleanup == "tvmlab" else original
    named = {name for node in original.nodes for name in node.output if name}
    hints = Counter(map(variable_name, graph.nodes))
    single = (node for node in graph.nodes if len([name for name in node.output if name]) == 1)
    return {
        variable_name(node): node.output[0]
        for node in single
        if node.output[0] in named and hints[variable_name(node)] == 1
    }


def _run_import(
    module: Any, feeds: Sequence[Array], known: Mapping[str, Array], outputs: Sequence[Array], tolerance: Tolerance
) -> tuple[Level, tuple[KernelCheck, ...]]:
    """Run an imported module, legalized by TVM alone, with references in the place of live operators."""
    substitutes = Substitutes()
    with substitutes.registered():
        plain = substitutes.legalized(module)
        probes = Probes(plain)
        probes.prepare(steps_of(plain))
        names = Counter(step.variable.name for step in steps_of(plain))
        ends = returned_variables(plain)  # fewer than outputs, if one kernel gives several
        returned = dict(zip(ends, outputs, strict=True)) if len(ends) == len(outputs) else {}
        truths: list[Truth | None] = []
        checks: list[KernelCheck] = []
        since: list[str] = []

        def take(step: Step, environment: Environment) -> Value:
            own = probes.run(step, environment)
            name = step.variable.name
            right = returned.get(step.variable, known.get(name) if names[name] == 1 else None)
            since.append(step.kernel)
            if right is None or not _of_one_kind(own, right):
                truths.append(Truth(own, own))
                checks.append(KernelCheck(step.kernel, (name,), (), "its values are not in the oracle's model"))
                return own
            note = f"one of {', '.join(since)}: values between them are not in the oracle's model"
            checks.append(
                KernelCheck(step.kernel, (name,), errors_of(right, own, tolerance), note if len(since) > 1 else "")
            )
            since.clear()
            truths.append(Truth(own, right))
            return right

        _, result = walk(plain, feeds, take)
    got = result if isinstance(result, tuple) else (result,)
    checks.append(KernelCheck("main", ("outputs",), errors_of(tuple(outputs), got, tolerance)))
    return level_of(plain, feeds, truths), tuple(checks)


def _of_one_kind(own: Value, right: Array) -> bool:
    return isinstance(own, np.ndarray) and own.shape == right.shape and own.dtype == right.dtype


def _legalized_level(trace: Trace, before: Level, feeds: Sequence[Array]) -> Level:
    """The stage ``legalize``: its calls are found among those of TVM's own legalization by the names of variables."""
    module = trace["legalize"].module
    steps = steps_of(module)
    names, old_names = (Counter(step.variable.name for step in some) for some in (steps, before.steps))
    found = {step.variable.name: step.position for step in before.steps if old_names[step.variable.name] == 1}
    labels = labels_of_steps(trace, steps)
    truths: list[Truth | None] = []
    for step in steps:
        position = found.get(step.variable.name) if names[step.variable.name] == 1 else None
        truth = None if position is None else before.truths[position]
        nodes = (labels[step.position],)
        truths.append(None if truth is None else Truth(truth.expected, truth.given, nodes, position))
    return level_of(module, feeds, truths)
