"""From the text of a cell to a verdict."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tvmlab import course
from tvmlab.course.judging import generator
from tvmlab.errors import CallError, CellError
from tvmlab.records import ElementMismatch, Exercise, GroupMismatch, Mismatch, Property


def exercise(check, asks="double"):
    return Exercise(
        "99z", "double", 1, "Double it.", "", asks, (Property("it doubles", check),), ("a", "b", "c"), "99_x"
    )


def doubles(answer, random):
    number = int(random.integers(1, 10**9))
    return None if answer(number) == 2 * number else Mismatch(f"double({number}) is {answer(number)}")


def test_a_right_function_is_kept_and_a_wrong_one_is_told():
    verdict = course.judge(exercise(doubles), "def double(n):\n    return n + n\n")
    assert verdict.ok
    assert verdict.answer(4) == 8
    verdict = course.judge(exercise(doubles), "def double(n):\n    return n * n\n")
    assert not verdict.ok
    assert "double(" in verdict.headline


def test_the_random_inputs_depend_on_the_secret_and_on_nothing_else():
    def seen(secret):
        numbers = []
        course.judge(
            exercise(lambda _, random: numbers.append(random.integers(2**60))), "def double(n): 1", secret=secret
        )
        return numbers

    assert seen(b"one") == seen(b"one")
    assert seen(b"one") != seen(b"two")
    assert seen(b"") != seen(b"one")
    assert generator(b"s", "a", "b").random() != generator(b"s", "ab").random()


def test_an_answer_that_remembers_the_public_inputs_fails_with_a_secret():
    numbers = []
    course.judge(exercise(lambda _, random: numbers.append(int(random.integers(1, 10**9)))), "def double(n): 1")
    cell = f"def double(n):\n    return {{{numbers[0]}: {2 * numbers[0]}}}.get(n)\n"
    assert course.judge(exercise(doubles), cell).ok
    assert not course.judge(exercise(doubles), cell, secret=b"s").ok


def test_an_error_in_the_answer_is_a_finding_at_its_line():
    verdict = course.judge(exercise(doubles), "def double(n):\n    m = n\n    return m / 0\n", label="Cell In[7]")
    assert verdict.mismatch.what == "ZeroDivisionError: division by zero"
    assert verdict.mismatch.where.startswith("Cell In[7], line 4: ")
    verdict = course.judge(exercise(doubles), "import sys\ndef double(n):\n    sys.exit(0)\n")
    assert verdict.mismatch.what.startswith("SystemExit")


def test_an_error_in_a_property_is_not_the_students():
    with pytest.raises(RuntimeError, match="ours"):
        course.judge(exercise(lambda *_: (_ for _ in ()).throw(RuntimeError("ours"))), "def double(n): 1")


@pytest.mark.parametrize("body", ["...", "return ...", "m = ...", "raise NotImplementedError"])
def test_what_is_not_written_is_no_wrong_answer(body):
    verdict = course.judge(exercise(doubles), f"def double(n):\n    {body}\n", label="Cell In[1]")
    assert verdict.unwritten == f"Cell In[1], line 3: {body}".replace("raise", "▸raise")
    assert verdict.mismatch is None


def test_dots_in_an_index_are_written():
    cell = "def double(n):\n    import numpy as np\n    return 2 * int(np.array([n])[..., 0])\n"
    assert course.judge(exercise(doubles), cell).ok


def test_a_cell_that_cannot_run_is_an_error_at_its_line():
    with pytest.raises(CellError, match="SyntaxError"):
        course.judge(exercise(doubles), "def double(n:\n")
    with pytest.raises(CellError, match="none is called 'double'"):
        course.judge(exercise(doubles), "def a(): 1\ndef b(): 2\n")


def test_an_operator_that_tvm_refuses_is_a_finding():
    verdict = course.judge(course.find("04a"), "def compute(x):\n    return x + y\n", label="Cell In[2]")
    assert not verdict.ok
    assert verdict.results[0].name == "it is an operator"
    assert "y" in verdict.mismatch.what
    assert "Cell In[2], line 3" in verdict.mismatch.where


def test_an_operator_without_the_attributes_is_a_finding():
    cell = "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i), name='same')\n"
    verdict = course.judge(course.find("04a"), cell)
    assert [result.state for result in verdict.results] == ["fails", "fails", "fails"]
    assert "lower" in verdict.results[1].mismatch.what


def test_the_first_wrong_element_has_all_that_a_picture_needs(teacher):
    mismatch = course.judge(course.find("04a"), teacher("04a").WRONG[0][0]).mismatch
    assert isinstance(mismatch, ElementMismatch)
    assert mismatch.index == (0, 0)
    assert mismatch.wrong.tolist() == [[True, True, False, False], [False] * 4]
    assert mismatch.got[0, 0] == np.float32(-1)


def test_the_first_wrong_graph_has_all_that_a_picture_needs(teacher):
    mismatch = course.judge(course.find("08f"), teacher("08f").WRONG[0][0]).mismatch
    assert isinstance(mismatch, GroupMismatch)
    assert (mismatch.got, mismatch.expected, mismatch.edge) == (((0,), (1,)), ((0, 1),), (0, 1))
    assert mismatch.mend.startswith("0 and 1 share a kernel")


def test_a_verdict_is_plain_data(teacher):
    verdict = course.judge(course.find("08f"), teacher("08f").WRONG[0][0])
    data = json.loads(json.dumps(verdict.to_dict()))
    assert data["ok"] is False
    assert data["results"][0]["mismatch"]["expected"] == [[0, 1]]


def test_an_exercise_that_is_not_there_is_told_with_the_one_meant():
    with pytest.raises(CallError, match="did you mean 04a"):
        course.find("4a")
