from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvm import relax

from tvmlab import pipeline, runtime
from tvmlab.pipeline.widening import Widening

RANDOM = np.random.default_rng(2)


@given(
    lanes=st.sampled_from([4, 8, 16]), outputs=st.integers(1, 40), inputs=st.integers(1, 5), groups=st.integers(1, 5)
)
def test_what_is_added_counts_nothing(lanes, outputs, inputs, groups):
    """Window and weights together give each output the sum over its own group, and a vector one window."""
    widening = Widening(lanes, outputs, inputs, groups)
    weights = RANDOM.standard_normal((outputs * groups, inputs, 1, 1))
    x = RANDOM.standard_normal(inputs * groups)
    wide = widening(weights)
    assert wide.shape[0] % lanes == 0
    assert not wide[outputs * groups :].any()
    for channel in range(outputs * groups):
        start, group = widening.start(channel), channel // outputs
        assert 0 <= start <= inputs * (groups - widening.spans)
        assert start == widening.start(channel // lanes * lanes)
        got = wide[channel, :, 0, 0] @ x[start : start + widening.spans * inputs]
        want = weights[channel, :, 0, 0] @ x[group * inputs : (group + 1) * inputs]
        assert got == pytest.approx(want, abs=1e-12)


@given(
    lanes=st.sampled_from([4, 8, 16]), outputs=st.integers(1, 40), inputs=st.integers(1, 5), groups=st.integers(1, 5)
)
def test_a_vector_reads_all_that_it_needs_and_no_group_more(lanes, outputs, inputs, groups):
    widening = Widening(lanes, outputs, inputs, groups)
    wide = widening(np.ones((outputs * groups, inputs, 1, 1)))[..., 0, 0]
    for vector in range(widening.vectors):
        begin, count = widening.reach(vector)
        read = wide[vector * lanes : (vector + 1) * lanes].any(axis=0)
        assert 0 <= begin <= begin + count <= read.size
        assert read[begin : begin + count].all()
        assert not read[:begin].any()
        assert not read[begin + count :].any()


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


def kernels_of(block, shape):
    block.__annotations__ = {"x": f"float32[{', '.join(map(str, shape))}]"}
    trace = pipeline.trace(pipeline.graph(block))
    x = RANDOM.standard_normal(shape).astype("f4")
    np.testing.assert_allclose(trace.executable.run(x), trace.compiled("annotate").run(x), rtol=1e-4, atol=1e-4)
    return [f for v, f in trace["schedule"].module.functions.items() if v.name_hint != "main"]


@pytest.mark.parametrize("tail", ["relu", None])
@pytest.mark.parametrize("inner", [True, False])
def test_channels_that_are_no_multiple_of_a_vector_fill_whole_ones(tail, inner):
    """Of two vectors and a half of output channels, the kernel computes three, and writes two and a half."""
    lanes = runtime.vector_bytes() // 4
    channels = 5 * lanes // 2
    first = relax.const(RANDOM.standard_normal((channels, lanes, 3, 3)).astype("f4"))
    second = relax.const(RANDOM.standard_normal((channels, channels, 1, 1)).astype("f4"))

    def block(x):
        y = relax.op.nn.conv2d(x, first, padding=1)
        y = y if tail is None else relax.op.nn.relu(y)
        return relax.op.nn.relu(relax.op.nn.conv2d(y, second)) if inner else y

    kernels = kernels_of(block, (1, lanes, 6, 7))
    weights = [[int(d) for d in p.shape] for f in kernels for p in f.params if len(p.shape) > 4]
    assert [3, lanes, 3, 3, lanes] in weights


def test_channels_that_are_rather_few_are_not_filled_up():
    lanes = runtime.vector_bytes() // 4
    half = relax.const(RANDOM.standard_normal((lanes // 2, lanes, 3, 3)).astype("f4"))
    kernels = kernels_of(lambda x: relax.op.nn.conv2d(x, half), (1, lanes, 6, 7))
    weights = [[int(d) for d in p.shape] for f in kernels for p in f.params if len(p.shape) > 4]
    assert [1, lanes, 3, 3, lanes // 2] in weights


def test_a_vector_within_a_group_does_not_walk_over_the_other():
    weights = relax.const(RANDOM.standard_normal((136, 34, 1, 1)).astype("f4"))
    (kernel,) = kernels_of(lambda x: relax.op.nn.relu(relax.op.nn.conv2d(x, weights, groups=4)), (1, 136, 7, 7))
    loops = [line for line in kernel.script().splitlines() if "for ax5" in line and "T.min(" in line]
    assert len(loops) == 1
    assert "tvmlab.reach" not in kernel.script()
