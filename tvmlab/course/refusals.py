"""Properties of operators: what means nothing is refused, before anything runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab.course.values import Cases, told
from tvmlab.errors import TvmlabError
from tvmlab.records import Mismatch, Property
from tvmlab.sandbox import beside

__all__ = ["refuses"]


def refuses(cases: Cases, names: tuple[str, ...], name: str) -> Property:
    """A property: every one of these calls is refused in words.

    Parameters
    ----------
    cases : callable
        From a generator to calls that mean nothing.
    names : tuple of str
        Names of the tensors.
    name : str
        Of the property.
    """

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        for case in cases(random):
            if beside(answer, why_refused, list(case.tensors), dict(case.attributes)) is None:
                return Mismatch(
                    f"{told(case, names)} is taken, and means nothing", mend="raise ValueError, with a reason"
                )
        return None

    return Property(name, check)


def why_refused(answer: Any, arrays: list[Any], attributes: dict[str, Any]) -> str | None:
    """Why an operator refuses a call; None if it takes it."""
    try:
        answer(*arrays, **attributes)
    except TvmlabError as error:
        return error.what
    return None
