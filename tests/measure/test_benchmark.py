"""Timing the builds of a model against each other."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from tvmlab import pipeline, runtime
from tvmlab.errors import BackendError, CallError, PipelineError, TvmlabError
from tvmlab.measure import DEFAULT_SIDES, OP_SIDES, SIDES, bench, onnx_engines
from tvmlab.measure.benchmark import _Contender, _differing, _looks_sliced, _note, _suspicions
from tvmlab.measure.rounds import Rounds


class Fake:
    """A result of a kernel."""

    def __init__(self, *values):
        self.values = np.array(values)

    def numpy(self):
        return self.values


def test_every_side_in_every_round(live_network, capfd):
    timing = bench(live_network, repeats=4, threads=1)
    assert [side.name for side in timing.sides] == list(DEFAULT_SIDES)
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
        (("zzz",), "the sides are none, fuse, fuse\\+inline, full"),
        ((), "must be different names"),
        (("fused", "fused"), "names one side twice"),
        (("fused", "fuse"), "names one side twice"),
        ("fused", "must be different names"),
    ],
)
def test_unknown_sides(network, sides, message):
    with pytest.raises(CallError, match=message):
        bench(network, sides=sides)


def test_models_that_are_not_from_onnx_have_no_peer():
    def block(x: "float32[n, 8]"):
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
    assert any("fused: times near multiples of 4 ms" in note for note in _suspicions(rounds, 2, {}))
    assert not any("multiples" in note for note in _suspicions(rounds, 1, {}))


def test_noise_is_owned_up_to():
    rounds = Rounds({"a": (1.0, 1.0, 2.0, 2.0, 1.5, 1.0), "b": (1.0,) * 6}, {})
    (note,) = _suspicions(rounds, 1, {})
    assert note.startswith("a: half of the repeats are further apart")


def test_every_step_between_unfused_and_full_can_be_timed(network):
    sides = ("none", "fuse", "fuse+inline", "full", "onnxruntime-off", "onnxruntime")
    timing = bench(network, sides=sides, repeats=2, threads=1)
    assert [side.name for side in timing.sides] == list(sides)
    trace = pipeline.trace(network)
    assert timing.side("none").note.startswith(f"{trace['legalize'].kernels} kernels")
    assert timing.side("fuse+inline").note.startswith(f"{trace['inline'].kernels} kernels")
    assert "its graph as it is" in timing.side("onnxruntime-off").note
    assert not any("gives other values" in note for note in timing.notes)


def test_old_names_mean_the_same_sides(network):
    timing = bench(network, sides=("unfused", "scheduled"), repeats=1, threads=1)
    assert timing.side("none") is timing.side("unfused")
    assert timing.side("full") is timing.side("scheduled")
    assert timing.ratio("none", "full") == timing.ratio("unfused", "scheduled")
    assert set(DEFAULT_SIDES) < set(SIDES)


def test_onnxruntime_gets_no_optimisations_where_it_is_to_have_none(network, monkeypatch):
    seen = []
    open_session = onnx_engines.open_session

    def watched(model, **options):
        seen.append(options["optimise"])
        return open_session(model, **options)

    monkeypatch.setattr("tvmlab.measure.benchmark.open_session", watched)
    bench(network, sides=("onnxruntime-off", "onnxruntime-all"), repeats=1, threads=1)
    assert seen == [False, True]


def test_a_ratio_that_is_the_ratio_of_the_kernels_in_slices_is_suspected():
    rounds = Rounds({"unfused": (0.012,) * 6, "fused": (0.004,) * 6}, {})
    (note,) = _suspicions(rounds, 2, {"unfused": 3, "fused": 1})
    assert note.startswith("unfused / fused = 3.00 is the ratio of their kernels, 3 / 1")
    assert _suspicions(rounds, 1, {"unfused": 3, "fused": 1}) == []
    assert _suspicions(rounds, 2, {"unfused": 7, "fused": 1}) == []
    honest = Rounds({"unfused": (0.0138,) * 6, "fused": (0.0046,) * 6}, {})
    assert _suspicions(honest, 2, {"unfused": 3, "fused": 1}) == []


def test_calls_that_wait_for_a_processor_are_suspected():
    rounds = Rounds({"fused": (0.0045,) * 6}, {"fused": 9}, {"fused": 0.0005})
    (note,) = _suspicions(rounds, 2, {"fused": 1})
    assert note.startswith("fused: the usual call takes more than 2 times as long as the quickest")
    assert _suspicions(rounds, 1, {"fused": 1}) == []


def test_the_forms_of_an_operator(clamp):
    timing = bench(clamp, composed=lambda x, lower: relax.op.maximum(x, relax.const(lower, "float32")), repeats=2)
    assert [side.name for side in timing.sides] == list(OP_SIDES)
    assert (timing.model, timing.baseline) == ("measurelab.clamp", "numpy")
    assert any(note.startswith("called with float32[512, 768], lower=") for note in timing.notes)
    assert not any("gives other values" in note for note in timing.notes)


def test_a_composition_that_computes_something_else_is_told(clamp):
    timing = bench(clamp, composed=lambda x, lower: relax.op.negative(x), repeats=1)
    assert any("composed gives other values than numpy" in note for note in timing.notes)


def test_an_operator_gets_the_inputs_and_attributes_that_are_given(clamp):
    timing = bench(clamp, inputs=[np.ones((3, 5), "f4")], attributes={"lower": 2.0}, repeats=1, kernels=True)
    assert [side.name for side in timing.sides] == ["numpy", "kernel"]
    assert "called with float32[3, 5], lower=2.0" in timing.notes
    (kernel,) = timing.kernels.kernels
    assert (kernel.read, kernel.written) == (60, 60)


def test_an_operator_against_another(clamp):
    timing = bench(clamp, composed="measurelab.clamp", sides=("composed", "kernel"), repeats=1)
    assert [side.name for side in timing.sides] == ["composed", "kernel"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sides": ("numpi",)}, "did you mean 'numpy'"),
        ({"sides": ("composed",)}, "has no side 'composed'"),
        ({"sides": ()}, "must be different names"),
        ({"composed": 3}, "is no operator and no function"),
        ({"inputs": [np.ones(3), np.ones(3)]}, "takes 1"),
    ],
)
def test_slips_in_the_call_for_an_operator(clamp, options, message):
    with pytest.raises(TvmlabError, match=message):
        bench(clamp, repeats=1, **options)


def test_an_operator_without_a_reference_has_no_numpy(doubled):
    assert [side.name for side in bench(doubled, repeats=1).sides] == ["kernel"]
    with pytest.raises(CallError, match="has no side 'numpy'"):
        bench(doubled, sides=("numpy",))


def test_options_of_operators_are_not_for_models(network):
    with pytest.raises(CallError, match="are for operators"):
        bench(network, attributes={})
