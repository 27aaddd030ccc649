from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tvm import relax

from tvmlab import pipeline
from tvmlab.pipeline.schedule.convolution import _shape

RANDOM = np.random.default_rng(3)
QUICK = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def weights(out, inputs, kernel, dtype):
    return relax.const(RANDOM.standard_normal((out, inputs, kernel, kernel)), dtype)


def two_convolutions(channels, middle, kernel, stride, groups, dtype, tail="relu"):
    """A convolution, a bias, an epilogue; then another one with a residual."""
    first = weights(middle, channels // groups, kernel, dtype)
    second = weights(middle, middle // groups, 1, dtype)
    bias = relax.const(RANDOM.standard_normal((1, middle, 1, 1)), dtype)

    def block(x):
        y = relax.op.nn.conv2d(x, first, strides=stride, padding=kernel // 2, groups=groups)
        y = relax.op.nn.relu(relax.op.add(y, bias))
        z = relax.op.nn.conv2d(y, second, groups=groups)
        return getattr(relax.op, "tanh" if tail == "tanh" else "negative")(relax.op.add(z, y))

    return block


@QUICK
@given(
    channels=st.sampled_from([1, 3, 8, 16, 24]),
    middle=st.sampled_from([5, 8, 12, 16, 32]),
    size=st.sampled_from([1, 7, 12, 13, 16]),
    kernel=st.sampled_from([1, 3]),
    stride=st.sampled_from([1, 2]),
    batch=st.sampled_from([1, 2]),
    dtype=st.sampled_from(["float32", "float64"]),
    tail=st.sampled_from(["relu", "tanh"]),
)
def test_neighbouring_convolutions(check, channels, middle, size, kernel, stride, batch, dtype, tail):
    shape = (batch, channels, size, size)
    block = two_convolutions(channels, middle, kernel, stride, 1, dtype, tail)
    check(block, {"x": f"{dtype}[{', '.join(map(str, shape))}]"}, [RANDOM.standard_normal(shape).astype(dtype)])


@pytest.mark.parametrize(("channels", "groups"), [(8, 8), (16, 16), (32, 2), (68, 2), (12, 3), (24, 4)])
@pytest.mark.parametrize("stride", [1, 2])
def test_groups(check, channels, groups, stride):
    block = two_convolutions(channels, channels, 3, stride, groups, "float32")
    x = RANDOM.standard_normal((1, channels, 16, 16)).astype("f4")
    check(block, {"x": f"float32[1, {channels}, 16, 16]"}, [x])


def test_packed_convolutions_say_their_tile(check):
    said = check(
        two_convolutions(16, 32, 3, 1, 1, "float32"),
        {"x": "float32[1, 16, 14, 14]"},
        [RANDOM.standard_normal((1, 16, 14, 14)).astype("f4")],
    )
    assert said.count("vectors of channels, parallel") == 2
    assert "pad_temp: inlined" in said


@QUICK
@given(
    channels=st.sampled_from([1, 3, 8]),
    outputs=st.sampled_from([8, 16]),
    size=st.sampled_from([(9, 14), (16, 16), (21, 12)]),
    batch=st.sampled_from([1, 2, "n"]),
    groups=st.booleans(),
    tail=st.sampled_from(["relu", "tanh", None]),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_a_strided_convolution_of_few_channels_pads_row_by_row(
    check, channels, outputs, size, batch, groups, tail, dtype
):
    groups = channels if groups and outputs % channels == 0 else 1
    kernel = weights(outputs, channels // groups, 3, dtype)

    def block(x):
        y = relax.op.nn.conv2d(x, kernel, strides=2, padding=(1, 1, 0, 1), groups=groups)
        if tail is None:
            return y
        return relax.op.nn.relu(y) if tail == "relu" else relax.op.tanh(y)

    array = RANDOM.standard_normal((3 if batch == "n" else batch, channels, *size)).astype(dtype)
    said = check(block, {"x": f"{dtype}[{batch}, {channels}, {size[0]}, {size[1]}]"}, [array])
    assert groups > 1 or "pad_temp: row by row" in said


def test_padding_row_by_row_in_blocks_of_channels(check):
    first, second = weights(16, 3, 1, "float32"), weights(16, 16, 3, "float32")

    def block(x):
        y = relax.op.nn.relu(relax.op.nn.conv2d(x, first))
        return relax.op.nn.relu(relax.op.nn.conv2d(y, second, strides=2, padding=1))

    x = RANDOM.standard_normal((2, 3, 14, 14)).astype("f4")
    assert "pad_temp: row by row" in check(block, {"x": "float32[2, 3, 14, 14]"}, [x])


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("first", [True, False])
def test_the_padding_of_a_large_image_is_done_for_some_rows_at_a_time(check, batch, first):
    """In one parallel region with what reads it, whether the image is in blocks of channels or not."""
    thin, kernel = weights(32, 3, 1, "float32"), weights(32, 32, 3, "float32")

    def block(x):
        y = relax.op.nn.relu(relax.op.nn.conv2d(x, thin)) if first else x
        return relax.op.nn.relu(relax.op.nn.conv2d(y, kernel, padding=1))

    shape = (batch, 3 if first else 32, 24, 28)
    said = check(block, {"x": f"float32[{', '.join(map(str, shape))}]"}, [RANDOM.standard_normal(shape).astype("f4")])
    assert "pad_temp: for 8 rows at a time" in said if batch == 3 else "rows at a time" not in said  # too few


@pytest.mark.parametrize(("channels", "stride"), [(3, 1), (64, 2)])
def test_padding_that_would_be_done_thrice_or_for_many_weights_stays_apart(check, channels, stride):
    w = weights(64, channels, 3, "float32")

    def block(x):
        return relax.op.nn.relu(relax.op.nn.conv2d(x, w, strides=stride, padding=1))

    x = RANDOM.standard_normal((1, channels, 28, 28)).astype("f4")
    said = check(block, {"x": f"float32[1, {channels}, 28, 28]"}, [x])
    assert "tile of" in said
    assert "row by row" not in said


def test_a_symbolic_batch(check):
    block = two_convolutions(16, 16, 3, 1, 1, "float32")
    for batch in (1, 3):
        said = check(block, {"x": "float32[n, 16, 9, 9]"}, [RANDOM.standard_normal((batch, 16, 9, 9)).astype("f4")])
        assert "tile of" in said


def test_weights_that_come_at_run_time_are_packed_then(check):
    def block(x, w):
        return relax.op.nn.relu(relax.op.nn.conv2d(x, w, padding=1))

    arrays = [RANDOM.standard_normal(s).astype("f4") for s in ((1, 16, 14, 14), (32, 16, 3, 3))]
    said = check(block, {"x": "float32[1, 16, 14, 14]", "w": "float32[32, 16, 3, 3]"}, arrays)
    assert "columns and 1 vectors of channels" in said


def test_a_thin_convolution_keeps_its_layout(check):
    w = weights(16, 4, 1, "float32")

    def block(x):
        return relax.op.nn.relu(relax.op.nn.conv2d(x, w))

    said = check(block, {"x": "float32[1, 4, 32, 32]"}, [RANDOM.standard_normal((1, 4, 32, 32)).astype("f4")])
    assert "columns, parallel" in said


@given(columns=st.integers(1, 300), blocks=st.integers(1, 40), plain=st.booleans())
def test_a_tile_divides_what_it_covers(columns, blocks, plain):
    width, vectors = _shape(columns, blocks, plain)
    assert columns % width == 0
    assert blocks % vectors == 0
    assert width * vectors <= 15  # TVM keeps less than 1024 bytes on the stack


@QUICK
@given(
    channels=st.sampled_from([33, 40, 64]),
    outputs=st.sampled_from([1, 7, 16, 24]),
    size=st.sampled_from([(4, 4), (7, 16), (56, 2), (5, 5)]),
    batch=st.sampled_from([1, 3]),
    tail=st.sampled_from(["relu", "tanh", None]),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_a_lone_convolution_of_pixels_keeps_its_layout(check, channels, outputs, size, batch, tail, dtype):
    kernel = weights(outputs, channels, 1, dtype)

    def block(x):
        y = relax.op.nn.conv2d(x, kernel)
        if tail is None:
            return y
        return relax.op.nn.relu(y) if tail == "relu" else relax.op.tanh(y)

    shape = (batch, channels, *size)
    said = check(block, {"x": f"{dtype}[{', '.join(map(str, shape))}]"}, [RANDOM.standard_normal(shape).astype(dtype)])
    if size != (5, 5) and outputs > 1:
        assert "pixels, parallel" in said


@pytest.mark.parametrize("channels", [16, 128])
def test_the_next_weights_are_asked_for_if_they_are_many(channels):
    """Each line of them once in all rows of a tile, in no loop in which sums leave the registers."""
    kernel = weights(channels, channels, 3, "float32")

    def block(x):
        return relax.op.nn.relu(relax.op.nn.conv2d(x, kernel, padding=1))

    block.__annotations__ = {"x": f"float32[1, {channels}, 7, 14]"}
    module = pipeline.trace(pipeline.graph(block))["schedule"].module
    (function,) = (f for v, f in module.functions.items() if v.name_hint != "main")
    asked = [line for line in function.script().splitlines() if "T.prefetch(" in line]
    assert bool(asked) == (channels == 128)
    assert all("param_0" in line and "0, 2, 1)" in line for line in asked)
    assert "weights_ahead" not in function.script()
