"""How far a student is: a small file beside the notebook.

Every event is one line, and is added by one write at the end of the file.  So two notebooks can keep it at once, and
no lock is left behind when a kernel dies.  A line that cannot be read is passed over.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tvmlab.records import CourseProgress, Exercise, Standing

__all__ = ["FILE", "hints_taken", "note", "progress_of"]

FILE = ".tvmlab_progress.jsonl"
_EVENTS = ("tried", "solved", "hint")


def note(folder: Path, exercise: str, event: str) -> str:
    """Keep that a student tried or solved an exercise, or took a hint; returns why it cannot be kept, else nothing."""
    line = json.dumps({"exercise": exercise, "event": event}) + "\n"
    try:
        handle = os.open(folder / FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)
    except OSError as error:
        return f"your progress cannot be kept in {folder / FILE}: {error.strerror}"
    return ""


def hints_taken(folder: Path, exercise: str) -> int:
    """How often a hint to an exercise was asked for."""
    return sum(event == (exercise, "hint") for event in _events(folder))


def progress_of(folder: Path, exercises: Iterable[Exercise]) -> CourseProgress:
    """Where a student stands with each exercise."""
    seen = Counter(_events(folder))

    def standing(exercise: Exercise) -> Standing:
        solved, tried, hints = (seen[exercise.id, event] for event in ("solved", "tried", "hint"))
        state = "solved" if solved else "tried" if tried else "new"
        few = min(hints, len(exercise.hints))
        return Standing(exercise.id, exercise.title, exercise.grade, exercise.lesson, state, solved + tried, few)

    return CourseProgress(tuple(map(standing, exercises)), str(folder / FILE))


def _events(folder: Path) -> Iterator[tuple[str, str]]:
    try:
        text = (folder / FILE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and event.get("event") in _EVENTS:
            yield str(event.get("exercise")), event["event"]
