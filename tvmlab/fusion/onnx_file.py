"""ONNX models from paths, bytes and messages; whatever is wrong with a file is told in three lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

import onnx

from tvmlab.errors import LoadError, nearest

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, TensorProto

__all__ = [
    "decoded",
    "find",
    "inner_graphs",
    "model_proto",
    "read_bytes",
    "refuse_broken_names",
    "refuse_far_weights",
    "refuse_misspelt",
    "shipped_networks",
]

_LARGEST_FILE = 2 << 30  # bytes: protobuf reads no larger message


def model_proto(source: Any) -> ModelProto:
    """The model that `source` is or names; weights that are in files of their own are not read.

    Parameters
    ----------
    source : path, str, bytes or ModelProto
        A bare file name that is not here is also looked for among the networks in the onnx package.

    Raises
    ------
    LoadError
        It is none, or its weights are said to be where nobody should look.
    """
    if isinstance(source, onnx.ModelProto):
        proto, where = source, "the ModelProto"
    elif isinstance(source, bytes | bytearray | memoryview):
        proto, where = decoded(bytes(source), "the bytes"), "the bytes"
    elif isinstance(source, str | os.PathLike):
        path = find(Path(source))
        refuse_misspelt(path)
        proto, where = decoded(read_bytes(path), str(path)), str(path)
    else:
        raise LoadError(
            f"a {type(source).__name__} is no ONNX model", mend="give a path, the bytes of a file, or a ModelProto"
        )
    if not proto.graph.output or not proto.ir_version:
        missing = "no graph with outputs" if not proto.graph.output else "no IR version"
        raise LoadError(
            f"this is no ONNX model, or the beginning of one: it has {missing}", where, "download or export it again"
        )
    refuse_broken_names(proto, where)
    refuse_far_weights(proto, where)
    return proto


def find(path: Path) -> Path:
    """The path; of a bare file name that is not here, that of the network in the onnx package."""
    shipped = shipped_networks() / path
    return shipped if len(path.parts) == 1 and not path.exists() and shipped.is_file() else path


def refuse_misspelt(path: Path) -> None:
    """Refuse a bare name that is not here, but near that of a network in the onnx package.

    Raises
    ------
    LoadError
    """
    if len(path.parts) != 1 or "\0" in path.name or path.exists():
        return
    shipped = sorted(p.name for p in shipped_networks().glob("*.onnx"))
    here = [p.name for p in Path().iterdir()]
    asked = path.name if path.suffix else f"{path.name}.onnx"
    near = nearest(asked, [*here, *shipped])
    if near in shipped:
        mend = f"did you mean {near!r}, which comes with the onnx package?"
    elif not near and asked.startswith("light"):
        mend = f"the onnx package has {', '.join(shipped)}"
    else:
        return
    raise LoadError("there is no such file", str(path), mend)


def shipped_networks() -> Path:
    """The folder of the ``light_*.onnx`` networks that the onnx package ships for its own tests."""
    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def read_bytes(path: Path) -> bytes:
    """What is in a file.

    Raises
    ------
    LoadError
        It cannot be read, or is too large for a protobuf message.
    """
    where = str(path)
    try:
        if path.is_dir():
            raise LoadError("this is a directory, not an ONNX file", where, f"name a file in it: {_files_in(path)}")
        if not path.exists():
            raise LoadError("there is no such file", where, _nearest(path))
        if path.stat().st_size > _LARGEST_FILE:
            raise LoadError(
                f"the file has {path.stat().st_size / 2**30:.1f} GiB, and ONNX reads no more than 2",
                where,
                "keep the weights in a file of their own: onnx.save_model(…, save_as_external_data=True)",
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise LoadError(f"the file cannot be read: {reason}", repr(where), "check its name and permissions") from error


def decoded(data: bytes, where: str) -> ModelProto:
    """The message that bytes are.

    Raises
    ------
    LoadError
    """
    if not data:
        raise LoadError("there is nothing in it", where, "download or export the model again")
    if data.startswith(b"version https://git-lfs"):
        raise LoadError("this is a Git LFS pointer, not the model", where, "run git lfs pull")
    try:
        return onnx.load_model_from_string(data)
    except Exception as error:  # protobuf's DecodeError
        raise LoadError(
            f"this is no ONNX model, or a broken one: it starts with {data[:12]!r}",
            where,
            "download or export the model again; a file of another framework must be exported to ONNX first",
        ) from error


def refuse_broken_names(proto: ModelProto, where: str) -> None:
    """Refuse names that are no text: protobuf gives those as bytes.

    Raises
    ------
    LoadError
        Naming the node, or saying that it is an input, output or weight.
    """
    for graph in inner_graphs(proto.graph):
        for position, node in enumerate(graph.node):
            texts = (node.name, node.op_type, node.domain, *node.input, *node.output)
            _refuse_bytes(texts, f"{where}, node {position} of graph {graph.name!r}")
        named = (*graph.input, *graph.output, *graph.initializer)
        _refuse_bytes((item.name for item in named), f"{where}, inputs, outputs and weights of graph {graph.name!r}")


def _refuse_bytes(texts: Iterable[object], where: str) -> None:
    broken = next((text for text in texts if isinstance(text, bytes)), None)
    if broken is not None:
        raise LoadError(
            f"the name {broken!r} is no text in UTF-8", where, "download the model again, or export it with other names"
        )


def refuse_far_weights(proto: ModelProto, where: str) -> None:
    """Refuse weights that are said to be outside of the model's own folder.

    Raises
    ------
    LoadError
        Naming the tensor, and the node if it is an attribute of one.
    """
    for holder, tensor in _tensors(proto.graph):
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
        parts = {*PurePosixPath(location).parts, *PureWindowsPath(location).parts}
        absolute = PurePosixPath(location).is_absolute() or PureWindowsPath(location).drive or location.startswith("\\")
        if not location or absolute or ".." in parts or "\0" in location:
            raise LoadError(
                f"the weights {tensor.name!r} are said to be in {location!r}, outside of the model's folder",
                f"{where}, {holder}",
                "keep them beside the model, and name the file without a folder",
            )


def inner_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph and, at any depth, those inside of its nodes; no recursion."""
    waiting = [graph]
    while waiting:
        current = waiting.pop()
        yield current
        for node in current.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    waiting.append(attribute.g)
                waiting += attribute.graphs


def _tensors(graph: GraphProto) -> Iterator[tuple[str, TensorProto]]:
    for inner in inner_graphs(graph):
        for tensor in inner.initializer:
            yield f"graph {inner.name!r}", tensor
        for node in inner.node:
            for attribute in node.attribute:
                for tensor in [attribute.t, *attribute.tensors] if attribute.HasField("t") else attribute.tensors:
                    yield f"node {node.name or next(iter(node.output), '')!r}", tensor


def _nearest(path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no directory {path.parent} either"
    close = nearest(path.name, (p.name for p in path.parent.iterdir()))
    return f"did you mean {close!r}?" if close else f"in that directory: {_files_in(path.parent)}"


def _files_in(path: Path) -> str:
    found = sorted(p.name for p in path.glob("*.onnx"))
    return ", ".join(found[:5]) + (" …" if len(found) > 5 else "") if found else "there is no .onnx file in it"
