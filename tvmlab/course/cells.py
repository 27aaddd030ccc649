"""What the test cells of a released notebook call, within the student's kernel: points for the last attempt there.

nbgrader takes the number that `points` displays as partial credit; otter-grader's tests call `require`.
"""

from __future__ import annotations

from typing import Any

from tvmlab.course.judging import check
from tvmlab.records import Property, PropertyResult, Verdict

__all__ = ["forget", "hidden_points", "points", "remember", "require", "require_hidden"]

_LAST: dict[str, Verdict] = {}


def remember(verdict: Verdict) -> None:
    """Keep the verdict on the last attempt at an exercise."""
    _LAST[verdict.exercise] = verdict


def forget(exercise: str) -> None:
    """The last attempt could not be judged."""
    _LAST.pop(exercise, None)


def points(exercise: str) -> int:
    """How many public properties the last attempt at an exercise has."""
    verdict = _LAST.get(exercise)
    return 0 if verdict is None else sum(result.state == "holds" for result in verdict.results)


def hidden_points(exercise: str, teacher: str, key: str) -> int:
    """How many hidden properties it has.

    Parameters
    ----------
    teacher : str
        The text of the teacher's file, which is run.
    key : str
        Decides the random inputs.
    """
    return sum(result.state == "holds" for result in _hidden(exercise, teacher, key))


def require(exercise: str, name: str) -> None:
    """Raise AssertionError, with the reason, if the last attempt has not the public property of that name."""
    verdict = _LAST.get(exercise)
    assert verdict is not None, f"{exercise} was not tried"
    _require(verdict.results, name)


def require_hidden(exercise: str, name: str, teacher: str, key: str) -> None:
    """The same for a hidden property; no reason is given."""
    held = {result.name for result in _hidden(exercise, teacher, key) if result.state == "holds"}
    assert name in held, f"{exercise}: {name}"


def _require(results: tuple[PropertyResult, ...], name: str) -> None:
    found = next((result for result in results if result.name == name), None)
    assert found is not None, f"it could not be tried: {name}"
    assert found.state == "holds", f"{name}: {found.mismatch.what if found.mismatch else 'not tried'}"


def _hidden(exercise: str, teacher: str, key: str) -> tuple[PropertyResult, ...]:
    verdict = _LAST.get(exercise)
    if verdict is None or verdict.answer is None:
        return ()
    namespace: dict[str, Any] = {"__name__": f"teacher_{exercise}"}
    exec(teacher, namespace)  # noqa: S102 - the teacher's own cell
    properties: tuple[Property, ...] = tuple(namespace["HIDDEN"])
    try:
        return check(exercise, properties, verdict.answer, key.encode(), lambda _error: exercise)
    except NotImplementedError:
        return ()
