"""The file beside the notebook: what is solved, tried and hinted at."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tvmlab import course
from tvmlab.course import standing

WRONG = "def fuse(graph):\n    return [[n] for n in range(len(graph))]\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def standings():
    return {each.exercise: each for each in course.progress().standings}


def test_nothing_is_solved_and_no_file_made_at_first(tmp_path):
    assert {each.state for each in standings().values()} == {"new"}
    assert list(tmp_path.iterdir()) == []


def test_attempts_and_hints_are_counted_and_solved_stays_solved(teacher):
    course.attempt("08f", WRONG)
    assert (standings()["08f"].state, standings()["08f"].attempts) == ("tried", 1)
    course.attempt("08f", teacher("08f").SOLUTION)
    course.attempt("08f", WRONG)
    course.hint("08f")
    found = standings()["08f"]
    assert (found.state, found.attempts, found.hints) == ("solved", 3, 1)
    assert standings()["04a"].state == "new"
    assert "1 of " in course.progress().headline


def test_a_starter_is_no_attempt():
    course.attempt("08f", course.find("08f").starter)
    assert standings()["08f"].state == "new"


def test_the_ladder_ends_at_the_third_hint():
    shown = [course.hint("04a") for _ in range(5)]
    assert [len(each.shown) for each in shown] == [1, 2, 3, 3, 3]
    assert [each.left for each in shown] == [2, 1, 0, 0, 0]
    assert shown[-1].shown == course.find("04a").hints
    assert standings()["04a"].hints == 3


def test_two_processes_at_once_lose_nothing(tmp_path):
    code = "import sys\nfrom pathlib import Path\nfrom tvmlab.course import standing\n"
    code += "for _ in range(500): assert standing.note(Path(), sys.argv[1], 'tried') == ''"
    running = [subprocess.Popen([sys.executable, "-c", code, name], cwd=tmp_path) for name in ("04a", "08f")]
    assert [process.wait() for process in running] == [0, 0]
    assert {standings()[name].attempts for name in ("04a", "08f")} == {500}


def test_lines_that_cannot_be_read_are_passed_over(tmp_path):
    standing.note(tmp_path, "04a", "solved")
    with (tmp_path / standing.FILE).open("ab") as file:
        file.write(b'\xff\n[1]\n{"exercise": "08f", "event": "won"}\n{"exercise": "08f", "ev')
    assert standings()["04a"].state == "solved"
    assert standings()["08f"].state == "new"


def test_a_folder_that_cannot_be_written_is_told_and_the_verdict_stands(tmp_path):
    (tmp_path / standing.FILE).mkdir()
    verdict = course.attempt("08f", WRONG)
    assert not verdict.ok
    assert verdict.notes[0].startswith("your progress cannot be kept in ")


def test_hints_and_progress_import_no_tvm(tmp_path):
    code = "import sys, tvmlab as tl; tl.course.hint('04a'); tl.course.progress(); print('tvm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("False", "")
