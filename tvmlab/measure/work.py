"""How much a kernel has to do, counted from its TIR: bytes that it must move, and operations.

Every element of an input that is read at all counts once, and so does every element that is written, however often the
loops come back to it: less cannot be moved.  A buffer inside of the kernel counts, written once and read back once,
where one loop nest fills it and another reads it; within one nest it stays in registers or in a cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.measure.accesses import POINTS, Access, Domain, Unknown, evaluate, points_of, read_accesses, variables
from tvmlab.runtime.signature import dtype_of

__all__ = ["FUNCTION_WEIGHT", "Work", "count_work", "sizes_of"]

FUNCTION_WEIGHT = 20
"""Operations that one ``exp``, ``tanh`` or ``erf`` stands for: about those of a polynomial in single precision."""

_MARKED = 1 << 22  # elements: larger sets are added up, not united

Offsets = NDArray[np.int64]


@dataclass(frozen=True)
class Work:
    """What one call of a kernel has to do.

    Parameters
    ----------
    read, written : int
        Bytes of inputs and outputs, each element once.
    around : int
        Bytes of buffers inside of the kernel that go out to memory and come back, both ways counted.
    working_set : int
        Bytes of all these elements, each once.
    flops : int
        Operations on the values that are stored: additions, multiplications, divisions, minima, square roots …
    functions : int
        Calls of ``exp``, ``tanh``, ``erf`` and their kin.
    """

    read: int
    written: int
    around: int
    working_set: int
    flops: int
    functions: int

    @property
    def moved(self) -> int:
        """Bytes, all in all."""
        return self.read + self.written + self.around

    @property
    def operations(self) -> int:
        """`flops`, and `FUNCTION_WEIGHT` for each of `functions`."""
        return self.flops + FUNCTION_WEIGHT * self.functions


def count_work(function: Any, sizes: Mapping[str, int] | None = None) -> Work:
    """Count the bytes and operations of one call of a kernel.

    Parameters
    ----------
    function : tvm.tirx.PrimFunc
        Scheduled or not.
    sizes : mapping of str to int, optional
        Values of its symbolic dimensions, by name; see `sizes_of`.

    Returns
    -------
    Work

    Raises
    ------
    Unknown
        The number of iterations depends on data, or on a size that is not given.

    Notes
    -----
    An index that depends on data counts as if it were another one each time, up to the size of its dimension.
    """
    known = dict(sizes or {})
    found = read_accesses(function, known)
    buffers = dict.fromkeys(access.buffer for access in (*found.reads, *found.writes))
    parameters = set(function.params)
    read = written = around = working_set = 0
    for buffer in buffers:
        reads, writes = ([a for a in some if a.buffer.same_as(buffer)] for some in (found.reads, found.writes))
        inside = buffer not in parameters and bool(writes)
        filled = {access.nest for access in writes}
        back = any(access.nest not in filled for access in reads)  # also of a buffer that is never written
        if inside and not back:
            continue
        size = _bytes_of(buffer)
        coming = size * elements(reads, known) if back else 0
        going = size * elements(writes, known)
        working_set += max(coming, going)
        if inside:
            around += coming + going
        else:
            read, written = read + coming, written + going
    return Work(read, written, around, working_set, round(found.flops), round(found.functions))


def sizes_of(function: Any, arguments: Sequence[Any]) -> dict[str, int]:
    """Values of a kernel's symbolic dimensions.

    Parameters
    ----------
    function : tvm.tirx.PrimFunc
    arguments : sequence
        Shapes of the tensors and values of the numbers that it is called with, in order.
    """
    found: dict[str, int] = {}
    for parameter, given in zip(function.params, arguments, strict=False):
        expected = getattr(parameter, "shape", None)
        pairs = [(parameter, given)] if isinstance(given, int) else zip(expected or (), given, strict=False)
        found.update({str(v.name): int(size) for v, size in pairs if type(v).__name__ in ("Var", "SizeVar")})
    return found


def elements(accesses: Iterable[Access], sizes: Mapping[str, int]) -> int:
    """How many elements of a buffer some accesses touch, each counted once."""
    distinct = list({access.key: access for access in accesses}.values())
    if not distinct:
        return 0
    shape = _shape_of(distinct[0].buffer, sizes)
    most = math.prod(shape)
    touched = [_touched(access, shape, sizes) for access in distinct]
    counts = [most if t is None else t.count for t in touched]
    if max(counts) >= most:
        return most
    if len(counts) == 1:
        return counts[0]
    exact = [t.offsets() for t in touched if t is not None and t.exact and t.count <= _MARKED]
    if len(exact) < len(counts) or most > _MARKED:
        return min(sum(counts), most)
    marks = np.zeros(most, bool)
    for offsets in exact:
        marks[offsets] = True
    return int(marks.sum())


@dataclass(frozen=True)
class _Touched:
    """Elements of a buffer: every sum of one offset from each part, or only how many."""

    count: int
    exact: bool
    parts: tuple[Offsets, ...]

    def offsets(self) -> Offsets:
        found = np.zeros(1, np.int64)
        for part in self.parts:
            found = (found[:, None] + part).reshape(-1)
        return found


def _touched(access: Access, shape: Sequence[int], sizes: Mapping[str, int]) -> _Touched | None:
    """None for the whole buffer."""
    if access.indices is None:
        return None
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    parts: list[Offsets] = []
    count, exact = 1, True
    for axes, domain in _apart(access.indices, access.domain):
        here = [(access.indices[a], shape[a], strides[a]) for a in axes]
        try:
            part = _offsets(here, domain, sizes)
            parts.append(part)
            count *= part.size
        except Unknown:
            exact = False
            points = math.prod(extent for _, extent in domain.values())
            count *= min(points, math.prod(size for _, size, _ in here))
    return _Touched(count, exact, tuple(parts))


def _offsets(axes: list[tuple[Any, int, int]], domain: Domain, sizes: Mapping[str, int]) -> Offsets:
    """Distinct offsets that some axes contribute; what a guard keeps out of the buffer is left out."""
    if math.prod(extent for _, extent in domain.values()) > POINTS:
        raise Unknown("too many")
    values = points_of(domain)
    offset: Any = np.zeros(1, np.int64)
    inside: Any = np.ones(1, bool)
    for index, size, stride in axes:
        at = evaluate(index, values, sizes)
        offset = offset + at * stride
        inside = inside & (at >= 0) & (at < size)
    offset, inside = np.broadcast_arrays(offset, inside)
    return np.unique(offset[inside])


def _apart(indices: Sequence[Any], domain: Domain) -> list[tuple[list[int], Domain]]:
    """Axes whose indices share variables together, others apart, each with the domain of its variables."""
    groups: list[tuple[list[int], dict[Any, tuple[int, int]]]] = []
    for axis, index in enumerate(indices):
        axes, used = [axis], {v: domain[v] for v in variables(index) if v in domain}
        for group in [g for g in groups if not used.keys().isdisjoint(g[1])]:
            groups.remove(group)
            axes, used = [*group[0], *axes], {**group[1], **used}
        groups.append((axes, used))
    return [(axes, used) for axes, used in groups]


def _shape_of(buffer: Any, sizes: Mapping[str, int]) -> list[int]:
    return [int(evaluate(extent, {}, sizes)) for extent in buffer.shape]


def _bytes_of(buffer: Any) -> int:
    dtype = dtype_of(str(buffer.dtype))
    return 1 if dtype is None else dtype.itemsize
