"""The notebooks of the course as data: which cell answers which exercise, and which articles a section treats."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tvmlab.errors import LoadError

__all__ = ["Section", "exercise_in", "passed", "sections", "solved"]

_MAGIC = re.compile(r"%%tvm_exercise\s+(\w+)")
_MARK = re.compile(r"<!-- articles: ((?:[AB]\d{2,3})(?: [AB]\d{2,3})*|none) -->")

_SOLVED = re.compile(r": solved, (\d+) of \1 properties hold$")


@dataclass(frozen=True)
class Section:
    """A section of a notebook: its heading, and the items of the two articles that it treats, such as ``A06``."""

    heading: str
    articles: tuple[str, ...]


def exercise_in(cell: str) -> str:
    """The id of the exercise that the text of a cell answers; empty if it answers none."""
    found = _MAGIC.match(cell.lstrip())
    return found[1] if found else ""


def solved(notebook: Any, answers: Mapping[str, str]) -> Any:
    """A copy of a notebook in which the cells of exercises hold these answers.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
    answers : mapping of str to str
        Text of a cell without its magic line, by the id of the exercise; other cells stay.

    Returns
    -------
    nbformat.NotebookNode
    """
    filled = copy.deepcopy(notebook)
    for cell in filled.cells:
        identity = exercise_in(cell.source) if cell.cell_type == "code" else ""
        if identity in answers:
            cell.source = f"%%tvm_exercise {identity}\n{answers[identity].strip()}\n"
    return filled


def passed(notebook: Any) -> set[str]:
    """The exercises that an executed notebook shows as solved."""
    found = set()
    for cell in notebook.cells:
        identity = exercise_in(cell.source) if cell.cell_type == "code" else ""
        shown = [output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", ())]
        if identity and any(_SOLVED.search(text.split("\n", 1)[0]) for text in shown):
            found.add(identity)
    return found


def sections(notebook: Any) -> Iterator[Section]:
    """The sections of a notebook, in order: each starts at a heading of the second level.

    Yields
    ------
    Section

    Raises
    ------
    LoadError
        The line under a heading is no list of items: ``<!-- articles: A01 B02 -->``, or ``none``.
    """
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        lines = cell.source.splitlines()
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            if not line.startswith("## "):
                continue
            mark = _MARK.fullmatch(following.strip())
            if mark is None:
                mend = "write <!-- articles: A01 B02 --> right under it, or <!-- articles: none -->"
                raise LoadError(f"the section {line[3:]!r} does not say which items it treats", line, mend)
            yield Section(line[3:].strip(), () if mark[1] == "none" else tuple(mark[1].split()))
