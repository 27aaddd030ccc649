"""An assignment from the lessons: notebooks that nbgrader and otter-grader grade as they are.

A lesson's cell with ``%%tvm_exercise 04a`` becomes a solution cell of nbgrader's; behind it come a cell with the public
points and one with the hidden ones, which students get empty.
"""

from __future__ import annotations

import ast
import copy
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tvmlab.course import library
from tvmlab.course.grading.teachers import Teacher, read_teacher
from tvmlab.course.lessons import exercise_in
from tvmlab.errors import LoadError
from tvmlab.records import Exercise, Record

__all__ = ["NOTE", "Release", "answer_metadata", "points_metadata", "points_source", "release"]

NOTE = "tvmlab"
"""The part of a notebook's metadata that says how many points each exercise has."""

_HIDDEN = "# BEGIN HIDDEN TESTS\n{}\n# END HIDDEN TESTS"
_CONFIG = '''\
"""For nbgrader: nbgrader generate_assignment LESSON; nbgrader autograde LESSON; nbgrader export."""

from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ComputeChecksums,
    IncludeHeaderFooter,
    LockCells,
    SaveCells,
)

c = get_config()
c.CourseDirectory.root = {root!r}
c.CourseDirectory.course_id = "tvmlab"
# Without ClearSolutions: an exercise's cell holds what students begin with, and that stays.
c.GenerateAssignment.preprocessors = [
    IncludeHeaderFooter,
    LockCells,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    SaveCells,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
]
c.Execute.timeout = 300
c.ExecutePreprocessor.timeout = 300
'''


@dataclass(frozen=True, repr=False)
class Release(Record):
    """An assignment.

    Parameters
    ----------
    folder : str
    lessons : tuple of str
    exercises : tuple of str
    points : int
        Of all exercises.
    """

    folder: str
    lessons: tuple[str, ...]
    exercises: tuple[str, ...]
    points: int

    @property
    def headline(self) -> str:
        lessons = f"{len(self.lessons)} lesson{'s' if len(self.lessons) != 1 else ''}"
        return (
            f"{lessons} with {len(self.exercises)} exercises and {self.points} points in {self.folder}: "
            "release/ is for students, source/ for nbgrader, otter/ for otter-grader"
        )


def release(folder: Path, notebooks: Mapping[str, Any], teacher: Path) -> Release:
    """Write an assignment.

    Parameters
    ----------
    folder : pathlib.Path
        Gets ``release/LESSON/LESSON.ipynb`` for students, ``source/`` for nbgrader with its configuration, and
        ``otter/LESSON/tests`` for otter-grader.
    notebooks : mapping of str to nbformat.NotebookNode
        The lessons by name; those without exercises are left out.
    teacher : pathlib.Path
        With the hidden properties.

    Raises
    ------
    LoadError
        No lesson has an exercise, one is in the folder already, or the teacher's folder cannot be used.
    """
    known = read_teacher(teacher)
    lessons = {name: notebook for name, notebook in notebooks.items() if any(map(_exercise, notebook.cells))}
    if not lessons:
        raise LoadError("no lesson has an exercise", ", ".join(notebooks) or "no lesson", "name others: --lessons 04_…")
    there = next((name for name in lessons if (folder / "source" / name).exists()), None)
    if there is not None:
        raise LoadError(f"{there} was released there before", str(folder), "name another folder, or move it away")
    key = secrets.token_hex(16)
    written: dict[str, int] = {}
    try:
        for name, notebook in lessons.items():
            source = _source(notebook, known, key)
            written |= {identity: sum(counts) for identity, counts in source.metadata[NOTE]["points"].items()}
            for kind, made in (("source", source), ("release", _for_students(source))):
                _write(folder / kind / name / f"{name}.ipynb", made)
            _otter(folder / "otter" / name / "tests", source.metadata[NOTE]["points"], known, key)
        config = folder / "nbgrader_config.py"
        if not config.exists():
            config.write_text(_CONFIG.format(root=str(folder.resolve())), encoding="utf-8")
    except OSError as error:
        raise LoadError(
            f"the assignment cannot be written: {error.strerror}", str(folder), "name another folder"
        ) from error
    return Release(str(folder), tuple(lessons), tuple(written), sum(written.values()))


def answer_metadata(identity: str) -> dict[str, Any]:
    """Nbgrader's metadata of the cell of an answer."""
    return _metadata(identity, grade=False, solution=True)


def points_metadata(identity: str, points: int, *, hidden: bool = False) -> dict[str, Any]:
    """Nbgrader's metadata of a cell with points."""
    return {**_metadata(f"{identity}-{_kind(hidden)}", grade=True, solution=False), "points": points}


def points_source(identity: str) -> str:
    """What the cell with the public points says."""
    return f'from tvmlab import course\n\ncourse.points("{identity}")'


def _kind(hidden: bool) -> str:
    return "hidden" if hidden else "points"


def _metadata(grade_id: str, *, grade: bool, solution: bool) -> dict[str, Any]:
    return {
        "schema_version": 3,
        "grade_id": grade_id,
        "grade": grade,
        "solution": solution,
        "locked": grade,
        "task": False,
        "cell_type": "code",
    }


def _exercise(cell: Any) -> str:
    return exercise_in(cell.source) if cell.cell_type == "code" else ""


def _source(notebook: Any, teacher: Teacher, key: str) -> Any:
    """The teacher's notebook: with the cells for points, and the hidden tests in them."""
    made = copy.deepcopy(notebook)
    counts: dict[str, list[int]] = {}
    made.cells = [each for cell in notebook.cells for each in _with_points(cell, teacher, key, counts)]
    made.metadata[NOTE] = {"points": counts}
    return made


def _with_points(cell: Any, teacher: Teacher, key: str, counts: dict[str, list[int]]) -> Iterator[Any]:
    identity, cell = _exercise(cell), copy.deepcopy(cell)
    if not identity or identity in counts:
        yield cell
        return
    exercise = library.find(identity)
    hidden = teacher.hidden.get(identity, ())
    counts[identity] = [len(exercise.properties), len(hidden)]
    cell.source = f"%%tvm_exercise {identity}\n{exercise.starter.rstrip()}\n"
    cell.metadata["nbgrader"] = answer_metadata(identity)
    yield cell
    yield _code(points_source(identity), points_metadata(identity, len(exercise.properties)))
    if hidden:
        text = _text_for_tests(teacher, identity)
        call = f"from tvmlab import course\n\ncourse.hidden_points({identity!r}, {text!r}, {key!r})"
        yield _code(_HIDDEN.format(call), points_metadata(identity, len(hidden), hidden=True))


def _code(source: str, metadata: dict[str, Any]) -> Any:
    import nbformat

    return nbformat.v4.new_code_cell(source, metadata={"nbgrader": metadata}, id=metadata["grade_id"])


def _text_for_tests(teacher: Teacher, identity: str) -> str:
    """The teacher's file without the answers."""
    tree = ast.parse(teacher.files[identity].read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not _binds(node, ("SOLUTION", "WRONG"))]
    return ast.unparse(tree)


def _binds(node: ast.stmt, names: Sequence[str]) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(isinstance(target, ast.Name) and target.id in names for target in targets)


def _for_students(source: Any) -> Any:
    """Without the hidden tests, as nbgrader makes it."""
    made = copy.deepcopy(source)
    for cell in made.cells:
        if cell.get("metadata", {}).get("nbgrader", {}).get("grade_id", "").endswith(f"-{_kind(hidden=True)}"):
            cell.source = ""
    return made


def _otter(folder: Path, counts: Mapping[str, Sequence[int]], teacher: Teacher, key: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for identity in counts:
        (folder / f"ex{identity}.py").write_text(_otter_tests(library.find(identity), teacher, key), encoding="utf-8")


def _otter_tests(exercise: Exercise, teacher: Teacher, key: str) -> str:
    """A test file of otter-grader's, with a case of one point for each property."""
    hidden = teacher.hidden.get(exercise.id, ())
    cases = [
        _case(at, each.name, f"course.require({exercise.id!r}, {each.name!r})", hidden=False)
        for at, each in enumerate(exercise.properties)
    ]
    text = _text_for_tests(teacher, exercise.id) if hidden else ""
    cases += [
        _case(at, each.name, f"course.require_hidden({exercise.id!r}, {each.name!r}, {text!r}, {key!r})", hidden=True)
        for at, each in enumerate(hidden, len(cases))
    ]
    head = "OK_FORMAT = False\n\nfrom otter.test_files import test_case\n"
    return "\n\n".join([head, f"name = {exercise.id!r}\npoints = {len(cases)}\n", *cases])


def _case(at: int, name: str, call: str, *, hidden: bool) -> str:
    return (
        f"@test_case(points=1, hidden={hidden}, name={name!r})\n"
        f"def test_{at}():\n    from tvmlab import course\n\n    {call}\n"
    )


def _write(file: Path, notebook: Any) -> None:
    import nbformat

    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.validate(json.loads(json.dumps(notebook)))
    nbformat.write(notebook, file)
