"""C20: is it worth being an operator?  Advice, no failure."""

from __future__ import annotations

from tvmlab.checks.outcome import Outcome, ok, warning
from tvmlab.checks.subject import Subject

_BUDGET = 2.0


def run(subject: Subject) -> Outcome:
    """Look among TVM's operators for one that gives the same values, and time both."""
    from tvmlab import measure  # it imports much that no other check needs

    advice = measure.advise(subject.op, seed=subject.seed, budget=_BUDGET)
    why = "; ".join(advice.reasons)
    if advice.verdict == "compose":
        return warning(f"it could be composed: {why}", f"use {advice.matches[0].call}", notes=advice.notes)
    return ok(why, advice.notes)
