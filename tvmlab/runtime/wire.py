"""Arrays as plain bytes in a file, and what is in it as plain data: nothing is ever unpickled.

The file is in memory where there is such a folder.  Its pages are kept from call to call, since asking the system for
them costs more than filling them, and it is mapped for reading, so that a kernel reads it where it lies.
"""

from __future__ import annotations

import math
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np

from tvmlab.runtime.signature import dtype_of

__all__ = ["mapped", "read", "write"]

_ALIGNED = 64
_KEPT_BYTES = 64 << 20


def write(path: Path, value: Any) -> Any:
    """Write the arrays of a value into a file; returns its description.

    Parameters
    ----------
    value : ndarray, int, or a tuple of such
    """
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600), "r+b") as file:
        description = _described(value, file)
        if os.fstat(file.fileno()).st_size > max(file.tell(), _KEPT_BYTES):
            file.truncate()
        return description


def read(path: Path, description: Any) -> Any:
    """The value that `write` wrote."""
    kind = next(iter(description))
    if kind == "tuple":
        return tuple(read(path, each) for each in description["tuple"])
    if kind == "int":
        return int(description["int"])
    dtype, shape, offset = _array(description)
    raw = np.fromfile(path, np.uint8, math.prod(shape) * dtype.itemsize, offset=offset)
    return raw.view(dtype).reshape(shape)


def mapped(path: Path, descriptions: list[Any]) -> list[Any]:
    """Arrays that `write` wrote, as they lie in the file: aligned, and valid until it is written anew."""
    arrays = [_array(description) for description in descriptions]
    ends = [offset + math.prod(shape) * dtype.itemsize for dtype, shape, offset in arrays]
    if not max(ends, default=0):
        return [np.empty(shape, dtype) for dtype, shape, _ in arrays]
    with path.open("r+b") as file:
        memory = mmap.mmap(file.fileno(), max(ends))
    raw = np.frombuffer(memory, np.uint8)
    return [
        raw[offset:end].view(dtype).reshape(shape) for (dtype, shape, offset), end in zip(arrays, ends, strict=True)
    ]


def _array(description: Any) -> tuple[Any, list[int], int]:
    name, shape, offset = description["array"]
    dtype = dtype_of(name)
    if dtype is None:
        raise ValueError(f"no dtype is called {name!r}")
    return dtype, shape, offset


def _described(value: Any, file: Any) -> Any:
    if isinstance(value, tuple):
        return {"tuple": [_described(each, file) for each in value]}
    if isinstance(value, int):
        return {"int": value}
    array = np.asarray(value, dtype=value.dtype.newbyteorder("="), order="C")
    file.write(b"\0" * (-file.tell() % _ALIGNED))
    offset = file.tell()
    file.write(array.reshape(-1).view(np.uint8).data)
    return {"array": [array.dtype.name, list(array.shape), offset]}
