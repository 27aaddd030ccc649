"""The stage explorer's side in Python: its steps, and what it answers."""

from __future__ import annotations

import json
import sys

import pytest
from tvm import relax

from tvmlab import pipeline
from tvmlab.errors import CallError
from tvmlab.matching import match_lines, without_boilerplate
from tvmlab.records import FunctionDiff, StageDiff
from tvmlab.show import explorers, stage_explorer, steps


@pytest.fixture(scope="module")
def model():
    def block(x: "float32[4, 4]", w: "float32[4, 4]"):  # noqa: F821, UP037  types of a graph are written as texts
        return relax.op.nn.relu(relax.op.matmul(x, w))

    return pipeline.graph(block)


@pytest.fixture
def opened(monkeypatch):
    """Explore a record: what the page gets, and a function that asks as the page does."""

    def open_(record):
        seen = {}

        def widget(bundle, shown, facts, answer, position):
            seen.update(bundle=bundle, record=shown, facts=json.loads(json.dumps(facts)), position=position)
            return lambda **question: json.loads(json.dumps(answer(question)))

        monkeypatch.setattr(stage_explorer, "widget", widget)
        return seen, record.explore()

    return open_


def names(facts):
    return [step["name"] for step in facts["steps"]]


def test_stages_with_the_passes_in_them_build_not_yet(model, opened):
    trace = pipeline.trace(model)
    seen, ask = opened(trace)
    found = seen["facts"]["steps"]
    assert [s["name"] for s in found if s["level"] == 0] == list(pipeline.STAGES)
    assert [s["level"] for s in found if s["name"] == "FuseTIRInner"] == [2]
    assert found[-1] == {"name": "build", "level": 0, "seconds": None, "changed": False, "pending": True}
    assert found[seen["position"]]["changed"]
    built = ask(what="build")["steps"]
    assert built[: len(found) - 1] == found[:-1]
    assert not built[len(found) - 1]["pending"]
    assert "tirx.MakePackedAPI" in [s["name"] for s in built]
    assert ask(what="functions", step=len(built) - 1), "the last step of the build can be asked about"


def test_answers_are_those_of_the_modules(model, opened):
    trace = pipeline.trace(model)
    seen, ask = opened(trace)
    at = names(seen["facts"]).index("fuse")
    functions = ask(what="functions", step=at)
    assert {f["name"]: f["state"] for f in functions} == {
        f.name: f.state for f in trace.diff("annotate", "fuse").functions
    }
    text = ask(what="text", step=at, function="main", boilerplate=True)
    assert text["after"] == trace["fuse"].function_text("main")
    assert text["before"] == trace["annotate"].function_text("main")
    short = ask(what="text", step=at, function="main", boilerplate=False)
    assert short["after"] == without_boilerplate(text["after"])
    before, after = short["before"].splitlines(), short["after"].splitlines()
    unchanged = match_lines(short["before"], short["after"])
    gone = [i for a, b, _, _ in short["blocks"] for i in range(a, b)]
    come = [j for _, _, a, b in short["blocks"] for j in range(a, b)]
    assert (len(gone), len(come)) == (short["removed"], short["added"]) == (unchanged.removed, unchanged.added)
    assert len(before) - len(gone) == len(after) - len(come)


def test_counts_come_in_slices_and_are_those_of_the_record(model, opened, monkeypatch):
    monkeypatch.setattr(stage_explorer, "_SLICE_IN_SECONDS", 0.0)
    trace = pipeline.trace(model)
    seen, ask = opened(trace)
    at = names(seen["facts"]).index("fuse")
    counts, start = [], 0
    while start is not None:
        answer = ask(what="counts", step=at, **{"from": start})
        assert len(answer["counts"]) == 1
        counts += answer["counts"]
        start = answer["next"]
    assert counts == [[f.added, f.removed] for f in trace.diff("annotate", "fuse").functions]


def test_a_difference_of_two_stages_has_what_lies_between(model, opened):
    seen, ask = opened(pipeline.trace(model).diff("legalize", "fuse"))
    found = names(seen["facts"])
    assert found[0] == "legalize → fuse"
    assert [s["name"] for s in seen["facts"]["steps"] if s["level"] == 0][1:] == ["annotate", "fuse"]
    assert seen["position"] == 0
    assert {f["name"] for f in ask(what="functions", step=0)} >= {"main", "fused_matmul_relu"}


def test_two_traces(model, opened):
    beside = pipeline.trace(model).beside(pipeline.trace(model, engine="none"))
    seen, ask = opened(beside)
    assert names(seen["facts"]) == list(beside.stages)
    assert seen["facts"]["sides"] == ["engine python", "engine none"]
    assert names(seen["facts"])[seen["position"]] == "fuse"
    assert "fused_matmul_relu" in ask(what="text", step=3, function="main", boilerplate=False)["before"]


def test_runs_of_one_pass_in_a_row_are_one_step():
    runs = [pipeline.passes.PassRun("Simplify", {}, {}, 0.25) for _ in range(3)]
    assert steps._repeated("Simplify", [], 1).name == "Simplify × 0"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "_functions", lambda module: {"main": module})
        (only,) = steps.of_passes(runs)
    assert (only.name, only.level, only.seconds) == ("Simplify × 3", 1, 0.75)
    assert list(only.after) == ["main, run 1", "main, run 2", "main, run 3"]


def test_the_widget_carries_its_script_and_the_static_picture():
    record = StageDiff("net", "a", "b", (FunctionDiff.of("f", "x = 1", "x = 2"),), 0)
    made = record.explore()
    data, _ = made._repr_mimebundle_()
    assert data["text/html"] == record._repr_mimebundle_()["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in data
    assert made._esm == explorers._file("stages.js")
    assert "http://" not in made._esm.replace("http://www.w3.org", "")
    assert "https://" not in made._esm.replace("https://codemirror.net", "")
    made.close()


def test_a_question_that_fails_is_answered_with_its_error():
    def fail(_question):
        raise ValueError("no such step")

    assert explorers._reply(fail, {}) == {"error": "no such step"}
    assert explorers._reply(None, {}) == {"answer": None}


def test_without_anywidget_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    explorers._widget_class.cache_clear()
    with pytest.raises(CallError, match="need the package anywidget") as caught:
        StageDiff("net", "a", "b", (), 0).explore()
    assert 'pip install "tvmlab[explore]"' in caught.value.mend
    explorers._widget_class.cache_clear()
