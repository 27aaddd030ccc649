"""Cutting an ONNX model at live operators changes nothing but who computes them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper, parser

from tvmlab.errors import LoadError, PipelineError
from tvmlab.measure.cutting import Segment, cut, live_nodes, run_cut
from tvmlab.measure.onnx_engines import onnxruntime_engine, reference_engine
from tvmlab.pipeline.live import DOMAIN

ENGINES = [onnxruntime_engine(), reference_engine("for a test")]


def live_relu(node, arrays):
    assert node.op_type == "lab.relu"
    (x,) = arrays
    return [np.maximum(x, 0)]


def parse(text):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17, "tvmlab" : 1]>\n{text}')


def parts_of(model):
    return cut(model, [output.name for output in model.graph.output])


def with_live_relus(model, which):
    """The model with some of its Relu nodes made live ones."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    relus = [node for node in copy.graph.node if node.op_type == "Relu"]
    for node, chosen in zip(relus, which, strict=True):
        if chosen:
            node.op_type, node.domain = "lab.relu", DOMAIN
    return copy


BLOCK = parse("""
    block (float[2, 3] x, float[3] w) => (float[2, 3] y, float[2, 3] r1, float[2, 3] x2)
    <float[3] c = {1.0, -2.0, 0.5}>
    {
        r1 = Relu(x)
        a = Add(r1, c)
        r2 = Relu(a)
        b = Mul(r2, r1)
        d = Mul(b, w)
        r3 = Relu(c)
        e = Sub(d, r3)
        y = Relu(e)
        x2 = Identity(x)
    }
""")
FEEDS = {
    "x": np.array([[-1, 2, 0.5], [3, -4, 5]], np.float32),
    "w": np.array([1, 2, -3], np.float32),
}


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name.split()[0])
@settings(max_examples=8, deadline=None)
@given(which=st.tuples(*[st.booleans()] * 4))
def test_a_live_relu_equals_relu(engine, which):
    want = engine.run(BLOCK, FEEDS)
    got = run_cut(with_live_relus(BLOCK, which), FEEDS, engine, live_relu)
    assert len(got) == 3
    for a, b in zip(want, got, strict=True):
        np.testing.assert_array_equal(a, b)


def test_segments_read_and_write_what_they_must():
    parts = parts_of(with_live_relus(BLOCK, (False, True, False, False)))
    assert [type(p) for p in parts] == [Segment, onnx.NodeProto, Segment]
    first, live, last = parts
    assert (first.reads, first.writes) == (("x", "c"), ("r1", "a"))
    assert (list(live.input), list(live.output)) == (["a"], ["r2"])
    assert (set(last.reads), last.writes) == ({"r2", "r1", "w", "c", "x"}, ("y", "x2"))
    assert len(live_nodes(with_live_relus(BLOCK, (True, True, False, True)))) == 3


def test_neighbours_need_no_segment_between():
    model = parse("g (float[2] x) => (float[2] y) { a = tvmlab.relu(x) b = tvmlab.relu(a) y = tvmlab.relu(b) }")
    for node in model.graph.node:
        node.op_type = "lab.relu"
    assert all(isinstance(part, onnx.NodeProto) for part in parts_of(model))
    (y,) = run_cut(model, {"x": np.array([-1, 2], np.float32)}, ENGINES[0], live_relu)
    assert y.tolist() == [0, 2]


def test_what_nobody_reads_is_not_run():
    model = parse("g (float[2] x) => (float[2] y) { a = Neg(x) y = tvmlab.relu(x) b = NoSuchOperator(y) }")
    model.graph.node[1].op_type = "lab.relu"
    (live,) = parts_of(model)
    assert live.op_type == "lab.relu"


def test_values_inside_can_be_had():
    model = with_live_relus(BLOCK, (False, True, False, False))
    *_, b, r2 = run_cut(model, FEEDS, ENGINES[0], live_relu, also=["b", "r2"])
    np.testing.assert_array_equal(b, r2 * np.maximum(FEEDS["x"], 0))


def test_unsorted_nodes_run_in_order():
    model = with_live_relus(BLOCK, (True, False, False, True))
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    for a, b in zip(run_cut(model, FEEDS, ENGINES[0], live_relu), ENGINES[0].run(BLOCK, FEEDS), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_circle_is_an_error():
    model = parse("g (float[2] x) => (float[2] y) { a = Add(x, y) y = Neg(a) }")
    with pytest.raises(LoadError, match="cycle"):
        parts_of(model)


def branching(domain):
    """x -> live relu -> If(x's first element > 0) whose branches read the relu's output from outside."""
    op = "lab.relu" if domain else "Relu"
    info = helper.make_tensor_value_info
    y = info("y", TensorProto.FLOAT, [2])
    then = helper.make_graph(
        [helper.make_node("Add", ["r", "r"], ["t"])], "then", [], [info("t", TensorProto.FLOAT, [2])]
    )
    other = helper.make_graph([helper.make_node("Neg", ["r"], ["e"])], "else", [], [info("e", TensorProto.FLOAT, [2])])
    nodes = [
        helper.make_node(op, ["x"], ["r"], domain=domain),
        helper.make_node("If", ["yes"], ["y"], then_branch=then, else_branch=other),
    ]
    inputs = [info("x", TensorProto.FLOAT, [2]), info("yes", TensorProto.BOOL, [])]
    graph = helper.make_graph(nodes, "g", inputs, [y])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize(("yes", "want"), [(True, [0, 4]), (False, [0, -2])])
def test_branches_read_values_from_outside(yes, want):
    feeds = {"x": np.array([-1, 2], np.float32), "yes": np.array(yes)}
    (y,) = run_cut(branching(DOMAIN), feeds, ENGINES[0], live_relu)
    assert y.tolist() == want


def test_a_live_operator_in_a_branch_is_an_error():
    model = branching("")
    model.graph.node[1].attribute[0].g.node[0].domain = DOMAIN
    with pytest.raises(PipelineError, match="stands inside an If"):
        parts_of(model)


def test_a_fed_value_overrides_its_default():
    model = parse("g (float[1] x, float[1] k) => (float[1] y) <float[1] k = {10.0}> { r = Relu(x) y = Add(r, k) }")
    live = with_live_relus(model, (True,))
    x = np.array([1], np.float32)
    assert run_cut(live, {"x": x}, ENGINES[0], live_relu)[0].tolist() == [11]
    assert run_cut(live, {"x": x, "k": x}, ENGINES[0], live_relu)[0].tolist() == [2]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.bool_])
def test_values_of_any_dtype_cross_a_cut(dtype):
    array = np.array([[1, 0]], dtype)
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    nodes = [
        helper.make_node("Identity", ["x"], ["a"]),
        helper.make_node("lab.id", ["a", "c"], ["b"], domain=DOMAIN),
        helper.make_node("Identity", ["b"], ["y"]),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [info("x", kind, [1, 2])], [info("y", kind, [1, 2])], [numpy_helper.from_array(array, "c")]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def first(node, arrays):
        assert np.array_equal(arrays[0], arrays[1])
        return arrays[:1]

    (y,) = run_cut(model, {"x": array}, ENGINES[0], first)
    assert y.dtype == dtype
    assert np.array_equal(y, array)
