"""Children that answer, die and hang."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tvmlab.runtime.children import Child, ChildLost

ECHO = "tests_child_echo"
SOURCE = """
import os, sys, time
from tvmlab.runtime.children import requests
arrived, reply = requests()
for message in arrived:
    if "die" in message:
        os.kill(os.getpid(), message["die"])
    if "leave" in message:
        print("last words", file=sys.stderr)
        os._exit(message["leave"])
    if "sleep" in message:
        time.sleep(message["sleep"])
    print("what anything prints is no answer")
    reply({"got": message})
"""


@pytest.fixture
def child(tmp_path, monkeypatch):
    (tmp_path / f"{ECHO}.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Child(ECHO) as made:
        yield made


def test_it_answers(child, capfd):
    assert child.ask({"a": "é"}, 30) == {"got": {"a": "é"}}
    assert child.ask({"b": [1.5, None]}, 30) == {"got": {"b": [1.5, None]}}
    assert capfd.readouterr() == ("", "")


def test_a_signal_is_named(child):
    with pytest.raises(ChildLost, match="it was ended by SIGSEGV"):
        child.ask({"die": 11}, 30)
    with pytest.raises(ChildLost):
        child.ask({}, 30)


def test_an_exit_is_told_with_its_last_words(child):
    with pytest.raises(ChildLost, match="it ended with code 3: last words"):
        child.ask({"leave": 3}, 30)


def test_what_hangs_is_ended(child):
    child.ask({}, 30)
    pid = child.pid
    with pytest.raises(ChildLost, match=r"no answer in 0 s"):
        child.ask({"sleep": 600}, 0.2)
    assert not psutil.pid_exists(pid)


def test_it_ends_when_its_parent_does(child):
    child.ask({}, 30)
    process = psutil.Process(child.pid)
    child.send({"sleep": 600})
    child._process.stdin.close()
    process.wait(10)


def test_closing_leaves_nothing_behind(child):
    child.ask({}, 30)
    folder = child._folder.name
    child.close()
    assert not psutil.pid_exists(child.pid)
    assert not Path(folder).exists()
