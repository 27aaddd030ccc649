"""What ``tl.`` offers: each function composes the rooms below, and nothing else does.

The rooms are imported inside the functions where that keeps ``tl.doctor()`` free of TVM, so that it can still speak
where TVM cannot be imported.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tvmlab.errors import CallError, CheckFailed, LoadError, TvmlabError
from tvmlab.records import Reason

if TYPE_CHECKING:
    from tvmlab.checks import Progress
    from tvmlab.course.releasing import Release
    from tvmlab.diagnosis import Diagnosis
    from tvmlab.measure import Advice, Step, Tuning
    from tvmlab.ops import Op
    from tvmlab.pipeline import CompiledModel, Model, Trace
    from tvmlab.records import (
        Bisection,
        CheckReport,
        ClassMarks,
        CourseProgress,
        DoctorReport,
        GroupComparison,
        Hints,
        LevelsDiff,
        Loads,
        NotebookCheck,
        Partition,
        PartitionDiff,
        Reads,
        Report,
        StageDiff,
        Timing,
        Verdict,
        Verification,
        Written,
    )
    from tvmlab.touring import Demo

__all__ = [
    "advise",
    "attempt",
    "bench",
    "check",
    "check_notebook",
    "compare",
    "compare_levels",
    "define",
    "define_in",
    "demo",
    "diagnose",
    "diff",
    "doctor",
    "export",
    "fuse",
    "grade",
    "graph",
    "graph_from_source",
    "hint",
    "lab",
    "load",
    "loads",
    "op",
    "progress",
    "reads",
    "release",
    "report",
    "run",
    "save",
    "serve",
    "skeleton",
    "trace",
    "track",
    "tune",
    "verify",
    "why",
    "why_no_match",
]

Cache = Callable[[str], str]
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def _shows(what: str) -> Callable[[Callable[_Given, _Result]], Callable[_Given, _Result]]:
    """Show progress while a function runs, once it has taken a second; ``{}`` stands for the name of what it takes."""

    def decorate(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        @functools.wraps(function)
        def told(*given: _Given.args, **options: _Given.kwargs) -> _Result:
            from tvmlab.show.progress import shown

            subject = next(iter((*given, *options.values())), "")
            with shown(what.format(_name_of(subject))):
                return function(*given, **options)

        return told

    return decorate


def _name_of(subject: Any) -> str:
    if isinstance(subject, str | os.PathLike):
        return os.fspath(subject)
    return str(getattr(subject, "name", "") or type(subject).__name__)


def op(name: str) -> Callable[[type], Op]:
    """Decorate a class whose body has the parts of an operator; the name then means the live operator.

    Parameters
    ----------
    name : str
        ``namespace.name``, such as ``lab.leaky_clamp``.

    Returns
    -------
    callable
        From the class to the `Op`.

    Raises
    ------
    TvmlabError
        What is wrong with the operator, at the line of it; an earlier version then stays live.

    Examples
    --------
    >>> @tl.op("lab.double")
    ... class Double:
    ...     def compute(x):
    ...         return te.compute(x.shape, lambda *i: x(*i) * const_like(2, x), name="double")
    """
    from tvmlab import ops

    def decorate(declared: type) -> Op:
        return ops.define(name, ops.read_class(declared))

    return decorate


def define(
    name: str,
    body: str,
    *,
    shell_namespace: Mapping[str, Any] | None = None,
    label: str = "cell",
    first_line: int = 2,
    cache: Cache | None = None,
) -> Op:
    """Make an operator live from the text of a cell; ``%%tvm_op`` does nothing else.

    Parameters
    ----------
    name : str
        ``namespace.name``.
    body : str
        The cell without its magic line.
    shell_namespace : mapping, optional
        The notebook's names; those that the text mentions are copied.
    label : str
        What the user calls the cell: ``Cell In[3]``.
    first_line : int
        The cell's line on which `body` starts.
    cache : callable, optional
        Stores the text for tracebacks and returns the file name to compile it under.

    Returns
    -------
    Op

    Raises
    ------
    TvmlabError
        What is wrong, at the cell's own line; an earlier version then stays live.
    """
    from tvmlab import checks, ops

    parts = ops.read_cell(body, user_namespace=shell_namespace, label=label, first_line=first_line, cache=cache)
    op = ops.define(name, parts)
    return ops.annotate(op, checks.check_op(op, quick=True))


@_shows("checking {}")
def check(
    op: Op | str,
    *,
    quick: bool = False,
    only: Sequence[str] | None = None,
    seed: int = 0,
    raise_exception: bool = False,
    progress: Progress | None = None,
) -> CheckReport:
    """Check an operator: registration, types, values, dtypes, sizes, fusion, gradient, targets.

    Parameters
    ----------
    op : Op or str
        A live operator or its name; or ``FILE::NAME``, a file that defines it: a module that uses ``tl.op``, a
        notebook, or the text of one operator cell.
    quick : bool
        Only what takes milliseconds, as after every ``%%tvm_op``.
    only : sequence of str, optional
        Codes of the checks to make: ``["C05", "C10"]``.
    seed : int
        Of the random part of the inputs; the chosen part is always the same.
    raise_exception : bool
        Raise `CheckFailed` if a check failed.
    progress : callable, optional
        Called before each check with how many are done, how many there are, and what comes.

    Returns
    -------
    CheckReport
        ``.ok``, ``.failed``, and each result by its code: ``report["C10"].why``.

    Raises
    ------
    NameRefused
        No operator of that name is live.
    CallError
        A code is none.
    CheckFailed
        Asked for, and a check failed: the first one's sentence, line and mend.
    """
    from tvmlab import checks, ops, runtime

    runtime.check_seed(seed)
    report: CheckReport | None = None
    if isinstance(op, str) and ("::" in op or op.endswith((".py", ".ipynb"))):
        file, _, wanted = op.partition("::")
        try:
            op = checks.op_of_file(Path(file), wanted or None)
        except LoadError:
            raise
        except TvmlabError as error:
            report = checks.refused_report(wanted or file, error)
    if report is None:
        subject = ops.find(op) if isinstance(op, str) else op
        report = checks.check_op(subject, quick=quick, only=only, seed=seed, progress=progress)
    if raise_exception and report.failed:
        first = report.failed[0]
        raise CheckFailed(f"{report.op} fails {first.code}, {first.title}: {first.why}", first.where, first.mend)
    return report


@_shows("reading {}")
def load(
    source: Any, *, name: str | None = None, weights: str | None = None, seed: int = 0, trust: bool = False
) -> Model | CompiledModel:
    """Read a model: an ONNX file (path, bytes or ModelProto), an IRModule, TVMScript, or a Python function over ops.

    Of a folder that `save` wrote, read the machine code.

    Parameters
    ----------
    source : path, bytes, ModelProto, IRModule, class, str or callable
        What to read.
    name : str, optional
        What to call it; the file's name by default.
    weights : {None, "random"}
        ``"random"`` replaces constant weights by He-scaled ones, so that outputs prove something.
    seed : int
        Of the random weights.
    trust : bool
        Of a compiled model: whether its code may run.  Loading a library runs it, with your rights.

    Returns
    -------
    Model, or CompiledModel
        The latter from a folder that `save` wrote: ``.run(*arrays)``, or `run`.

    Raises
    ------
    LoadError
        If it cannot be read; or a compiled model is not trusted, was changed, or is not for this machine.
    """
    from tvmlab import pipeline

    if pipeline.is_saved(source):
        if weights is not None:
            raise LoadError("a compiled model has its weights", str(source), "leave weights out")
        return pipeline.open_saved(source, name=name, trust=trust)
    if isinstance(source, str | os.PathLike) and pipeline.is_part_of_saved(source):
        raise LoadError(
            "this is a part of a compiled model", str(source), f"load its folder: {str(Path(source).parent)!r}"
        )
    return _read(source, name=name, weights=weights, seed=seed)


def _read(source: Any, **options: Any) -> Model:
    """A model that is not compiled."""
    from tvmlab import pipeline

    return pipeline.load(source, **options)


def save(model: Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> Written:
    """Compile a model for this machine, and write it into a folder: a library, its parameters, a manifest.

    ``tl.load(path, trust=True)`` reads it, in this process or another, on this machine or one like it.

    Parameters
    ----------
    model : Model or what `load` reads, or Trace
        A trace is saved as it is: ``tl.save(tl.trace(model, tuned=True), path)``.
    path : path
        The folder.
    overwrite : bool
        Put it in the place of a model that was saved there.

    Raises
    ------
    CallError
        The path is taken, or cannot be written to.
    BackendError
        There is no compiler to link a library with.
    """
    from tvmlab import pipeline

    known = isinstance(model, pipeline.Trace | pipeline.CompiledModel)
    return pipeline.save(model if known else _as_model(model), path, overwrite=overwrite)


def export(op: Op | str, path: str | os.PathLike[str], *, overwrite: bool = False) -> Written:
    """Write a module that makes an operator live when it is imported, and a test of it; see `Op.export`.

    `op` may also be ``FILE::NAME``, as `check` takes it.
    """
    return _as_op(op).export(path, overwrite=overwrite)


def _as_op(op: Op | str) -> Op:
    """An operator as it is, or by its name, or from a file."""
    from tvmlab import checks, ops

    if not isinstance(op, str):
        return op
    if "::" in op or op.endswith((".py", ".ipynb")):
        file, _, wanted = op.partition("::")
        return checks.op_of_file(Path(file), wanted or None)
    return ops.find(op)


def define_in(file: Path) -> None:
    """Run a Python file that defines operators with `op`, and may register them for ONNX: ``--ops FILE``.

    Raises
    ------
    LoadError
        It is no Python file, or fails.
    """
    from tvmlab import checks

    checks.run_module(file)


def skeleton(model: Any) -> str:
    """Python to begin with: it defines and registers an operator for each one of a model that nobody knows.

    Parameters
    ----------
    model : path, bytes or ModelProto

    Raises
    ------
    LoadError
        It is no ONNX model.
    CallError
        All its operators are known.
    """
    from tvmlab import pipeline

    return pipeline.skeleton_of(model)


def graph(function: Callable[..., Any], *, name: str | None = None) -> Model:
    """Make a model from a Python function over operators, with types as annotations: ``x: "float32[n, 64]"``.

    Raises
    ------
    LoadError
        If a parameter has no readable type, or the function fails.
    """
    from tvmlab import pipeline

    return pipeline.graph(function, name=name)


def graph_from_source(
    name: str,
    body: str,
    *,
    shell_namespace: Mapping[str, Any] | None = None,
    label: str = "cell",
    first_line: int = 2,
    cache: Cache | None = None,
) -> Model:
    """Make a model from the text of a cell that defines one function; ``%%tvm_graph`` does nothing else.

    Parameters are those of `define`.

    Raises
    ------
    CellError
        If the cell fails, or defines no function or several and none is called `name`.
    LoadError
        If the function is not a graph.
    """
    from tvmlab import ops, pipeline

    function = ops.read_function(
        name, body, user_namespace=shell_namespace, label=label, first_line=first_line, cache=cache
    )
    return pipeline.graph(function, name=name)


def _as_model(source: Any) -> Model:
    """A model as it is; anything else that can be read as one is."""
    from tvmlab import pipeline

    if isinstance(source, pipeline.CompiledModel) or pipeline.is_saved(source):
        loaded = isinstance(source, pipeline.CompiledModel)
        name, run = (source.name, "tl.run(model, …)") if loaded else (source, "tl.load(path, trust=True).run(…)")
        raise CallError(
            f"{name} is machine code, of which nothing is known but how to run it",
            mend=f"{run} runs it; for the rest take the model that it was made of",
        )
    return source if isinstance(source, pipeline.Model) else _read(source)


@_shows("compiling {}")
def trace(
    model: Model,
    *,
    cleanup: str = "tvmlab",
    engine: str = "python",
    templates: Sequence[Any] = (),
    tuned: bool | str | os.PathLike[str] = False,
) -> Trace:
    """Take a model through every stage to machine code, and keep the module after each.

    Parameters
    ----------
    model : Model
        What to compile.
    cleanup : {"tvmlab", "tvm", "none"}
        Which clean-up comes first.
    engine : {"python", "tvm", "none"}
        Who decides what to fuse.
    templates : sequence of fusion.Template or str
        What is matched before the rules decide, for ``"python"``: each match is one kernel.
    tuned : bool or path
        Take the schedules that `tune` found where they are faster than the rules': from its default database (True),
        or from a file.
    """
    from tvmlab import pipeline

    return pipeline.trace(_as_model(model), cleanup=cleanup, engine=engine, templates=templates, tuned=tuned)


@_shows("fusing {}")
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
    """Which nodes of a model share a kernel, and how many kernels are left.

    Parameters
    ----------
    model : Model, path or tvm.IRModule, or for ``level="onnx"`` also ModelProto
        A module is taken as it stands: why does FuseOps not fuse it?
    engine : {"python", "tvm", "none"}
        tvmlab's own fuser, which makes the same groups as TVM's FuseOps; that; or no fusion.
    level : {"relax", "onnx"}
        Nodes are the kernels after legalization, or the nodes of the ONNX model as it is.
    cleanup : {"tvmlab", "tvm", "none"}
        Which clean-up comes first; of no effect on the level of ONNX.
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
        ``.why(a, b)`` gives the reasons.

    Raises
    ------
    CallError
        An option is unknown, or not for this engine or model.
    GraphError
        There is no such node, kind or phase.
    """
    if max_depth is not None and not isinstance(max_depth, int):
        raise CallError(f"max_depth={max_depth!r} is no whole number", mend="TVM's default is 256")
    changes: dict[str, Any] = {
        "kinds": kinds,
        "max_depth": max_depth,
        "without": _several("without", without, "phase2"),
        "templates": _several("templates", templates, "conv_bn_relu"),
    }
    if isinstance(model, str | os.PathLike) and Path(model).is_dir():
        model = _as_model(model)  # which says what the folder is
    if level == "onnx" and engine != "tvm" and not hasattr(model, "provenance"):
        from tvmlab import fusion

        if not fusion.registrations() or not fusion.has_registered(fusion.model_proto(model)):
            return fusion.fuse_onnx(model, engine=engine, **changes)  # without TVM
    from tvmlab import pipeline

    if isinstance(model, str | bytes | os.PathLike | pipeline.CompiledModel) or hasattr(model, "SerializeToString"):
        model = _as_model(model)
    return pipeline.fuse(model, engine=engine, level=level, cleanup=cleanup, **changes)


def _several(option: str, given: Any, example: str) -> tuple[Any, ...]:
    """What an option lists; a text is one thing, not its letters."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given]
    wrong = next((each for each in given if isinstance(each, int | float)), None)
    if wrong is not None:
        raise CallError(f"{option}={wrong!r} is no list of names", mend=f"{option}=[{example!r}]")
    return tuple(given)


@_shows("comparing the fusers on {}")
def compare(model: Model, *, cleanup: str = "tvmlab") -> PartitionDiff:
    """Both engines on the level of Relax: whether tvmlab's own fuser and TVM's FuseOps agree, edge by edge."""
    return fuse(model, cleanup=cleanup).diff(fuse(model, engine="tvm", cleanup=cleanup))


@_shows("comparing the levels of {}")
def compare_levels(model: Model, *, cleanup: str = "tvmlab") -> LevelsDiff:
    """Why the nodes of an ONNX model are grouped otherwise than its kernels in TVM, node by node and edge by edge.

    Parameters
    ----------
    model : Model or path
        From ONNX.
    cleanup : {"tvmlab", "tvm", "none"}
        Which clean-up comes before the kernels.

    Returns
    -------
    LevelsDiff
        ``.nodes`` says of every node what became of it, ``.differences`` why two groups are one on one level alone.

    Raises
    ------
    CallError
        The model does not come from ONNX.
    """
    from tvmlab import pipeline

    return pipeline.compare_levels(_as_model(model), cleanup=cleanup)


@_shows("matching in {}")
def why_no_match(model: Any, pattern: Any) -> str:
    """Why FuseOpsByPattern finds a pattern nowhere in a model, of which TVM says nothing.

    Parameters
    ----------
    model : Model or tvm.IRModule
        As it stands, before any clean-up.
    pattern : tvm.relax.dpl.DFPattern, FusionPattern, tuple of str and DFPattern, fusion.Template or str
        As FuseOpsByPattern takes them; or a template, or the name of one that tvmlab ships.
    """
    from tvmlab import pipeline

    return pipeline.why_no_match(getattr(model, "module", model), pattern)


@_shows("compiling {}")
def diff(
    model: Model,
    before: str = "legalize",
    after: str = "fuse",
    *,
    cleanup: str = "tvmlab",
    engine: str = "python",
) -> StageDiff:
    """What changed between two stages of a model's trace; options are those of `trace`."""
    return trace(model, cleanup=cleanup, engine=engine).diff(before, after)


@_shows("verifying {}")
def verify(model: Model, **options: Any) -> Verification | Bisection | GroupComparison:
    """Compare a model's outputs with an oracle that shares none of its code; see `tvmlab.measure.verify`.

    ``bisect=True`` names the first stage and kernel that are wrong, ``groups=True`` compares each fused kernel with
    the unfused ones.
    """
    from tvmlab import measure

    return measure.verify(_as_model(model), **options)


@_shows("timing {}")
def bench(model: Any, **options: Any) -> Timing:
    """Time a model's builds and onnxruntime, or an operator's forms, interleaved; see `tvmlab.measure.bench`.

    Parameters
    ----------
    model : Model or what `load` reads, Op or the name of a live operator
    **options
        ``sides``, ``repeats``, ``threads``, ``kernels`` …
    """
    from tvmlab import measure, ops

    if isinstance(model, str) and model in ops.live_names():
        model = ops.find(model)
    return measure.bench(model if isinstance(model, ops.Op) else _as_model(model), **options)


def loads(op: str | Op, *arrays: Any, **attributes: Any) -> Loads:
    """Count what the kernels of an operator load from memory, at every iteration of their loops as they are written.

    Parameters
    ----------
    op : Op or the name of a live operator
    *arrays : array_like
        Only their shapes and dtypes matter.
    **attributes
        Other than the defaults.

    Returns
    -------
    Loads

    Raises
    ------
    CallError
        It does not take such arrays, or the loads cannot be counted.
    """
    import numpy as np

    from tvmlab import ops
    from tvmlab.measure.loads import loads_of

    found = ops.find(op) if isinstance(op, str) else op
    return loads_of(found, [np.asarray(array) for array in arrays], attributes)


@_shows("advising on {}")
def advise(op: str | Op, **options: Any) -> Advice:
    """Compose or add: do TVM's own operators do what an operator does, and as fast; see `tvmlab.measure.advise`.

    `op` may also be ``FILE::NAME``, as `check` takes it.
    """
    from tvmlab import checks, measure

    if isinstance(op, str) and "::" in op:
        file, _, name = op.rpartition("::")
        op = checks.op_of_file(Path(file), name or None)
    return measure.advise(op, **options)


@_shows("tuning {}")
def tune(model: Any, *, progress: Callable[[Step], None] | None = None, **options: Any) -> Tuning:
    """Search for schedules that are faster than the rules', and keep them; see `tvmlab.measure.tune`."""
    from tvmlab import measure

    return measure.tune(_as_model(model), progress=progress, **options)


def reads(op: Any, at: Sequence[int] | None = None, **options: Any) -> Reads:
    """Which input elements an element of the output reads, those that do not exist too; see `tvmlab.ops.reading.reads`.

    Parameters
    ----------
    op : Op, str or callable
        A live operator or its name, or a function of te tensors.
    at : sequence of int, optional
        The element of the output.
    **options
        ``shapes``, ``output``, and attributes.
    """
    from tvmlab import ops
    from tvmlab.ops import reading

    return reading.reads(ops.find(op) if isinstance(op, str) else op, at, **options)


@_shows("reporting on {}")
def report(model: Any, file: str | os.PathLike[str] | None = None, **options: Any) -> Report:
    """Write one HTML file with all records of a model; see `tvmlab.reporting.report`."""
    from tvmlab import reporting

    return reporting.report(_as_model(model), file, **options)


def track(host: str = "127.0.0.1", port: int = 9190, **options: Any) -> int:
    """Run a tracker of TVM's RPC until it is interrupted; see `tvmlab.serving.track`."""
    from tvmlab import serving

    return serving.track(host, port, **options)


def serve(host: str = "127.0.0.1", port: int = 9090, **options: Any) -> int:
    """Run a device that a tracker lends until it is interrupted; see `tvmlab.serving.serve`."""
    from tvmlab import serving

    return serving.serve(host, port, **options)


@_shows("compiling and running {}")
def run(model: Model | CompiledModel, *inputs: Any, isolate: bool | None = None) -> Any:
    """Compile a model through every stage and run it on NumPy arrays.

    Parameters
    ----------
    model : Model or CompiledModel
    *inputs : ndarray
    isolate : bool, optional
        Run it in a child process, whose death or endless loop is then an error.  By default safe mode decides: with
        ``%config Tvmlab.safe = True`` a model runs in a child unless all its kernels are proved safe.

    Returns
    -------
    ndarray or tuple of ndarray

    Raises
    ------
    CallError
        Number, dtype or shape of the inputs is wrong.
    PipelineError
        It fails; or, in a child, ends its process or goes over a limit.
    """
    from tvmlab import pipeline, runtime

    if isinstance(model, pipeline.CompiledModel):
        if isolate:
            raise CallError("machine code from a file cannot run in a child", mend="leave isolate out")
        return model.run(*inputs)
    traced = trace(model)
    module = traced["schedule"].module
    if isolate or (isolate is None and runtime.POLICY.safe and not runtime.is_proved_safe(module)):
        return runtime.isolate(module).run(*inputs)
    return traced.executable.run(*inputs)


def diagnose(error: BaseException | str | None = None) -> Diagnosis:
    """Explain an error: its cause, the stage, the user's own line, and what to write instead.

    Parameters
    ----------
    error : BaseException or str, optional
        An error, or the text of one; the last one that was shown by default.

    Returns
    -------
    Diagnosis
        Of an error that no rule knows it says so, and gives the traceback in short.

    Raises
    ------
    CallError
        There is nothing to explain.
    """
    from tvmlab import diagnosis

    return diagnosis.diagnose(error)


def why(model: Any = None, a: str | None = None, b: str | None = None) -> Diagnosis | Reason:
    """Why two nodes of a model do or do not share a kernel; alone, why the last error happened.

    Raises
    ------
    CallError
        A model without two nodes; no error to explain.
    GraphError
        There is no such node.
    """
    if model is None:
        return diagnose()
    if a is None or b is None:
        raise CallError("two nodes are needed beside the model", mend='write why(model, "conv1", "relu1")')
    return Reason(fuse(model).why(a, b))


def doctor() -> DoctorReport:
    """What is installed, whether it works together, and how to mend what does not."""
    from tvmlab.doctoring import examine

    return examine()


def lab(
    directory: Path, *, browser: bool = True, port: int | None = None, progress: Callable[[str], None] = print
) -> int:
    """Open JupyterLab on a copy of the tutorials that is the user's own; see `tvmlab.workspace.lab`."""
    from tvmlab import workspace

    return workspace.lab(directory, browser=browser, port=port, progress=progress)


@_shows("checking exercise {}")
def attempt(
    exercise: str,
    body: str,
    *,
    shell_namespace: Mapping[str, Any] | None = None,
    label: str = "cell",
    first_line: int = 2,
    cache: Cache | None = None,
) -> Verdict:
    """Judge an answer to an exercise of the course; see `tvmlab.course.attempt`.

    Parameters beyond the first are those of `define`.
    """
    from tvmlab import course

    return course.attempt(
        exercise, body, shell_namespace=shell_namespace, label=label, first_line=first_line, cache=cache
    )


def hint(exercise: str) -> Hints:
    """The next of three hints to an exercise; see `tvmlab.course.hint`."""
    from tvmlab import course

    return course.hint(exercise)


@_shows("releasing into {}")
def release(folder: Path, *, teacher: Path, lessons: Sequence[str] = ()) -> Release:
    """An assignment from the lessons; see `tvmlab.course.releasing.release`.

    Parameters
    ----------
    lessons : sequence of str
        Names of notebooks, without their ending; default: all.

    Raises
    ------
    CallError
        There is no such lesson.
    """
    from tvmlab import workspace
    from tvmlab.course import releasing

    sources = {file.stem: file for file in sorted(workspace.tutorials_folder().glob("*.py"))}
    for name in lessons:
        if name not in sources:
            raise CallError(f"there is no lesson {name!r}", mend=f"the lessons are {', '.join(sources)}")
    notebooks = {name: workspace.to_notebook(sources[name]) for name in lessons or sources}
    return releasing.release(folder, notebooks, teacher)


def check_notebook(notebook: Path, *, mend: bool = True) -> NotebookCheck:
    """Find and mend what keeps a notebook from being graded; see `tvmlab.course.handing_in.check_notebook`."""
    from tvmlab.course import handing_in

    return handing_in.check_notebook(notebook, mend=mend)


@_shows("grading {}")
def grade(
    submissions: Path,
    *,
    teacher: Path,
    secret_file: Path,
    out: Path,
    exercises: Sequence[str] = (),
    cluster: str | None = None,
    jobs: int | None = None,
    seconds: float = 20.0,
    sandbox: bool = True,
) -> ClassMarks:
    """Judge what a class handed in; see `tvmlab.course.grading.grade`."""
    from tvmlab.course import grading

    return grading.grade(
        submissions,
        teacher=teacher,
        secret_file=secret_file,
        out=out,
        exercises=exercises,
        cluster=cluster,
        jobs=jobs,
        seconds=seconds,
        sandbox=sandbox,
    )


def progress() -> CourseProgress:
    """Which exercises are solved; see `tvmlab.course.progress`."""
    from tvmlab import course

    return course.progress()


def demo(
    directory: Path | str = "demo", *, json_file: Path | None = None, progress: Callable[[str], None] | None = None
) -> Demo:
    """Run the tour in a Jupyter kernel: an own operator inside ResNet-50; see `tvmlab.touring.run_tour`."""
    from tvmlab.touring import run_tour

    return run_tour(directory, json_file=json_file, progress=progress)
