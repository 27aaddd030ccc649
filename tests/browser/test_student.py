"""A student's way through a lesson in JupyterLab: run, a wrong answer, a hint, the right answer, and the map."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.browser

LESSON = "03_type_rules.ipynb"
ANSWER = "%%tvm_exercise 03a\ndef type_rule(x):\n    return {}\n"
FIND = """wanted => window.jupyterapp.shell.currentWidget.content.widgets
  .findIndex(cell => cell.model.sharedModel.getSource().startsWith(wanted))"""
SELECT = "at => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = at; }"
OUTPUT = """at => window.jupyterapp.shell.currentWidget.content.widgets[at]
  .node.querySelector(".jp-Cell-outputArea").innerText"""


@pytest.fixture
def page(opened, tmp_path):
    """JupyterLab, as `tvmlab lab` starts it, with the lesson on type rules."""
    with opened("lab", LESSON, tmp_path, 1280, 1100) as page:
        yield page


@pytest.fixture
def run(page, command):
    """Run the first cell that starts with a text, and give what stands below it."""

    def run_(start, written=None):
        at = page.evaluate(FIND, start)
        assert at >= 0, start
        page.evaluate(SELECT, at)
        if written is not None:
            replace(page, command, written)
        command(page, "notebook:run-cell")
        return page.evaluate(OUTPUT, at)

    return run_


def replace(page, command, written):
    """Click into the active cell, select what is there, and put something else in its place."""
    editor = page.locator(".jp-Cell.jp-mod-active .cm-content")
    editor.scroll_into_view_if_needed()
    editor.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(written)
    page.keyboard.press("Escape")


def picture(page, folder, name):
    page.locator(".jp-Cell.jp-mod-active").scroll_into_view_if_needed()
    page.screenshot(path=str(folder / f"{name}.png"))


def test_a_student_is_wrong_takes_a_hint_is_right_and_sees_it_on_the_map(page, run, command, tmp_path):
    run("%load_ext tvmlab")
    run("import numpy as np")
    assert "n, 8" in run("%%tvm_graph chain")

    assert "not written yet" in run("%%tvm_exercise 03a")
    picture(page, tmp_path, "1_starter")

    wrong = run("%%tvm_exercise 03a", ANSWER.format("TensorType(x.shape, x.dtype)"))
    assert "not yet" in wrong
    assert "for float32[?, ?] the rule says float32[…], and should say float32[?, ?]" in wrong
    picture(page, tmp_path, "2_wrong")

    command(page, "notebook:insert-cell-below")
    replace(page, command, "%tvm_hint 03a")
    hint = run("%tvm_hint 03a")
    assert "1. What do you know of the output that you do not know of the input?" in hint
    assert "2 more hints" in hint
    picture(page, tmp_path, "3_hint")

    right = run("%%tvm_exercise 03a", ANSWER.format("x"))
    assert "solved" in right
    assert right.count("✓ holds") == 3
    picture(page, tmp_path, "4_right")

    progress = run("%tvm_progress")
    assert "1 of" in progress
    row = next(line for line in progress.splitlines() if line.startswith("03a"))
    assert "the same type" in row
    picture(page, tmp_path, "5_map")

    events = [json.loads(line) for line in (tmp_path / "mine" / ".tvmlab_progress.jsonl").read_text().splitlines()]
    assert [each["event"] for each in events] == ["tried", "hint", "solved"]
    assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    assert page.outside == []
