"""Tuning on request: what is searched, what it survives, what is kept."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import psutil
import pytest
from tvm import relax

from tvmlab import pipeline, runtime
from tvmlab.errors import CallError, PipelineError
from tvmlab.measure import bench, tune, tuning
from tvmlab.measure.lone_kernels import module_text
from tvmlab.measure.tuning import LocalRunner, deal
from tvmlab.pipeline.tuned import Database
from tvmlab.runtime.children import ChildLost


def block(x: "float32[16, 32]", w: "float32[32, 64]"):
    return relax.op.nn.relu(relax.op.matmul(x, w))


@pytest.fixture(scope="module")
def model():
    return pipeline.graph(block)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "tuned.jsonl"


def test_a_kernel_is_tuned_kept_and_taken_again(model, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    steps = []
    found = tune(model, trials=4, threads=1, progress=steps.append)
    (kernel,) = found.kernels
    assert kernel.how in {"tuned", "rule"}  # by its times, which no test judges
    assert (kernel.trials, kernel.calls) == (4, 1)
    assert kernel.seconds <= kernel.rule_seconds
    assert [step.done for step in steps] == [1, 2, 3, 4]
    assert all(step.trials == 4 and step.rule_seconds > 0 for step in steps)
    assert not [
        child for child in psutil.Process().children(recursive=True) if "tvmlab.measure" in str(child.cmdline())
    ]

    monkeypatch.setattr(tuning, "Child", None)  # what is known needs no search
    (again,) = tune(model, trials=4, threads=1).kernels
    assert (again.how, again.trials, again.seconds) == ("known", 0, kernel.seconds)
    timing = bench(model, sides=["scheduled", "tuned"], repeats=1, threads=1)
    assert [side.name for side in timing.sides] == ["scheduled", "tuned"]
    assert not any("other values" in note for note in timing.notes)
    assert capfd.readouterr().err == ""


class Runner:
    """Times as a table says, without running anything."""

    machine = "a machine"

    def __init__(self, *, rule=2.0, candidates=(1.0,), duel=(2.0, 1.0)) -> None:
        self.target = runtime.host_target()
        self.seconds, self.candidates, self.duels = rule, iter(candidates), duel
        self.closed = False

    def rule(self, module):
        return [self.seconds]

    def candidate(self, module):
        given = next(self.candidates)
        if isinstance(given, BaseException):
            raise given
        return [given]

    def duel(self, module):
        return {"rule": [self.duels[0]] * 4, "tuned": [self.duels[1]] * 4}

    def close(self):
        self.closed = True


class Searcher:
    """Proposes batches, and dies after them if it is told to."""

    batches = 1
    dies = False

    def __init__(self, module) -> None:
        self.left = self.batches

    def ask(self, message, timeout):
        if self.left:
            self.left -= 1
            return {"candidates": [{"module": "m", "trace": [[], []]}] * 2}
        if self.dies:
            raise ChildLost("it was ended by SIGKILL")
        return {"done": True}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Nothing to end."""


@pytest.fixture
def staged(monkeypatch, model, file):
    """Tune with a runner and a searcher that do what they are told."""

    def run(runner, **searcher):
        monkeypatch.setattr(tuning, "_runner", lambda *_: runner)
        monkeypatch.setattr(tuning, "Child", type("Told", (Searcher,), searcher))
        return tune(model, trials=4, threads=1, database=file)

    return run


def test_a_candidate_that_wins_is_taken(staged, file):
    (kernel,) = staged(Runner(candidates=[1.5, 1.0])).kernels
    assert (kernel.how, kernel.rule_seconds, kernel.seconds) == ("tuned", 2.0, 1.0)
    assert len(Database(file)) == 1


def test_a_candidate_that_only_looked_faster_is_not(staged, file):
    (kernel,) = staged(Runner(candidates=[1.0, 1.0], duel=(2.0, 2.1))).kernels
    assert (kernel.how, kernel.seconds) == ("rule", 2.0)


def test_more_trials_search_further_and_keep_the_better(staged, file):
    staged(Runner(candidates=[1.0, 1.0]))
    assert staged(Runner(candidates=[1.5, 1.5], duel=(2.0, 1.5))).kernels[0].seconds == 1.0
    (record,) = (Database(file)._kernels).values()
    assert (record.trials, record.seconds) == (4, 1.0)
    (kernel,) = staged(Runner(candidates=[])).kernels
    assert (kernel.how, kernel.trials) == ("known", 0)


def test_failures_are_counted_and_told(staged):
    (kernel,) = staged(Runner(candidates=[ValueError("the process that ran it: SIGILL"), 1.0])).kernels
    assert (kernel.how, kernel.trials, kernel.failed) == ("tuned", 2, 1)
    assert kernel.note == "a candidate failed: the process that ran it: SIGILL"


def test_a_search_that_dies_keeps_what_was_measured(staged, file):
    (kernel,) = staged(Runner(candidates=[1.0, 1.0]), dies=True).kernels
    assert kernel.how == "tuned"
    assert kernel.note == "the search ended early: it was ended by SIGKILL"
    assert len(Database(file)) == 1


def test_an_interrupt_ends_the_runner_and_loses_no_finished_kernel(staged, file, monkeypatch):
    Database(file).add(tuning.TunedKernel("other", "k", "m", 1, 1, 1.0, 1.0, 1.0, None))
    runner = Runner(candidates=[1.0, KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        staged(runner)
    assert runner.closed
    assert len(Database(file)) == 1


def test_a_disk_that_is_full_is_told(staged, file):
    file.mkdir()
    with pytest.raises(PipelineError, match="cannot be read"):
        staged(Runner())


@pytest.mark.parametrize("trials", [0, -1, 1.5, True])
def test_trials_are_a_number(model, trials):
    with pytest.raises(CallError, match="must be a whole number from 1 on"):
        tune(model, trials=trials)


@pytest.mark.parametrize(
    ("trials", "seconds", "shares"),
    [
        (64, [3.0, 1.0], [48, 16]),
        (8, [1.0, 0.001], [8, 0]),
        (6, [1.0, 1.0, 1.0], [6, 0, 0]),
        (2, [1.0], [2]),
        (10, [], []),
    ],
)
def test_trials_are_dealt_by_time(trials, seconds, shares):
    assert deal(trials, seconds) == shares


def test_a_runner_survives_what_a_candidate_does_to_it(model):
    trace = pipeline.trace(model)
    (function,) = (f for v, f in trace["schedule"].module.functions.items() if v.name_hint != "main")
    (other,) = (
        f for v, f in pipeline.trace(pipeline.graph(sums))["schedule"].module.functions.items() if v.name_hint != "main"
    )
    runner = LocalRunner(1, 0)
    try:
        good = module_text(function)
        assert min(runner.rule(good)) > 0
        with pytest.raises(ValueError, match="it computes other values: off by"):
            runner.candidate(module_text(other))
        runner._child.close()
        with pytest.raises(ValueError, match="the process that ran it: it was ended by SIGKILL"):
            runner.candidate(good)
        duel = runner.duel(good)
        assert len(duel["rule"]) == len(duel["tuned"]) > 0
    finally:
        runner.close()


def sums(x: "float32[16, 32]", w: "float32[32, 64]"):
    return relax.op.negative(relax.op.matmul(x, w))
