"""Arrays as plain bytes in a file, and what is in it as plain data: nothing is ever unpickled."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from tvmlab.runtime.signature import dtype_of

__all__ = ["read", "write"]

_ALIGNED = 64


def write(path: Path, value: Any) -> Any:
    """Write the arrays of a value into a file; returns its description.

    Parameters
    ----------
    value : ndarray, int, or a tuple of such
    """
    with path.open("wb") as file:
        return _described(value, file)


def read(path: Path, description: Any) -> Any:
    """The value that `write` wrote."""
    kind = next(iter(description))
    if kind == "tuple":
        return tuple(read(path, each) for each in description["tuple"])
    if kind == "int":
        return int(description["int"])
    name, shape, offset = description["array"]
    dtype = dtype_of(name)
    if dtype is None:
        raise ValueError(f"no dtype is called {name!r}")
    raw = np.fromfile(path, np.uint8, math.prod(shape) * dtype.itemsize, offset=offset)
    return raw.view(dtype).reshape(shape)


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
