"""Inputs: given ones are checked and kept, the others are random, safe and repeatable."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmlab.errors import CallError
from tvmlab.measure.inputs import make_inputs
from tvmlab.records import TensorInfo

X = TensorInfo("x", ("n", 4), "float32")
W = TensorInfo("w", (4, "m"), "float32")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16", "int8", "uint8", "int64", "bool"])
@given(shape=st.lists(st.integers(0, 4), max_size=3).map(tuple), seed=st.integers(0, 3))
def test_random_inputs(dtype, shape, seed):
    tensors = [TensorInfo("a", shape, dtype), TensorInfo("b", shape, dtype)]
    feeds = make_inputs(tensors, seed=seed)
    assert all((a.shape, a.dtype.name) == (shape, dtype) for a in feeds.arrays)
    assert feeds.notes == ()
    again = make_inputs(tensors, seed=seed)
    assert all(np.array_equal(a, b) for a, b in zip(feeds.arrays, again.arrays, strict=True))
    if "int" in dtype:
        assert all(((a >= 1) & (a <= 3)).all() for a in feeds.arrays)


def test_another_seed_gives_other_inputs():
    tensors = [TensorInfo("x", (50,), "float32")]
    assert not np.array_equal(make_inputs(tensors, seed=0).arrays[0], make_inputs(tensors, seed=1).arrays[0])


def test_open_dimensions_are_set_and_told():
    feeds = make_inputs([X, W, TensorInfo("y", ("m", "n * 2", "m - 1"), "float32")])
    n, m = feeds.arrays[0].shape[0], feeds.arrays[1].shape[1]
    assert n != m
    assert feeds.arrays[2].shape == (m, 2 * n, m - 1)
    assert feeds.notes == (f"open dimensions were set: n = {n}, m = {m}",)


def test_pictures_are_not_tiny():
    (array,) = make_inputs([TensorInfo("x", ("batch size", 3, "h", "w"), "float32")]).arrays
    assert array.shape == (2, 3, 32, 40)


def test_given_inputs_set_open_dimensions():
    x = np.ones((9, 4))
    feeds = make_inputs([X, TensorInfo("y", ("n",), "int64")], {"x": x})
    assert feeds.arrays[0].dtype == np.float32
    assert np.array_equal(feeds.arrays[0], x)
    assert feeds.arrays[1].shape == (9,)
    assert feeds.notes == ()


def test_inputs_in_order():
    x, w = np.ones((2, 4), np.float32), np.ones((4, 3), np.float32)
    assert make_inputs([X, W], [x, w]).arrays[1].shape == (4, 3)
    assert make_inputs([X], x).arrays[0].shape == (2, 4)
    assert make_inputs([X], [np.ones((4, 2), np.float32).T]).arrays[0].flags.c_contiguous


@pytest.mark.parametrize(
    ("tensors", "inputs", "message"),
    [
        ([X], {"X": np.ones((2, 4))}, "no input 'X'"),
        ([TensorInfo("input", (4,), "float32")], {"inptu": np.ones(4)}, "did you mean 'input'"),
        ([X], {"x": np.ones((2, 5))}, r"x has shape \(2, 5\)"),
        ([X], {"x": np.ones(4)}, "has 1 dimensions"),
        ([X, W], [np.ones((2, 4))], "1 inputs were given, the model takes 2: x, w"),
        ([TensorInfo("i", (2,), "int32")], {"i": np.ones(2)}, "i is float64, the model takes int32"),
        ([TensorInfo("x", None, "float32")], None, "the shape of x is not known"),
        ([TensorInfo("x", (2,), "")], None, "the dtype of x is not known"),
        ([X, TensorInfo("y", ("n",), "float32")], [np.ones((2, 4)), np.ones(3)], r"y has shape \(3,\)"),
        ([TensorInfo("x", ("n / 2",), "float32")], None, "cannot be made up"),
    ],
)
def test_what_does_not_fit_says_so(tensors, inputs, message):
    with pytest.raises(CallError, match=message):
        make_inputs(tensors, inputs)


def test_what_is_not_known_can_be_given():
    tensors = [TensorInfo("x", None, "float32"), TensorInfo("y", ("n",), ""), TensorInfo("z", ("n",), "int8")]
    x, y, z = make_inputs(tensors, {"x": [[1, 2]], "y": np.ones(4, np.int16)}).arrays
    assert (x.shape, x.dtype, y.dtype, z.shape) == ((1, 2), np.float32, np.int16, (4,))


def test_a_hostile_dimension_is_only_a_name():
    (array,) = make_inputs([TensorInfo("x", ("__import__('os').abort()",), "float32")]).arrays
    assert array.shape == (2,)


def test_a_seed_below_zero_is_refused_in_words():
    with pytest.raises(CallError, match="the seed must be"):
        make_inputs([TensorInfo("x", (2,), "float32")], seed=-1)


@pytest.mark.parametrize(
    ("formula", "size"), [("n + T.int64(7)", 9), ("n * T.int64(5)", 10), ("n - T.int64(1)", 1), ("T.int64(3) + n", 5)]
)
def test_computed_dimensions_as_tvm_prints_them(formula, size):
    feeds = make_inputs([TensorInfo("x", ("n",), "float32"), TensorInfo("y", (formula,), "float32")])
    assert [array.shape for array in feeds.arrays] == [(2,), (size,)]
    assert feeds.notes == ("open dimensions were set: n = 2",)
