"""Reads inside and outside: proved, tried out, or left to TVM; and no guard of the user's is taken for nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import relax, te, tirx

import tvmlab as tl
from tvmlab import api
from tvmlab.errors import CallError, ComputeError
from tvmlab.ops.bounds import first_read_outside, unproved_reads
from tvmlab.ops.evaluate import NotEvaluable

STENCIL = """n = x.shape[0]
    r = te.reduce_axis((0, 3), 'r')
    inside = lambda i: tirx.all(i + r - 1 >= 0, i + r - 1 < n)
    guarded = lambda i: tirx.if_then_else(inside(i), x[i + r - 1], const_like(0, x))
    return te.compute(x.shape, lambda i: te.sum(guarded(i), axis=r))"""

TOEPLITZ = """n = x.shape[0]
    return te.compute((n, n), lambda i, j: tirx.if_then_else(i - j >= 0, x[i - j], const_like(0, x)))"""

INSIDE = {
    "a stencil with its guard": (
        STENCIL,
        lambda x: np.convolve(x, np.ones(3, x.dtype), "same"),
    ),
    "a guard by And": (
        "return te.compute(x.shape, lambda i: tirx.if_then_else(tirx.And(i >= 1, i < 9), x[i - 1], const_like(0, x)))",
        lambda x: np.concatenate([[0], x[:-1]]).astype(x.dtype),
    ),
    "a Toeplitz guard": (
        TOEPLITZ,
        lambda x: np.array([[x[i - j] if i >= j else 0 for j in range(len(x))] for i in range(len(x))], x.dtype),
    ),
    "a clamped index": (
        "return te.compute(x.shape, lambda i: x[tirx.max(i - 1, 0)])",
        lambda x: x[np.maximum(np.arange(len(x)) - 1, 0)],
    ),
    "an index of no simple form": (
        "return te.compute(x.shape, lambda i: x[tirx.floormod(i * i, x.shape[0])])",
        lambda x: x[np.arange(len(x)) ** 2 % len(x)],
    ),
}


@pytest.mark.parametrize(("body", "expected"), INSIDE.values(), ids=INSIDE.keys())
def test_a_read_that_is_inside_is_let_pass(body, expected):
    op = api.define("lab.inside", f"def compute(x):\n    {body}\n")
    x = np.arange(1, 6, dtype="float32")
    np.testing.assert_array_equal(op(x), expected(x))


OUTSIDE = {
    "a square": ("i * i", "comes to 4"),
    "an exclusive or": ("i ^ 4", "comes to 4"),
    "a jump": ("tirx.if_then_else(i > 2, 100000000, i)", "100000000"),
    "a remainder that is negative": ("tirx.truncmod(i - 2, x.shape[0])", "comes to -2"),
    "a guard on the wrong side": ("i - 1", "i - 1 >= 0, i - 1 < 4"),
}


@pytest.mark.parametrize(("index", "words"), OUTSIDE.values(), ids=OUTSIDE.keys())
def test_a_read_that_is_outside_is_refused_whatever_its_form(index, words):
    with pytest.raises(ComputeError, match="out of bounds") as caught:
        api.define("lab.outside", f"def compute(x):\n    return te.compute(x.shape, lambda i: x[{index}])\n")
    assert words in str(caught.value)
    assert "line 3" in caught.value.where


def test_the_proposed_guard_mends():
    body = (
        "def compute(x):\n    return te.compute(x.shape, lambda i, j: "
        "tirx.if_then_else(tirx.all(i - 1 >= 0, i - 1 < 2), x[i - 1, j], const_like(0, x)))\nexamples = {'x': (2, 3)}\n"
    )
    op = api.define("lab.mended", body)
    np.testing.assert_array_equal(op(np.ones((2, 3), "float32")), [[0, 0, 0], [1, 1, 1]])


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(-3, 3), st.integers(1, 3), st.integers(-4, 4), st.integers(1, 12))
def test_what_is_proved_is_never_found_outside(size, low, step, offset, extent):
    """The prover against trying out, on guarded affine reads."""
    x = te.placeholder((extent,), "float32", name="x")
    zero = tirx.const(0, "float32")
    out = te.compute(
        (size,),
        lambda i: tirx.if_then_else(tirx.all(i >= low, i * step + offset < extent), x[i * step + offset], zero),
    )
    if not unproved_reads([out]):
        assert first_read_outside([out]) is None


def test_what_depends_on_data_cannot_be_tried_out():
    x, at = te.placeholder((4,), "float32", name="x"), te.placeholder((4,), "int32", name="at")
    out = te.compute((4,), lambda i: x[at[i]])
    assert unproved_reads([out])
    with pytest.raises(NotEvaluable):
        first_read_outside([out])


ADD = "def compute(a, b):\n    return te.compute(a.shape, lambda *i: a(*i) + b(*i))\n"


def test_sizes_that_nothing_makes_equal_are_refused():
    op = api.define("lab.unequal", ADD)
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")

    def model(second):
        variables = [relax.Var(v, relax.TensorType([s, 4], "float32")) for v, s in (("a", n), ("b", second))]
        builder = relax.BlockBuilder()
        with builder.function("main", variables):
            with builder.dataflow():
                out = builder.emit_output(builder.emit(op(*variables)))
            builder.emit_func_output(out)
        return builder.get()

    assert relax.transform.LegalizeOps()(model(n)) is not None
    with pytest.raises(CallError, match="nothing says that its size m is enough"):
        relax.transform.LegalizeOps()(model(m))


def test_what_tvm_drops_of_a_reduction_is_refused():
    for dropped in ("where=k <= i", "init=const_like(5, x)"):
        body = (
            "def compute(x):\n    k = te.reduce_axis((0, x.shape[0]), 'k')\n"
            f"    return te.compute(x.shape, lambda i: te.sum(x[k], axis=k, {dropped}))\nexamples = {{'x': (4,)}}\n"
        )
        with pytest.raises(ComputeError, match=f"gives {dropped.split('=')[0]}= to a reduction, and TVM ignores it"):
            api.define("lab.dropped", body)


@pytest.mark.parametrize(("reducer", "expected"), [("te.sum", 0.0), ("te.max", np.finfo("float32").min)])
def test_a_reduction_over_nothing_has_the_value_of_nothing(reducer, expected):
    op = api.define(
        "lab.nothing",
        "def compute(x):\n    k = te.reduce_axis((0, x.shape[1]), 'k')\n"
        f"    return te.compute((x.shape[0],), lambda i: {reducer}(x[i, k], axis=k))\n",
    )
    op(np.full((64, 3), 7.5, "float32"))
    np.testing.assert_array_equal(op(np.zeros((64, 0), "float32")), np.full(64, expected, "float32"))


def test_a_number_that_float16_cannot_hold_is_a_remark():
    op = api.define(
        "lab.masked",
        "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) + const_like(-1e9, x))\n",
    )
    assert any("not for float16" in r for r in op.card().remarks)
    np.testing.assert_array_equal(tl.ops.lab.masked(np.zeros(2, "float32")), np.full(2, -1e9, "float32"))


def test_a_fraction_is_no_integer():
    op = api.define(
        "lab.half", "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) * const_like(0.5, x))\n"
    )
    with pytest.raises(ComputeError, match=r"0\.5 is no int32"):
        op(np.ones(3, "int32"))


def test_an_attribute_that_is_not_declared_is_a_tensor_and_the_mend_says_so():
    with pytest.raises(ComputeError, match="class Attrs: limit: float"):
        api.define(
            "lab.undeclared",
            "def compute(x, limit):\n"
            "    return te.compute(x.shape, lambda *i: tirx.min(x(*i), const_like(limit, x)))\n",
        )


def test_zero_has_a_sign():
    op = api.define(
        "lab.signed",
        "class Attrs:\n    a: float = 1.0\ndef compute(x, a):\n"
        "    return te.compute(x.shape, lambda *i: const_like(a, x))\n",
    )
    x = np.array([1.0], "float32")
    assert np.signbit(op(x, a=-0.0))[0]
    assert not np.signbit(op(x, a=0.0))[0]


def test_a_reference_that_needs_integers_does_not_stop_the_cell():
    op = api.define(
        "lab.picked",
        "def compute(x, at):\n    return te.compute((at.shape[0],), lambda i: x[at[i].astype('int64')])\n"
        "def reference(x, at):\n    return x[at]\n",
    )
    assert any("reference does not take" in r for r in op.card().remarks)
