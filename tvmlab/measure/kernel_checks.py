"""Kernels one by one: each fed with the values that it should get, so that no fault spreads from one to the next."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tvm_ffi
from numpy.typing import NDArray

from tvmlab import ongoing
from tvmlab.measure.steps import Environment, Probes, Step, arguments_of, plain_function, steps_of, walk
from tvmlab.measure.ulp import compare
from tvmlab.records import KernelCheck, OutputError

__all__ = ["Level", "Tolerance", "Truth", "check_level", "errors_of", "laid_out", "level_of"]

Array = NDArray[Any]
Value = Any
Tolerance = Callable[[str], float]


@dataclass(frozen=True)
class Truth:
    """What a call gives.

    Parameters
    ----------
    expected
        What it should make of the values that it reads.
    given
        What those who read its result get.  The two differ by rounding: what is read may come from an oracle.
    nodes : tuple of str
        Labels of what it computes.
    before : int or None
        The one step of the level before that does the same; None if there are several.
    """

    expected: Value
    given: Value
    nodes: tuple[str, ...] = ()
    before: int | None = None


@dataclass(frozen=True)
class Level:
    """The module of one stage, its steps and what each of them should give; and the values of its variables."""

    module: Any
    steps: list[Step]
    truths: list[Truth | None]
    environment: Environment
    result: Value
    probes: Probes = field(repr=False)

    def run(self, step: Step) -> Value:
        """What a step gives for the values that it should get."""
        return self.probes.run(step, self.environment)


def level_of(module: Any, feeds: Sequence[Array], truths: Sequence[Truth | None]) -> Level:
    """Lay the values of a model out for a module: each variable gets what it should hold.

    A step whose truth is not known is run, and taken for right.
    """
    probes = Probes(module)
    found = list(truths)

    def take(step: Step, environment: Environment) -> Value:
        truth = found[step.position]
        if truth is None:
            own = probes.run(step, environment)
            found[step.position] = Truth(own, own)
            return own
        return laid_out(truth.given, step.variable.ty)

    environment, result = walk(module, feeds, take)
    return Level(module, steps_of(module), found, environment, result, probes)


def check_level(level: Level, tolerance: Tolerance, before: Level | None = None) -> tuple[KernelCheck, ...]:
    """Run every step that is not the same as one of the level before."""
    same = {step.position for step in level.steps if before is not None and _unchanged(level, step, before)}
    level.probes.prepare(step for step in level.steps if step.position not in same)
    return tuple(_checks(level, tolerance, same))


def _checks(level: Level, tolerance: Tolerance, same: set[int]) -> Iterator[KernelCheck]:
    for at, step in enumerate(level.steps):
        ongoing.say(f"comparing {step.kernel}", at, len(level.steps))
        truth = level.truths[step.position]
        assert truth is not None
        if step.position in same:
            yield KernelCheck(step.kernel, truth.nodes, (), "the same as before")
        else:
            got = level.run(step)
            yield KernelCheck(step.kernel, truth.nodes, errors_of(truth.expected, got, tolerance))


def errors_of(expected: Value, got: Value, tolerance: Tolerance, name: str = "output") -> tuple[OutputError, ...]:
    """Compare a result, each of its tensors by the tolerance of its dtype; the layout of `got` is taken back."""
    if isinstance(expected, tuple):
        parts = zip(expected, got, strict=True)
        return tuple(error for i, (e, g) in enumerate(parts) for error in errors_of(e, g, tolerance, f"{name} {i}"))
    if not isinstance(expected, np.ndarray):
        return ()
    error = compare(expected, _taken_back(got, expected.shape), name)
    return (dataclasses.replace(error, tolerance=tolerance(error.dtype)),)


def laid_out(value: Value, kind: Any) -> Value:
    """A value in the layout of a Relax type: images as blocks of channels, if that is what it says."""
    fields = getattr(kind, "fields", None)
    if fields is not None and isinstance(value, tuple):
        return tuple(laid_out(each, field) for each, field in zip(value, fields, strict=True))
    shape = getattr(getattr(kind, "shape", None), "values", None)
    if not isinstance(value, np.ndarray) or shape is None or len(shape) != value.ndim + 1 or value.ndim != 4:
        return value
    n, c, h, w = value.shape
    lanes = int(shape[4])
    return np.ascontiguousarray(value.reshape(n, c // lanes, lanes, h, w).transpose(0, 1, 3, 4, 2))


def _taken_back(array: Array, shape: tuple[int, ...]) -> Array:
    if array.ndim == 5 and len(shape) == 4:
        return array.transpose(0, 1, 4, 2, 3).reshape(shape)
    return array


def _unchanged(level: Level, step: Step, before: Level) -> bool:
    """Whether the step of the level before is the same kernel on the same values."""
    truth = level.truths[step.position]
    if truth is None or truth.before is None:
        return False
    old = before.steps[truth.before]
    kernels = old.function_in(before.module), step.function_in(level.module)
    if any(kernel is None for kernel in kernels) or not tvm_ffi.structural_equal(*map(plain_function, kernels)):
        return False
    was, now = arguments_of(old, before.environment), arguments_of(step, level.environment)
    return was is not None and now is not None and len(was) == len(now) and all(map(_alike, was, now))


def _alike(a: Value, b: Value) -> bool:
    return a is b or (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and _same_bits(a, b))


def _same_bits(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
