from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvm import relax

from tvmlab import pipeline
from tvmlab.pipeline.widening import Widening

RANDOM = np.random.default_rng(2)


@given(
    lanes=st.sampled_from([4, 8, 16]), outputs=st.integers(16, 40), inputs=st.integers(1, 5), groups=st.integers(2, 5)
)
def test_the_other_group_counts_nothing(lanes, outputs, inputs, groups):
    """Window and weights together give each output the sum over its own group, and a vector one window."""
    widening = Widening(lanes, outputs, inputs, groups)
    weights = RANDOM.standard_normal((outputs * groups, inputs, 1, 1))
    x = RANDOM.standard_normal(inputs * groups)
    wide = widening(weights)
    for channel in range(outputs * groups):
        start, group = widening.start(channel), channel // outputs
        assert 0 <= start <= inputs * (groups - 2)
        assert start == widening.start(channel // lanes * lanes)
        got = wide[channel, :, 0, 0] @ x[start : start + 2 * inputs]
        want = weights[channel, :, 0, 0] @ x[group * inputs : (group + 1) * inputs]
        assert got == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize(("channels", "kernel", "stride"), [(136, 1, 1), (272, 1, 1), (136, 3, 2)])
def test_small_groups_in_long_vectors(channels, kernel, stride):
    weights = RANDOM.standard_normal((channels, channels // 4, kernel, kernel)).astype("f4")

    def block(x):
        y = relax.op.nn.conv2d(x, relax.const(weights), strides=stride, padding=kernel // 2, groups=4)
        return relax.op.nn.relu(relax.op.add(y, relax.const(np.float32(1))))

    block.__annotations__ = {"x": f"float32[1, {channels}, 7, 7]"}
    trace = pipeline.trace(pipeline.graph(block))
    x = RANDOM.standard_normal((1, channels, 7, 7)).astype("f4")
    np.testing.assert_allclose(trace.executable.run(x), trace.compiled("annotate").run(x), rtol=1e-4, atol=1e-4)
