"""The folder of results: JSON and a page for each student, a table for nbgrader, and the class in one page."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tvmlab.errors import LoadError
from tvmlab.records import ClassMarks, ExerciseMark, Mismatch, PropertyResult, StudentMarks
from tvmlab.show import pages
from tvmlab.show.html import Html, join, tag

__all__ = ["Results", "marks_from"]

_COLUMNS = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
)  # those of `nbgrader export`


class Results:
    """A folder that is filled while submissions are judged, so that a run which was cut short can go on.

    Parameters
    ----------
    folder : pathlib.Path

    Raises
    ------
    LoadError
        It cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            for each in ("marks", "students"):
                (folder / each).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LoadError(
                f"the folder of the results cannot be made: {error.strerror}", str(folder), "name another with --out"
            ) from error

    def kept(self, student: str, fingerprint: str) -> StudentMarks | None:
        """What an earlier run found for the same files, teacher and secret."""
        try:
            data = json.loads((self.folder / "marks" / f"{student}.json").read_text(encoding="utf-8"))
            return marks_from(data["marks"]) if data["fingerprint"] == fingerprint else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, marks: StudentMarks, page: Sequence[str], fingerprint: str) -> None:
        """Write what was found for a student."""
        _write(self.folder / "students" / f"{marks.student}.html", _page(marks, page))
        data = {"fingerprint": fingerprint, "marks": marks.to_dict()}
        _write(self.folder / "marks" / f"{marks.student}.json", json.dumps(data, indent=1))

    def finish(self, marks: ClassMarks, assignment: str) -> None:
        """Write what is about the whole class."""
        _write(self.folder / "grades.json", json.dumps(marks.to_dict(), indent=1))
        shown = Html(marks._repr_mimebundle_()["text/html"])
        _write(
            self.folder / "class.html",
            pages.page(f"{assignment}: the class", [tag("h1", assignment), shown, _links(marks)]),
        )
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        with (self.folder / "grades.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(_COLUMNS)
            for each in marks.students:
                score = float(each.points)
                table.writerow([assignment, "", now, each.student, "", "", "", score, 0.0, score, float(each.of)])


def marks_from(data: dict[str, Any]) -> StudentMarks:
    """The record that ``to_dict`` was called of."""

    def result(given: dict[str, Any]) -> PropertyResult:
        found = given["mismatch"]
        return PropertyResult(given["name"], given["state"], found and Mismatch(**found))

    def mark(given: dict[str, Any]) -> ExerciseMark:
        return ExerciseMark(**{**given, "results": tuple(map(result, given["results"]))})

    return StudentMarks(data["student"], tuple(map(mark, data["exercises"])), tuple(data["findings"]))


def _links(marks: ClassMarks) -> Html:
    """The pages of the students."""
    names = (each.student for each in marks.students)
    return tag("p", "pages: ", join((tag("a", name, href=f"students/{quote(name)}.html") for name in names), ", "))


def _page(marks: StudentMarks, parts: Sequence[str]) -> str:
    """The page of a student: the marks, and a reason for each property that does not hold."""
    head = [tag("h1", marks.student), tag("p", f"{marks.points} of {marks.of} points")]
    head += [tag("p", finding) for finding in marks.findings]
    sections = []
    for mark, part in zip(marks.exercises, parts, strict=True):
        heading = tag("h2", f"{mark.exercise} {mark.title}: {mark.points} of {mark.of}")
        body = Html(part) if part.startswith("<") else tag("p", part)
        sections.append(tag("div", heading, body, **{"class": "cell"}))
    return pages.page(marks.student, [*head, *sections])


def _write(file: Path, text: str) -> None:
    """All or nothing: a run may be cut short at any time."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, file)  # noqa: PTH105 - the pathlib form is the same
