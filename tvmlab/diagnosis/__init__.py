"""From an error to a plain explanation: one table of rules."""

from __future__ import annotations

from tvmlab.diagnosis.diagnosing import Diagnosis, diagnose
from tvmlab.diagnosis.rules import TABLE, Explanation, explain

__all__ = ["TABLE", "Diagnosis", "Explanation", "diagnose", "explain", "mend_of"]


def mend_of(error: BaseException) -> str | None:
    """How to mend an error, if a rule knows it."""
    found = explain(error)
    return found.mend if found is not None else None
