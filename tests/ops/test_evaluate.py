"""Evaluating one element by hand, against the compiled kernel."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tvm import te, tirx

from tvmlab import api
from tvmlab.ops import gallery
from tvmlab.ops.evaluate import NotEvaluable, depth, element


@pytest.mark.parametrize("name", ["leaky_clamp", "swish", "pad"])
def test_an_element_is_what_the_kernel_gives(name):
    op = api.define(f"lab.{name}", gallery.text(name))
    array = np.random.default_rng(0).standard_normal((3, 4)).astype("float32") * 3
    x = te.placeholder(array.shape, "float32", name="x")
    out = op.spec.compute([x], op.spec.schema.values(op.spec.schema.make({})))
    whole = op(array)
    for index in np.ndindex(whole.shape):
        assert element(out, index, {x: array}) == pytest.approx(float(whole[index]), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("order", "kept"),
    [(tirx.max, False), (lambda x, c: tirx.max(c, x), True)],
    ids=["x first", "constant first"],
)
def test_a_maximum_loses_a_nan_in_its_first_operand_as_the_kernel_does(order, kept):
    array = np.array([math.nan], "float32")
    x = te.placeholder((1,), "float32", name="x")
    out = te.compute((1,), lambda i: order(x[i], tirx.const(0, "float32")))
    assert math.isnan(element(out, (0,), {x: array})) is kept


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (-1.0, 0.0), (0.0, 0.0), (1.0, -0.0)])
def test_division_by_zero_is_that_of_the_machine(a, b):
    x, y = (te.placeholder((1,), "float32", name=n) for n in "xy")
    out = te.compute((1,), lambda i: x[i] / y[i])
    with np.errstate(all="ignore"):
        expected = np.float32(a) / np.float32(b)
    got = element(out, (0,), {x: np.array([a]), y: np.array([b])})
    assert (math.isnan(got) and np.isnan(expected)) or got == expected


def test_a_reduction_is_not_evaluated():
    x = te.placeholder((3,), "float32", name="x")
    k = te.reduce_axis((0, 3), name="k")
    with pytest.raises(NotEvaluable):
        element(te.compute((1,), lambda i: te.sum(x[k], axis=k)), (0,), {x: np.zeros(3)})


def test_depth_counts_levels_up_to_its_limit():
    x = te.placeholder((3,), "float32", name="x")

    def chain(count):
        def body(i):
            value = x[i]
            for _ in range(count):
                value = value + tirx.const(1, "float32")
            return value

        return te.compute((3,), body)

    assert depth([chain(7)], 100) - depth([chain(0)], 100) == 7
    assert depth([chain(900)], 100) == 101
