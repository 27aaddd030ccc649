"""The notebooks hold what the course promises: exercises, items of the articles, and a self-test at the end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tvmlab import course
from tvmlab.course.lessons import exercise_in, sections, solved
from tvmlab.workspace import to_notebook

TUTORIALS = Path(__file__).resolve().parents[2] / "tutorials"
NOTEBOOKS = sorted(source.stem for source in TUTORIALS.glob("*.py"))
LESSONS = [name for name in NOTEBOOKS if name != "00_tour"]
ITEMS = {f"A{n:02d}" for n in range(1, 105)} | {f"B{n:02d}" for n in range(1, 45)}


@pytest.fixture(scope="module")
def read():
    """A notebook by the name of its lesson, each read once."""
    made = {}
    return lambda lesson: made.setdefault(lesson, to_notebook(TUTORIALS / f"{lesson}.py"))


def exercises_of(lesson):
    return [exercise for exercise in course.all_exercises() if exercise.lesson == lesson]


def written(text):
    """The lines of a cell; the formatter decides how many empty ones stand between them."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_an_exercise_belongs_to_a_notebook_that_has_its_number():
    lessons = {exercise.lesson for exercise in course.all_exercises() if exercise.id[:2] in {n[:2] for n in LESSONS}}
    assert lessons <= set(LESSONS)


@pytest.mark.parametrize("lesson", NOTEBOOKS)
def test_each_exercise_stands_once_with_its_starter(lesson, read):
    cells = [cell.source for cell in read(lesson).cells if cell.cell_type == "code"]
    found = [(exercise_in(cell), cell) for cell in cells if exercise_in(cell)]
    assert sorted(identity for identity, _ in found) == [exercise.id for exercise in exercises_of(lesson)]
    for identity, cell in found:
        assert written(cell) == [f"%%tvm_exercise {identity}", *written(course.find(identity).starter)]


@pytest.mark.parametrize("lesson", NOTEBOOKS)
def test_the_solutions_pass_in_their_cells(lesson, read, notebook, teacher):
    filled = solved(read(lesson), {each.id: teacher(each.id).SOLUTION for each in exercises_of(lesson)})
    for cell in filled.cells:
        if cell.cell_type == "code" and exercise_in(cell.source):
            ran = notebook(cell.source)
            assert (ran.error, ran.err) == (None, "")
            assert ran.value.ok, ran.value.headline


@pytest.mark.parametrize("lesson", NOTEBOOKS)
def test_every_section_says_which_items_it_treats(lesson, read):
    found = list(sections(read(lesson)))
    assert len(found) >= 4
    named = {item for section in found for item in section.articles}
    assert named
    assert named <= ITEMS


def test_a_lesson_begins_with_its_title_and_ends_with_five_questions(read):
    for lesson in LESSONS:
        cells = read(lesson).cells
        assert cells[0].source.startswith(f"# {lesson[:2]} "), lesson
        end = [cell.source for cell in cells if cell.source.startswith("## Self-test\n")]
        assert end == [cells[-1].source], lesson
        assert len(re.findall(r"^\*\*\d\.\*\* ", end[0], re.MULTILINE)) == 5, lesson
        answers = re.findall(r"<details><summary>Answer</summary>\n\n.+?\n\n</details>", end[0], re.DOTALL)
        assert len(answers) == 5, lesson


def test_the_table_lists_the_notebooks_by_their_titles(read):
    table = (TUTORIALS / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", table, re.MULTILINE)
    titles = {source.stem: to_notebook(source).cells[0].source.split("\n", 1)[0] for source in TUTORIALS.glob("*.py")}
    assert dict(rows) == {stem: re.sub(r"^# (\d\d )?", "", title) for stem, title in titles.items()}
    assert [stem for stem, _ in rows] == sorted(stem for stem, _ in rows)
