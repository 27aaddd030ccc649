"""What was handed in: notebooks in folders of students, as nbgrader keeps them, or one file a student."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tvmlab.course.lessons import exercise_in
from tvmlab.errors import LoadError

__all__ = ["Submission", "found_in", "notebooks_below"]

_LARGEST = 100 << 20  # bytes of a notebook


@dataclass(frozen=True)
class Submission:
    """The code of a student's notebooks; outputs are not looked at.

    Parameters
    ----------
    student : str
    cells : mapping of str to list of str
        The code cells of each notebook.
    findings : list of str
        What is wrong with the files.
    files : tuple of str
        All of them, those that are no notebooks too.
    """

    student: str
    cells: dict[str, list[str]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    files: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides the marks."""
        text = json.dumps([self.student, self.cells, self.findings], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def exercises(self) -> set[str]:
        """The exercises that it has cells of."""
        return {exercise_in(cell) for cells in self.cells.values() for cell in cells} - {""}


def found_in(folder: Path) -> list[Submission]:
    """Every submission in a folder, by student.

    Parameters
    ----------
    folder : pathlib.Path
        ``STUDENT/…/NOTEBOOK.ipynb`` or ``STUDENT.ipynb``.

    Raises
    ------
    LoadError
        There is none.
    """
    files: dict[str, list[Path]] = {}
    for file in notebooks_below(folder):
        parts = file.relative_to(folder).parts
        files.setdefault(parts[0] if len(parts) > 1 else file.stem, []).append(file)
    if not files:
        raise LoadError(
            "there is no submission",
            where=str(folder),
            mend="put STUDENT.ipynb or STUDENT/…/NOTEBOOK.ipynb there, as nbgrader's submitted/ has them",
        )
    return [_read(student, paths, folder) for student, paths in sorted(files.items())]


def notebooks_below(folder: Path) -> list[Path]:
    """All notebooks in a folder, without those that Jupyter keeps for itself."""
    found = sorted(folder.rglob("*.ipynb"))
    return [file for file in found if not any(part.startswith(".") for part in file.relative_to(folder).parts)]


def _read(student: str, files: Sequence[Path], folder: Path) -> Submission:
    submission = Submission(student, files=tuple(str(file.relative_to(folder)) for file in files))
    for file, name in zip(files, submission.files, strict=True):
        try:
            submission.cells[name] = list(_code(file))
        except _NoNotebook as problem:
            submission.findings.append(f"{name} is no notebook: {problem}")
    return submission


class _NoNotebook(Exception):
    pass


def _code(file: Path) -> Iterator[str]:
    """The texts of the code cells; written by hand, since whatever a student hands in must not end the grading."""
    if not file.is_file() or file.is_symlink():
        raise _NoNotebook("it is no plain file")
    if file.stat().st_size > _LARGEST:
        raise _NoNotebook(f"it has {file.stat().st_size >> 20} MB; clear its outputs")
    try:
        notebook = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _NoNotebook(str(error)) from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise _NoNotebook("it has no cells")
    for cell in cells:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            yield _text(cell.get("source"))


def _text(source: Any) -> str:
    text = "".join(map(str, source)) if isinstance(source, list) else str(source or "")
    return text.encode("utf-8", "replace").decode()
