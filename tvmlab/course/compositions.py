"""Properties of functions that compose an operator of TVM's own."""

from __future__ import annotations

import inspect
import types as python
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tvmlab.course.values import Case, Cases, compare
from tvmlab.errors import CallError
from tvmlab.records import Mismatch, Property
from tvmlab.sandbox import beside

if TYPE_CHECKING:
    from tvmlab.pipeline import Model

__all__ = ["calls_at_most", "composes", "fuses_into", "model_of"]


def model_of(answer: Callable[..., Any], types: Sequence[str]) -> Model:
    """The model of a function from Relax expressions to one.

    Parameters
    ----------
    answer : callable
    types : sequence of str
        Of its inputs: ``"float32[3, 4]"``.

    Raises
    ------
    CallError
        It takes another number of inputs.
    LoadError
        It fails, or returns no Relax expression.
    """
    from tvmlab import pipeline

    names = list(inspect.signature(answer).parameters)
    if len(names) != len(types) or not inspect.isfunction(answer):
        raise CallError(f"the function takes {len(names)} inputs, and should take {len(types)}")
    typed = python.FunctionType(answer.__code__, answer.__globals__, answer.__name__, None, answer.__closure__)
    typed.__annotations__ = dict(zip(names, types, strict=True))
    return pipeline.graph(typed)


def calls_at_most(most: int, types: Sequence[str], name: str) -> Property:
    """A property: so few calls, and all of operators that TVM has."""

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        called, own = beside(answer, calls, types)
        if own:
            return Mismatch(f"{own[0]} is no operator of TVM's own", mend="use relax.op alone")
        if not 0 < len(called) <= most:
            return Mismatch(f"there are {len(called)} calls, and {most} are enough: {', '.join(called) or 'none'}")
        return None

    return Property(name, check)


def composes(reference: Callable[..., Any], cases: Cases, name: str) -> Property:
    """A property: on every case the composition, compiled and run, gives what `reference` gives."""

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        names = tuple(inspect.signature(reference).parameters)
        for case in cases(random):
            types = [f"{t.dtype}{list(t.shape)}" for t in case.tensors]
            got = beside(answer, run, types, list(case.tensors))
            found = compare(got, reference(*case.tensors), Case(case.tensors, {}), names)
            if found is not None:
                return found
        return None

    return Property(name, check)


def fuses_into(kernels: int, types: Sequence[str], name: str) -> Property:
    """A property: TVM's FuseOps makes so many kernels of it."""

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        groups = beside(answer, fused, types)
        if len(groups) == kernels:
            return None
        made = "; ".join(" · ".join(group) for group in groups)
        return Mismatch(f"{len(groups)} left when TVM has fused it, and {kernels} are asked for: {made}")

    return Property(name, check)


def calls(answer: Callable[..., Any], types: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of the operators that an answer calls, in order, and of those among them that are not TVM's own."""
    from tvmlab import ops

    called = _operators(model_of(answer, types))
    names = [each.removeprefix("relax.") for each in called]
    return called, [name for name in names if name in ops.live_names()]


def run(answer: Callable[..., Any], types: Sequence[str], tensors: Sequence[Any]) -> Any:
    """What the composition gives for some arrays."""
    from tvmlab import pipeline

    return pipeline.trace(model_of(answer, types)).executable.run(*tensors)


def fused(answer: Callable[..., Any], types: Sequence[str]) -> list[list[str]]:
    """The groups that FuseOps makes of it, as names of nodes."""
    from tvmlab import pipeline

    partition = pipeline.fuse(model_of(answer, types), engine="tvm")
    return [[str(node) for node in group.nodes] for group in partition.groups]


def _operators(model: Model) -> list[str]:
    """Names of what a model's main calls, in order."""
    from tvm import ir, relax

    found: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, relax.Call) and isinstance(node.op, ir.Op):
            found.append(str(node.op.name))

    relax.analysis.post_order_visit(model.module["main"], visit)
    return found
