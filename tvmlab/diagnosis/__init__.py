"""From an error to a plain explanation: one table of rules."""

from __future__ import annotations

from tvmlab.diagnosis.rules import Explanation, explain

__all__ = ["Explanation", "explain", "mend_of"]


def mend_of(error: BaseException) -> str | None:
    """How to mend an error, if a rule knows it."""
    found = explain(error)
    return found.mend if found is not None else None
