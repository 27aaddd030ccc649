"""What a seed of random numbers may be."""

from __future__ import annotations

import operator
from typing import Any

from tvmlab.errors import CallError

__all__ = ["check_seed"]


def check_seed(seed: Any) -> None:
    """Refuse what NumPy makes no random numbers from, or others each time.

    Raises
    ------
    CallError
        It is negative or no whole number.
    """
    try:
        fine = operator.index(seed) >= 0
    except TypeError:
        fine = False
    if not fine:
        raise CallError(f"the seed must be a whole number from 0 on, not {seed!r}", mend="write seed=0, or --seed 0")
