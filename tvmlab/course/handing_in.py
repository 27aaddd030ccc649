"""A student's notebook before it is handed in: what keeps it from being graded is found, and mended beside a backup."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tvmlab.course import library
from tvmlab.course.lessons import exercise_in
from tvmlab.course.releasing import NOTE, answer_metadata, points_metadata, points_source
from tvmlab.errors import LoadError
from tvmlab.records import NotebookCheck

__all__ = ["check_notebook"]

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_POINTS = re.compile(r"(\w+)-(points|hidden)")
_KINDS = ("code", "markdown", "raw")
_MINOR = 5
_LARGE = 20 << 20  # bytes

Cell = dict[str, Any]


def check_notebook(file: Path, *, mend: bool = True) -> NotebookCheck:
    """Find, and mend, what keeps a notebook from being graded; no cell is taken out and no text of a student changed.

    Parameters
    ----------
    file : pathlib.Path
    mend : bool
        Write the notebook anew if something can be mended, and keep the old one as ``FILE.backup``.

    Returns
    -------
    NotebookCheck

    Raises
    ------
    LoadError
        It is no notebook.
    """
    text, notebook = _read(file)
    mended: list[str] = []
    made = copy.deepcopy(notebook)
    mended += _whole(made)
    mended += _ids(made["cells"])
    mended += _graded(made)
    left = tuple(_left(made["cells"], len(text)))
    written = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    _prove(made, file)
    backup = _replace(file, written) if mended and mend else ""
    return NotebookCheck(str(file), tuple(mended), left, backup)


def _read(file: Path) -> tuple[bytes, Cell]:
    try:
        text = file.read_bytes()
        notebook = json.loads(text)
    except OSError as error:
        raise LoadError(f"the notebook cannot be read: {error.strerror}", str(file), "name a notebook") from error
    except (ValueError, RecursionError) as error:
        raise LoadError(f"the file is no notebook: {error}", str(file), _other_copy(file)) from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise LoadError("the file is no notebook: it has no cells", str(file), _other_copy(file))
    return text, notebook


def _other_copy(file: Path) -> str:
    kept = file.parent / ".ipynb_checkpoints" / f"{file.stem}-checkpoint.ipynb"
    return f"Jupyter kept an older one: {kept}" if kept.exists() else "take an older copy of it"


def _whole(notebook: Cell) -> Iterator[str]:
    """What every notebook needs, and every cell of it."""
    if notebook.get("nbformat") != 4 or not isinstance(notebook.get("nbformat_minor"), int):
        notebook["nbformat"] = 4
        yield "the notebook said of no format that it is of"
    if not isinstance(notebook.get("nbformat_minor"), int) or notebook["nbformat_minor"] < _MINOR:
        notebook["nbformat_minor"] = _MINOR
    if not isinstance(notebook.get("metadata"), dict):
        notebook["metadata"] = {}
        yield "the notebook had no metadata"
    for at, cell in enumerate(notebook["cells"]):
        if not isinstance(cell, dict):
            notebook["cells"][at] = {"cell_type": "raw", "source": json.dumps(cell)}
            yield f"cell {at + 1} was none; its content is kept as a raw cell"
        wrong = list(_parts_of(notebook["cells"][at]))
        if wrong:
            yield f"cell {at + 1} had no right {', '.join(wrong)}"


def _parts_of(cell: Cell) -> Iterator[str]:
    if cell.get("cell_type") not in _KINDS:
        cell["cell_type"] = "code" if "outputs" in cell or "%%" in str(cell.get("source")) else "raw"
        yield "type"
    source = cell.get("source")
    if not isinstance(source, str) and not (isinstance(source, list) and all(isinstance(x, str) for x in source)):
        cell["source"] = "" if source is None else json.dumps(source)
        yield "text"
    if not isinstance(cell.get("metadata"), dict):
        cell["metadata"] = {}
        yield "metadata"
    if cell["cell_type"] != "code":
        for extra in ("outputs", "execution_count"):
            if extra in cell:
                del cell[extra]
                yield f"place for {extra}"
        return
    if not isinstance(cell.get("outputs"), list):
        cell["outputs"] = []
        yield "outputs"
    if not isinstance(cell.setdefault("execution_count", None), int | None):
        cell["execution_count"] = None
        yield "count"


def _ids(cells: list[Cell]) -> Iterator[str]:
    """Every cell has an id of its own."""
    seen: set[str] = set()
    wrong = []
    for at, cell in enumerate(cells):
        given = cell.get("id")
        if not isinstance(given, str) or not _ID.fullmatch(given) or given in seen:
            if given is not None:
                wrong.append(at + 1)
            cell["id"] = next(f"cell-{n}" for n in range(at, at + len(cells) + 1) if f"cell-{n}" not in seen)
        seen.add(cell["id"])
    if wrong:
        yield f"cells {', '.join(map(str, wrong))} had an id that another has, or that is none"


def _graded(notebook: Cell) -> Iterator[str]:
    """Nbgrader's metadata, as they were released: each id once, and on the cell that it belongs to."""
    points = _points_of(notebook)
    cells: list[Cell] = notebook["cells"]
    yield from _duplicates(cells)
    for identity, (public, hidden) in points.items():
        answers = [cell for cell in cells if _answers(cell) == identity]
        if not answers:
            continue
        yield from _answer(identity, answers, cells)
        at = next(i for i, cell in enumerate(cells) if _grade_id(cell) == identity)
        yield from _place_for_points(identity, public, cells, at, hidden=False)
        if hidden:
            yield from _place_for_points(identity, hidden, cells, at + 1, hidden=True)


def _points_of(notebook: Cell) -> dict[str, tuple[int, int]]:
    """How many public and hidden points each exercise of an assignment has; nothing for a notebook that is none."""
    said = notebook["metadata"].get(NOTE)
    points = said.get("points") if isinstance(said, dict) else None
    if isinstance(points, dict):
        try:
            return {str(each): (int(public), int(hidden)) for each, (public, hidden) in points.items()}
        except (TypeError, ValueError):
            pass
    known = {exercise.id: len(exercise.properties) for exercise in library.all_exercises()}
    found = {name.split("-")[0] for name in map(_grade_id, notebook["cells"])}
    return {each: (known[each], 0) for each in sorted(found) if each in known}


def _duplicates(cells: list[Cell]) -> Iterator[str]:
    """Of several cells with one id the one whose text fits it keeps it, else the first."""
    by_id: dict[str, list[Cell]] = {}
    for cell in cells:
        if _grade_id(cell):
            by_id.setdefault(_grade_id(cell), []).append(cell)
    for name, several in by_id.items():
        fitting = [cell for cell in several if _answers(cell) == name or f'"{name.split("-")[0]}"' in _text(cell)]
        kept = (fitting or several)[-1 if fitting and _answers(fitting[-1]) == name else 0]
        for cell in several:
            if cell is not kept:
                del cell["metadata"]["nbgrader"]
                yield f"{len(several)} cells were {name} for the grader; the one that is graded keeps it"


def _answer(identity: str, answers: list[Cell], cells: list[Cell]) -> Iterator[str]:
    """The last cell that answers an exercise is the one that is graded."""
    right = answer_metadata(identity)
    holder = next((cell for cell in cells if _grade_id(cell) == identity), None)
    if holder is not None and _answers(holder) != identity:
        del holder["metadata"]["nbgrader"]
        holder = None
        yield f"another cell was {identity} for the grader than the one with %%tvm_exercise {identity}"
    if holder is None:
        answers[-1]["metadata"]["nbgrader"] = right
        yield f"the cell with %%tvm_exercise {identity} was not marked for the grader"
    elif _differs(holder, right) or "points" in holder["metadata"]["nbgrader"]:
        given = {name: value for name, value in holder["metadata"]["nbgrader"].items() if name != "points"}
        holder["metadata"]["nbgrader"] = {**given, **right}
        yield f"the grader's mark on the cell of {identity} was changed"


def _place_for_points(identity: str, points: int, cells: list[Cell], at: int, *, hidden: bool) -> Iterator[str]:
    """The cell with points is there, and says what it was released with."""
    right = points_metadata(identity, points, hidden=hidden)
    source = "" if hidden else points_source(identity)
    found = next((cell for cell in cells if _grade_id(cell) == right["grade_id"]), None)
    if found is None:
        new: Cell = {"cell_type": "code", "source": source, "outputs": [], "execution_count": None}
        taken = {cell["id"] for cell in cells}
        name = next(n for n in (right["grade_id"], *(f"{right['grade_id']}-{i}" for i in range(99))) if n not in taken)
        cells.insert(at + 1, {**new, "id": name, "metadata": {"nbgrader": right}})
        yield f"the cell with the points of {identity} was missing"
        return
    if _differs(found, right) or found["cell_type"] != "code":
        found["metadata"]["nbgrader"] = {**found["metadata"]["nbgrader"], **right}
        yield f"the grader's mark on the points of {identity} was changed"
    if _text(found).strip() != source:
        yield f"the cell with the points of {identity} was changed"
        cells.insert(cells.index(found) + 1, _copied(found, cells))
        found["source"] = source


def _copied(cell: Cell, cells: list[Cell]) -> Cell:
    """What a student wrote into a cell of the grader's, in a cell of its own."""
    taken = {each["id"] for each in cells}
    kept = copy.deepcopy(cell)
    kept["id"] = next(f"kept-{n}" for n in range(len(cells) + 1) if f"kept-{n}" not in taken)
    del kept["metadata"]["nbgrader"]
    return kept


def _differs(cell: Cell, right: dict[str, Any]) -> bool:
    given = cell["metadata"]["nbgrader"]
    return any(given.get(name) != value for name, value in right.items())


def _left(cells: list[Cell], size: int) -> Iterator[str]:
    """What only the student can mend."""
    known = {exercise.id for exercise in library.all_exercises()}
    for at, cell in enumerate(cells):
        text = _text(cell)
        identity = _answers(cell)
        if identity and identity not in known:
            yield f"cell {at + 1} answers {identity}, and there is no such exercise"
        elif not identity and re.search(r"^\s*%%tvm_exercise\b", text, re.MULTILINE):
            yield f"cell {at + 1} has %%tvm_exercise, but not in its first line, or it is no code cell"
    if size > _LARGE:
        yield f"the file has {size >> 20} MB: clear the outputs before you hand it in"


def _answers(cell: Cell) -> str:
    return exercise_in(_text(cell)) if cell.get("cell_type") == "code" else ""


def _grade_id(cell: Cell) -> str:
    said = cell["metadata"].get("nbgrader")
    return str(said.get("grade_id", "")) if isinstance(said, dict) else ""


def _text(cell: Cell) -> str:
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def _prove(notebook: Cell, file: Path) -> None:
    import nbformat

    try:
        nbformat.validate(nbformat.from_dict(copy.deepcopy(notebook)))
    except nbformat.ValidationError as error:
        said = str(error).splitlines()[0]
        raise LoadError(f"the notebook cannot be mended: {said}", str(file), _other_copy(file)) from error


def _replace(file: Path, text: str) -> str:
    """Write it anew; the old one stays beside it, and no older backup is written over."""
    names = (file.with_name(f"{file.name}.backup{n or ''}") for n in range(10_000))
    backup = next(name for name in names if not name.exists())
    beside = file.with_name(f".{file.name}.new")
    try:
        shutil.copy2(file, backup)
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, file)  # noqa: PTH105 - the pathlib form is the same
    except OSError as error:
        raise LoadError(f"the notebook cannot be written: {error.strerror}", str(file), "free the folder") from error
    return str(backup)
