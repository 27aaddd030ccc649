"""Does a result equal the reference's?  Within the rounding that its own arithmetic can have caused, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.checks.subject import Configuration, Refused, Subject

__all__ = ["Expectation", "Mismatch", "all_lost", "expectation", "first_mismatch"]

Array = NDArray[Any]

_RESERVE = 1.5
_ULPS_UNKNOWN = 64
_SEVERAL = 4
_WIDER_THAN_DOUBLE = float(np.finfo(np.longdouble).eps) < 1e-18


@dataclass(frozen=True)
class Expectation:
    """What the reference gives: in a wider dtype, and in the inputs' own."""

    exact: tuple[Array, ...]
    own: tuple[Array, ...]


@dataclass(frozen=True)
class Mismatch:
    """The worst element of a result that is not as expected.

    Parameters
    ----------
    output : int
        Which output.
    index : tuple of int or None
        Which element; None if the whole output has another shape or dtype.
    expected, got : float or str
    special : bool
        Whether the pair holds a NaN or an infinity.
    count : int
        Elements that are wrong.
    """

    output: int
    index: tuple[int, ...] | None
    expected: Any
    got: Any
    special: bool = False
    count: int = 1

    def __str__(self) -> str:
        return f"gives {_number(self.got)}, the reference says {_number(self.expected)}"


def _number(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.9g}"


def expectation(subject: Subject, configuration: Configuration, arrays: Sequence[Array]) -> Expectation:
    """Ask the reference, for floating-point inputs also in a dtype that is more exact than theirs.

    Raises
    ------
    Refused
        If the reference raises on arrays of their own dtype.
    """
    own = subject.expected(configuration, arrays)
    widest = max((a.dtype.itemsize for a in arrays if a.dtype.kind == "f"), default=0)
    if not widest:
        return Expectation(own, own)
    wider = ["float64"] if widest < 8 else ["longdouble"] if _WIDER_THAN_DOUBLE else []
    for dtype in wider:
        try:
            exact = subject.expected(configuration, [a.astype(dtype) if a.dtype.kind == "f" else a for a in arrays])
        except Refused:
            continue
        if [e.shape for e in exact] == [o.shape for o in own]:
            return Expectation(exact, own)
    return Expectation(own, own)


def first_mismatch(got: Sequence[Array], expected: Expectation, errors: Sequence[Array] | None) -> Mismatch | None:
    """The worst element that is not as expected, special ones last; None if all are.

    Parameters
    ----------
    errors : sequence of ndarray or None
        Bound of the rounding error of each element, where it is known.
    """
    if len(got) != len(expected.exact):
        return Mismatch(0, None, f"{len(expected.exact)} outputs", f"{len(got)}")
    found: Mismatch | None = None
    for number, result in enumerate(got):
        exact, own = expected.exact[number], expected.own[number]
        error = None if errors is None else errors[number]
        bad = _mismatch(number, result, exact, own, error)
        if bad is not None and (found is None or (found.special and not bad.special)):
            found = bad
    return found


def all_lost(got: Sequence[Array], expected: Expectation) -> Mismatch | None:
    """An output of which nothing is left but infinities and NaN, where the reference has ordinary numbers.

    Rounding may excuse one such element, as in 1 / (a - b), and not all of them.
    """
    for number, (result, exact) in enumerate(zip(got, expected.exact, strict=True)):
        if result.shape == exact.shape and result.dtype.kind == "f" and result.size >= _SEVERAL:
            ordinary = np.isfinite(exact) & np.isfinite(expected.own[number])
            if ordinary.all() and not np.isfinite(result).any():
                return Mismatch(number, (0,) * result.ndim, exact.flat[0].item(), result.flat[0].item(), True)
    return None


def _mismatch(number: int, got: Array, exact: Array, own: Array, error: Array | None) -> Mismatch | None:
    if got.shape != own.shape:
        return Mismatch(number, None, f"the shape {own.shape}", f"the shape {got.shape}")
    if got.size == 0:
        return None
    if got.dtype.kind != "f":
        wrong = _differs_exactly(got, exact, own)
        if error is not None:
            wrong &= error == 0
        return _worst(number, got, own, wrong, np.zeros(got.shape, bool))
    with np.errstate(all="ignore"):
        exact = exact.astype("float64") if exact.dtype != np.longdouble else exact
        apart = np.abs(got.astype(exact.dtype) - exact)
        allowed = _allowed(got, exact, own, error)
        rounded = exact.astype(got.dtype)
        both = np.isfinite(got) & np.isfinite(exact)
        right = (both & (apart <= allowed)) | (np.isnan(got) & np.isnan(exact)) | (got == rounded)
        right |= both & ~np.isfinite(allowed)
        top = float(np.finfo(got.dtype).max) * 0.99
        right |= (np.abs(exact) > top) & (np.isinf(got) | (np.abs(got) > top)) & (np.sign(got) == np.sign(exact))
        # what overflows in the reference's own arithmetic may do so in the kernel's
        strange = ~(np.isfinite(got) & np.isfinite(exact))
        right |= strange & ((np.isnan(got) & np.isnan(own)) | (got == own.astype(got.dtype)))
        if error is not None:
            right |= ~np.isfinite(error)
    return _worst(number, got, exact, ~right, strange)


def _differs_exactly(got: Array, exact: Array, own: Array) -> Array:
    wanted = exact if exact.dtype.kind == "f" else own
    if got.dtype.kind in "iu" and wanted.dtype.kind in "iub":
        return np.asarray(wanted.astype(got.dtype) != got)
    with np.errstate(invalid="ignore"):
        wide = wanted.astype("float64")
        return np.asarray((wide != got.astype("float64")) & np.isfinite(wide))


def _allowed(got: Array, exact: Array, own: Array, error: Array | None) -> Any:
    limits = np.finfo(got.dtype)
    if error is None:
        finite = np.abs(exact[np.isfinite(exact)])
        return _ULPS_UNKNOWN * float(limits.eps) * float(finite.max(initial=1.0))
    reference = 0.0 if exact.dtype != got.dtype else np.abs(own - exact) + 16 * float(limits.eps) * np.abs(exact)
    if exact.dtype == np.float64 == got.dtype:  # the reference itself is no more exact
        reference = reference + 3 * error
    last_place = float(limits.eps) / 2 * np.abs(exact)
    return _RESERVE * error + last_place + reference + 4 * float(limits.smallest_subnormal)


def _worst(number: int, got: Array, wanted: Array, wrong: Array, strange: Array) -> Mismatch | None:
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    plain = wrong & ~strange
    if plain.any():
        with np.errstate(all="ignore"):
            apart = np.abs(got.astype("float64") - wanted.astype("float64")) / (1e-3 + np.abs(wanted.astype("float64")))
        flat = int(np.argmax(np.where(plain, np.nan_to_num(apart, nan=0.0), -1.0)))
    else:
        flat = int(np.argmax(wrong))
    index = tuple(int(i) for i in np.unravel_index(flat, got.shape))
    return Mismatch(number, index, wanted.flat[flat].item(), got.flat[flat].item(), bool(strange.flat[flat]), count)
