"""Type rules: from the types of an operator's inputs and its attributes to the type of its output.

A rule is a function of the inputs' tensor types, in order, and of attributes, by name.  Each rule here is right also
for what is not known yet: a symbolic dimension stays symbolic, an unknown shape keeps its rank, an unknown rank stays
unknown.

`same` and `broadcast` are rules; `reduce`, `permute`, `from_attrs` and `outputs` make one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tvm.relax import TensorType
from tvm.sym import Analyzer
from tvm.tirx import IntImm

__all__ = [
    "broadcast",
    "different",
    "equal",
    "from_attrs",
    "normalize_axes",
    "outputs",
    "permute",
    "reduce",
    "same",
    "show",
]

Rule = Callable[..., Any]


def same(*tensors: TensorType, **_attributes: Any) -> TensorType:
    """The output has the type of the inputs, which must agree.

    Raises
    ------
    ValueError
        If two inputs differ in dtype, or provably in shape.
    """
    dtype = common_dtype(tensors)
    known = [t for t in tensors if t.shape is not None]
    for other in known[1:]:
        if len(known[0].shape) != len(other.shape) or any(map(different, known[0].shape, other.shape)):
            raise ValueError(f"inputs must have one shape, got {show(known[0])} and {show(other)}")
    if known:
        return TensorType(list(known[0].shape), dtype)
    return TensorType(dtype=dtype, ndim=max(t.ndim for t in tensors))


def broadcast(*tensors: TensorType, **_attributes: Any) -> TensorType:
    """The output has the shape that NumPy broadcasting gives.

    Where a symbolic dimension meets one that it is neither equal to nor known to broadcast with, only the rank of the
    output is known.

    Raises
    ------
    ValueError
        If dtypes differ, or two dimensions are neither equal nor 1.
    """
    dtype = common_dtype(tensors)
    if any(t.ndim < 0 for t in tensors):
        return TensorType(dtype=dtype, ndim=-1)
    rank = max(t.ndim for t in tensors)
    if any(t.shape is None for t in tensors):
        return TensorType(dtype=dtype, ndim=rank)
    shape: list[Any] = []
    for axis in range(-rank, 0):
        dim = _broadcast_dims([t.shape[len(t.shape) + axis] for t in tensors if t.ndim >= -axis], tensors)
        if dim is None:
            return TensorType(dtype=dtype, ndim=rank)
        shape.append(dim)
    return TensorType(shape, dtype)


def _broadcast_dims(dims: list[Any], tensors: tuple[TensorType, ...]) -> Any:
    result: Any = None
    for dim in dims:
        if isinstance(dim, IntImm) and int(dim) == 1:
            continue
        if result is None:
            result = dim
        elif equal(result, dim):
            continue
        elif isinstance(result, IntImm) and isinstance(dim, IntImm):
            shown = " and ".join(show(t) for t in tensors)
            raise ValueError(f"{shown} do not broadcast: {int(result)} against {int(dim)}")
        else:
            return None
    return dims[0] if result is None else result


def reduce(axis: str = "axis", keepdims: str = "keepdims", dtype: str | None = None) -> Rule:
    """Make the rule of a reduction.

    Parameters
    ----------
    axis : str
        Name of the attribute that holds the axes: None (all), an int or a tuple of ints, negative ones from the end.
    keepdims : str
        Name of the attribute that says whether reduced axes stay with size 1; if there is no such attribute, they go.
    dtype : str, optional
        The output's dtype, where it is not the input's.

    Returns
    -------
    rule
        It raises ValueError for an axis out of range or given twice.
    """

    def rule(x: TensorType, **attributes: Any) -> TensorType:
        out = dtype or x.dtype
        keep = bool(attributes.get(keepdims, False))
        if x.ndim < 0:
            return TensorType(dtype=out, ndim=-1)
        axes = normalize_axes(attributes.get(axis), x.ndim)
        if x.shape is None:
            return TensorType(dtype=out, ndim=x.ndim if keep else x.ndim - len(axes))
        dims = list(x.shape)
        if keep:
            return TensorType([1 if i in axes else d for i, d in enumerate(dims)], out)
        return TensorType([d for i, d in enumerate(dims) if i not in axes], out)

    return rule


def permute(axes: str = "axes") -> Rule:
    """Make the rule of a transposition; the attribute named by `axes` holds a permutation, or None to reverse.

    The rule raises ValueError if it is no permutation of the input's axes.
    """

    def rule(x: TensorType, **attributes: Any) -> TensorType:
        if x.ndim < 0:
            return TensorType(dtype=x.dtype, ndim=-1)
        given = attributes.get(axes)
        order = tuple(reversed(range(x.ndim))) if given is None else normalize_axes(given, x.ndim)
        if len(order) != x.ndim:
            raise ValueError(f"{axes}={given} is no permutation of the {x.ndim} axes of {show(x)}")
        if x.shape is None:
            return TensorType(dtype=x.dtype, ndim=x.ndim)
        return TensorType([x.shape[i] for i in order], x.dtype)

    return rule


def from_attrs(shape: str = "shape", dtype: str | None = None) -> Rule:
    """Make the rule of an operator whose output shape, and dtype if `dtype` names one, are attributes.

    Without `dtype`, or where that attribute is None or empty, the output has the dtype of the first input.
    """

    def rule(*tensors: TensorType, **attributes: Any) -> TensorType:
        chosen = attributes.get(dtype) if dtype else None
        if not chosen and not tensors:
            raise ValueError("an operator without inputs needs its dtype from an attribute: rules.from_attrs(dtype=…)")
        return TensorType(list(attributes[shape]), chosen or tensors[0].dtype)

    return rule


def outputs(*rules: Rule) -> Rule:
    """Make the rule of an operator with several outputs: one rule for each, all given the same inputs."""

    def rule(*tensors: TensorType, **attributes: Any) -> tuple[TensorType, ...]:
        return tuple(each(*tensors, **attributes) for each in rules)

    return rule


FACTORIES = (reduce, permute, from_attrs, outputs)


def common_dtype(tensors: tuple[TensorType, ...]) -> Any:
    """The one dtype of all tensors whose dtype is known; ValueError if there are two, or no tensors."""
    if not tensors:
        raise ValueError("this rule needs at least one input")
    dtypes = [t.dtype for t in tensors if t.dtype is not None]
    for dtype in dtypes[1:]:
        if str(dtype) != str(dtypes[0]):
            raise ValueError(f"inputs must have one dtype, got {dtypes[0]} and {dtype}")
    return dtypes[0] if dtypes else None


def normalize_axes(axes: Any, rank: int) -> tuple[int, ...]:
    """Axes as non-negative ints in the order given; None means all of them.

    Raises
    ------
    ValueError
        If one is out of range or given twice.
    """
    if axes is None:
        return tuple(range(rank))
    given = (axes,) if isinstance(axes, int) else tuple(axes)
    result = tuple(a + rank if a < 0 else a for a in given)
    for original, a in zip(given, result, strict=True):
        if not 0 <= a < rank:
            raise ValueError(f"axis {original} is out of range for {rank} axes")
    if len(set(result)) != len(result):
        raise ValueError(f"axes {given} name one axis twice")
    return result


def equal(a: Any, b: Any) -> bool:
    """Whether two dimensions are provably equal."""
    return bool(Analyzer().can_prove_equal(a, b))


def different(a: Any, b: Any) -> bool:
    """Whether two dimensions are provably different."""
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return int(a) != int(b)
    return bool(Analyzer().can_prove(a != b))


def show(kind: Any) -> str:
    """A type as a user writes it: ``float32[n, 4]``, ``float32[?, ?]``, ``(float32[2], float32[3])``."""
    if hasattr(kind, "fields"):
        return f"({', '.join(show(f) for f in kind.fields)})"
    if not isinstance(kind, TensorType):
        return str(kind)
    dtype = kind.dtype if kind.dtype is not None else "?"
    if kind.shape is not None:
        return f"{dtype}[{', '.join(as_written(str(d)) for d in kind.shape)}]"
    return f"{dtype}[{', '.join('?' * kind.ndim) if kind.ndim >= 0 else '…'}]"


def as_written(script: str) -> str:
    """TVMScript of an index or a size as the user wrote it: ``v_j + T.int64(1)`` is ``j + 1``."""
    return re.sub(r"\bv_(\w+)", r"\1", re.sub(r"T\.int(?:32|64)\((-?\d+)\)", r"\1", script))
