"""How marks look."""

from __future__ import annotations

import base64

import pytest

from tvmlab.records import ClassMarks, ExerciseMark, NotebookCheck, PropertyResult, StudentMarks
from tvmlab.show.palette import BAD, GOOD


def marks(name, states, finding="", trouble="", findings=()):
    results = tuple(PropertyResult(f"property <{at}>", state) for at, state in enumerate(states))
    return StudentMarks(name, (ExerciseMark("04a", "clamp", results, 1, finding, trouble),), findings)


def svg(page):
    (image,) = page.images
    return base64.b64decode(image["src"].partition(",")[2]).decode()


def test_a_class_is_a_map_with_the_best_first(draw):
    students = (
        marks("bob<b>", ("fails", "untried"), "element 0 is <wrong>"),
        marks("ada", ("holds", "holds")),
        marks("cy", ("holds", "fails"), findings=("a.ipynb is no notebook",)),
    )
    page, plain = draw(ClassMarks(students, "grades", 3))
    drawn = svg(page)
    assert drawn.count(f'fill="{GOOD}"') == 3 + 1  # and the legend's
    assert drawn.count(f'fill="{BAD}"') == 2 + 1
    assert drawn.count("✗") == 2
    assert "04a property &lt;1&gt; (hidden)" in drawn
    assert "67%" in drawn
    text = page.text
    assert text.index("ada") < text.index("cy", text.index("ada")) < text.rindex("bob<b>")
    for said in ("element 0 is <wrong>", "a.ipynb is no notebook", "50% of the points"):
        assert said in text
    assert "property <0>" in plain
    assert "2/3" in plain


def test_five_hundred_students_are_a_small_picture(draw):
    students = tuple(marks(f"s{at:03}", ("holds" if at % 2 else "fails",) * 4) for at in range(500))
    page, _ = draw(ClassMarks(students, "grades", 500))
    drawn = svg(page)
    assert drawn.count("<rect") == 4 * 2 + 3
    assert int(page.images[0]["width"]) < 1500


def test_what_the_teacher_has_to_mend_is_said_once(draw):
    students = tuple(marks(name, ("untried",), trouble="a property of 04a fails itself") for name in "ab")
    record = ClassMarks(students, "grades", 2)
    assert not record.ok
    page, plain = draw(record)
    assert page.text.count("a property of 04a fails itself") == 1
    assert plain.count("a property of 04a fails itself") == 1


def test_a_class_of_nobody_is_drawn(draw):
    page, _ = draw(ClassMarks((), "grades"))
    assert "0 submissions" in page.text


def test_a_students_marks_stand_by_exercise(draw):
    page, plain = draw(marks("ada", ("holds", "fails"), "it is <1>"))
    for said in ("ada: 1 of 2 points", "it is <1>", "04a"):
        assert said in page.text
        assert said in plain


@pytest.mark.parametrize("backup", ["", "a.ipynb.backup"])
def test_a_checked_notebook_says_what_was_mended_and_what_is_left(draw, backup):
    page, plain = draw(NotebookCheck("a.ipynb", ("two cells <were> one",), ("cell 3 is late",), backup))
    for said in ("two cells <were> one", "cell 3 is late"):
        assert said in page.text
        assert said in plain
    assert ("\nmended: two" in plain) == bool(backup)
