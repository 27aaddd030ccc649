"""References are held against the operator's type."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from tvmlab.api import define
from tvmlab.errors import CallError, ComputeError
from tvmlab.measure.references import live_call_of, run_reference
from tvmlab.pipeline import LiveCall

X = np.array([[-2, 0.5], [3, -0.25]], np.float32)


def test_a_reference_runs_with_the_attributes_of_the_call(clamp):
    (y,) = run_reference(LiveCall(clamp, {"lower": 0.25}), [X])
    assert y.tolist() == [[0.25, 0.5], [3, 0.25]]
    assert y.dtype == np.float32


def test_two_outputs(halves):
    low, high = run_reference(LiveCall(halves, {}), [X])
    np.testing.assert_array_equal(low, X / 2)
    np.testing.assert_array_equal(high, X + 1)


def test_the_live_call_behind_a_relax_call(clamp):
    x = relax.Var("x", relax.TensorType((2, 2), "float32"))
    live = live_call_of(clamp.bind(x, lower=2.0))
    assert live.op.spec is clamp.spec
    assert live.attributes == {"lower": 2.0}
    assert live_call_of(relax.op.nn.relu(x)) is None
    assert live_call_of(x) is None


def test_a_reference_may_compute_in_wider_numbers():
    body = """
def compute(x): return te.compute(x.shape, lambda *i: x(*i), name="wide")
def reference(x): return x.astype("float64")
"""
    (y,) = run_reference(LiveCall(define("measurelab.wide", body), {}), [X])
    assert y.dtype == np.float32


def test_a_reference_cannot_change_its_inputs():
    body = """
def compute(x): return te.compute(x.shape, lambda *i: x(*i) * const_like(0, x), name="spoiler")
def reference(x):
    x[:] = 0
    return x
"""
    array = X.copy()
    run_reference(LiveCall(define("measurelab.spoiler", body), {}), [array])
    np.testing.assert_array_equal(array, X)


@pytest.mark.parametrize("returned", ["x[0]", "(x, x)", "x.sum()"])
def test_other_shapes_than_the_operators_are_an_error(returned):
    body = f"""
def compute(x): return te.compute(x.shape, lambda *i: x(*i), name="other")
def reference(x): return {returned}
"""
    with pytest.raises(ComputeError, match=r"the reference gives .*, the operator float32\[2, 2\]"):
        run_reference(LiveCall(define("measurelab.other", body), {}), [X])


def test_no_reference(doubled):
    with pytest.raises(CallError, match="has no reference"):
        run_reference(LiveCall(doubled, {}), [X])
