"""The forms of one operator that are timed against each other: its NumPy reference, others composed, its own kernel."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tvmlab.errors import CallError, TvmlabError, nearest
from tvmlab.measure.inputs import Feeds, Given, make_inputs
from tvmlab.records import TensorInfo

if TYPE_CHECKING:
    from tvmlab.ops import Op
    from tvmlab.pipeline import Model

__all__ = ["KERNEL", "OP_SIDES", "Form", "OperatorForms", "operator_forms"]

OP_SIDES = ("numpy", "composed", "kernel")
KERNEL = "kernel"
_SCALES = (256, 64, 16, 8, 4, 2, 1)
_MOST = 1 << 21  # elements of all inputs together
_MOST_OF_PICTURES = 1 << 16  # of inputs with four axes or more, whose kernels grow with them


@dataclass(frozen=True)
class Form:
    """A call, and what a reader must know of it."""

    call: Callable[[], Any]
    note: str


@dataclass(frozen=True)
class OperatorForms:
    """The forms by their names, the inputs, and the operator alone as a model."""

    forms: Mapping[str, Form]
    feeds: Feeds
    model: Model
    notes: tuple[str, ...]


def operator_forms(
    op: Op, sides: Sequence[str] | None, composed: Any, attributes: Mapping[str, Any], inputs: Given, seed: int
) -> OperatorForms:
    """Make the forms that are to be timed.

    Parameters are those of `bench`.

    Raises
    ------
    CallError
        A side is unknown or not to be had, or there is no example to take the inputs from.
    """
    chosen = _chosen(op, sides, composed)
    feeds, model, values = _fed(op, attributes, inputs, seed)
    forms: dict[str, Form] = {}
    for side in chosen:
        if side == "numpy":
            forms[side] = Form(
                lambda: op.reference(*feeds.arrays, **values), "its reference; each call makes new arrays"
            )
        elif side == KERNEL:
            forms[side] = _compiled(model, feeds)
        else:
            forms[side] = _compiled(_model_of(op, _composition(composed), feeds, values), feeds)
    given = ", ".join(f"{a.dtype}[{', '.join(map(str, a.shape))}]" for a in feeds.arrays)
    named = "".join(f", {name}={value!r}" for name, value in values.items())
    return OperatorForms(forms, feeds, model, (f"called with {given}{named}",))


def _chosen(op: Op, sides: Sequence[str] | None, composed: Any) -> Sequence[str]:
    there = [s for s in OP_SIDES if (s != "numpy" or op.spec.reference) and (s != "composed" or composed is not None)]
    if sides is None:
        return there
    if isinstance(sides, str) or not sides or len(set(sides)) != len(sides):
        raise CallError(f"sides={sides!r} must be different names", mend=f"sides={OP_SIDES!r}")
    for side in sides:
        if side not in OP_SIDES:
            near = nearest(side, OP_SIDES)
            hint = f"did you mean {near!r}?" if near else f"an operator's sides are {', '.join(OP_SIDES)}"
            raise CallError(f"there is no side {side!r} of an operator", mend=hint)
        if side not in there:
            mend = "give it: composed=…" if side == "composed" else "add def reference(x, …) in NumPy to its cell"
            raise CallError(f"{op.name} has no side {side!r}", mend=mend)
    return sides


def _fed(op: Op, attributes: Mapping[str, Any], inputs: Given, seed: int) -> tuple[Feeds, Model, dict[str, Any]]:
    """Inputs, the operator as a model that takes them, and its attributes."""
    example = op.examination.example
    if inputs is None and example is None:
        raise CallError(f"no inputs of {op.name} are known", mend="give some: inputs=[…]")
    values = dict(attributes) if attributes or example is None else dict(example.attributes)
    if inputs is not None:
        arrays = list(inputs.values() if isinstance(inputs, Mapping) else inputs)
        types = tuple(TensorInfo(f"x{i}", np.shape(a), np.asarray(a).dtype.name) for i, a in enumerate(arrays))
        feeds = make_inputs(types, arrays, seed)
        return feeds, _model_of(op, op, feeds, values), values
    failure: TvmlabError | None = None
    for types in _larger(example):
        feeds = make_inputs(types, None, seed)
        try:
            return feeds, _model_of(op, op, feeds, values), values
        except TvmlabError as error:
            failure = error
    assert failure is not None
    raise failure


def _larger(example: Any) -> Iterator[tuple[TensorInfo, ...]]:
    """Inputs of the form of an example, each size but 1 many times as large; the largest that fit come first."""
    shapes = [tuple(map(int, kind.shape)) for kind in example.types]
    dtypes = [str(kind.dtype) for kind in example.types]
    most = _MOST_OF_PICTURES if any(len(shape) > 3 for shape in shapes) else _MOST
    for scale in _SCALES:
        made = [tuple(size if size == 1 else size * scale for size in shape) for shape in shapes]
        if scale == 1 or sum(map(math.prod, made)) <= most:
            yield tuple(TensorInfo(f"x{i}", s, d) for i, (s, d) in enumerate(zip(made, dtypes, strict=True)))


def _composition(composed: Any) -> Callable[..., Any]:
    if isinstance(composed, str):
        from tvmlab import ops

        found: Callable[..., Any] = ops.find(composed)
        return found
    if not callable(composed):
        raise CallError(
            f"composed={composed!r} is no operator and no function", mend="give a function of Relax expressions"
        )
    made: Callable[..., Any] = composed
    return made


def _model_of(op: Op, function: Callable[..., Any], feeds: Feeds, values: Mapping[str, Any]) -> Model:
    """A model that calls a function of Relax expressions on these inputs."""
    from tvm.relax import TensorType

    from tvmlab import pipeline

    def called(*tensors: Any) -> Any:
        return function(*tensors, **values)

    parameters = [
        inspect.Parameter(
            f"x{i}", inspect.Parameter.POSITIONAL_ONLY, annotation=TensorType(array.shape, array.dtype.name)
        )
        for i, array in enumerate(feeds.arrays)
    ]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return pipeline.graph(called, name=op.name)


def _compiled(model: Model, feeds: Feeds) -> Form:
    from tvmlab import pipeline

    trace = pipeline.trace(model)
    before, after = trace["legalize"].kernels, trace["schedule"].kernels
    note = f"{before} → {after} kernels" if before != after else f"{after} kernel{'s' * (after != 1)}"
    return Form(trace.executable.bind(*feeds.arrays), note)
