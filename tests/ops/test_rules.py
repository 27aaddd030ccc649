"""Type rules against NumPy, on known, symbolic and unknown shapes."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tvm.relax import TensorType

from tvmlab.ops import rules

shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def typed(shape, dtype="float32"):
    return TensorType(list(shape), dtype)


def sizes(kind):
    return tuple(int(d) for d in kind.shape)


@given(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=4, max_side=4))
def test_broadcast_is_numpy_broadcasting(drawn):
    assert sizes(rules.broadcast(*map(typed, drawn.input_shapes))) == drawn.result_shape


@given(shapes, shapes)
def test_broadcast_refuses_what_numpy_refuses(a, b):
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="do not broadcast"):
            rules.broadcast(typed(a), typed(b))
    else:
        assert sizes(rules.broadcast(typed(a), typed(b))) == expected


@given(shapes.filter(len), st.data())
def test_reduce_is_numpy_sum(shape, data):
    rank = len(shape)
    axes = data.draw(st.none() | st.lists(st.integers(-rank, rank - 1), unique_by=lambda a: a % rank).map(tuple))
    keepdims = data.draw(st.booleans())
    result = rules.reduce()(typed(shape), axis=axes, keepdims=keepdims)
    assert sizes(result) == np.zeros(shape).sum(axis=axes, keepdims=keepdims).shape
    unknown = rules.reduce()(TensorType(ndim=rank, dtype="float32"), axis=axes, keepdims=keepdims)
    assert unknown.shape is None
    assert unknown.ndim == result.ndim


@given(shapes, st.data())
def test_permute_is_numpy_transpose(shape, data):
    axes = data.draw(st.none() | st.permutations(range(len(shape))).map(tuple))
    assert sizes(rules.permute()(typed(shape), axes=axes)) == np.zeros(shape).transpose(axes).shape


def test_broadcast_keeps_symbols():
    n, m = tvm.tirx.Var("n", "int64"), tvm.tirx.Var("m", "int64")
    assert rules.show(rules.broadcast(typed([n, 4]), typed([1, 4]))) == "float32[n, 4]"
    assert rules.show(rules.broadcast(typed([n + 1, 4]), typed([1 + n, 1]))) == "float32[n + 1, 4]"
    assert rules.show(rules.broadcast(typed([n, 4]), typed([m, 4]))) == "float32[?, ?]"
    assert rules.show(rules.broadcast(typed([n, 4]), typed([3, 4]))) == "float32[?, ?]"
    assert rules.show(rules.broadcast(typed([4]), typed([n, 1]))) == "float32[n, 4]"


UNKNOWN_SHAPE, UNKNOWN_RANK = TensorType(ndim=2, dtype="float16"), TensorType(ndim=-1, dtype="float16")
RULES = {
    "same": (rules.same, {}),
    "broadcast": (rules.broadcast, {}),
    "reduce": (rules.reduce(), {"axis": (0,), "keepdims": True}),
    "permute": (rules.permute(), {"axes": (1, 0)}),
}


@pytest.mark.parametrize(("rule", "attributes"), RULES.values(), ids=RULES.keys())
def test_an_unknown_shape_keeps_its_rank_and_an_unknown_rank_stays_unknown(rule, attributes):
    assert rules.show(rule(UNKNOWN_SHAPE, **attributes)) == "float16[?, ?]"
    assert rules.show(rule(UNKNOWN_RANK, **attributes)) == "float16[…]"


def test_same_takes_what_is_known_of_any_input():
    known = typed([2, 3], "float16")
    assert rules.show(rules.same(UNKNOWN_RANK, known)) == "float16[2, 3]"
    assert rules.show(rules.same(UNKNOWN_RANK, UNKNOWN_SHAPE)) == "float16[?, ?]"


@pytest.mark.parametrize("rule", [rules.same, rules.broadcast])
def test_inputs_of_two_dtypes_are_refused(rule):
    with pytest.raises(ValueError, match="one dtype, got float32 and float16"):
        rule(typed([2]), typed([2], "float16"))


def test_from_attrs_takes_shape_and_dtype_from_attributes():
    rule = rules.from_attrs(shape="size", dtype="kind")
    assert rules.show(rule(typed([2]), size=(3, 4), kind="int8")) == "int8[3, 4]"
    assert rules.show(rule(typed([2]), size=(3, 4), kind=None)) == "float32[3, 4]"
    assert rules.show(rule(size=(3,), kind="int8")) == "int8[3]"
    with pytest.raises(ValueError, match="dtype"):
        rules.from_attrs()(shape=(3,))


def test_outputs_gives_one_type_a_rule():
    both = rules.outputs(rules.same, rules.reduce())
    assert [rules.show(t) for t in both(typed([2, 3]), axis=(1,))] == ["float32[2, 3]", "float32[2]"]


@pytest.mark.parametrize(
    ("axes", "complaint"),
    [((2,), "axis 2 is out of range"), ((-3,), "axis -3 is out of range"), ((0, -2), "one axis twice")],
)
def test_axes_that_are_refused(axes, complaint):
    with pytest.raises(ValueError, match=complaint):
        rules.normalize_axes(axes, 2)


def test_a_reduction_of_a_symbolic_shape():
    n = tvm.tirx.Var("n", "int64")
    rule = rules.reduce(axis="dims", keepdims="keep")
    assert rules.show(rule(typed([n, 4, 5]), dims=-1, keep=False)) == "float32[n, 4]"
    assert rules.show(rule(typed([n, 4, 5]), dims=None, keep=True)) == "float32[1, 1, 1]"


def test_types_are_shown_as_a_user_writes_them():
    n = tvm.tirx.Var("n", "int64")
    assert rules.show(typed([n // 2, 3])) == "float32[n // 2, 3]"
    assert rules.show(TensorType(ndim=1, dtype=None)) == "?[?]"
    assert rules.show(tvm.relax.TupleType([typed([2]), typed([])])) == "(float32[2], float32[])"
