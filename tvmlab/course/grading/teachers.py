"""What a teacher's folder holds: hidden properties, and exercises of their own; and the secret."""

from __future__ import annotations

import os
import runpy
import stat
from dataclasses import dataclass, field
from pathlib import Path

from tvmlab.course import library
from tvmlab.errors import LoadError
from tvmlab.records import Exercise, Property

__all__ = ["Teacher", "check_secret", "read_secret", "read_teacher"]

_SHORTEST = 16  # bytes


@dataclass
class Teacher:
    """The hidden properties by exercise, and the solutions."""

    hidden: dict[str, tuple[Property, ...]] = field(default_factory=dict)
    solutions: dict[str, str] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)


def read_teacher(folder: Path) -> Teacher:
    """Read every ``ex*.py`` of a folder; those that set ``EXERCISE`` add one.  Runs these files.

    Raises
    ------
    LoadError
        There is none, or one of them fails, or belongs to no exercise.
    """
    files = sorted(folder.glob("ex*.py"))
    if not files:
        raise LoadError("there is no ex*.py of a teacher's", str(folder), "name the folder with ex04a.py and others")
    teacher = Teacher()
    known = {exercise.id for exercise in library.all_exercises()}
    for file in files:
        try:
            found = runpy.run_path(str(file))
        except Exception as error:
            raise LoadError(
                f"{file.name} fails: {type(error).__name__}: {error}", str(file), "mend the file"
            ) from error
        own = found.get("EXERCISE")
        if isinstance(own, Exercise):
            library.add(file)
        identity = own.id if isinstance(own, Exercise) else file.stem.removeprefix("ex")
        if identity not in known and own is None:
            raise LoadError(f"there is no exercise {identity!r}", str(file), "call the file exID.py, or set EXERCISE")
        teacher.hidden[identity] = tuple(found.get("HIDDEN", ()))
        teacher.solutions[identity] = str(found.get("SOLUTION", ""))
        teacher.files[identity] = file
    return teacher


def check_secret(file: Path) -> None:
    """Look at the file of the secret, and not into it.

    Raises
    ------
    LoadError
        It is not there, or others than its owner may read it.
    """
    try:
        about = file.stat()
    except OSError as error:
        raise _no_secret(file, f"cannot be read: {error.strerror}") from error
    _check(file, about)


def read_secret(file: Path) -> bytes:
    """The secret; raises as `check_secret` does, and if it is too short to be one."""
    try:
        with file.open("rb") as opened:
            _check(file, os.fstat(opened.fileno()))
            secret = opened.read().strip()
    except OSError as error:
        raise _no_secret(file, f"cannot be read: {error.strerror}") from error
    if len(secret) < _SHORTEST:
        raise _no_secret(file, f"has {len(secret)} bytes, and can be guessed")
    return secret


def _check(file: Path, about: os.stat_result) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise _no_secret(file, "is no file")
    if about.st_mode & 0o077:
        raise LoadError(
            f"the secret can be read by others: its mode is {stat.S_IMODE(about.st_mode):04o}",
            str(file),
            f"chmod 600 {file}",
        )


def _no_secret(file: Path, what: str) -> LoadError:
    mend = f"(umask 077; head -c 32 /dev/urandom | base64 > {file})"
    return LoadError(f"the secret {what}", str(file), mend)
