"""The plainest build, with references in the place of live operators."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import numpy as np
import pytest
import tvm_ffi
from tvm import relax

from tvmlab import pipeline
from tvmlab.api import define
from tvmlab.errors import ComputeError
from tvmlab.measure import verify
from tvmlab.measure.plain_build import run_plain_build

X = np.array([[-2, 0.5, 1], [3, -0.25, 7]], np.float32)


def references():
    return [name for name in tvm_ffi.registry.list_global_func_names() if name.startswith("tvmlab.measure.reference")]


def test_references_run_and_go(clamp, capfd):
    def block(x: "float32[n, 3]"):
        return clamp.bind(relax.op.multiply(clamp.bind(x, lower=0.0), x), lower=2.0)

    before = references()
    plain = run_plain_build(pipeline.graph(block), [X])
    np.testing.assert_array_equal(plain.outputs[0], np.maximum(np.maximum(X, 0) * X, 2))
    assert (plain.referred, plain.without) == (("measurelab.clamp",), ())
    assert references() == before
    assert capfd.readouterr().err == ""


def test_it_is_the_reference_that_runs():
    body = """
def compute(x): return te.compute(x.shape, lambda *i: x(*i), name="liar")
def reference(x): return x + 1
"""
    liar = define("measurelab.liar", body)

    def block(x: "float32[n, 3]"):
        return liar.bind(x)

    (y,) = run_plain_build(pipeline.graph(block), [X]).outputs
    np.testing.assert_array_equal(y, X + 1)


def test_two_outputs(halves):
    def block(x: "float32[n, 3]"):
        low, high = halves.bind(x), halves.bind(x)
        return relax.TupleGetItem(low, 0), relax.TupleGetItem(high, 1)

    low, high = run_plain_build(pipeline.graph(block), [X]).outputs
    np.testing.assert_array_equal(low, X / 2)
    np.testing.assert_array_equal(high, X + 1)


def test_an_operator_without_a_reference_runs_as_its_own_kernel(doubled):
    def block(x: "float32[2, 3]"):
        return doubled.bind(x)

    plain = run_plain_build(pipeline.graph(block), [X])
    np.testing.assert_array_equal(plain.outputs[0], 2 * X)
    assert (plain.referred, plain.without) == ((), ("measurelab.doubled",))


def test_a_failing_reference_fails_in_its_own_words():
    body = """
def compute(x): return te.compute(x.shape, lambda *i: x(*i), name="failing")
def reference(x): return x if np.isnan(x).all() else undefined
"""
    failing = define("measurelab.failing", body)

    def block(x: "float32[2, 3]"):
        return failing.bind(x)

    before = references()
    with pytest.raises(ComputeError, match="undefined") as caught:
        run_plain_build(pipeline.graph(block), [X])
    assert "else ▸undefined" in str(caught.value)
    assert references() == before


def test_the_module_stays_as_it_was(clamp):
    def block(x: "float32[2, 3]"):
        return clamp.bind(x)

    model = pipeline.graph(block)
    before = model.module.script()
    run_plain_build(model, [X])
    assert model.module.script() == before


@pytest.mark.parametrize("n", [3, 0])
def test_a_result_without_dimensions(n):
    body = """
def compute(x):
    k, j = te.reduce_axis((0, x.shape[0]), name="k"), te.reduce_axis((0, x.shape[1]), name="j")
    return te.compute((), lambda: te.sum(x(k, j), axis=[k, j]), name="total")

def reference(x): return x.sum()
"""
    total = define("measurelab.total", body)

    def block(x: "float32[n, 3]"):
        return relax.op.negative(total.bind(x))

    model = pipeline.graph(block)
    x = np.full((n, 3), 0.5, np.float32)
    (y,) = run_plain_build(model, [x]).outputs
    np.testing.assert_array_equal(y, np.float32(-1.5 * n))
    assert verify(model, inputs=[x], bisect=True).ok
