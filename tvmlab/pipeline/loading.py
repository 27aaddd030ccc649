"""From whatever a model is written in to a `Model`."""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from tvmlab import ops
from tvmlab.errors import CallError, LoadError
from tvmlab.fusion.foreign import chosen
from tvmlab.fusion.onnx_file import (
    decoded,
    find,
    model_proto,
    read_bytes,
    refuse_broken_names,
    refuse_far_weights,
    refuse_misspelt,
)
from tvmlab.fusion.onnx_graph import OnnxGraph
from tvmlab.pipeline.claims import refuse_false_claims
from tvmlab.pipeline.graphs import graph
from tvmlab.pipeline.guarded import guarded
from tvmlab.pipeline.model import Model, model_of_module, model_of_onnx
from tvmlab.pipeline.onnx_import import unknown_nodes
from tvmlab.pipeline.skeletons import skeleton
from tvmlab.pipeline.unfolding import without_functions
from tvmlab.pipeline.weights import with_random_weights
from tvmlab.runtime import check_seed
from tvmlab.runtime.executable import first_line

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["load", "skeleton_of"]


def load(source: Any, *, name: str | None = None, weights: str | None = None, seed: int = 0) -> Model:
    """Read a model.

    Parameters
    ----------
    source : path, bytes, ModelProto, IRModule, relax.Function, str or callable
        An ONNX file or what is in one; a Relax module, or TVMScript text of one; a Python function over operators
        (see `graph`).  A string of several lines is TVMScript, of one line a path.  A bare file name that is not here
        is also looked for among the networks in the onnx package, such as ``light_resnet50.onnx``.
    name : str, optional
        What to call it.  Default: the file's or the graph's own name.
    weights : {None, "random"}
        ``"random"``: weights that are one constant value, as those of the ``light_*.onnx`` networks are, are replaced
        by random ones of a size that keeps the outputs alive.
    seed : int
        Of the random weights.

    Raises
    ------
    LoadError
        It cannot be read; it says what is wrong, where, and how to mend it.
    CallError
        The seed is negative or no whole number.
    """
    check_seed(seed)
    if weights not in (None, "random"):
        raise LoadError(f"weights={weights!r} is not known", mend='leave it out, or write weights="random"')
    proto = _read_onnx(source)
    if proto is not None:
        name = name or _name_of(source, proto)
        if weights == "random":
            proto = with_random_weights(proto, seed)
        return model_of_onnx(proto, name)
    if weights is not None:
        raise LoadError('weights="random" is for ONNX models only', mend="leave it out")
    return _load_relax(source, name)


def _load_relax(source: Any, name: str | None) -> Model:
    import tvm
    from tvm import relax

    if isinstance(source, tvm.IRModule):
        return model_of_module(source, name or "module")
    if isinstance(source, relax.Function):
        own = source.attrs.get("global_symbol") if source.attrs else None
        return model_of_module(_as_main(source), name or str(own or "function"))
    if isinstance(source, str):
        return model_of_module(_parsed(source), name or "module")
    if inspect.isclass(source):
        raise LoadError(
            f"the class {source.__name__} is no module",
            mend="decorate it with @I.ir_module, its functions with @R.function",
        )
    if isinstance(source, ops.Op):
        raise LoadError(
            f"{source.name} is an operator, and no model",
            mend=f'make a graph with it: tl.graph(lambda…), %%tvm_graph, or Model.replace("Relu", {source.name!r})',
        )
    if callable(source):
        return graph(source, name=name)
    raise LoadError(
        f"a {type(source).__name__} is no model",
        mend="give the path or the bytes of an ONNX file, a ModelProto, an IRModule, TVMScript, or a Python function",
    )


def _read_onnx(source: Any) -> ModelProto | None:
    """The ONNX model that `source` is or names; None if it is something else."""
    if isinstance(source, onnx.ModelProto):
        return _checked(source, "the ModelProto")
    if isinstance(source, bytes | bytearray | memoryview):
        return _checked(decoded(bytes(source), "the bytes"), "the bytes")
    if isinstance(source, os.PathLike) or (isinstance(source, str) and "\n" not in source):
        return _read_file(Path(source))
    return None


def _read_file(path: Path) -> ModelProto:
    path = find(path)
    where = str(path)
    refuse_misspelt(path)
    proto = decoded(read_bytes(path), where)
    refuse_far_weights(proto, where)
    try:
        onnx.load_external_data_for_model(proto, str(path.parent))
    except Exception as error:
        raise LoadError(
            f"the weights beside the file cannot be read: {first_line(error)}",
            where,
            "put the weights' file next to it, under the name that it says",
        ) from error
    return _checked(proto, where)


def _checked(proto: ModelProto, where: str) -> ModelProto:
    """Refuse what decodes but is no whole model: any short text may decode."""
    if not proto.graph.output or not proto.ir_version:
        missing = "no graph with outputs" if not proto.graph.output else "no IR version"
        raise LoadError(
            f"this is no ONNX model, or the beginning of one: it has {missing}", where, "download or export it again"
        )
    refuse_broken_names(proto, where)
    refuse_false_claims(OnnxGraph.of(proto), proto, where)
    return without_functions(proto, where)


def skeleton_of(source: Any) -> str:
    """What to write for the operators of an ONNX model that nobody knows; see `tvmlab.api.skeleton`."""
    proto = without_functions(model_proto(source), "the model")
    graph = OnnxGraph.of(proto)
    unknown = [node for node in unknown_nodes(graph) if chosen(node, graph.versions) is None]
    if not unknown:
        raise CallError("all operators of the model are known", mend="tl.load reads it as it is")
    return skeleton(unknown)


def _name_of(source: Any, proto: ModelProto) -> str:
    return Path(source).stem if isinstance(source, str | os.PathLike) else proto.graph.name or "model"


def _parsed(text: str) -> Any:
    import tvm

    def explain(error: Exception) -> LoadError:
        place = re.search(r"<str>:(\d+):(\d+)", str(error))
        line = int(place[1]) if place else getattr(error, "lineno", None)
        shown = text.splitlines()[line - 1].strip() if line and line <= len(text.splitlines()) else ""
        return LoadError(
            f"this TVMScript cannot be read: {first_line(error)}",
            f"line {line}: {shown}" if line else None,
            "compare it with what print(module.script()) writes",
        )

    parsed = guarded(lambda: tvm.script.from_source(text), explain)
    return parsed if isinstance(parsed, tvm.IRModule) else _as_main(parsed)


def _as_main(function: Any) -> Any:
    """A module whose main is the function."""
    import tvm

    return tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
