"""Open dimensions of ONNX models bear any name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from tvmlab import measure, pipeline
from tvmlab.pipeline.dimensions import with_named_dimensions


def inputs(*shapes):
    return [helper.make_tensor_value_info(f"x{i}", 1, shape) for i, shape in enumerate(shapes)]


def names(values):
    return [d.dim_param or d.dim_value for value in values for d in value.type.tensor_type.shape.dim]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["n", 4, "batch_size"], ["n", 4, "batch_size"]),
        (["<b>M</b>", "b_M_b", "a.b", "a/b"], ["b_M_b_2", "b_M_b", "a_b", "a_b_2"]),
        (["past", "past + 1", "2*past"], ["past", "past + 1", "2*past"]),
        (["past + 1", "past//0"], ["past_1", "past_0"]),
        (["n", "n+n*2", "n//0"], ["n", "n_n_2", "n_0"]),
        (["class", "2n", "λ", "μ", "-"], ["dim_class", "dim_2n", "dim", "dim_2", "dim_3"]),
    ],
)
def test_names_become_identifiers(given, named):
    before = inputs(given)
    assert names(with_named_dimensions(before)) == named
    assert names(before) == given


@given(texts=st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=5))
def test_different_names_stay_different_and_equal_ones_equal(texts):
    new = names(with_named_dimensions(inputs(texts, texts)))
    first, second = new[: len(texts)], new[len(texts) :]
    assert first == second
    assert len(set(first)) == len(set(texts))


@pytest.mark.parametrize("name", ["<b>M</b>", "n*2", "n - 1", "batch size", "a//0", "class", "λ"])
def test_a_model_with_such_a_dimension_runs(name):
    info = helper.make_tensor_value_info
    node = helper.make_node("Relu", ["x"], ["y"])
    graph = helper.make_graph([node], "g", [info("x", 1, [name, 4])], [info("y", 1, [name, 4])])
    model = pipeline.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert model.inputs[0].shape[0].isidentifier()
    assert measure.verify(model).ok
