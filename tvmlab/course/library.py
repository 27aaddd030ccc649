"""All exercises: those that come with tvmlab, and a teacher's own."""

from __future__ import annotations

import runpy
from pathlib import Path

from tvmlab.course import exercises
from tvmlab.errors import CallError, LoadError, nearest
from tvmlab.records import Exercise

__all__ = ["add", "all_exercises", "find"]

_OWN: dict[str, Exercise] = {}


def all_exercises() -> tuple[Exercise, ...]:
    """Every exercise, by its id."""
    known = {**{exercise.id: exercise for exercise in exercises.SHIPPED}, **_OWN}
    return tuple(known[each] for each in sorted(known))


def find(identity: str) -> Exercise:
    """The exercise with an id.

    Raises
    ------
    CallError
        There is none.
    """
    known = {exercise.id: exercise for exercise in all_exercises()}
    if identity in known:
        return known[identity]
    meant = nearest(identity, known)
    mend = f"did you mean {meant}? " if meant else ""
    raise CallError(f"there is no exercise {identity!r}", mend=f"{mend}The exercises are {', '.join(known)}")


def add(path: Path | str) -> tuple[Exercise, ...]:
    """Add exercises of one's own: a Python file, or every one in a folder, that sets ``EXERCISE``.  Runs these files.

    Parameters
    ----------
    path : path
        An id that is taken is given to the new exercise.

    Returns
    -------
    tuple of Exercise
        Those that were added.

    Raises
    ------
    LoadError
        There is no such file, or one of them fails or sets no exercise.
    """
    place = Path(path)
    files = sorted(place.glob("*.py")) if place.is_dir() else [place]
    if not files or not all(file.is_file() for file in files):
        raise LoadError("there is no exercise", where=str(place), mend="name a Python file, or a folder of them")
    found = tuple(map(_read, files))
    _OWN.update({exercise.id: exercise for exercise in found})
    return found


def _read(file: Path) -> Exercise:
    try:
        exercise = runpy.run_path(str(file)).get("EXERCISE")
    except Exception as error:
        raise LoadError(f"the exercise fails: {type(error).__name__}: {error}", str(file), "mend the file") from error
    if not isinstance(exercise, Exercise):
        raise LoadError("the file sets no exercise", str(file), "write EXERCISE = Exercise(id=…, …)")
    return exercise
