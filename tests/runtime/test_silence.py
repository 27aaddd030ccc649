from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from tvmlab.runtime import quiet


def test_what_c_and_python_print_is_caught_and_nothing_leaks(capfd):
    with quiet() as caught:
        os.write(2, b"from C\n")
        print("from Python", file=sys.stderr)
        assert "from C" in caught.text
    assert "from C\nfrom Python\n" in caught.text
    assert capfd.readouterr().err == ""


def test_stderr_works_again_afterwards(capfd):
    stream = sys.stderr
    with quiet():
        pass
    assert sys.stderr is stream
    os.write(2, b"heard\n")
    assert capfd.readouterr().err == "heard\n"


def test_each_level_has_its_own_text():
    with quiet() as outer:
        os.write(2, b"one ")
        with quiet() as inner:
            os.write(2, b"two ")
        os.write(2, b"three")
    assert inner.text == "two "
    assert outer.text == "one two three"


def test_an_error_inside_restores_stderr(capfd):
    def fails():
        with quiet():
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    os.write(2, b"heard")
    assert capfd.readouterr().err == "heard"


def test_threads_that_overlap_restore_stderr(capfd):
    entered, may_leave = threading.Event(), threading.Event()

    def first():
        with quiet():
            entered.set()
            may_leave.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    entered.wait(10)
    with quiet():
        may_leave.set()
        thread.join()
        os.write(2, b"still caught")
    os.write(2, b"heard")
    assert capfd.readouterr().err == "heard"


def test_a_process_without_stderr():
    code = (
        "import os, sys\nos.close(2)\nsys.stderr = sys.__stderr__ = None\n"
        "from tvmlab.runtime import quiet\nwith quiet() as q: print('x', file=sys.stderr)\nprint(repr(q.text))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "'x\\n'\n"
    assert done.returncode == 0
