"""Which elements one element of a te.compute is made of, through all stages, and which of them do not exist."""

from __future__ import annotations

import inspect
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm import te
from tvm.relax import TensorType

from tvmlab.errors import CallError, TvmlabError
from tvmlab.ops import bounds, lowering
from tvmlab.ops.evaluate import NotEvaluable, compute_value
from tvmlab.ops.op import Op
from tvmlab.records import Reads, TensorReads

__all__ = ["first_outside", "reads", "reads_of"]

Point = tuple[int, ...]

_MOST = 10_000
"""Points of stages that are evaluated at most, reduction axes counted, to follow one element; a point takes 10 µs."""


def reads(
    subject: Op | Callable[..., Any] | te.Tensor,
    at: Sequence[int] | None = None,
    *,
    shapes: Sequence[Sequence[int]] | None = None,
    output: int = 0,
    **attributes: Any,
) -> Reads:
    """Which input elements an element of the output reads.

    Parameters
    ----------
    subject : Op, callable or te.Tensor
        A live operator; or a function from te tensors, and attributes by name, to what te.compute gives; or that.
    at : sequence of int, optional
        The element.  Default: the first that reads outside of a tensor, else the one in the middle.
    shapes : sequence of sequence of int, optional
        Of the inputs.  Default: those of the operator's example.
    output : int
        Which one, of several.
    **attributes
        Of the operator, or arguments of the function.

    Returns
    -------
    Reads

    Raises
    ------
    CallError
        There is no such element; shapes are missing or symbolic; the function fails; it is too much to follow.
    ComputeError, AttributeSchemaError
        The operator does not take them.
    """
    name, inputs, outputs = _tensors(subject, shapes, attributes)
    if not 0 <= output < len(outputs):
        raise CallError(f"output={output}: it has {len(outputs)}", where=name, mend="output=0 is the first")
    return reads_of(name, outputs, at, output, inputs)


def reads_of(
    name: str,
    outputs: Sequence[te.Tensor],
    at: Sequence[int] | None = None,
    output: int = 0,
    inputs: Sequence[te.Tensor] = (),
) -> Reads:
    """The same for te tensors; what `inputs` are not read are shown too."""
    shape = _shape(outputs[output])
    point = tuple(at) if at is not None else first_outside(outputs[output]) or tuple(size // 2 for size in shape)
    if len(point) != len(shape) or not _is_inside(point, shape) or not all(type(i) is int for i in point):
        raise CallError(
            f"there is no element {list(point)} in an output of shape {list(shape)}",
            where=name,
            mend=f"at={tuple(size // 2 for size in shape)}, or leave it out",
        )
    found = _follow(outputs[output], point)
    needed = [*(_Needed(tensor) for tensor in inputs if _key(tensor) not in found), *reversed(found.values())]
    places = {_key(tensor): at for at, tensor in enumerate(inputs)}
    read = sorted((n for n in needed if not bounds.is_computed(n.tensor)), key=lambda n: places.get(_key(n.tensor), 99))
    computed = [n for n in needed if bounds.is_computed(n.tensor)]  # the output last
    roles = [("input", read), ("between", computed[:-1]), ("output", computed[-1:])]
    return Reads(name, point, tuple(_told(each, role) for role, some in roles for each in some))


def first_outside(tensor: te.Tensor) -> Point | None:
    """The first element of a tensor that reads outside, on the way through other stages too; None if none is found."""
    left = _MOST
    for point in itertools.product(*map(range, _shape(tensor))):
        try:
            found = _follow(tensor, point, left)
        except CallError:
            return None
        left -= sum(each.times.total() for each in found.values())
        if any(not _is_inside(index, _shape(each.tensor)) for each in found.values() for index in each.times):
            return point
    return None


@dataclass
class _Needed:
    """How often each element of a tensor is read, and whether data says which; what is computed is computed once."""

    tensor: te.Tensor
    times: Counter[Point] = field(default_factory=Counter)
    by_data: bool = False


_Key = tuple[Any, int]


def _key(tensor: te.Tensor) -> _Key:
    """What tells tensors apart: those of no axes cannot be compared."""
    return tensor.op, tensor.value_index


def _follow(output: te.Tensor, point: Point, most: int = _MOST) -> dict[_Key, _Needed]:
    """From one element back to the inputs; each tensor after those that read it."""
    needed = {_key(tensor): _Needed(tensor) for tensor in _from_the_end(output)}
    needed[_key(output)].times[point] = 1
    left = most
    for each in needed.values():
        tensor = each.tensor
        if not bounds.is_computed(tensor):
            continue
        shape = _shape(tensor)
        for index in each.times:
            if not _is_inside(index, shape):
                continue
            for bound in _points(tensor, index):
                left -= 1
                if left < 0:
                    raise CallError("it reads too many elements to follow them", mend="take smaller shapes")
                for source, read in _loads(tensor, bound):
                    if read is None:
                        needed[_key(source)].by_data = True
                    else:
                        needed[_key(source)].times[read] += 1
    return {key: each for key, each in needed.items() if each.times or each.by_data}


def _from_the_end(output: te.Tensor) -> list[te.Tensor]:
    """All tensors that an output is made of, each after those that read it."""
    done: list[te.Tensor] = []
    stack: list[tuple[te.Tensor, bool]] = [(output, False)]
    seen: set[_Key] = set()
    while stack:
        tensor, finished = stack.pop()
        if finished:
            done.append(tensor)
        elif _key(tensor) not in seen:
            seen.add(_key(tensor))
            stack.append((tensor, True))
            stack += [(source, False) for source in tensor.op.input_tensors]
    return done[::-1]


def _points(tensor: te.Tensor, index: Point) -> Iterator[dict[Any, int]]:
    """Values of all axes that make one element."""
    own = dict(zip((axis.var for axis in tensor.op.axis), index, strict=True))
    over = list(tensor.op.reduce_axis)
    ranges = [range(_number(a.dom.min), _number(a.dom.min) + _number(a.dom.extent)) for a in over]
    for values in itertools.product(*ranges):
        yield {**own, **dict(zip((axis.var for axis in over), values, strict=True))}


def _loads(tensor: te.Tensor, bound: Mapping[Any, int]) -> Iterator[tuple[te.Tensor, Point | None]]:
    for load in bounds.loads(tensor.op.body[tensor.value_index], bound):
        source, *index = load.args
        try:
            yield source, tuple(int(compute_value(at, bound)) for at in index)
        except NotEvaluable:
            yield source, None


def _told(each: _Needed, role: str) -> TensorReads:
    shape = _shape(each.tensor)
    inside = {index: times for index, times in each.times.items() if _is_inside(index, shape)}
    outside = tuple(index for index in each.times if index not in inside)
    return TensorReads(each.tensor.op.name, shape, role, inside, outside, each.by_data)


def _is_inside(index: Point, shape: Point) -> bool:
    return all(0 <= at < size for at, size in zip(index, shape, strict=True))


def _shape(tensor: te.Tensor) -> Point:
    return tuple(map(_number, tensor.shape))


def _number(size: Any) -> int:
    try:
        return int(size)
    except TypeError as error:
        raise CallError(f"the size {size} is a symbol", mend="give shapes of numbers: shapes=[(4, 5)]") from error


def _tensors(
    subject: Any, shapes: Sequence[Sequence[int]] | None, attributes: Mapping[str, Any]
) -> tuple[str, list[te.Tensor], list[te.Tensor]]:
    """Its name, the te tensors that go in, and those that come out."""
    if isinstance(subject, Op):
        return _of_operator(subject, shapes, attributes)
    if isinstance(subject, te.Tensor):
        return subject.op.name, [], [subject]
    if not callable(subject):
        raise CallError(f"a {type(subject).__name__} reads nothing", mend="give an operator, or a function over te")
    if shapes is None:
        raise CallError("the shapes of the inputs are needed", mend="shapes=[(4, 5)], one for each input")
    return _of_function(subject, shapes, attributes)


def _of_operator(
    op: Op, shapes: Sequence[Sequence[int]] | None, attributes: Mapping[str, Any]
) -> tuple[str, list[te.Tensor], list[te.Tensor]]:
    example = op.examination.example
    known = list(example.types) if example is not None else []
    if shapes is None and not known:
        raise CallError(f"no inputs are known that {op.name} takes", mend="shapes=[(4, 5)], one for each input")
    types = known if shapes is None else [_type(shape, at, known) for at, shape in enumerate(shapes)]
    given = {**(example.attributes if example is not None else {}), **attributes}
    values = op.spec.schema.values(op.spec.schema.make(given))
    names = [*op.spec.tensors, *(f"x{at}" for at in range(len(types)))][: len(types)]
    inputs = [te.placeholder(list(t.shape), str(t.dtype), name=n) for t, n in zip(types, names, strict=True)]
    return op.name, inputs, lowering.run_compute(op.spec, inputs, values)


def _type(shape: Sequence[int], at: int, known: Sequence[TensorType]) -> TensorType:
    return TensorType(list(shape), str(known[min(at, len(known) - 1)].dtype) if known else "float32")


def _of_function(
    function: Callable[..., Any], shapes: Sequence[Sequence[int]], attributes: Mapping[str, Any]
) -> tuple[str, list[te.Tensor], list[te.Tensor]]:
    name = getattr(function, "__name__", "function")
    called = [parameter for parameter in inspect.signature(function).parameters if parameter not in attributes]
    names = [*called, *(f"x{at}" for at in range(len(shapes)))][: len(shapes)]
    try:
        inputs = [te.placeholder(list(shape), "float32", name=n) for shape, n in zip(shapes, names, strict=True)]
        made = function(*inputs, **attributes)
    except TvmlabError:
        raise
    except Exception as error:
        raise CallError(f"{name} fails on shapes {shapes}: {type(error).__name__}: {error}", where=name) from error
    outputs = list(made) if isinstance(made, list | tuple) else [made]
    if not outputs or not all(isinstance(each, te.Tensor) for each in outputs):
        raise CallError(f"{name} returns a {type(made).__name__}, not a te tensor", mend="return te.compute(…)")
    return name, inputs, outputs
