"""Properties of operators: every element as a reference in NumPy says."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tvmlab.records import ElementMismatch, Mismatch, Property

__all__ = ["Case", "compare", "has_values_of", "told"]

_TOLERANCE = {2: 4e-3, 4: 1e-5}  # relative and absolute, by the bytes of an element


class Case(NamedTuple):
    """Inputs of an operator: tensors, and attributes other than the defaults."""

    tensors: tuple[Any, ...]
    attributes: Mapping[str, Any]


Cases = Callable[[np.random.Generator], Iterable[Case]]


def has_values_of(reference: Callable[..., Any], cases: Cases, name: str) -> Property:
    """A property: on every case the answer gives what `reference` gives.

    Parameters
    ----------
    reference : callable
        From arrays, then attributes by name, to an array.
    cases : callable
        From a generator to cases; few shapes, since each is compiled.
    name : str
        Of the property.
    """

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        for case in cases(random):
            with np.errstate(all="ignore"):
                expected = np.asarray(reference(*case.tensors, **case.attributes))
            got = answer(*case.tensors, **case.attributes)
            found = compare(got, expected, case, tuple(inspect.signature(reference).parameters))
            if found is not None:
                return found
        return None

    return Property(name, check)


def compare(got: Any, expected: Any, case: Case, names: tuple[str, ...]) -> Mismatch | None:
    """The first element of `got` that is not as `expected`; None if all are.

    Parameters
    ----------
    got : ndarray or anything an answer may return
    expected : ndarray
    case : Case
        The inputs, for the sentence.
    names : tuple of str
        Names of the tensors, then of others.
    """
    inputs = told(case, names)
    if not isinstance(got, np.ndarray):
        return Mismatch(f"the result is a {type(got).__name__}, not an array", inputs)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        what = f"the result is {got.dtype}{list(got.shape)} and should be {expected.dtype}{list(expected.shape)}"
        return Mismatch(f"{what}, for {inputs}")
    wrong = _wrong(got, expected)
    if not wrong.any():
        return None
    index = tuple(int(at) for at in np.argwhere(wrong)[0])
    there = [f"{n} is {t[index]:.6g}" for n, t in zip(names, case.tensors, strict=False) if t.shape == got.shape]
    place = f", where {' and '.join(there)}" if there else ""
    element = f"element {list(index)}" if index else "the result"
    mine, right = _apart(got[index], expected[index])
    what = f"{element} is {mine} and should be {right}{place}"
    return ElementMismatch(what, case=inputs, index=index, got=got, expected=expected, wrong=wrong)


def _apart(got: Any, expected: Any) -> tuple[str, str]:
    """Two numbers, with as many digits as it takes to tell them apart."""
    digits = next((n for n in (6, 9, 12) if f"{got:.{n}g}" != f"{expected:.{n}g}"), 17)
    return f"{got:.{digits}g}", f"{expected:.{digits}g}"


def _wrong(got: Any, expected: Any) -> Any:
    if expected.dtype.kind != "f":
        return got != expected
    tolerance = _TOLERANCE.get(expected.dtype.itemsize, 1e-9)
    return ~np.isclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def told(case: Case, names: tuple[str, ...]) -> str:
    """A call in words: ``x: float32[2, 3], axes=(0,)``."""
    tensors = [f"{n}: {t.dtype}{list(t.shape)}" for n, t in zip(names, case.tensors, strict=False)]
    return ", ".join([*tensors, *(f"{name}={value!r}" for name, value in case.attributes.items())])
