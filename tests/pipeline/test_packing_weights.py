"""Weights that are not known before the kernel runs."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

import tvmlab as tl


def exponential(x: float32[1, 8, 10, 10], w: float32[8, 8, 3, 3]):  # noqa: F821  types of a graph
    return relax.op.nn.conv2d(x, relax.op.exp(w))


def filled(x: float32[1, 8, 10, 10]):  # noqa: F821  types of a graph
    return relax.op.nn.conv2d(x, relax.op.full((8, 8, 3, 3), relax.const(0.5, "float32"), "float32"))


@pytest.mark.parametrize("function", [exponential, filled])
@pytest.mark.parametrize("cleanup", ["tvmlab", "tvm", "none"])
def test_a_convolution_whose_weights_are_computed_in_its_kernel(function, cleanup):
    model = tl.graph(function)
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(i.shape).astype(i.dtype) for i in model.inputs]
    trace = tl.trace(model, cleanup=cleanup)
    expected = trace.compiled("legalize").run(*inputs)
    np.testing.assert_allclose(trace.executable.run(*inputs), expected, rtol=1e-4, atol=1e-4)


def test_a_network_whose_weights_are_made_at_run_time():
    model = tl.load("light_squeezenet.onnx")
    x = np.ones(model.inputs[0].shape, "float32")
    outputs = [tl.trace(model, cleanup=c).executable.run(x) for c in ("none", "tvmlab")]
    np.testing.assert_allclose(*outputs, rtol=1e-4, atol=1e-7)
