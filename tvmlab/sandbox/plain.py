"""Plain values as JSON and bytes, and messages of them on a socket.

What comes from an answer is data and never code: nothing is unpickled, and what is no plain value arrives as an `Odd`
one, which only has a name and a text.
"""

from __future__ import annotations

import json
import math
import re
import select
import socket
import struct
import time
from collections.abc import Iterator, KeysView, ValuesView
from typing import Any

import numpy as np

from tvmlab.errors import TvmlabError
from tvmlab.fusion import Graph
from tvmlab.records import Mismatch
from tvmlab.runtime.signature import dtype_of

__all__ = ["LARGEST", "Garbled", "Odd", "TooLarge", "decode", "encode", "receive", "send"]

LARGEST = 16 << 20
"""Bytes of one message from an answer."""

_HEAD = struct.Struct(">II")
_NUMBERS = re.compile(r"bool|u?int(8|16|32|64)|b?float(16|32|64)|float8_\w+|complex(64|128)")
_DEEPEST = 50
_LONGEST_TEXT = 200
_Tree = Any


class Odd:
    """What stands for a value that is not plain: of a class with the same name, and with the same text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class Garbled(Exception):
    """A message that is none."""


class TooLarge(Exception):
    """A message that is larger than `LARGEST`."""


def encode(value: Any) -> tuple[_Tree, bytes]:
    """A value as a tree of JSON, and the bytes of its arrays."""
    blob = bytearray()
    return _encoded(value, blob, 0), bytes(blob)


def decode(tree: _Tree, blob: bytes) -> Any:
    """What `encode` was given.

    Raises
    ------
    Garbled
        It is nothing that `encode` makes.
    """
    try:
        return _decoded(tree, blob, 0)
    except (TypeError, ValueError, KeyError, IndexError, OverflowError, RecursionError, TvmlabError) as error:
        raise Garbled(f"{type(error).__name__}: {error}") from error


def _encoded(value: Any, blob: bytearray, depth: int) -> _Tree:
    if value is None or type(value) in (bool, float, str):
        return value
    if isinstance(value, int):  # a bool has been seen; an IntEnum is a number
        return int(value)
    if depth > _DEEPEST:
        return _odd(value)
    if isinstance(value, np.ndarray | np.generic):
        return _array(value, blob)
    if isinstance(value, Graph):
        return {"graph": _encoded(_parts(value), blob, depth + 1)}
    if isinstance(value, Mismatch):
        return {"mismatch": [str(value.what), str(value.where), str(value.mend)]}
    return _container(value, blob, depth + 1)


def _container(value: Any, blob: bytearray, depth: int) -> _Tree:
    def each(values: Any) -> list[_Tree]:
        return [_encoded(one, blob, depth) for one in values]

    if isinstance(value, dict):
        return {"dict": [each(pair) for pair in value.items()]}
    for kind, name in ((list, "list"), (tuple, "tuple"), (frozenset, "frozenset"), (set, "set")):
        if isinstance(value, kind):
            return {name: each(value)}
    if isinstance(value, range | Iterator | KeysView | ValuesView):
        return {"list": each(value)}
    return {"text": str(value)} if isinstance(value, str) else _odd(value)


def _array(value: Any, blob: bytearray) -> _Tree:
    array = np.asarray(value)
    if not _NUMBERS.fullmatch(array.dtype.name):
        return _odd(value)
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).reshape(array.shape)
    name = "array" if isinstance(value, np.ndarray) else "scalar"
    tree = {name: [array.dtype.name, list(array.shape), len(blob)]}
    blob += array.reshape(-1).view(np.uint8).tobytes()
    return tree


def _odd(value: Any) -> _Tree:
    try:
        text = repr(value)[:_LONGEST_TEXT]
    except Exception as error:  # noqa: BLE001 - an answer's own __repr__ may do anything
        text = f"<{type(error).__name__}>"
    return {"odd": [type(value).__name__, text]}


def _decoded(tree: _Tree, blob: bytes, depth: int) -> Any:
    if tree is None or isinstance(tree, bool | int | float | str):
        return tree
    if depth > _DEEPEST + 2 or not isinstance(tree, dict) or len(tree) != 1:
        raise Garbled("no plain value")
    ((kind, given),) = tree.items()
    if kind in ("array", "scalar"):
        return _restored(kind, given, blob)
    if kind == "odd":
        return _stand_in(*given)
    if kind == "mismatch":
        what, where, mend = given
        return Mismatch(str(what), str(where), str(mend))
    if kind == "text":
        return str(given)
    if kind == "graph":
        return _graph(_decoded(given, blob, depth + 1))
    if kind == "dict":
        pairs = ([_decoded(one, blob, depth + 1) for one in pair] for pair in given)
        return {name: value for name, value in pairs}  # noqa: C416 - a pair of three would pass unseen
    made = [_decoded(one, blob, depth + 1) for one in given]
    return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind](made)


def _restored(kind: str, given: Any, blob: bytes) -> Any:
    name, shape, offset = given
    dtype = dtype_of(name) if _NUMBERS.fullmatch(name) else None
    sizes = [int(size) for size in shape]
    if dtype is None or offset < 0 or any(size < 0 for size in sizes) or len(sizes) > 32:
        raise Garbled("no array")
    count = math.prod(sizes)
    if offset + count * dtype.itemsize > len(blob):
        raise Garbled("an array beyond the message")
    array = np.frombuffer(blob, np.uint8, count * dtype.itemsize, offset).view(dtype).reshape(sizes).copy()
    return array if kind == "array" else array[()]


def _stand_in(name: Any, text: Any) -> Odd:
    title = str(name)[:_LONGEST_TEXT]
    made: type[Odd] = type(title if title.isidentifier() else "object", (Odd,), {})
    return made(str(text)[:_LONGEST_TEXT])


def _parts(graph: Graph) -> tuple[Any, ...]:
    edges = (graph.producers, graph.outputs, graph.consumers, graph.inputs)
    return list(graph.kinds), *edges, list(graph.external), list(graph.labels), list(graph.operations)


def _graph(parts: tuple[Any, ...]) -> Graph:
    import dataclasses

    kinds, producers, outputs, consumers, inputs, external, labels, operations = parts
    escaping = [node for node, flag in enumerate(external) if flag]
    graph = Graph.of_edges(bytes(kinds), producers, outputs, consumers, inputs, escaping, tuple(labels))
    return dataclasses.replace(graph, operations=tuple(operations))


def send(connection: socket.socket, message: Any) -> None:
    """Send a plain value.

    Raises
    ------
    OSError
        Nobody is there to take it.
    """
    tree, blob = encode(message)
    text = json.dumps(tree).encode()
    connection.sendall(_HEAD.pack(len(text), len(blob)) + text)
    connection.sendall(blob)


def receive(connection: socket.socket, until: float | None = None) -> Any:
    """Wait for a plain value.

    Parameters
    ----------
    until : float, optional
        The time, by `time.monotonic`, when waiting ends.

    Raises
    ------
    EOFError
        The other side is gone.
    TimeoutError
        The time is over.
    TooLarge, Garbled
        What came is too much, or is no message.
    """
    texts, bytes_of_arrays = _HEAD.unpack(_exactly(connection, _HEAD.size, until))
    if texts + bytes_of_arrays > LARGEST:
        raise TooLarge(f"{(texts + bytes_of_arrays) / (1 << 20):.0f} MiB")
    text = _exactly(connection, texts, until)
    blob = _exactly(connection, bytes_of_arrays, until)
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Garbled(str(error)) from error
    return decode(tree, blob)


def _exactly(connection: socket.socket, count: int, until: float | None) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        left = None if until is None else until - time.monotonic()
        if left is not None and (left <= 0 or not select.select([connection], [], [], left)[0]):
            raise TimeoutError
        try:
            part = connection.recv(min(count - len(parts), 1 << 20))
        except ConnectionError as error:
            raise EOFError from error
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
