"""A class is graded: expected marks for all, whatever they hand in; nobody sees what is not theirs."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import json
import os
import re
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tvmlab import ongoing
from tvmlab.course import library
from tvmlab.course.grading import grade
from tvmlab.course.grading.lanes import Lane, Setup
from tvmlab.course.grading.results import marks_from
from tvmlab.course.grading.submissions import Submission
from tvmlab.errors import BackendError, CallError, LoadError
from tvmlab.sandbox import Limits, bubblewrap

HERE = Path(__file__).resolve().parent
TEACHER = HERE.parents[1] / "teacher"
SECRET = "the secret of this test, nobody knows"

spec = importlib.util.spec_from_file_location("class_of_thirty", HERE / "class_of_thirty.py")
thirty = importlib.util.module_from_spec(spec)
spec.loader.exec_module(thirty)


@pytest.fixture(scope="module")
def shut_in():
    """Whether bubblewrap is here and may do its work; where not, grading has to be asked for without it."""
    with contextlib.suppress(BackendError):
        return bool(bubblewrap.require())
    with pytest.raises(BackendError, match="bubblewrap") as refused:
        bubblewrap.require()
    assert "--no-sandbox" in refused.value.mend
    return False


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a secret, and for submissions."""
    folder = tmp_path_factory.mktemp("class")
    (folder / "secret").write_text(SECRET)
    (folder / "secret").chmod(0o600)
    (folder / "submitted").mkdir()
    return folder


def hand_in(folder, submissions):
    folder.mkdir(exist_ok=True)
    for name, (text, *_) in submissions.items():
        (folder / f"{name}.ipynb").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def graded(place, shut_in):
    """The thirty, and spies; hostile ones only where they are shut in."""
    submitted, out = place / "submitted", place / "grades"
    everybody = dict(thirty.PLAIN)
    if shut_in:
        spies = thirty.spies(place / "secret", SECRET, TEACHER, submitted, out)
        everybody |= thirty.HOSTILE | spies
        assert len(thirty.PLAIN | thirty.HOSTILE) == 30
    hand_in(submitted, everybody)
    marks = grade(
        submitted,
        teacher=TEACHER,
        secret_file=place / "secret",
        out=out,
        exercises=["02c", "04a"],
        seconds=4,
        sandbox=shut_in,
    )
    return SimpleNamespace(everybody=everybody, marks=marks, out=out, submitted=submitted)


def test_everybody_gets_the_marks_that_are_expected(graded):
    assert graded.marks.ok
    assert [each.student for each in graded.marks.students] == sorted(graded.everybody)
    wrong = {}
    for each in graded.marks.students:
        _, limits, leaky, said = graded.everybody[each.student]
        found = [*each.findings, *(mark.finding for mark in each.exercises)]
        if [mark.points for mark in each.exercises] != [limits, leaky] or not re.search(said, " ".join(found)):
            wrong[each.student] = [mark.points for mark in each.exercises], found
    assert wrong == {}
    assert {(mark.of, mark.hidden) for mark in graded.marks.students[0].exercises} == {(3, 1), (5, 2)}


def test_nobody_is_left_behind(graded):
    lines = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    assert not [line for line in lines if "sleep 987" in line]


def test_the_results_are_data_a_table_and_pages(graded):
    data = json.loads((graded.out / "grades.json").read_text(encoding="utf-8"))
    assert marks_from(data["students"][0]) == graded.marks.students[0]
    rows = list(csv.DictReader((graded.out / "grades.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["student_id"]: float(row["score"]) for row in rows} == {
        each.student: each.points for each in graded.marks.students
    }
    assert {row["max_score"] for row in rows} == {"8.0"}
    assert {file.stem for file in (graded.out / "students").glob("*.html")} == set(graded.everybody)
    assert "2c" in (graded.out / "class.html").read_text(encoding="utf-8")


def test_a_students_page_gives_reasons_and_no_secret_inputs(graded):
    page = (graded.out / "students" / "no-leak.html").read_text(encoding="utf-8")
    assert "element [0, 0] is -1 and should be -1.02, where x is -3" in page  # the notebook's own input
    assert "it works in float16" in page
    half = (graded.out / "students" / "swallows-nan.html").read_text(encoding="utf-8")
    assert "should be nan, where x is nan" in half
    reason = next(each for each in graded.marks.students if each.student == "slope-written-in").exercises[1].finding
    assert reason not in (graded.out / "students" / "slope-written-in.html").read_text(encoding="utf-8")
    for file in graded.out.rglob("*.*"):
        assert SECRET not in file.read_text(encoding="utf-8")


def test_what_was_judged_is_not_judged_again(graded, place, shut_in):
    (graded.submitted / "refuses-nothing.ipynb").write_text(thirty.PLAIN["right"][0])
    again = grade(
        graded.submitted,
        teacher=TEACHER,
        secret_file=place / "secret",
        out=graded.out,
        exercises=["02c", "04a"],
        seconds=4,
        sandbox=shut_in,
        jobs=1,
    )
    assert again.judged == 1
    before = {each.student: each for each in graded.marks.students}
    after = {each.student: each for each in again.students}
    assert after.pop("refuses-nothing").points == 8
    assert after == {name: marks for name, marks in before.items() if name in after}


def test_the_judge_is_told_where_the_secret_is_and_begun_again_when_it_is_lost(place, shut_in):
    setup = Setup(str(TEACHER), str(place / "secret"), shut_in, Limits(), (), ("02c",))
    lane = Lane(setup)
    try:
        for process in (judge := psutil.Process(lane._child.pid)), *judge.children(recursive=True):
            assert SECRET not in " ".join(process.cmdline())
            assert SECRET not in str(process.environ())
        judge.kill()
        cells = {"a.ipynb": [f"%%tvm_exercise 02c\n{thirty.RIGHT_LIMITS}"]}
        assert marks_from(lane.judge(Submission("ada", cells))["marks"]).points == 3
    finally:
        lane.close()


OWN = """
from tvmlab.course import Exercise, Mismatch, Property

def holds(answer, random):
    number = int(random.integers(100))
    return None if answer(number) == number + 1 else Mismatch(f"f({number}) is {answer(number)}")

def fails(answer, random):
    return answer.secret

EXERCISE = Exercise("20a", "one more", 1, "Add one.", "def f(n):\\n    ...\\n", "f",
                    (Property("it is one more", holds), BROKEN), ("a", "b", "c"), "20_own")
HIDDEN = (Property("it is one more again", holds),)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A teacher with an exercise of their own, and one right submission in nbgrader's folders."""
    monkeypatch.setattr(library, "_OWN", {})
    teacher = tmp_path / "teacher"
    teacher.mkdir()
    (teacher / "ex20a.py").write_text(OWN.replace(" BROKEN", ""))
    (tmp_path / "secret").write_text("x" * 32)
    (tmp_path / "secret").chmod(0o600)
    folder = tmp_path / "submitted" / "ada" / "20_own"
    folder.mkdir(parents=True)
    (folder / "20_own.ipynb").write_text(
        thirty.notebook("one = 1", "%%tvm_exercise 20a\ndef f(n):\n    return n + one\n")
    )

    def run(**options):
        given = {"teacher": teacher, "secret_file": tmp_path / "secret", "out": tmp_path / "out", "sandbox": False}
        return grade(tmp_path / "submitted", **{**given, **options})

    return SimpleNamespace(folder=tmp_path, teacher=teacher, run=run)


def test_a_teachers_own_exercise_is_graded_in_nbgraders_folders(own):
    marks = own.run()
    assert [(each.student, each.points, each.of) for each in marks.students] == [("ada", 2, 2)]
    lines = (own.folder / "out" / "grades.csv").read_text(encoding="utf-8").splitlines()
    assert next(csv.DictReader(lines))["assignment"] == "20_own"


def test_a_property_that_fails_itself_is_the_teachers_trouble(own):
    (own.teacher / "ex20a.py").write_text(OWN.replace("BROKEN", 'Property("it is broken", fails)'))
    marks = own.run()
    assert not marks.ok
    assert "asks an answer for its secret" in marks.students[0].exercises[0].trouble
    assert "your teacher has to look" in (own.folder / "out" / "students" / "ada.html").read_text(encoding="utf-8")


def test_a_secret_that_others_can_read_is_refused(own):
    secret = own.folder / "secret"
    secret.chmod(0o640)
    with pytest.raises(LoadError, match="mode is 0640") as caught:
        own.run()
    assert caught.value.mend == f"chmod 600 {secret}"
    secret.chmod(0o600)
    secret.write_text("short")
    with pytest.raises(LoadError, match="can be guessed"):
        own.run()
    secret.unlink()
    with pytest.raises(LoadError, match="cannot be read") as caught:
        own.run()
    assert "/dev/urandom" in caught.value.mend


def test_what_cannot_be_graded_is_told(own):
    with pytest.raises(CallError, match="no exercise '99z'"):
        own.run(exercises=["99z"])
    (own.folder / "submitted" / "ada" / "20_own" / "20_own.ipynb").unlink()
    with pytest.raises(LoadError, match="there is no submission"):
        own.run()


def fake(folder, text):
    file = folder / "bwrap"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def test_without_bubblewrap_grading_is_refused(own, monkeypatch):
    monkeypatch.setenv("PATH", str(own.folder))
    arguments = {"teacher": own.teacher, "secret_file": own.folder / "secret", "out": own.folder / "out"}
    with pytest.raises(BackendError, match="bubblewrap is not installed") as caught:
        grade(own.folder / "submitted", **arguments)
    assert "--no-sandbox" in caught.value.mend
    fake(own.folder, 'echo "bwrap: No permissions to create new namespace" >&2; exit 1')
    with pytest.raises(BackendError, match="No permissions to create new namespace"):
        grade(own.folder / "submitted", **arguments)


def test_a_cluster_that_others_can_listen_to_is_refused(own):
    for address in ("tcp://192.0.2.7:8786", "ws://127.0.0.1:1", "8786"):
        with pytest.raises(BackendError, match="unencrypted"):
            own.run(cluster=address)


def test_grading_is_for_linux(own, monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(BackendError, match="for Linux"):
        own.run()


def test_a_cluster_gives_the_same_marks_and_a_worker_that_dies_loses_nothing(own):
    from distributed import LocalCluster

    for at in range(20):
        folder = own.folder / "submitted" / f"student{at:02}" / "20_own"
        folder.mkdir(parents=True)
        (folder / "20_own.ipynb").write_text(
            thirty.notebook(f"%%tvm_exercise 20a\ndef f(n):\n    return n + {at % 2}\n")
        )
    expected = {each.student: each.points for each in own.run(out=own.folder / "here").students}
    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
    ) as cluster:
        killed = []

        def kill_one(doing):
            if not killed:
                worker = next(iter(cluster.workers.values()))
                killed.append(worker.process.pid)
                os.kill(worker.process.pid, 9)

        with ongoing.heard(kill_one):
            marks = own.run(cluster=cluster.scheduler_address)
    assert killed
    assert {each.student: each.points for each in marks.students} == expected
    assert sorted(set(expected.values())) == [0, 2]
    assert marks.judged == 21
