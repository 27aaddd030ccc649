"""Onnx's evaluator, with its operators corrected, says what onnxruntime says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from onnx import helper, numpy_helper

from tvmlab import pipeline
from tvmlab.errors import PipelineError
from tvmlab.measure import oracles, verify
from tvmlab.measure.onnx_engines import onnxruntime_engine, reference_engine

REFERENCE = reference_engine("for a test")


def model(operator, opset, shape, constants=(), outputs=("y",), **attributes):
    info = helper.make_tensor_value_info
    node = helper.make_node(operator, ["x", *dict(constants)], list(outputs), **attributes)
    graph = helper.make_graph(
        [node],
        "one",
        [info("x", 1, shape)],
        [info("y", 1, shape)],
        [numpy_helper.from_array(value, name) for name, value in dict(constants).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def statistics(channels):
    rng = np.random.default_rng(0)
    return {n: rng.uniform(0.5, 2, channels).astype(np.float32) for n in ("scale", "bias", "mean", "variance")}


def assert_agree(network, shape):
    feeds = {"x": np.random.default_rng(1).standard_normal(shape).astype(np.float32)}
    (want,), (got,) = onnxruntime_engine().run(network, feeds), REFERENCE.run(network, feeds)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, strict=True)


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [7, 11, 12, 13, 17])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
def test_softmax_and_its_kin(operator, opset, axis):
    if axis == -1 and opset < 11:
        axis = 3  # negative ones came with opset 11
    given = {} if axis is None else {"axis": axis}
    assert_agree(model(operator, opset, [2, 3, 4, 5], **given), [2, 3, 4, 5])


@pytest.mark.parametrize("opset", [7, 9, 13, 14, 15])
@pytest.mark.parametrize("shape", [[2, 3, 4, 5], [2, 3]])
def test_batch_normalization(opset, shape):
    assert_agree(model("BatchNormalization", opset, shape, statistics(3), epsilon=1e-3), shape)


@pytest.mark.parametrize("size", [1, 3, 5, 9])
def test_local_response_normalization(size):
    assert_agree(model("LRN", 13, [2, 7, 3, 4], size=size, alpha=0.5, beta=0.7, bias=1.5), [2, 7, 3, 4])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_error_function_has_all_its_digits(dtype):
    x = np.linspace(-3, 3, 12).reshape(3, 4).astype(dtype)
    network = model("Erf", 13, [3, 4])
    for info in (*network.graph.input, *network.graph.output):
        info.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    (got,) = REFERENCE.run(network, {"x": x})
    want = np.array([[math.erf(v) for v in row] for row in x.tolist()])
    np.testing.assert_array_equal(got, want.astype(dtype), strict=True)


def test_a_batch_normalization_that_trains_by_old_rules_is_refused():
    network = model("BatchNormalization", 9, [2, 3, 4], statistics(3), outputs=["y", "m", "v", "sm", "sv"])
    with pytest.raises(PipelineError, match="that trains"):
        REFERENCE.run(network, {"x": np.ones((2, 3, 4), np.float32)})


def test_a_shipped_network_is_right_without_onnxruntime(monkeypatch):
    monkeypatch.setattr(oracles, "has_onnxruntime", lambda: False)
    verification = verify(pipeline.load("light_squeezenet.onnx", weights="random"))
    assert verification.oracle.endswith("reference evaluator")
    assert verification.ok, verification.headline
