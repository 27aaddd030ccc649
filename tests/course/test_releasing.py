"""An assignment: what students get, what nbgrader and otter-grader grade, and a notebook that is mended before that."""

from __future__ import annotations

import ast
import contextlib
import json
import runpy
import sys
import types
from pathlib import Path

import nbformat
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tvmlab import course
from tvmlab.course import cells, releasing
from tvmlab.course.handing_in import check_notebook
from tvmlab.errors import LoadError

TEACHER = Path(__file__).resolve().parents[2] / "teacher"


def lesson(*texts):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in texts])


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("once")
    cells_of_it = ("import os", "%%tvm_exercise 02c\n1", "%%tvm_exercise 04a\n2")
    releasing.release(folder, {"02_card": lesson(*cells_of_it)}, TEACHER)
    return folder


@pytest.fixture
def released(tmp_path):
    notebooks = {
        "00_tour": lesson("1 + 1"),
        "02_card": lesson("%load_ext tvmlab", "%%tvm_exercise 02c\n1", "%%tvm_exercise 04a\n2"),
    }
    made = releasing.release(tmp_path, notebooks, TEACHER)
    assert (made.lessons, made.exercises, made.points) == (("02_card",), ("02c", "04a"), 8)
    return tmp_path


def read(folder, kind):
    notebook = nbformat.read(folder / kind / "02_card" / "02_card.ipynb", as_version=4)
    nbformat.validate(notebook)
    return notebook


def marks(notebook):
    found = (cell.metadata.get("nbgrader") for cell in notebook.cells)
    return {each["grade_id"]: (each["grade"], each["solution"], each.get("points")) for each in found if each}


def test_each_exercise_has_its_starter_and_its_points(released):
    student = read(released, "release")
    assert marks(student) == {
        "02c": (False, True, None),
        "02c-points": (True, False, 2),
        "02c-hidden": (True, False, 1),
        "04a": (False, True, None),
        "04a-points": (True, False, 3),
        "04a-hidden": (True, False, 2),
    }
    assert student.cells[1].source == f"%%tvm_exercise 02c\n{course.find('02c').starter}"
    assert student.cells[2].source.endswith('course.points("02c")')


def test_hidden_tests_are_in_the_teachers_notebook_alone_and_no_answer_is_anywhere(released):
    source, student = read(released, "source"), read(released, "release")
    assert [cell.id for cell in source.cells] == [cell.id for cell in student.cells]
    hidden = [cell.source for cell in source.cells if "hidden" in cell.id]
    assert len(hidden) == 2
    assert all(text.startswith("# BEGIN HIDDEN TESTS\n") and text.endswith("\n# END HIDDEN TESTS") for text in hidden)
    assert "HIDDEN" not in json.dumps(student)
    for file in released.rglob("*.*"):
        assert "self.lower > self.upper" not in file.read_text(encoding="utf-8")


def test_the_cells_give_the_points_of_the_last_attempt(released, teacher, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hidden = next(cell.source for cell in read(released, "source").cells if cell.id == "02c-hidden")
    call = ast.unparse(ast.parse(hidden).body[-1])
    cells.forget("02c")
    assert course.points("02c") == 0
    assert eval(call, {"course": course}) == 0
    for cell, public, unseen in (
        (teacher("02c").SOLUTION, 2, 1),
        ("class Attrs:\n    ...\n", 2, 1),  # not written: the one before counts
        (teacher("02c").WRONG[1][0], 1, 1),
        (teacher("02c").WRONG[2][0], 1, 0),
    ):
        course.attempt("02c", cell)
        assert (course.points("02c"), eval(call, {"course": course})) == (public, unseen)
    with pytest.raises(Exception, match="SyntaxError"):
        course.attempt("02c", "def compute(x:")
    assert course.points("02c") == 0


def test_otters_tests_have_a_case_for_each_property(released, teacher, tmp_path, monkeypatch):
    made = []

    def test_case(**about):
        return lambda function: made.append((about, function)) or function

    files = types.ModuleType("otter.test_files")
    files.test_case = test_case
    monkeypatch.setitem(sys.modules, "otter", types.ModuleType("otter"))
    monkeypatch.setitem(sys.modules, "otter.test_files", files)
    said = runpy.run_path(str(released / "otter" / "02_card" / "tests" / "ex02c.py"))
    assert (said["OK_FORMAT"], said["name"], said["points"]) == (False, "02c", 3)
    assert [(about["points"], about["hidden"]) for about, _ in made] == [(1, False), (1, False), (1, True)]
    monkeypatch.chdir(tmp_path)

    def held():
        found = []
        for _, function in made:
            try:
                function()
                found.append("")
            except AssertionError as error:
                found.append(str(error))
        return found

    cells.forget("02c")
    assert all(held())
    course.attempt("02c", teacher("02c").SOLUTION)
    assert held() == ["", "", ""]
    course.attempt("02c", teacher("02c").WRONG[2][0])
    assert "is taken, and is illegal" in held()[0]
    assert held()[2] == "02c: limits that differ by the last bit are told apart"


def test_what_was_released_is_not_written_over(released):
    with pytest.raises(LoadError, match="02_card was released there before"):
        releasing.release(released, {"02_card": lesson("%%tvm_exercise 02c\n")}, TEACHER)
    with pytest.raises(LoadError, match="no lesson has an exercise"):
        releasing.release(released, {"00_tour": lesson("1")}, TEACHER)


@pytest.fixture
def mine(released):
    """A student's copy."""
    file = released / "release" / "02_card" / "02_card.ipynb"
    return file, json.loads(file.read_text(encoding="utf-8"))


def text_of(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"]]


def test_a_notebook_as_it_was_released_has_nothing_to_mend(mine):
    file, _ = mine
    before = file.read_bytes()
    found = check_notebook(file)
    assert (found.mended, found.left, found.backup, found.ok) == ((), (), "", True)
    assert file.read_bytes() == before


def copies_the_answer(cells):
    cells.insert(3, {**cells[1], "source": ["%%tvm_exercise 02c\n", "mine = 1\n"]})


def loses_the_marks(cells):
    for cell in cells:
        cell["metadata"] = {}


def breaks_the_marks(cells):
    cells[1]["metadata"]["nbgrader"]["solution"] = False
    cells[2]["metadata"]["nbgrader"]["points"] = 99
    cells[3]["metadata"]["nbgrader"]["locked"] = None


def takes_the_points_out(cells):
    del cells[2:4]


def writes_into_the_points(cells):
    cells[2]["source"] = ["print('mine')"]


def moves_the_mark(cells):
    cells[0]["metadata"]["nbgrader"] = cells[1]["metadata"].pop("nbgrader")


def breaks_cells(cells):
    cells[0].pop("metadata")
    cells[1].pop("outputs")
    cells[2].pop("execution_count")
    cells.append({"cell_type": "markdown", "source": ["mine"], "outputs": []})
    cells.append({"source": "mine too"})
    cells.append(["mine as well"])
    for cell in cells[:3]:
        cell["id"] = "same"


SLIPS = (
    copies_the_answer,
    loses_the_marks,
    breaks_the_marks,
    takes_the_points_out,
    writes_into_the_points,
    moves_the_mark,
    breaks_cells,
)


@settings(max_examples=40)
@example(slips=[takes_the_points_out, copies_the_answer, breaks_the_marks])  # points for an answer
@given(slips=st.lists(st.sampled_from(SLIPS), min_size=1, max_size=3, unique=True))
def test_whatever_slipped_the_marks_are_as_released_and_no_text_is_lost(once, slips):
    right, file = read(once, "release"), once / "02_card.ipynb"
    notebook = json.loads((once / "release" / "02_card" / "02_card.ipynb").read_text(encoding="utf-8"))
    for slip in slips:
        with contextlib.suppress(KeyError, TypeError):  # it slipped before
            slip(notebook["cells"])
    before = json.dumps(notebook, indent=1)
    file.write_text(before, encoding="utf-8")
    found = check_notebook(file)
    assert found.mended
    assert Path(found.backup).read_text(encoding="utf-8") == before
    after = nbformat.read(file, as_version=4)
    nbformat.validate(after)
    assert marks(after) == marks(right)
    names = [cell.metadata.nbgrader.grade_id for cell in after.cells if "nbgrader" in cell.metadata]
    assert sorted(names) == sorted(marks(right))
    written = [cell.source for cell in after.cells]
    for cell in notebook["cells"]:
        text = json.dumps(cell) if isinstance(cell, list) else "".join(cell["source"])
        assert text in written
    again = check_notebook(file)
    assert (again.mended, again.backup) == ((), "")


def test_a_dry_run_writes_nothing_and_backups_are_kept(mine):
    file, notebook = mine
    loses_the_marks(notebook["cells"])
    file.write_text(json.dumps(notebook), encoding="utf-8")
    before = file.read_bytes()
    found = check_notebook(file, mend=False)
    assert found.mended
    assert not found.ok
    assert file.read_bytes() == before
    first = check_notebook(file).backup
    file.write_bytes(before)
    assert check_notebook(file).backup not in ("", first)
    assert Path(first).read_bytes() == before


def test_what_only_the_student_can_mend_is_told(mine):
    file, notebook = mine
    notebook["cells"][0]["source"] = "# mine\n%%tvm_exercise 02c\n"
    notebook["cells"].append({**notebook["cells"][0], "id": "x", "source": "%%tvm_exercise 99x\n"})
    file.write_text(json.dumps(notebook), encoding="utf-8")
    found = check_notebook(file)
    assert not found.ok
    assert "not in its first line" in found.left[0]
    assert "there is no such exercise" in found.left[1]


@pytest.mark.parametrize("text", ['{"cells": [', "[1]", "", '{"cells": 1}'])
def test_what_is_no_notebook_is_refused_with_the_place_of_an_older_copy(tmp_path, text):
    file = tmp_path / "a.ipynb"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(LoadError, match="no notebook"):
        check_notebook(file)
    kept = tmp_path / ".ipynb_checkpoints" / "a-checkpoint.ipynb"
    kept.parent.mkdir()
    kept.write_text("{}", encoding="utf-8")
    with pytest.raises(LoadError) as caught:
        check_notebook(file)
    assert str(kept) in caught.value.mend
    assert file.read_text(encoding="utf-8") == text
