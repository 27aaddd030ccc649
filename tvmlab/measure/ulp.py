"""How far two arrays are apart, in absolute value and in units in the last place (ULP)."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tvmlab.errors import PipelineError
from tvmlab.records import OutputError

__all__ = ["compare", "difference", "ulps", "unit_at"]

Array = NDArray[Any]


def compare(expected: Array, got: Array, name: str = "output") -> OutputError:
    """Compare an output with its oracle.

    Parameters
    ----------
    expected : ndarray
        The oracle's output.  A wider dtype than that of `got` is welcome: differences are taken in it.
    got : ndarray
        The output under test, of the same shape.  Its dtype sets what one ULP is.
    name : str
        Name of the output.

    Returns
    -------
    OutputError
        NaN equals NaN, and an infinity equals itself; any other pair with a NaN or an infinity in it counts as
        ``non_finite`` and takes no part in the maxima.

    Raises
    ------
    PipelineError
        If the shapes differ, or one is complex, text or objects.
    """
    expected, got = np.asarray(expected), np.asarray(got)
    if expected.shape != got.shape:
        raise PipelineError(f"{name} has shape {got.shape}, its oracle {expected.shape}", where=f"output {name}")
    for array in (expected, got):
        if _kind(array.dtype) not in "biuf":
            raise PipelineError(f"{name} of dtype {array.dtype} cannot be compared", where=f"output {name}")

    finite = np.isfinite(expected) & np.isfinite(got)
    same = finite | (expected == got) | (np.isnan(expected) & np.isnan(got))
    apart = np.where(finite, difference(expected, got), 0.0)
    units = np.where(finite, ulps(expected, got), 0.0)
    peak = float(np.abs(_wide(expected[np.isfinite(expected)])).max(initial=0.0))
    # The first element that differs in NaN or infinity is worse than any finite difference.
    flat = int(np.argmin(same)) if not same.all() else int(np.argmax(apart)) if apart.size else -1
    return OutputError(
        name=name,
        shape=got.shape,
        dtype=str(got.dtype),
        max_abs=float(apart.max(initial=0.0)),
        peak=peak,
        max_ulp=float(units.max(initial=0.0)),
        index=tuple(int(i) for i in np.unravel_index(flat, got.shape)) if flat >= 0 else (),
        expected=float(expected.flat[flat]) if flat >= 0 else 0.0,
        got=float(got.flat[flat]) if flat >= 0 else 0.0,
        non_finite=int(np.count_nonzero(~same)),
        both_nan=int(np.count_nonzero(_is_nan(expected) & _is_nan(got))),
        unit=unit_at(peak, got.dtype),
    )


def difference(a: Array, b: Array) -> NDArray[np.float64]:
    """Absolute difference, element by element, as float64; exact for integers up to that rounding."""
    if _kind(a.dtype) in "biu" and _kind(b.dtype) in "biu":
        # Modulo 2**64 the difference of two integers of 64 bits is right, where a signed one overflows;
        # but from a negative one to a large unsigned one it may be 2**64 and more.
        c, d = a.astype(np.uint64), b.astype(np.uint64)
        apart = np.where(a > b, c - d, d - c)
        wrapped = ((a < 0) & (b >= 0) & (apart < d)) | ((b < 0) & (a >= 0) & (apart < c))
        return apart.astype(np.float64) + np.where(wrapped, 2.0**64, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.abs(_wide(a) - _wide(b))).astype(np.float64)


def ulps(expected: Array, got: Array) -> NDArray[np.float64]:
    """Absolute difference in units in the last place of `expected`, by the dtype of `got`.

    One unit is the distance from ``abs(expected)``, rounded to the dtype of `got`, to the next larger number of
    that dtype; for integers and booleans it is 1.
    """
    apart = difference(expected, got)
    if _kind(got.dtype) in "biu":
        return apart
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(apart / _units(expected, got.dtype)).astype(np.float64)


def unit_at(value: float, dtype: np.dtype[Any]) -> float:
    """One unit in the last place of a value: the distance to the next larger number of a dtype; 1 for integers."""
    return 1.0 if _kind(dtype) in "biu" else float(_units(np.asarray(value), dtype))


def _units(values: Array, dtype: np.dtype[Any]) -> NDArray[np.float64]:
    limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    largest = np.nextafter(limits.max, dtype.type(0))  # above it, spacing is infinite
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.spacing(np.minimum(np.abs(values.astype(dtype)), largest))).astype(np.float64)


def _kind(dtype: np.dtype[Any]) -> str:
    """NumPy's kind letter; the small floats that ONNX brings along (bfloat16 …) count as floats."""
    return "f" if dtype.kind == "V" and dtype.name.startswith(("bfloat", "float")) else dtype.kind


def _is_nan(array: Array) -> NDArray[np.bool_]:
    return np.asarray(np.isnan(_wide(array)))


def _wide(array: Array) -> Array:
    return array if array.dtype == np.longdouble else array.astype(np.float64)
