"""What ``tl.`` offers: each function composes the rooms below, and nothing else does.

The rooms are imported inside the functions where that keeps ``tl.doctor()`` free of TVM, so that it can still speak
where TVM cannot be imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tvmlab.ops import Op
    from tvmlab.pipeline import Model, Trace
    from tvmlab.records import DoctorReport, Partition, PartitionDiff, StageDiff, Timing, Verification
    from tvmlab.touring import Demo

__all__ = [
    "bench",
    "compare",
    "define",
    "demo",
    "diff",
    "doctor",
    "fuse",
    "graph",
    "graph_from_source",
    "lab",
    "load",
    "op",
    "run",
    "trace",
    "verify",
]

Cache = Callable[[str], str]


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
    from tvmlab import ops

    parts = ops.read_cell(body, user_namespace=shell_namespace, label=label, first_line=first_line, cache=cache)
    return ops.define(name, parts)


def load(source: Any, *, name: str | None = None, weights: str | None = None, seed: int = 0) -> Model:
    """Read a model: an ONNX file (path, bytes or ModelProto), an IRModule, TVMScript, or a Python function over ops.

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

    Returns
    -------
    Model

    Raises
    ------
    LoadError
        If it cannot be read.
    """
    from tvmlab import pipeline

    return pipeline.load(source, name=name, weights=weights, seed=seed)


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
    return source if hasattr(source, "provenance") else load(source)


def trace(model: Model, *, cleanup: str = "tvmlab", engine: str = "python") -> Trace:
    """Take a model through every stage to machine code, and keep the module after each.

    Parameters
    ----------
    model : Model
        What to compile.
    cleanup : {"tvmlab", "tvm", "none"}
        Which clean-up comes first.
    engine : {"python", "tvm", "none"}
        Who decides what to fuse.
    """
    from tvmlab import pipeline

    return pipeline.trace(_as_model(model), cleanup=cleanup, engine=engine)


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
        What is matched before the rules decide, for ``level="onnx"``; a string names one that tvmlab ships.

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
    changes: dict[str, Any] = {"kinds": kinds, "max_depth": max_depth, "without": without, "templates": templates}
    if level == "onnx" and engine != "tvm" and not hasattr(model, "provenance"):
        from tvmlab import fusion

        return fusion.fuse_onnx(model, engine=engine, **changes)  # without TVM
    from tvmlab import pipeline

    if isinstance(model, str | os.PathLike):
        model = load(model)
    return pipeline.fuse(model, engine=engine, level=level, cleanup=cleanup, **changes)


def compare(model: Model, *, cleanup: str = "tvmlab") -> PartitionDiff:
    """Both engines on the level of Relax: whether tvmlab's own fuser and TVM's FuseOps agree, edge by edge."""
    return fuse(model, cleanup=cleanup).diff(fuse(model, engine="tvm", cleanup=cleanup))


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


def verify(model: Model, **options: Any) -> Verification:
    """Compare a model's outputs with an oracle that shares none of its code; see `tvmlab.measure.verify`."""
    from tvmlab import measure

    return measure.verify(_as_model(model), **options)


def bench(model: Model, **options: Any) -> Timing:
    """Time a model unfused, fused, scheduled and in onnxruntime, in one interleaved run; see `tvmlab.measure.bench`."""
    from tvmlab import measure

    return measure.bench(_as_model(model), **options)


def run(model: Model, *inputs: Any) -> Any:
    """Compile a model through every stage and run it on NumPy arrays.

    Returns
    -------
    ndarray or tuple of ndarray
    """
    return trace(model).executable.run(*inputs)


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


def demo(
    directory: Path | str = "demo", *, json_file: Path | None = None, progress: Callable[[str], None] | None = None
) -> Demo:
    """Run the tour in a Jupyter kernel: an own operator inside ResNet-50; see `tvmlab.touring.run_tour`."""
    from tvmlab.touring import run_tour

    return run_tour(directory, json_file=json_file, progress=progress)
