"""Does a te.compute read only inside its inputs?  Proved if possible, tried out if not.

TVM's OOBChecker looks at each index alone and forgets the guard around it, so it refuses a textbook
``if_then_else(0 <= i + r - 1 < n, x[i + r - 1], 0)``; and of an index that it cannot bound, such as ``i * i``, it says
nothing.  Here an index is proved under the conditions that lead to it; what cannot be proved is evaluated for every
element, if the sizes are known and small.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import te, tirx
from tvm.ir import Call, Range, Var
from tvm.sym import Analyzer
from tvm.tirx import IntImm
from tvm.tirx.analysis import undefined_vars

from tvmlab.ops.evaluate import NotEvaluable, children, compute_value

MAX_POINTS = 4096
"""Elements that are tried out at most, reduction axes counted; a point takes about 10 µs."""


@dataclass(frozen=True)
class Read:
    """One read that is outside, or that could be.

    Parameters
    ----------
    tensor : str
        Which tensor is read.
    axis : int
        On which of its axes.
    index : str
        The index as TVM prints it.
    size : str
        The size of that axis.
    value : int or None
        An index that was found to be outside; None if the read is merely unproved.
    of_symbols : bool
        Whether the index is an axis as it is, whose size and the size of what it reads are different symbols, or a
        symbol and a number.
    """

    tensor: str
    axis: int
    index: str
    size: str
    value: int | None = None
    of_symbols: bool = False


def unproved_reads(outputs: Sequence[te.Tensor]) -> list[Read]:
    """The reads of some te tensors, and of all that they are computed from, that cannot be proved to be inside."""
    found: list[Read] = []
    for tensor in stages(outputs):
        analyzer = Analyzer()
        extents = {}
        axes = [*tensor.op.axis, *tensor.op.reduce_axis]
        for symbol in {v for axis in axes for v in undefined_vars(axis.dom.extent)}:
            analyzer.bind(symbol, Range(0, 1 << 40))  # sizes are not negative
        for axis in axes:
            analyzer.bind(axis.var, axis.dom)
            extents[axis.var] = axis.dom.extent
        for body in tensor.op.body:
            found.extend(_unproved(body, analyzer, extents))
    return found


def stages(outputs: Sequence[te.Tensor]) -> list[te.Tensor]:
    """All te.compute tensors that some tensors are made of, each once."""
    seen: dict[Any, te.Tensor] = {}
    queue = list(outputs)
    while queue:
        tensor = queue.pop()
        if isinstance(tensor.op, te.ComputeOp) and tensor.op not in seen:
            seen[tensor.op] = tensor
            queue.extend(tensor.op.input_tensors)
    return list(seen.values())


def _unproved(node: Any, analyzer: Analyzer, extents: Mapping[Var, Any]) -> Iterator[Read]:
    if isinstance(node, Call) and node.op.name.endswith(".if_then_else"):
        condition, yes, no = node.args
        yield from _unproved(condition, analyzer, extents)
        if _reads(condition):  # what depends on data proves nothing
            yield from _unproved(yes, analyzer, extents)
            yield from _unproved(no, analyzer, extents)
            return
        with analyzer.constraint_scope(condition):
            yield from list(_unproved(yes, analyzer, extents))
        with analyzer.constraint_scope(tirx.Not(condition)):
            yield from list(_unproved(no, analyzer, extents))
        return
    if isinstance(node, Call) and node.op.name.endswith(".tensor_load"):
        source, *index = node.args
        for axis, (at, size) in enumerate(zip(index, source.shape, strict=True)):
            if _reads(at) or not (analyzer.can_prove(at >= 0) and analyzer.can_prove(at < size)):
                reach = extents.get(at) if isinstance(at, Var) else None
                yield Read(source.op.name, axis, str(at), str(size), of_symbols=_of_symbols(reach, size))
            yield from _unproved(at, analyzer, extents)
        return
    for child in children(node):
        yield from _unproved(child, analyzer, extents)


def _reads(node: Any) -> bool:
    """Whether an expression reads a tensor."""
    if isinstance(node, Call) and node.op.name.endswith(".tensor_load"):
        return True
    return any(map(_reads, children(node)))


def _of_symbols(reach: Any, size: Any) -> bool:
    """Whether two sizes are symbols, or a symbol and a number."""
    return all(isinstance(s, Var | IntImm) for s in (reach, size)) and not (
        isinstance(reach, IntImm) and isinstance(size, IntImm)
    )


def first_read_outside(outputs: Sequence[te.Tensor]) -> Read | None:
    """Try every element out; the first read that is outside, None if there is none.

    Raises
    ------
    NotEvaluable
        If sizes are symbolic or too large, or an index depends on data.
    """
    computed = stages(outputs)
    if sum(map(_points, computed)) > MAX_POINTS:
        raise NotEvaluable("too many elements")
    for tensor in computed:
        axes = [*tensor.op.axis, *tensor.op.reduce_axis]
        ranges = [range(int(a.dom.min), int(a.dom.min) + int(a.dom.extent)) for a in axes]
        for point in itertools.product(*ranges):
            bound = dict(zip((a.var for a in axes), point, strict=True))
            for body in tensor.op.body:
                for read in _outside(body, bound):
                    return read
    return None


def _points(tensor: te.Tensor) -> int:
    extents = [axis.dom.extent for axis in (*tensor.op.axis, *tensor.op.reduce_axis)]
    if not all(isinstance(e, IntImm) for e in extents):
        raise NotEvaluable("symbolic sizes")
    return math.prod(int(e) for e in extents)


def _outside(node: Any, bound: Mapping[Var, int]) -> Iterator[Read]:
    for load in loads(node, bound):
        source, *index = load.args
        for axis, (at, size) in enumerate(zip(index, source.shape, strict=True)):
            value = compute_value(at, bound)
            if not 0 <= value < compute_value(size, bound):
                yield Read(source.op.name, axis, str(at), str(size), value=value)


def loads(node: Any, bound: Mapping[Var, int]) -> Iterator[Call]:
    """The reads of an expression for some values of the axes: of a condition, and of the branch that it leads to."""
    if isinstance(node, Call) and node.op.name.endswith(".if_then_else"):
        condition, yes, no = node.args
        yield from loads(condition, bound)
        try:
            taken = [yes if compute_value(condition, bound) else no]
        except NotEvaluable:  # it depends on data: either may be read
            taken = [yes, no]
        for branch in taken:
            yield from loads(branch, bound)
        return
    if isinstance(node, Call) and node.op.name.endswith(".tensor_load"):
        yield node
    for child in children(node):
        yield from loads(child, bound)


def is_computed(tensor: te.Tensor) -> bool:
    """Whether a tensor is made by te.compute."""
    return isinstance(tensor.op, te.ComputeOp)
