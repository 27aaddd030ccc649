"""The course: exercises that are checked at once, a ladder of hints, and a map of what is solved.

Nothing here imports TVM before an answer is judged.  ``teacher/``, outside of the package, has the reference solutions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tvmlab.course import cells, standing
from tvmlab.course.cells import hidden_points, points, require, require_hidden
from tvmlab.course.judging import judge
from tvmlab.course.library import add, all_exercises, find
from tvmlab.course.mutants import mutation_score
from tvmlab.errors import TvmlabError
from tvmlab.records import CourseProgress, Exercise, Hints, Mismatch, Property, Verdict

__all__ = [
    "Exercise",
    "Mismatch",
    "Property",
    "add",
    "all_exercises",
    "attempt",
    "find",
    "hidden_points",
    "hint",
    "judge",
    "mutation_score",
    "points",
    "progress",
    "require",
    "require_hidden",
]


def attempt(
    identity: str,
    body: str,
    *,
    shell_namespace: Mapping[str, Any] | None = None,
    label: str = "cell",
    first_line: int = 2,
    cache: Callable[[str], str] | None = None,
) -> Verdict:
    """Judge an answer to an exercise, and keep in the current folder that it was tried; see `judge`.

    Parameters
    ----------
    identity : str
        Such as ``04a``.
    body : str
        The text of the cell, without its magic line.
    shell_namespace, label, first_line, cache
        As for `tvmlab.api.define`.

    Raises
    ------
    CallError
        There is no such exercise.
    CellError
        The cell is no Python, fails while it runs, or does not define what is asked for.
    """
    import dataclasses

    exercise = find(identity)
    try:
        verdict = judge(
            exercise, body, shell_namespace=shell_namespace, label=label, first_line=first_line, cache=cache
        )
    except TvmlabError:
        cells.forget(identity)
        raise
    if verdict.unwritten:
        return verdict
    cells.remember(verdict)
    trouble = standing.note(Path.cwd(), identity, "solved" if verdict.ok else "tried")
    return dataclasses.replace(verdict, notes=(trouble,)) if trouble else verdict


def hint(identity: str) -> Hints:
    """The next hint to an exercise, under those before it; the third is the last.

    Raises
    ------
    CallError
        There is no such exercise.
    """
    exercise = find(identity)
    before = standing.hints_taken(Path.cwd(), identity)
    if before < len(exercise.hints):
        standing.note(Path.cwd(), identity, "hint")
    shown = exercise.hints[: before + 1]
    return Hints(exercise.id, exercise.title, shown, len(exercise.hints) - len(shown))


def progress() -> CourseProgress:
    """Which exercises are solved, from the file in the current folder."""
    return standing.progress_of(Path.cwd(), all_exercises())
