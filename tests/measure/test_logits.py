"""Logits behind a softmax."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import parser

from tvmlab.measure.logits import Logits, find_logits


def softmax(x, axes):
    e = np.exp(x - x.max(axis=axes, keepdims=True))
    return e / e.sum(axis=axes, keepdims=True)


def found(body, opset=17):
    return list(find_logits(parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{body}')))


@given(seed=st.integers(0, 99), axis=st.integers(-3, 2), to_the_end=st.booleans(), spread=st.floats(0.1, 8))
def test_logits_are_recovered(seed, axis, to_the_end, spread):
    logits = (spread * np.random.default_rng(seed).standard_normal((2, 3, 4))).astype(np.float32)
    axes = tuple(range(axis % 3, 3)) if to_the_end else (axis,)
    probabilities = softmax(logits, axes).reshape(6, 4)
    error, hidden = Logits(0, "z", axis, to_the_end).compare(logits, probabilities)
    assert hidden == 0
    assert error.non_finite == 0
    assert error.shape == (2, 3, 4)
    assert error.relative < 1e-5


def test_an_error_that_a_softmax_hides_is_seen():
    logits = np.array([[30.0, 1.0, 2.0]], np.float32)
    wrong = np.array([[30.0, 1.5, 2.0]], np.float32)
    got = softmax(wrong, -1)
    assert np.abs(got - softmax(logits, -1)).max() < 1e-12
    error, _ = Logits(0, "z", -1, to_the_end=False).compare(logits, got)
    assert error.max_abs == pytest.approx(0.5, rel=1e-4)
    assert (error.name, error.index, error.peak) == ("z (logits)", (0, 1), 30.0)


def test_what_is_rounded_away_is_left_out_and_counted():
    logits = np.array([[0.0, -200.0, -1.0]], np.float32)
    error, hidden = Logits(0, "z", -1, to_the_end=False).compare(logits, softmax(logits, -1))
    assert hidden == 1
    assert error.relative < 1e-6


def test_a_probability_of_zero_where_there_should_be_one_is_wrong():
    error, _ = Logits(0, "z", -1, to_the_end=False).compare(
        np.zeros((1, 2), np.float32), np.array([[0, 1]], np.float32)
    )
    assert error.non_finite == 1


def test_an_oracle_that_is_nan_shows_in_the_probabilities_alone():
    logits = np.array([[np.nan, 1.0]], np.float32)
    error, hidden = Logits(0, "z", -1, to_the_end=False).compare(logits, np.array([[0.5, 0.5]], np.float32))
    assert (error.non_finite, hidden) == (0, 2)


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("g (float[2,3] x) => (float[2,3] y) { z = Neg(x) y = Softmax(z) }", [Logits(0, "z", -1, to_the_end=False)]),
        ("g (float[2,3] x) => (float[2,3] y) { y = Softmax<axis=0>(x) }", [Logits(0, "x", 0, to_the_end=False)]),
        (
            """g (float[2,3] x) => (float[2,3] a, float[6] y) <int64[1] s = {-1}>
               { a = Neg(x) p = Softmax(a) q = Identity(p) y = Reshape(q, s) }""",
            [Logits(1, "a", -1, to_the_end=False)],
        ),
        ("g (float[2,3] x) => (float[3,2] y) { p = Softmax(x) y = Transpose(p) }", []),
        ("g (float[2,3] x) => (float[2,3] y) { y = LogSoftmax(x) }", []),
        ("g (float[2,3] x) => (float[2,3] x) { y = Softmax(x) }", []),
    ],
)
def test_which_softmaxes_end_a_model(body, want):
    assert found(body) == want


def test_the_axis_of_older_operator_sets():
    body = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax(x) }"
    assert found(body, opset=9) == [Logits(0, "x", 1, to_the_end=True)]
