"""Verification says right of what is right, wrong of what is wrong, and who says so."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser
from tvm import relax

from tvmlab import pipeline
from tvmlab.api import define
from tvmlab.errors import CallError, ComputeError, PipelineError
from tvmlab.measure import onnx_engines, oracles, verify
from tvmlab.measure.verification import TOLERANCES, tolerance_for

LIAR = """
def compute(x): return te.compute(x.shape, lambda *i: x(*i) * const_like({factor}, x), name="liar")
def reference(x): return x * np.float32({claimed})
"""


def load(text, opset=17):
    return pipeline.load(parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{text}'), name="model")


def outputs_of(verification):
    return {o.name: o for o in verification.outputs}


def test_a_network_is_right(network, capfd):
    verification = verify(network)
    assert verification.ok
    assert verification.oracle.startswith("onnxruntime")
    assert "optimiser off" in verification.oracle
    errors = outputs_of(verification)
    assert list(errors) == ["y", "i", "z (logits)"]
    assert errors["z (logits)"].relative < 1e-5
    assert errors["z (logits)"].peak > 1
    assert verification.tolerance == TOLERANCES["float32"]
    assert errors["i"].tolerance == 0.0
    assert any("read off the softmax" in note for note in verification.notes)
    assert capfd.readouterr().err == ""


def test_a_network_with_a_live_operator_is_right(live_network):
    verification = verify(live_network)
    assert verification.ok
    assert "1 nodes of measurelab.clamp ran as their NumPy reference, between 2 segments" in " ".join(
        verification.notes
    )


@pytest.mark.parametrize(("claimed", "ok"), [(2.0, True), (2.00001, True), (2.001, False)])
def test_a_wrong_kernel_is_wrong(network, claimed, ok):
    op = define("measurelab.liar", LIAR.format(factor=2.0, claimed=claimed))
    verification = verify(network.replace("relax.nn.relu", op))
    assert verification.ok == ok
    # A part of the error is the same for all logits, which a softmax forgets.
    assert 0.5 * (claimed - 2) / 2 <= outputs_of(verification)["z (logits)"].relative <= (claimed - 2) / 2 + 1e-5


@pytest.mark.parametrize("stage", ["legalize", "annotate", "fuse", "inline", "schedule", "build"])
def test_every_stage_can_be_run(live_network, stage):
    verification = verify(live_network, stage=stage)
    assert verification.ok
    assert (stage in verification.model) == (stage != "build")


@pytest.mark.parametrize(("stage", "message"), [("import", "no kernels yet"), ("fused", "no stage 'fused'")])
def test_other_stages_cannot(network, stage, message):
    with pytest.raises(CallError, match=message):
        verify(network, stage=stage)


def test_tolerances():
    assert tolerance_for("float16") > tolerance_for("float32") > tolerance_for("float64")
    assert tolerance_for("int32") == tolerance_for("bool") == 0.0


def test_the_tolerance_can_be_given(network):
    strict = verify(network, tolerance=1e-12)
    assert not strict.ok
    assert strict.tolerance == 1e-12
    assert all(o.tolerance is None for o in strict.outputs)


def test_inputs_and_seeds_are_what_is_compared(network):
    x = np.zeros((4, 16), np.float32)
    at_zero = outputs_of(verify(network, inputs={"x": x}))
    assert at_zero["i"].peak == outputs_of(verify(network, inputs=[x]))["i"].peak
    peaks = {outputs_of(verify(network, seed=seed))["z (logits)"].peak for seed in range(3)}
    assert len(peaks) == 3


def test_models_that_are_not_from_onnx(clamp):
    def block(x: "float32[n, 8]", w: "float32[8, 8]"):
        return clamp.bind(relax.op.matmul(x, w), lower=-0.5)

    verification = verify(pipeline.graph(block))
    assert verification.ok
    assert verification.oracle == "its own unfused, unscheduled build with the NumPy reference of measurelab.clamp"
    notes = " ".join(verification.notes)
    assert "nothing is said of them" in notes
    assert "open dimensions were set: n = 2" in notes


def test_a_graph_with_a_wrong_operator_is_wrong():
    op = define("measurelab.liar", LIAR.format(factor=2.0, claimed=3.0))

    def block(x: "float32[8, 8]"):
        return op.bind(x)

    verification = verify(pipeline.graph(block))
    assert not verification.ok
    assert verification.outputs[0].relative == pytest.approx(1 / 3)


def test_an_operator_without_a_reference(doubled, network):
    def block(x: "float32[8]"):
        return doubled.bind(x)

    verification = verify(pipeline.graph(block))
    assert verification.ok
    assert "measurelab.doubled has no reference and was compared with its own unfused kernel" in verification.notes
    with pytest.raises(CallError, match="has no reference"):
        verify(network.replace("relax.nn.relu", doubled))


def test_a_reference_that_fails_says_where(network):
    body = """
def compute(x): return te.compute(x.shape, lambda *i: x(*i), name="failing")
def reference(x): return x if np.isnan(x).all() else undefined
"""
    with pytest.raises(ComputeError, match="undefined"):
        verify(network.replace("relax.nn.relu", define("measurelab.fails", body)))


def test_without_onnxruntime(network, monkeypatch):
    monkeypatch.setattr(oracles, "has_onnxruntime", lambda: False)
    verification = verify(network)
    assert verification.ok
    assert "reference evaluator" in verification.oracle
    assert "onnxruntime is not installed" in verification.notes[0]
    assert "it is slow" in verification.notes[0]


def test_what_onnxruntime_refuses_goes_to_the_reference_evaluator(network, monkeypatch):
    def refuse(*_args, **_options):
        raise PipelineError("onnxruntime refuses the model: out of sorts")

    monkeypatch.setattr(onnx_engines, "open_session", refuse)
    verification = verify(network)
    assert verification.ok
    assert "out of sorts" in verification.notes[0]


def test_no_oracle_at_all():
    model = load("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    broken = onnx.ModelProto()
    broken.CopyFrom(model.onnx)
    broken.graph.node[0].op_type = "NoSuchOperator"
    with pytest.raises(PipelineError, match="no oracle can run the model"):
        verify(dataclasses.replace(model, onnx=broken))


def test_batch_normalization_of_opset_9():
    """Its defaults are not those of today."""
    rng = np.random.default_rng(0)
    values = {n: rng.uniform(0.5, 2, 3).astype(np.float32) for n in ("scale", "bias", "mean", "variance")}
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("BatchNormalization", ["x", *values], ["y"])],
        "bn",
        [info("x", 1, [1, 3, 4, 4])],
        [info("y", 1, [1, 3, 4, 4])],
        [numpy_helper.from_array(v, n) for n, v in values.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=8)
    assert verify(pipeline.load(model, name="bn")).ok


def test_integers_must_be_equal():
    verification = verify(load("g (int64[5] x) => (int64[5] y) { y = Mul(x, x) }"))
    assert verification.ok
    assert verification.tolerance == 0.0
    assert verification.outputs[0].dtype == "int64"


def test_nothing_is_changed(live_network):
    before = live_network.onnx.SerializeToString()
    verify(live_network)
    assert live_network.onnx.SerializeToString() == before


def test_json(network):
    plain = verify(network).to_dict()
    assert plain["ok"] is True
    assert plain["outputs"][0]["name"] == "y"


@pytest.mark.parametrize("tolerance", [-1, -1e-9, float("nan"), float("inf")])
def test_a_tolerance_that_is_none_is_refused(network, tolerance):
    with pytest.raises(CallError, match="from 0 on") as refused:
        verify(network, tolerance=tolerance)
    assert "--tolerance 1e-4" in refused.value.mend


HOLLOW = f"""g (float[2, 3] x) => (float[2, 4] y) <float[3, 4] w = {{{", ".join(["0.5"] * 12)}}}>
{{ z = MatMul(x, w) y = Softmax(z) }}"""


def test_a_constant_output_proves_nothing_and_says_so_in_the_headline():
    verification = verify(load(HOLLOW))
    assert verification.ok
    assert verification.proves_nothing
    assert "right, but proves nothing: all 8 values of y are alike" in verification.headline
    assert 'weights="random"' in verification.headline
    assert "all 8 values of y are alike" in verification.notes
    assert verification.to_dict()["proves_nothing"] is True
    bundle = verification._repr_mimebundle_()
    assert "proves nothing" in bundle["text/html"]
    assert "all 8 values of y are alike" in bundle["text/html"]


def test_constant_outputs_of_other_weights_have_no_such_mend():
    verification = verify(load("g (float[4] x) => (float[4] y) { z = Sub(x, x) y = Exp(z) }"))
    assert verification.proves_nothing
    assert "random" not in verification.headline


def test_one_output_with_values_is_a_proof():
    verification = verify(load("g (float[4] x) => (float[4] y, float[4] z) { z = Sub(x, x) y = Neg(x) }"))
    assert not verification.proves_nothing
    assert verification.doubts == ("all 4 values of z are alike",)
    assert "right, 0.0e+00" in verification.headline
    assert "all 4 values of z are alike" in verification.headline


@pytest.mark.parametrize(
    ("x", "words", "nothing"),
    [
        ([-1, -2, -3, -4], "all 4 values of y are NaN on both sides", True),
        ([-1, -2, 3, 4], "2 of 4 values of y are NaN on both sides", False),
        ([-1, -2, 4, 4], "2 of 4 values of y are NaN on both sides, and the others are alike", True),
    ],
)
def test_nan_is_equal_but_counted(x, words, nothing):
    verification = verify(load("g (float[4] x) => (float[4] y) { y = Log(x) }"), inputs=[np.array(x, np.float32)])
    assert verification.ok
    assert verification.outputs[0].both_nan == sum(value < 0 for value in x)
    assert words in verification.headline
    assert verification.proves_nothing == nothing


def test_a_wrong_result_is_wrong_whatever_else_is_said():
    op = define("measurelab.liar", LIAR.format(factor=2.0, claimed=3.0))
    model = load("g (float[4] x) => (float[4] y) { z = Relu(x) y = Identity(z) }").replace("relax.nn.relu", op)
    verification = verify(model, inputs=[np.ones(4, np.float32)])
    assert not verification.ok
    assert "WRONG, " in verification.headline
    assert "proves nothing" not in verification.headline


def test_an_empty_output_proves_nothing():
    verification = verify(
        load("g (float[n, 2] x) => (float[n, 2] y) { y = Neg(x) }"), inputs=[np.ones((0, 2), np.float32)]
    )
    assert verification.doubts == ("y has no elements",)
    assert verification.proves_nothing


def test_a_real_comparison_has_no_doubts(network):
    assert not verify(network).proves_nothing
