"""Inputs for a model: given ones checked, the others random."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401  registers bfloat16 and its kin with NumPy
import numpy as np
from numpy.typing import NDArray

from tvmlab.errors import CallError, nearest
from tvmlab.records import TensorInfo
from tvmlab.runtime import check_seed

__all__ = ["Feeds", "make_inputs"]

Array = NDArray[Any]
Given = Mapping[str, Any] | Sequence[Any] | None

# Different, so that no two dimensions agree by accident; those of pictures must survive a few halvings.
_SIZES = (2, 3, 5, 7, 11, 13)
_PICTURE_SIZES = (32, 40, 48)
# Not 0, since an integer division by it kills the process; small, since integers are often indices.
_LEAST, _MOST = 1, 3


@dataclass(frozen=True)
class Feeds:
    """The inputs in order, and what was assumed to make them."""

    arrays: tuple[Array, ...]
    notes: tuple[str, ...]


def make_inputs(tensors: Sequence[TensorInfo], given: Given = None, seed: int = 0) -> Feeds:
    """Inputs for a model.

    Parameters
    ----------
    tensors : sequence of TensorInfo
        The model's inputs.
    given : dict or sequence of ndarray, optional
        Inputs by name (not all need be there), or all in order.
    seed : int
        Of the random ones: normal numbers for floats, 1 to 3 for integers (no zero, to divide by), coin flips for
        booleans.

    Raises
    ------
    CallError
        A given input has a wrong name, shape or dtype, a shape cannot be made up, or the seed is none.
    """
    check_seed(seed)
    chosen = _by_name(tensors, given)
    for tensor in tensors:
        if tensor.name not in chosen and (tensor.shape is None or not tensor.dtype):
            what = "dtype" if tensor.shape is not None else "shape"
            raise CallError(f"the {what} of {tensor.name} is not known", mend=f"give it: inputs={{{tensor.name!r}: …}}")
    sizes: dict[str, int] = {}
    for tensor in tensors:
        if tensor.name in chosen:
            _bind(tensor, chosen[tensor.name], sizes)
    assumed = _assume(tensors, sizes)
    random = np.random.default_rng(seed)
    arrays = tuple(
        chosen[t.name] if t.name in chosen else _random(random, _shape(t, sizes), np.dtype(t.dtype)) for t in tensors
    )
    for tensor, array in zip(tensors, arrays, strict=True):
        if tensor.shape is not None and array.shape != _shape(tensor, sizes):
            raise CallError(f"{tensor.name} has shape {array.shape}, but {tensor} says {_shape(tensor, sizes)}")
    made_up = ", ".join(f"{name} = {size}" for name, size in assumed.items())
    return Feeds(arrays, (f"open dimensions were set: {made_up}",) if assumed else ())


def _by_name(tensors: Sequence[TensorInfo], given: Given) -> dict[str, Array]:
    if given is None:
        return {}
    names = [tensor.name for tensor in tensors]
    if not isinstance(given, Mapping):
        if isinstance(given, np.ndarray):
            given = [given]
        if len(given) != len(names):
            raise CallError(f"{len(given)} inputs were given, the model takes {len(names)}: {', '.join(names)}")
        given = dict(zip(names, given, strict=True))
    dtypes = {tensor.name: np.dtype(tensor.dtype) if tensor.dtype else None for tensor in tensors}
    for name in given:
        if name not in dtypes:
            near = nearest(name, names)
            raise CallError(f"the model has no input {name!r}", mend=f"did you mean {near!r}?" if near else None)
    return {name: _cast(name, np.asarray(value), dtypes[name]) for name, value in given.items()}


def _cast(name: str, array: Array, dtype: np.dtype[Any] | None) -> Array:
    if dtype is None:
        return array
    if array.dtype != dtype and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise CallError(f"{name} is {array.dtype}, the model takes {dtype}", mend=f"{name}.astype({dtype.name!r})")
    return np.ascontiguousarray(array, dtype) if array.ndim else array.astype(dtype)


def _bind(tensor: TensorInfo, array: Array, sizes: dict[str, int]) -> None:
    """Read open dimensions off a given array."""
    if tensor.shape is None:
        return
    if len(tensor.shape) != array.ndim:
        raise CallError(f"{tensor.name} has {array.ndim} dimensions, but {tensor} has {len(tensor.shape)}")
    for dimension, size in zip(tensor.shape, array.shape, strict=True):
        if isinstance(dimension, str) and dimension.isidentifier():
            sizes.setdefault(dimension, size)


def _assume(tensors: Sequence[TensorInfo], sizes: dict[str, int]) -> dict[str, int]:
    """Set the open dimensions that are still open; returns these."""
    assumed: dict[str, int] = {}
    for tensor in tensors:
        for position, dimension in enumerate(tensor.shape or ()):
            for name in sorted(_names(dimension)):
                if name not in sizes:
                    picture = len(tensor.shape or ()) >= 4 and position >= 2
                    choice = _PICTURE_SIZES if picture else _SIZES
                    taken = sum(size in choice for size in assumed.values())
                    sizes[name] = assumed[name] = choice[taken % len(choice)]
    return assumed


def _names(dimension: int | str) -> set[str]:
    if isinstance(dimension, int):
        return set()
    dimension = _as_python(dimension)
    if not _is_formula(dimension):
        return {dimension}
    return {node.id for node in ast.walk(ast.parse(dimension, mode="eval")) if isinstance(node, ast.Name)}


def _as_python(dimension: str) -> str:
    """A dimension's text without the types that TVM prints with numbers: ``n + T.int64(1)``."""
    return re.sub(r"T\.int\d+\((-?\d+)\)", r"\1", dimension)


def _shape(tensor: TensorInfo, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(_size(dimension, sizes) for dimension in tensor.shape or ())


_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def _is_formula(dimension: str) -> bool:
    """Whether a dimension is arithmetic such as ``n * 2``; other names may hold anything (``batch size``)."""
    try:
        body = ast.parse(dimension, mode="eval").body
    except SyntaxError:
        return False
    allowed = (ast.BinOp, ast.Name, ast.Constant, ast.operator, ast.expr_context)
    return isinstance(body, ast.BinOp) and all(isinstance(node, allowed) for node in ast.walk(body))


def _size(dimension: int | str, sizes: Mapping[str, int]) -> int:
    if isinstance(dimension, int):
        return dimension
    dimension = _as_python(dimension)
    if not _is_formula(dimension):
        return sizes[dimension]

    def evaluate(node: ast.expr) -> int:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            return _OPERATIONS[type(node.op)](evaluate(node.left), evaluate(node.right))
        if isinstance(node, ast.Name):
            return sizes[node.id]
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        raise CallError(f"the dimension {dimension!r} cannot be made up", mend="give the inputs: inputs={...}")

    return evaluate(ast.parse(dimension, mode="eval").body)


def _random(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return random.integers(_LEAST, _MOST, shape, endpoint=True).astype(dtype)
    return random.standard_normal(shape).astype(dtype)
