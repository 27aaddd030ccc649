"""A teacher's own exercises."""

from __future__ import annotations

import pytest

from tvmlab import course
from tvmlab.course import library
from tvmlab.errors import LoadError

OWN = """
from tvmlab.course import Exercise, Mismatch, Property

def check(answer, random):
    return None if answer() == 42 else Mismatch(f"it is {answer()}")

EXERCISE = Exercise("20a", "the answer", 1, "Return 42.", "def solve():\\n    ...\\n", "solve",
                    (Property("it is 42", check),), ("a", "b", "c"), "20_own")
"""


@pytest.fixture(autouse=True)
def _only_here(monkeypatch):
    monkeypatch.setattr(library, "_OWN", {})


def test_exercises_of_a_folder_are_judged_like_those_that_are_shipped(tmp_path):
    (tmp_path / "mine.py").write_text(OWN, encoding="utf-8")
    assert [exercise.id for exercise in course.add(tmp_path)] == ["20a"]
    assert course.all_exercises()[-1].id == "20a"
    assert course.judge(course.find("20a"), "def solve():\n    return 42\n").ok
    assert course.judge(course.find("20a"), "def solve():\n    return 41\n").mismatch.what == "it is 41"


def test_one_with_an_id_that_is_taken_replaces_it(tmp_path):
    (tmp_path / "mine.py").write_text(OWN.replace("20a", "04a"), encoding="utf-8")
    before = len(course.all_exercises())
    course.add(tmp_path / "mine.py")
    assert course.find("04a").title == "the answer"
    assert len(course.all_exercises()) == before


@pytest.mark.parametrize(("text", "said"), [("", "sets no exercise"), ("1 / 0", "ZeroDivisionError")])
def test_a_file_that_is_no_exercise_is_refused(tmp_path, text, said):
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(LoadError, match=said):
        course.add(tmp_path / "mine.py")


def test_a_folder_without_any_is_refused(tmp_path):
    with pytest.raises(LoadError, match="there is no exercise"):
        course.add(tmp_path)
