"""The module after each stage, and what changed between two of them."""

from __future__ import annotations

import dataclasses
import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tvmlab import ongoing, runtime
from tvmlab.errors import CallError
from tvmlab.fusion import Grouping, OnnxGraph, fuse_onnx, partition
from tvmlab.fusion.onnx_reader import labels_of
from tvmlab.pipeline import stages
from tvmlab.pipeline.grouping import groups_of
from tvmlab.pipeline.levels import levels_diff
from tvmlab.pipeline.live import DOMAIN
from tvmlab.pipeline.passes import PassRun, changed_functions, functions_by_name, record_passes
from tvmlab.pipeline.relax_reader import RelaxReading, read_relax
from tvmlab.pipeline.templates_relax import group_by_templates
from tvmlab.pipeline.tuned import Database, TunedSchedules
from tvmlab.records import Explorable, FunctionDiff, LevelsDiff, Partition, Record, StageDiff

if TYPE_CHECKING:
    from tvmlab.pipeline.beside import Beside
    from tvmlab.pipeline.model import Model

__all__ = ["STAGES", "Stage", "Trace", "compare_levels", "fuse", "trace"]

_traces: WeakKeyDictionary[Model, dict[tuple[str, str, str], Trace]] = WeakKeyDictionary()
_early_stages: WeakKeyDictionary[Model, dict[str, _Annotated]] = WeakKeyDictionary()

STAGES = ("import", "legalize", "annotate", "fuse", "inline", "schedule", "build")


@dataclass(frozen=True, repr=False, eq=False)
class Stage(Record):
    """The module after one stage.

    Parameters
    ----------
    name : str
    module : tvm.IRModule
        Of ``build``: the module that was compiled.
    seconds : float
        What the stage took.
    kernels : int
        Calls in main that compute.
    passes : tuple of PassRun
        TVM's passes that ran within it, each with those inside of it.
    """

    name: str
    module: Any = field(repr=False)
    seconds: float
    kernels: int
    passes: tuple[PassRun, ...] = field(default=(), repr=False)

    @property
    def headline(self) -> str:
        return f"{self.name}: {self.kernels} kernels, {self.seconds:.2f} s"

    @functools.cached_property
    def text(self) -> str:
        """The module as TVMScript; written when it is first asked for."""
        with runtime.quiet():
            return str(self.module.script())

    def function_text(self, name: str) -> str:
        """One function as TVMScript; an empty text if there is none of that name."""
        if name not in self._functions:
            return ""
        if name not in self._texts:
            with runtime.quiet():
                self._texts[name] = str(self._functions[name].script())
        return self._texts[name]

    @functools.cached_property
    def _functions(self) -> dict[str, Any]:
        return functions_by_name(self.module)

    @functools.cached_property
    def _texts(self) -> dict[str, str]:
        return {}


@dataclass(frozen=True, repr=False, eq=False)
class Trace(Explorable):
    """A model's way to machine code.

    Parameters
    ----------
    model : str
        Name of the model.
    cleanup, engine : str
        As asked for.
    stages : tuple of Stage
        All but ``build``, which is made when it is first asked for: ``trace["build"]`` or ``trace.executable``.
    partition : Partition
        Which kernels were fused.
    provenance : mapping of str to str
        From the name of a Relax variable of the import stage to the label of its ONNX node.
    """

    model: str
    cleanup: str
    engine: str
    stages: tuple[Stage, ...]
    partition: Partition = field(repr=False)
    provenance: Mapping[str, str] = field(repr=False)

    @property
    def headline(self) -> str:
        took = sum(stage.seconds for stage in self.stages)
        before, after = self.partition.kernels_before, self.partition.kernels_after
        return f"{self.model}: {before} → {after} kernels, {took:.2f} s without build"

    def __getitem__(self, name: str) -> Stage:
        if name == "build":
            return self._built
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise CallError(f"there is no stage {name!r}", mend=f"the stages are {', '.join(STAGES)}")

    @functools.cached_property
    def executable(self) -> runtime.Executable:
        """The compiled model."""
        return self.compiled("schedule")

    @functools.cached_property
    def _built(self) -> Stage:
        last = self["schedule"]
        built = self.executable
        return Stage("build", last.module, built.seconds_to_compile, last.kernels, self._passes_of_build["schedule"])

    @property
    def is_built(self) -> bool:
        """Whether there is machine code already."""
        return "schedule" in self._compiled

    @functools.cached_property
    def _compiled(self) -> dict[str, runtime.Executable]:
        return {}

    @functools.cached_property
    def _passes_of_build(self) -> dict[str, tuple[PassRun, ...]]:
        return {}

    def compiled(self, stage: str) -> runtime.Executable:
        """The module of a stage, compiled as it is: ``annotate`` is unfused, ``fuse`` is fused but not scheduled."""
        name = "schedule" if stage == "build" else stage
        if name not in self._compiled:
            ongoing.say(f"building machine code after {name}")
            with record_passes() as passes:
                self._compiled[name] = stages.build(self[name].module)
            self._passes_of_build[name] = tuple(passes)
        return self._compiled[name]

    def diff(self, before: str = "legalize", after: str = "fuse") -> StageDiff:
        """What changed between two stages, function by function."""
        return diff_of(self, self[before], self[after])

    def beside(self, other: Trace) -> Beside:
        """Put it beside another trace, stage by stage: what another clean-up, engine or model makes of it."""
        from tvmlab.pipeline.beside import Beside

        return Beside(self, other)


def diff_of(record: Trace, before: Stage, after: Stage, names: tuple[str, str] = ("", "")) -> StageDiff:
    """The difference of two stages of a trace, or of another; `names` are what to call them."""
    old, new = functions_by_name(before.module), functions_by_name(after.module)
    changed = changed_functions(old, new)
    return StageDiff(
        model=record.model,
        before=names[0] or before.name,
        after=names[1] or after.name,
        functions=tuple(FunctionDiff.of(n, before.function_text(n), after.function_text(n)) for n in changed),
        unchanged=len({*old, *new}) - len(changed),
        trace=record,
    )


def trace(
    model: Model,
    *,
    cleanup: str = "tvmlab",
    engine: str = "python",
    tuned: bool | str | os.PathLike[str] | TunedSchedules = False,
    templates: Sequence[Any] = (),
) -> Trace:
    """Take a model through every stage.

    Parameters
    ----------
    model : Model
        Is not changed.
    cleanup : {"tvmlab", "tvm", "none"}
        See `stages.import_model`.
    engine : {"python", "tvm", "none"}
        Who decides which kernels are fused: tvmlab's own fuser, TVM's FuseOps, or nobody.
    tuned : bool, path or TunedSchedules
        Take the schedules that `tvmlab.measure.tune` found where they were faster than the rules': from the default
        database (True), or from a file.
    templates : sequence of fusion.Template or str
        What is matched before the rules decide, for ``"python"``: each match is one kernel.

    Returns
    -------
    Trace
        Machine code is made when ``trace["build"]`` or ``trace.executable`` is first asked for.  Model and trace never
        change, so that the same trace is returned as long as the model lives.

    Raises
    ------
    PipelineError
        TVM fails in a stage; an error of a live operator's cell is raised as it is.
    """
    kept = {} if templates else _traces.setdefault(model, {})
    if (cleanup, engine, "") not in kept:
        kept[cleanup, engine, ""] = _trace(model, cleanup, engine, templates)
    by_rules = kept[cleanup, engine, ""]
    if not isinstance(tuned, TunedSchedules):
        if tuned is False:
            return by_rules
        tuned = TunedSchedules(Database(None if tuned is True else tuned))
    key = (cleanup, engine, tuned.stamp)
    if key not in kept:
        last = _timed("schedule", lambda: stages.schedule(by_rules["inline"].module, tuned.schedule_kernel))
        kept[key] = dataclasses.replace(by_rules, stages=(*by_rules.stages[:-1], last))
    return kept[key]


def _refuse_templates_of(engine: str) -> None:
    if engine != "python":
        raise CallError('templates are for engine="python"', mend="leave them out, or take that engine")


def _trace(model: Model, cleanup: str, engine: str, templates: Sequence[Any]) -> Trace:
    if templates:
        _refuse_templates_of(engine)
    walk = _Walk(model, cleanup, engine, templates)
    groups = walk.to_groups()
    merged = walk.stage("fuse", lambda: groups if engine == "none" else stages.merge_groups(groups))
    inlined = walk.stage("inline", lambda: stages.inline(merged))
    walk.stage("schedule", lambda: stages.schedule(inlined))
    return Trace(model.name, cleanup, engine, tuple(walk.stages), walk.partition(groups), walk.provenance)


def fuse(
    model: Any,
    *,
    engine: str = "python",
    level: str = "relax",
    cleanup: str = "tvmlab",
    kinds: Mapping[str, Any] | None = None,
    max_depth: int | None = None,
    without: Sequence[str] = (),
    templates: Sequence[Any] = (),
) -> Partition:
    """Which nodes of a model share a kernel after fusion.

    Parameters
    ----------
    model : Model or tvm.IRModule
        A module is taken as it stands, with no clean-up, legalization or annotation: why does FuseOps not fuse it?
    engine : {"python", "tvm", "none"}
        tvmlab's own fuser, which makes the same groups as TVM's FuseOps; that; or no fusion.
    level : {"relax", "onnx"}
        Nodes are the kernels after legalization, or the nodes of the ONNX model as it is.
    cleanup : {"tvmlab", "tvm", "none"}
        See `stages.import_model`; of no effect on the level of ONNX.
    kinds : mapping, optional
        Other kinds of nodes, by their labels: ``{"Softmax_3": "opaque"}``.  This and what follows is for ``"python"``.
    max_depth : int, optional
        Another limit of the group size than 256.
    without : sequence of str
        Phases to leave out, such as ``"phase2"``.
    templates : sequence of fusion.Template or str
        What is matched before the rules decide; a string names one that tvmlab ships.  On the level of Relax that is
        after the clean-up: a BatchNormalization that was folded is no longer there.

    Returns
    -------
    Partition

    Raises
    ------
    CallError
        An option is unknown, or not for this engine or model.
    GraphError
        There is no such node, kind or phase.
    """
    stages.check_choice("level", level, ("relax", "onnx"))
    stages.check_choice("engine", engine, stages.ENGINES)
    changes: dict[str, Any] = {"kinds": kinds or {}, "max_depth": max_depth, "without": tuple(without)}
    if templates:
        _refuse_templates_of(engine)
    given = [name for name, value in changes.items() if value not in ({}, None, ())]
    if given and engine != "python":
        raise CallError(f'{", ".join(given)} is for engine="python"', mend="leave it out, or take that engine")
    if level == "onnx":
        return _fuse_onnx(model, engine, {**changes, "templates": tuple(templates)})
    if not hasattr(model, "provenance"):
        if templates:
            raise CallError("templates are matched in a model before it is legalized", mend="give tl.load(module)")
        return _fuse_module(model, engine, changes)
    walk = _Walk(model, cleanup, engine, templates)
    if given or templates:
        return walk.grouping.what_if(**changes).record(model.name, engine, level)
    return walk.partition(walk.to_groups())


def _fuse_module(module: Any, engine: str, changes: Mapping[str, Any]) -> Partition:
    """The groups of a module as it stands: nothing is legalized or annotated that is not, and the reasons say so."""
    if engine == "tvm":
        raise CallError("a module that stands as it is has no model to compare it with", mend='take engine="python"')
    grouping = partition(read_relax(module, {}).graph, 256 if engine == "python" else 0)
    return grouping.what_if(**changes).record("module", engine, "relax")


def _fuse_onnx(model: Model, engine: str, changes: Mapping[str, Any]) -> Partition:
    if model.onnx is None:
        raise CallError(f"{model.name} does not come from ONNX", mend='take level="relax"')
    if engine == "tvm":
        raise CallError('TVM fuses on the level "relax" alone', mend='take engine="python", or level="relax"')
    return fuse_onnx(model.onnx, name=model.name, engine=engine, table=_live_kinds(model), **changes)


def compare_levels(model: Model, *, cleanup: str = "tvmlab") -> LevelsDiff:
    """Why the nodes of an ONNX model are grouped otherwise than its kernels.

    Parameters
    ----------
    model : Model
        From ONNX.
    cleanup : {"tvmlab", "tvm", "none"}
        What is done to the model before it becomes kernels: see `stages.import_model`.

    Raises
    ------
    CallError
        It does not come from ONNX.
    """
    stages.check_choice("cleanup", cleanup, stages.CLEANUPS)
    annotated = _annotated(model, cleanup)
    return levels_diff(model, cleanup, annotated.reading, annotated.grouping, _live_kinds(model))


def _live_kinds(model: Model) -> dict[str, Any]:
    """The kind of each node of a live operator: that of its kernel."""
    if not model.live or model.onnx is None:
        return {}
    graph = _annotated(model, "none").reading.graph
    nodes = OnnxGraph.of(model.onnx).nodes
    named = zip(nodes, labels_of(nodes), strict=True)
    return {node.output[0]: graph.kind(graph.index(name)) for node, name in named if node.domain == DOMAIN}


class _Walk:
    """Runs the stages of one model and keeps the module after each."""

    def __init__(self, model: Model, cleanup: str, engine: str, templates: Sequence[Any] = ()) -> None:
        stages.check_choice("cleanup", cleanup, stages.CLEANUPS)
        stages.check_choice("engine", engine, stages.ENGINES)
        self.model, self.cleanup, self.engine, self.templates = model, cleanup, engine, templates
        self.annotated = _annotated(model, cleanup)
        self.stages = list(self.annotated.stages)
        self._early = 0.0

    @property
    def provenance(self) -> Mapping[str, str]:
        return self.annotated.provenance

    @property
    def reading(self) -> RelaxReading:
        return self.annotated.reading

    @functools.cached_property
    def grouping(self) -> Grouping:
        if self.templates:
            return group_by_templates(self.annotated.stages[0].module, self.reading, self.templates)
        whole = self.annotated.grouping
        return whole if self.engine != "none" else whole.what_if(max_depth=0)

    def stage(self, name: str, run: Callable[[], Any]) -> Any:
        done = _timed(name, run, self._early)
        self._early = 0.0
        self.stages.append(done)
        return done.module

    def to_groups(self) -> Any:
        """Decide which kernels belong together; returns the module that holds it."""
        annotated = self.stages[2].module
        if self.engine == "none":
            return annotated
        started = time.perf_counter()
        if self.engine == "tvm":
            groups = stages.fuse_groups(annotated)
        else:
            groups = stages.fuse_as(annotated, self.reading, self.grouping)
        self._early = time.perf_counter() - started  # belongs to the stage "fuse"
        return groups

    def partition(self, groups: Any) -> Partition:
        if self.templates:
            return self.grouping.record(self.model.name, self.engine, "relax")
        annotated = self.stages[2]
        return Partition(
            model=self.model.name,
            engine=self.engine,
            level="relax",
            groups=groups_of(annotated.module, groups, self.provenance),
            kernels_before=annotated.kernels,
            kernels_after=stages.count_kernels(groups),
            grouping=self.grouping,
            bytes_saved=0 if self.engine == "none" else self.grouping.bytes_saved(),
        )


@dataclass(frozen=True, eq=False)
class _Annotated:
    """A model as far as the kinds of its kernels are known."""

    stages: tuple[Stage, ...]
    provenance: Mapping[str, str]

    @functools.cached_property
    def reading(self) -> RelaxReading:
        return read_relax(self.stages[2].module, self.provenance)

    @functools.cached_property
    def grouping(self) -> Grouping:
        return partition(self.reading.graph)


def _annotated(model: Model, cleanup: str) -> _Annotated:
    """Kept as long as the model lives, so that another partition of it takes milliseconds."""
    kept = _early_stages.setdefault(model, {})
    if cleanup not in kept:
        provenance: dict[str, str] = {}

        def run() -> Any:
            imported = stages.import_model(model, cleanup)
            provenance.update(imported.provenance)
            return imported.module

        def legalized() -> Any:
            legal = stages.legalize(first.module)
            return stages.fold_constants(legal) if cleanup == "tvm" else legal

        first = _timed("import", run)
        second = _timed("legalize", legalized)
        third = _timed("annotate", lambda: stages.annotate(second.module))
        kept[cleanup] = _Annotated((first, second, third), provenance)
    return kept[cleanup]


def _timed(name: str, run: Callable[[], Any], early: float = 0.0) -> Stage:
    started = time.perf_counter()
    ongoing.say(f"stage {name}", STAGES.index(name), len(STAGES))
    with record_passes() as passes:
        module = run()
    return Stage(name, module, time.perf_counter() - started + early, stages.count_kernels(module), tuple(passes))
