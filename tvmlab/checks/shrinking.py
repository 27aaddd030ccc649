"""The smallest input on which an operator still differs from its reference."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tvmlab.checks.comparison import Mismatch, expectation, first_mismatch
from tvmlab.checks.subject import Configuration, Refused, Subject
from tvmlab.errors import TvmlabError
from tvmlab.ops.attributes import REQUIRED
from tvmlab.ops.evaluate import NotEvaluable

__all__ = ["Counterexample", "differs", "shrink"]

Array = NDArray[Any]

_STEPS = 400
_COMPILED_STEPS = 60


@dataclass(frozen=True)
class Counterexample:
    """Arrays and attributes on which operator and reference differ."""

    configuration: Configuration
    arrays: tuple[Array, ...]
    mismatch: Mismatch


def differs(
    subject: Subject, configuration: Configuration, arrays: Sequence[Array], precision: str | None = None
) -> Counterexample | None:
    """Whether the operator, evaluated in NumPy, differs from its reference there; None also if that cannot be told."""
    try:
        prepared = subject.prepare(configuration)
        evaluation = prepared.evaluate(arrays, precision=precision)
        if evaluation.hazards:
            return None
        wanted = expectation(subject, prepared.configuration, arrays)
    except (Refused, TvmlabError, NotEvaluable):
        return None
    mismatch = first_mismatch(evaluation.outputs, wanted, evaluation.errors)
    return Counterexample(prepared.configuration, tuple(arrays), mismatch) if mismatch else None


def compiled_differs(subject: Subject, configuration: Configuration, arrays: Sequence[Array]) -> Counterexample | None:
    """As `differs`, of the compiled kernel."""
    try:
        prepared = subject.prepare(configuration)
        evaluation = subject.safe(prepared, arrays)
        wanted = expectation(subject, prepared.configuration, arrays)
        got = subject.run(prepared.configuration, arrays)
    except (Refused, TvmlabError):
        return None
    mismatch = first_mismatch(got, wanted, None if evaluation is None else evaluation.errors)
    return Counterexample(prepared.configuration, tuple(arrays), mismatch) if mismatch else None


def shrink(subject: Subject, found: Counterexample, precision: str | None = None) -> Counterexample:
    """Make sizes, attributes and elements as plain as they can be while the difference stays.

    A kernel that differs only once it is compiled is compiled anew for every try, so fewer are made.
    """
    evaluate = functools.partial(differs, precision=precision)
    evaluated = evaluate(subject, found.configuration, found.arrays) is not None
    still_differs, budget = (evaluate, _STEPS) if evaluated else (compiled_differs, _COMPILED_STEPS)
    for candidates in (_smaller, _plainer_attributes, _smaller, _plainer_elements):
        again = True
        while again and budget > 0:
            again = False
            for configuration, arrays in candidates(subject, found):
                budget -= 1
                better = still_differs(subject, configuration, arrays)
                if better is not None and better.mismatch.special <= found.mismatch.special:
                    found, again = better, True
                    break
                if budget <= 0:
                    break
    return found


Candidate = tuple[Configuration, tuple[Array, ...]]


def _smaller(_subject: Subject, found: Counterexample) -> Iterator[Candidate]:
    """One size smaller wherever it occurs: any one place of it alone, a half, all but the last place."""
    shapes = found.configuration.shapes
    for size in sorted({d for s in shapes for d in s if d > 1}, reverse=True):
        windows = [slice(k, k + 1) for k in range(min(size, 16))]
        windows += [slice(0, size // 2), slice(size // 2, size), slice(0, size - 1), slice(1, size)]
        for window in windows:
            arrays = tuple(a[tuple(window if d == size else slice(None) for d in a.shape)] for a in found.arrays)
            new = tuple(a.shape for a in arrays)
            if new != shapes:
                yield Configuration(new, found.configuration.dtypes, found.configuration.attributes), arrays


def _plainer_attributes(subject: Subject, found: Counterexample) -> Iterator[Candidate]:
    """One attribute at its default."""
    for attribute in subject.spec.attributes:
        value = found.configuration.attributes[attribute.name]
        if attribute.default is not REQUIRED and repr(value) != repr(attribute.default):
            plainer = {**found.configuration.attributes, attribute.name: attribute.default}
            yield Configuration(found.configuration.shapes, found.configuration.dtypes, plainer), found.arrays


def _plainer_elements(_subject: Subject, found: Counterexample) -> Iterator[Candidate]:
    """One element a plainer number; the plainest are tried first."""
    for which, array in enumerate(found.arrays):
        if array.size > 16:
            continue
        for place in range(array.size):
            for plain in _plainer(array.flat[place].item()):
                changed = array.copy()
                changed.flat[place] = plain
                if _complexity(changed.flat[place].item()) < _complexity(array.flat[place].item()):
                    yield found.configuration, (*found.arrays[:which], changed, *found.arrays[which + 1 :])


def _plainer(value: Any) -> Iterator[Any]:
    yield from (0, 1)
    if not isinstance(value, float) or not math.isfinite(value):
        yield from (2, -1)
        return
    yield from itertools.chain((2.0, -1.0, 0.5, -0.5, -2.0), (round(value, d) for d in (0, 1, 2)))


def _complexity(value: Any) -> tuple[int, float]:
    if not isinstance(value, int | float | bool):
        return 0, 0.0
    if isinstance(value, float) and not math.isfinite(value):
        return 50, 0.0
    return len(f"{value:.9g}"), abs(float(value))
