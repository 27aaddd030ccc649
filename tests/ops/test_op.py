"""Calling a live operator on NumPy arrays and on Relax expressions."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tvm import relax

from tvmlab import api, ops
from tvmlab.errors import AttributeSchemaError, CallError, ComputeError
from tvmlab.ops import gallery
from tvmlab.ops import op as op_module

DOUBLE = "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) + x(*i), name='double')\n"


@pytest.fixture
def double():
    return api.define("lab.double", DOUBLE)


ARRAYS = {
    "a list": [1.0, 2.0],
    "a number": 3.5,
    "strided": np.arange(24, dtype="float32").reshape(4, 6)[::2, ::3],
    "transposed": np.arange(6, dtype="float32").reshape(2, 3).T,
    "read-only": np.broadcast_to(np.float32(2), (3, 4)),
    "empty": np.zeros((0, 3), "float32"),
    "zero-dimensional": np.float32(4),
    "big-endian": np.arange(4, dtype=">f4"),
    "integers": np.arange(5, dtype="int64"),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS.keys())
def test_any_array_can_be_given(double, array):
    before = np.array(array, copy=True)
    result = double(array)
    np.testing.assert_array_equal(result, np.asarray(array) * 2)
    assert result.dtype == np.asarray(array).dtype.newbyteorder("=")
    np.testing.assert_array_equal(np.asarray(array), before)


def test_a_kernel_is_compiled_once_for_each_shape_dtype_and_attributes(monkeypatch):
    clamp = api.define("lab.leaky_clamp", gallery.text("leaky_clamp"))
    compiled = []
    compile_one = op_module.Op._compile
    monkeypatch.setattr(op_module.Op, "_compile", lambda *a: compiled.append(1) or compile_one(*a))
    x = np.ones((3, 4), "float32")
    for _ in range(3):
        clamp(x)
        clamp(x, lower=-2.0)
        clamp(x.astype("float64"))
        clamp(x[:2])
    assert len(compiled) == 4


def test_results_are_the_callers_own(double):
    x = np.ones(4, "float32")
    first = double(x)
    second = double(x + 1)
    np.testing.assert_array_equal(first, [2, 2, 2, 2])
    second[:] = 0
    np.testing.assert_array_equal(double(x), [2, 2, 2, 2])


def test_threads_may_call_it_at_once(double):
    """Each thread is the first to ask for its shape, so they all compile; then they all run."""

    def work(size):
        x = np.full((size, 16), size, "float32")
        return all((double(x) == 2 * size).all() for _ in range(100))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(20, 44)))


def test_a_relax_expression_gives_a_relax_call(double):
    v = relax.Var("v", relax.TensorType([2, 3], "float32"))
    call = double(v)
    assert isinstance(call, relax.Call)
    assert call.op.name == "relax.lab.double"


def test_arrays_beside_an_expression_become_constants():
    matmul = api.define("lab.matmul", gallery.text("matmul"))
    v = relax.Var("v", relax.TensorType([2, 3], "float32"))
    weights = np.ones((3, 4), "float32")
    call = matmul(v, weights)
    np.testing.assert_array_equal(call.args[1].value.numpy(), weights)


def test_several_outputs_are_a_tuple():
    split = api.define("lab.split", gallery.text("split"))
    first, second = split(np.arange(4, dtype="float32"))
    np.testing.assert_array_equal(first, [0, 1])
    np.testing.assert_array_equal(second, [2, 3])
    values = split.reference(np.arange(4, dtype="float32"))
    assert isinstance(values, tuple)


def test_a_list_as_an_attribute(double):
    total = api.define("lab.sum", gallery.text("sum"))
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(total(x, axis=[1]), x.sum(axis=1))
    np.testing.assert_array_equal(total(x, axis=np.array([0])), x.sum(axis=0))


def test_validate_may_normalise():
    op = api.define(
        "lab.normalised",
        "class Attrs:\n    axis: int = -1\n    rank: int = 2\n    def validate(self):\n        self.axis %= self.rank\n"
        "def compute(x, axis, rank):\n    return te.compute(x.shape, lambda *i: x(*i) * const_like(axis, x))\n",
    )
    v = relax.Var("v", relax.TensorType([2, 3], "float32"))
    assert op(v).attrs.axis == 1
    np.testing.assert_array_equal(op(np.ones(2, "float32"), axis=-2), [0, 0])


def test_an_operator_without_reference_says_so(double):
    with pytest.raises(CallError, match="has no reference"):
        double.reference(np.ones(2))


def test_a_reference_that_fails_is_located():
    op = api.define("lab.late", DOUBLE + "def reference(x):\n    return x if x.size < 9 else x.nothing\n")
    with pytest.raises(ComputeError, match="reference fails: AttributeError") as caught:
        op.reference(np.ones(9))
    assert "line 5" in caught.value.where


def test_integers_for_a_floating_point_intrinsic_are_refused_at_the_line_of_compute():
    op = api.define(
        "lab.power", "def compute(x):\n    return te.compute(\n        x.shape, lambda *i: te.exp(x(*i)))\n"
    )
    np.testing.assert_allclose(op(np.ones(2, "float32")), np.exp([1, 1]), rtol=1e-6)
    with pytest.raises(ComputeError, match="exp is applied to int32") as caught:
        op(np.ones(2, "int32"))
    assert "line 4" in caught.value.where


def test_a_lie_of_the_rule_for_a_shape_that_no_guard_saw_is_refused_when_it_is_lowered():
    op = api.define(
        "lab.late_lie",
        "def type_rule(x):\n    return TensorType(x.shape if x.ndim != 2 or int(x.shape[0]) < 50 else [1], x.dtype)\n"
        + DOUBLE
        + "examples = [{'x': (2, 3)}]\n",
    )
    with pytest.raises(Exception, match="type rule says float32"):
        op(np.ones((60, 3), "float32"))


def test_unknown_shapes_have_the_rank_of_the_result():
    total = api.define("lab.derived", gallery.text("sum").replace("type_rule = rules.reduce()", ""))
    builder = relax.BlockBuilder()
    unknown = relax.Var("v", relax.TensorType(ndim=3, dtype="float16"))
    rankless = relax.Var("w", relax.TensorType(ndim=-1, dtype="float16"))
    with builder.testing_scope(def_vars=[]):
        known = builder.emit(total(unknown, axis=(1,))).ty
        free = builder.emit(total(rankless, axis=(1,))).ty
    assert (known.ndim, known.shape, str(known.dtype)) == (2, None, "float16")
    assert free.ndim == -1


def test_wrong_attributes_are_refused_before_anything_is_compiled(double):
    with pytest.raises(AttributeSchemaError, match="no attribute 'by'"):
        double(np.ones(3, "float32"), by=2)


def test_a_record_is_plain_data():
    clamp = api.define("lab.leaky_clamp", gallery.text("leaky_clamp"))
    data = clamp.to_dict()
    assert data["full_name"] == "relax.lab.leaky_clamp"
    assert data["kind"] == "kElemWise"
    assert data["attributes"][0] == ["lower", "float", "-1.0"]


def test_a_refusal_leaves_nothing_behind_that_speaks_on_stderr(capfd):
    cell = DOUBLE.replace("    return", "    if len(x.shape) == 1:\n        raise ValueError('no vectors')\n    return")
    op = api.define("lab.double", cell)
    with pytest.raises(CallError, match="no vectors"):
        op(np.ones(3, "float32"))
    gc.collect()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("what", ["topi.expand_dims(x, axis=1)", "topi.cast(x, x.dtype)", "topi.reshape(x, (6,))"])
def test_a_result_outlives_the_next_call(what):
    """TVM makes a view of the input out of what only reshapes it, and the memory of inputs is used again."""
    op = ops.define("lab.reshaped", ops.read_cell(f"def compute(x):\n    return {what}"))
    first = op(np.ones((2, 3), "float32"))
    op(np.zeros((2, 3), "float32"))
    assert (first == 1).all()
