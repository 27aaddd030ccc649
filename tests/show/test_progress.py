"""Progress of what takes more than a second, in a notebook, on a terminal and in a pipe."""

from __future__ import annotations

import io
import sys
import time
from types import SimpleNamespace

import pytest

from tvmlab import ongoing
from tvmlab.ongoing import Doing
from tvmlab.show import progress


class Seen:
    """A face that keeps what it was shown."""

    def __init__(self):
        self.shown = []

    def show(self, what, doing, seconds):
        self.shown.append((what, doing, seconds))

    def clear(self):
        self.shown.append("cleared")


@pytest.fixture
def seen(monkeypatch):
    """Progress as it is shown, every hundredth of a second."""
    face = Seen()
    monkeypatch.setattr(progress, "_PATIENCE", 0.01)
    monkeypatch.setattr(progress, "_face", lambda: face)
    return face.shown


def until(found):
    for _ in range(1000):
        if found():
            return
        time.sleep(0.01)
    raise AssertionError("it was not shown")


def test_what_is_said_is_shown_while_it_is_done_and_gone_at_the_end(seen):
    with progress.shown("compiling net"):
        until(lambda: seen)  # before anything is said
        ongoing.say("stage fuse", 3, 7)
        until(lambda: seen[-1][1] == Doing("stage fuse", 3, 7))
    assert seen[0][:2] == ("compiling net", None)
    assert seen[-1] == "cleared"
    count = len(seen)
    ongoing.say("afterwards")
    assert len(seen) == count


def test_what_is_quick_shows_nothing(monkeypatch):
    face = Seen()
    monkeypatch.setattr(progress, "_face", lambda: face)
    with progress.shown("compiling net"):
        ongoing.say("stage fuse")
    assert face.shown == ["cleared"]


def test_the_outer_one_is_shown(seen):
    with progress.shown("reporting on net"):
        with progress.shown("verifying net"):
            ongoing.say("asking the oracle")
            until(lambda: seen and seen[-1][1] is not None)
        assert "cleared" not in seen
    assert {each[0] for each in seen[:-1]} == {"reporting on net"}


def test_nothing_runs_beside_what_is_timed(seen):
    with progress.shown("timing net"):
        ongoing.say("round", undisturbed=True)
        count = len(seen)
        time.sleep(0.1)
        assert len(seen) == count
        ongoing.say("round", undisturbed=True)
        assert len(seen) == count + 1


def test_an_error_takes_it_away_too(seen):
    def fail():
        with progress.shown("compiling net"):
            raise ValueError("a slip")

    with pytest.raises(ValueError, match="a slip"):
        fail()
    assert seen[-1] == "cleared"
    assert not ongoing.is_heard()


def test_a_line_on_a_terminal_is_written_over_and_erased(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    assert progress._face() is None  # a pipe
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    face = progress._face()
    face.show("tuning net", Doing("a" * 200, 3, 8), 2.0)
    face.show("tuning net", Doing("b", 4, 8), 3.0)
    face.clear()
    first, second, last = stream.getvalue().split("\r\x1b[K")[1:]
    assert len(first) <= 100
    assert second == "tuning net: b (4 of 8) … 3 s"
    assert last == ""


def test_one_display_that_changes_in_a_notebook(monkeypatch, page):
    shown = []

    class Handle:
        def update(self, bundle, raw):
            assert raw
            shown.append(bundle)

    def display(bundle, raw, display_id):
        assert display_id
        shown.append(bundle)
        return Handle()

    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setattr("IPython.display.display", display)
    face = progress._face()
    face.show("tuning net", None, 1.0)
    face.show("tuning net", Doing("fused_<conv>", 3, 8), 2.0)
    face.clear()
    assert [each["text/plain"] for each in shown] == [
        "tuning net … 1 s", "tuning net: fused_<conv> (3 of 8) … 2 s", "",
    ]  # fmt: skip
    drawn = page(shown[1]["text/html"])
    assert "fused_<conv> (3 of 8)" in drawn.text
    assert any(style.get("width") == "38%" for style in drawn.styles)


def test_every_function_that_may_take_a_second_says_so(monkeypatch):
    import tvmlab as tl

    told = []

    def listener(doing):
        told.append(doing.text)

    def block(x: float32[4, 8], w: float32[8, 8]):  # noqa: F821
        from tvm import relax

        return relax.op.nn.relu(relax.op.matmul(x, w))

    with ongoing.heard(listener):
        model = tl.graph(block)
        tl.verify(model)
        tl.bench(model, sides=["scheduled", "unfused"], repeats=3)
        tl.verify(model, bisect=True)
    for text in (
        "stage legalize", "stage schedule: fused_matmul_relu", "building machine code after schedule",
        "asking the oracle", "compiling unfused", "timing, round by round", "comparing the build",
    ):  # fmt: skip
        assert text in told


@pytest.mark.parametrize(
    "name", ["check", "load", "trace", "fuse", "verify", "bench", "advise", "tune", "run", "attempt"]
)
def test_the_public_functions_show_progress(monkeypatch, name):
    from tvmlab import api

    said = []

    class Stop(Exception):
        pass

    def shown(what):
        said.append(what)
        raise Stop

    monkeypatch.setattr(progress, "shown", shown)
    with pytest.raises(Stop):
        getattr(api, name)("lab.x")
    assert said[0].endswith(" lab.x")
