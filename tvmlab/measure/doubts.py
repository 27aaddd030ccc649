"""What a comparison does not say: outputs that are right, but would be so for a kernel that computes nothing too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.records import OutputError

__all__ = ["doubt_on"]

Array = NDArray[Any]


def doubt_on(error: OutputError, expected: Array, tolerance: float) -> tuple[str, bool]:
    """Why an output that is as expected says little.

    Parameters
    ----------
    error : OutputError
    expected : ndarray
        The oracle's output.
    tolerance : float
        Largest difference allowed, as a part of the largest value.

    Returns
    -------
    doubt : str
        Empty if there is none.
    nothing : bool
        Whether nothing at all was learnt from this output.
    """
    size = math.prod(error.shape)
    if not size:
        return f"{error.name} has no elements", True
    if error.both_nan == size:
        return f"all {size:,} values of {error.name} are NaN on both sides", True
    values = np.asarray(expected, np.float64)[np.isfinite(np.asarray(expected, np.float64))]
    alike = values.size > 1 and float(np.ptp(values)) <= tolerance * float(np.abs(values).max())
    if error.both_nan:
        rest = ", and the others are alike" if alike else ""
        return f"{error.both_nan:,} of {size:,} values of {error.name} are NaN on both sides{rest}", alike
    if alike and values.size == size:
        within = "" if np.ptp(values) == 0 else ", as far as the tolerance tells"
        return f"all {size:,} values of {error.name} are alike{within}", True
    return "", False
