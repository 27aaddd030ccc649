"""Timing the builds of a model against each other."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import pytest

from tvmlab import pipeline, runtime
from tvmlab.errors import BackendError, CallError, PipelineError
from tvmlab.measure import SIDES, bench, onnx_engines
from tvmlab.measure.benchmark import _Contender, _differing, _looks_sliced, _note, _suspicions
from tvmlab.measure.rounds import Rounds


class Fake:
    """A result of a kernel."""

    def __init__(self, *values):
        import numpy as np

        self.values = np.array(values)

    def numpy(self):
        return self.values


def test_every_side_in_every_round(live_network, capfd):
    timing = bench(live_network, repeats=4, threads=1)
    assert [side.name for side in timing.sides] == list(SIDES)
    assert all(len(side.seconds) == 4 for side in timing.sides)
    assert all(s > 0 for side in timing.sides for s in side.seconds)
    assert (timing.baseline, timing.threads) == ("unfused", 1)
    low, middle, high = timing.ratio("unfused", "scheduled")
    assert low <= middle <= high
    trace = pipeline.trace(live_network)
    assert f"{trace['legalize'].kernels} kernels" in timing.side("unfused").note
    assert f"{trace['fuse'].kernels} kernels" in timing.side("fused").note
    assert "the network before measurelab.clamp came into it" in timing.side("onnxruntime").note
    assert timing.machine["processor"]
    assert any("only 4 rounds" in note for note in timing.notes)
    assert capfd.readouterr().err == ""


def test_a_note_says_how_many_calls_made_a_repeat():
    contender = _Contender(lambda: (), "7 kernels")
    assert _note(contender, 1) == "7 kernels"
    assert _note(contender, 1200) == "7 kernels; 1,200 calls a repeat"


def test_threads_are_the_same_on_every_side_and_set_back(network, monkeypatch):
    seen = {}

    def watched(model, **options):
        seen.update(options, tvm=runtime.thread_count())
        return open_session(model, **options)

    open_session = onnx_engines.open_session
    monkeypatch.setattr("tvmlab.measure.benchmark.open_session", watched)
    before = runtime.thread_count()
    bench(network, sides=("scheduled", "onnxruntime"), repeats=1, threads=1)
    assert seen == {"optimise": True, "threads": 1, "tvm": 1, "spinning": False}
    assert runtime.thread_count() == before


def test_the_peer_gets_the_better_of_its_two_ways_to_wait(network):
    timing = bench(network, sides=("onnxruntime",), repeats=1)
    waits = "which is faster here" in timing.side("onnxruntime").note
    assert waits == (timing.threads > 1)


def test_the_first_side_is_the_baseline(network):
    assert bench(network, sides=("onnxruntime", "fused"), repeats=1).baseline == "onnxruntime"


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        (("fussed",), "did you mean 'fused'"),
        (("zzz",), "the sides are unfused, fused"),
        ((), "must be different names"),
        (("fused", "fused"), "must be different names"),
        ("fused", "must be different names"),
    ],
)
def test_unknown_sides(network, sides, message):
    with pytest.raises(CallError, match=message):
        bench(network, sides=sides)


def test_models_that_are_not_from_onnx_have_no_peer():
    def block(x: "float32[n, 8]"):
        from tvm import relax

        return relax.op.nn.relu(x)

    timing = bench(pipeline.graph(block), repeats=1)
    assert [side.name for side in timing.sides] == ["unfused", "fused", "scheduled"]
    assert "onnxruntime is left out: the model did not come from ONNX" in timing.notes
    with pytest.raises(PipelineError, match="did not come from ONNX"):
        bench(pipeline.graph(block), sides=("onnxruntime",))


def test_without_onnxruntime(network, monkeypatch):
    monkeypatch.setattr(onnx_engines, "has_onnxruntime", lambda: False)
    timing = bench(network, sides=("fused", "onnxruntime"), repeats=1)
    assert [side.name for side in timing.sides] == ["fused"]
    assert "onnxruntime is left out: onnxruntime is not installed (pip install onnxruntime)" in timing.notes
    with pytest.raises(BackendError, match="not installed"):
        bench(network, sides=("onnxruntime",))


def test_a_model_file_with_live_operators_has_no_peer(live_network):
    loaded = pipeline.load(live_network.onnx, name="from a file")
    timing = bench(loaded, sides=("fused", "onnxruntime"), repeats=1)
    assert "onnxruntime is left out: it does not know measurelab.clamp" in timing.notes


def test_a_fast_wrong_answer_is_no_speed():
    outputs = {"unfused": Fake(1.0, 2.0), "fused": [Fake(1.0, 2.0)], "scheduled": Fake(1.0, 2.1), "onnxruntime": ()}
    (note,) = _differing(outputs)
    assert note.startswith("scheduled gives other values than unfused (5e-02 of the largest)")
    assert _differing({"unfused": Fake(1.0)}) == []


def test_times_of_a_scheduler_are_suspected():
    sliced = sorted([0.0009, 0.0041, 0.004, 0.0039, 0.0081, 0.004])
    assert _looks_sliced(sliced)
    assert not _looks_sliced([0.0040, 0.0040, 0.0041, 0.0041, 0.0041])  # it just takes 4 ms
    assert not _looks_sliced([0.0010, 0.0011, 0.0012, 0.0013, 0.0014])
    rounds = Rounds({"fused": tuple(sliced), "unfused": (0.012,) * 6}, {})
    assert any("fused: times near multiples of 4 ms" in note for note in _suspicions(rounds, threads=2))
    assert not any("multiples" in note for note in _suspicions(rounds, threads=1))


def test_noise_is_owned_up_to():
    rounds = Rounds({"a": (1.0, 1.0, 2.0, 2.0, 1.5, 1.0), "b": (1.0,) * 6}, {})
    (note,) = _suspicions(rounds, threads=1)
    assert note.startswith("a: half of the repeats are further apart")
