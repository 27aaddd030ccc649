from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, checker, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from tvmlab.errors import GraphError
from tvmlab.fusion import OnnxGraph, clean_up
from tvmlab.fusion.rewrites import clean_model, fold_batchnorm_into_conv, remove_no_ops

RANDOM = np.random.default_rng(0)


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(nodes, constants, outputs=("y",), shape=(2, 4, 6, 6), ir_version=8, opset=17, inputs=()):
    return helper.make_model(
        helper.make_graph(
            nodes,
            "g",
            [value("x", shape), *(value(n, constants[n].shape) for n in inputs)],
            [value(n, None) for n in outputs],
            [numpy_helper.from_array(v, n) for n, v in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=ir_version,
    )


def as_model(graph):
    """The rewritten graph as a model again."""
    constants = {n: v if isinstance(v, np.ndarray) else numpy_helper.to_array(v) for n, v in graph.constants.items()}
    made = helper.make_graph(
        graph.nodes, "g", graph.inputs, graph.outputs, [numpy_helper.from_array(v, n) for n, v in constants.items()]
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", graph.opset)], ir_version=8)


def conv_bn(channels=4, outputs=3, groups=1, bias=False):
    """Nodes and constants of Conv → BatchNormalization."""
    constants = {
        "w": RANDOM.standard_normal((outputs, channels // groups, 3, 3)).astype("f4"),
        "gamma": RANDOM.uniform(0.5, 2, outputs).astype("f4"),
        "beta": RANDOM.standard_normal(outputs).astype("f4"),
        "mean": RANDOM.standard_normal(outputs).astype("f4"),
        "var": RANDOM.uniform(0.5, 2, outputs).astype("f4"),
    }
    if bias:
        constants["b"] = RANDOM.standard_normal(outputs).astype("f4")
    nodes = [
        helper.make_node("Conv", ["x", "w", *(["b"] if bias else [])], ["c"], name="conv", group=groups, pads=[1] * 4),
        helper.make_node("BatchNormalization", ["c", "gamma", "beta", "mean", "var"], ["y"], epsilon=1e-3, name="bn"),
    ]
    return nodes, constants


def kinds(graph):
    return [node.op_type for node in graph.nodes]


def check_same_values(proto, graph, tolerance=1e-5):
    x = RANDOM.standard_normal([d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim]).astype("f4")
    before, after = (ReferenceEvaluator(m).run(None, {"x": x}) for m in (proto, as_model(graph)))
    for want, got in zip(before, after, strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max())


@settings(max_examples=20, deadline=None)
@given(channels=st.sampled_from([2, 4]), outputs=st.sampled_from([2, 4]), grouped=st.booleans(), bias=st.booleans())
def test_conv_and_batchnorm_become_one_conv(channels, outputs, grouped, bias):
    proto = model(*conv_bn(channels, outputs, 2 if grouped else 1, bias), shape=(2, channels, 6, 6))
    untouched = proto.SerializeToString()
    graph = fold_batchnorm_into_conv(OnnxGraph.of(proto))
    assert kinds(graph) == ["Conv"]
    assert graph.nodes[0].name == "conv"
    assert len(graph.constants) == 2
    check_same_values(proto, graph)
    assert proto.SerializeToString() == untouched


def with_second_reader(nodes, constants):
    return model([*nodes, helper.make_node("Relu", ["c"], ["z"])], constants, ("y", "z"))


def with_conv_as_output(nodes, constants):
    return model(nodes, constants, ("y", "c"))


def with_running_statistics(nodes, constants):
    nodes[1] = helper.make_node("BatchNormalization", list(nodes[1].input), ["y", "running", "spread"], training_mode=1)
    return model(nodes, constants, ("y", "running"))


def with_overridable_weight(nodes, constants):
    return model(nodes, constants, inputs=("w",))


def with_overridable_scale(nodes, constants):
    return model(nodes, constants, inputs=("gamma",))


def with_computed_scale(nodes, constants):
    scale = helper.make_node("Exp", ["gamma"], ["g2"])
    nodes[1].input[1] = "g2"
    return model([scale, *nodes], constants)


def with_old_training_operator(nodes, constants):
    return model(nodes, constants, opset=6)


@pytest.mark.parametrize(
    "build",
    [
        with_second_reader,
        with_conv_as_output,
        with_running_statistics,
        with_overridable_weight,
        with_overridable_scale,
        with_computed_scale,
        with_old_training_operator,
    ],
)
def test_batchnorm_stays_where_folding_would_be_wrong(build):
    graph = fold_batchnorm_into_conv(OnnxGraph.of(build(*conv_bn())))
    assert kinds(graph).count("BatchNormalization") == 1


def test_a_shared_weight_keeps_its_value_for_the_other_reader():
    nodes, constants = conv_bn(outputs=4)
    nodes.append(helper.make_node("Conv", ["x", "w"], ["z"], pads=[1] * 4))
    proto = model(nodes, constants, ("y", "z"))
    graph = fold_batchnorm_into_conv(OnnxGraph.of(proto))
    assert kinds(graph) == ["Conv", "Conv"]
    assert "w" in graph.constants
    check_same_values(proto, graph)


def test_sum_of_two_becomes_add_and_sum_of_three_stays():
    nodes = [
        helper.make_node("Sum", ["x", "x"], ["two"], name="s2"),
        helper.make_node("Sum", ["two", "x", "x"], ["y"], name="s3"),
    ]
    proto = model(nodes, {})
    graph = clean_up(OnnxGraph.of(proto))
    assert kinds(graph) == ["Add", "Sum"]
    assert graph.nodes[0].name == "s2"
    check_same_values(proto, graph)


def test_constants_that_only_move_are_moved_beforehand():
    nodes = [
        helper.make_node("Constant", [], ["shape"], value=numpy_helper.from_array(np.array([0, -1]))),
        helper.make_node("ConstantOfShape", ["dims"], ["made"], value=numpy_helper.from_array(np.float32([2.5]))),
        helper.make_node("Reshape", ["made", "shape"], ["flat"]),
        helper.make_node("Unsqueeze", ["flat", "axes"], ["deep"]),
        helper.make_node("Transpose", ["deep"], ["turned"], perm=[1, 0, 2]),
        helper.make_node("Squeeze", ["turned", "axes1"], ["thin"]),
        helper.make_node("Identity", ["thin"], ["weight"]),
        helper.make_node("Add", ["x", "weight"], ["y"]),
    ]
    constants = {"dims": np.array([2, 3, 2]), "axes": np.array([0]), "axes1": np.array([1])}
    proto = model(nodes, constants, shape=(2, 6))
    graph = clean_up(OnnxGraph.of(proto))
    assert kinds(graph) == ["Add"]
    assert list(graph.constants) == ["weight"]
    check_same_values(proto, graph)


def test_a_made_constant_takes_no_memory_and_an_absurd_one_is_left_alone():
    def graph_of(shape):
        nodes = [
            helper.make_node("ConstantOfShape", ["dims"], ["w"]),
            helper.make_node("Mul", ["x", "w"], ["y"]),
        ]
        return clean_up(OnnxGraph.of(model(nodes, {"dims": np.array(shape)})))

    assert graph_of([1000, 1000]).constants["w"].strides == (0, 0)
    assert kinds(graph_of([1 << 20, 1 << 20])) == ["ConstantOfShape", "Mul"]


# Whole models, run by onnxruntime


HEAD = '<ir_version: 8, opset_import: ["": 17]>'


def parsed(text, head=HEAD):
    return parser.parse_model(f"{head} g {text}")


def run(proto, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def cleaned(text, feeds=None, head=HEAD, tolerance=0.0):
    """The model cleaned up, after comparing its values with what they were."""
    proto = text if not isinstance(text, str) else parsed(text, head)
    feeds = {"x": np.float32([[-1.5, 0.25, 2], [3, -0.0, 0]])} if feeds is None else feeds
    before = proto.SerializeToString()
    made = clean_model(proto)
    assert proto.SerializeToString() == before
    checker.check_model(made, full_check=True)
    for want, got in zip(run(proto, feeds), run(made, feeds), strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
        assert np.array_equal(np.signbit(got), np.signbit(want)) or tolerance
    return made


def steps(proto):
    return [(node.op_type, list(node.input), list(node.output)) for node in proto.graph.node]


IMAGE = {"x": RANDOM.standard_normal((1, 1, 4, 4)).astype("f4")}


def test_identity_and_a_computed_one_in_one_chain():
    made = cleaned(
        "(float[2,3] x) => (float[2,3] y, float[2,3] copy) <float one = {1}, float zero = {0}>"
        "{ mid = Identity(x) k = Div(one, one) w = Mul(mid, k) y = Add(w, zero) copy = Identity(x) }"
    )
    assert steps(made) == [("Add", ["x", "zero"], ["y"]), ("Identity", ["x"], ["copy"])]


def test_a_chain_that_ends_in_outputs_is_written_under_their_names():
    made = cleaned(
        "(float[2,3] x) => (float[2,3] y, float[2,3] z, float[2,3] w) <float one = {1}>"
        "{ r = Relu(x) a = Identity(r) y = Mul(one, a) z = Identity(a) w = Neg(z) }"
    )
    assert steps(made) == [("Relu", ["x"], ["y"]), ("Identity", ["y"], ["z"]), ("Neg", ["y"], ["w"])]


def test_an_output_that_is_handed_on_to_an_output_stays_one():
    made = cleaned("(float[2,3] x) => (float[2,3] r, float[2,3] y) { r = Relu(x) y = Identity(r) }")
    assert steps(made) == [("Relu", ["x"], ["r"]), ("Identity", ["r"], ["y"])]


NO_OPS = {
    "Identity(a)": True,
    "Dropout(a)": True,
    "Dropout(a, half, no)": True,
    "Dropout(a, half, yes)": False,
    "Mul(a, one)": True,
    "Mul(one, a)": True,
    "Mul(a, two)": False,
    "Mul(a, ones)": False,
    "Mul(a, thin)": False,
    "Div(a, one)": True,
    "Div(one, a)": False,
    "Sub(a, zero)": True,
    "Sub(zero, a)": False,
    "Add(a, zero)": False,
    "Add(a, minus)": True,
    "Add(minus, a)": True,
    "Sub(a, minus)": False,
    "Pow(a, one)": True,
    "Pow(one, a)": False,
    "Transpose<perm=[0,1]>(a)": True,
    "Transpose<perm=[1,0]>(a)": False,
    "Transpose(a)": False,
    "Concat<axis=0>(a)": True,
    "Max(a)": True,
    "Sum(a)": True,
    "Sum(a, a)": False,
}


@pytest.mark.parametrize("call", NO_OPS)
def test_what_hands_on_its_input(call):
    shape = "[3,2]" if call in {"Transpose<perm=[1,0]>(a)", "Transpose(a)"} else "[2,3]"
    proto = parsed(
        f"(float[2,3] x) => (float{'[1,2,3]' if 'thin' in call else shape} y)"
        "<float one = {1}, float two = {2}, float zero = {0}, float minus = {-0.0}, float[3] ones = {1,1,1},"
        " float[1,1,1] thin = {1}, float half = {0.5}, bool no = {0}, bool yes = {1}>"
        f"{{ a = Relu(x) b = {call} y = Neg(b) }}"
    )
    kept = [node.op_type for node in clean_model(proto).graph.node]
    assert kept == (
        ["Relu", "Neg"]
        if NO_OPS[call]
        else ["Relu", "Add" if "Sum" in call else call.split("(")[0].split("<")[0], "Neg"]
    )
    if "yes" not in call:  # which draws random numbers
        cleaned(proto)


def test_adding_zero_is_not_nothing():
    proto = parsed(
        "(float[2] x) => (float[2] y) <float one = {1}, float zero = {0}> { a = Add(x, zero) y = Div(one, a) }"
    )
    x = np.float32([-0.0, 0.0])
    assert list(run(cleaned(proto, {"x": x}), {"x": x})[0]) == [np.inf, np.inf]


def test_a_mask_that_is_read_keeps_its_dropout():
    made = cleaned("(float[2,3] x) => (float[2,3] y, bool[2,3] m) { r = Relu(x) y, m = Dropout(r) }")
    assert [node.op_type for node in made.graph.node] == ["Relu", "Dropout"]


def test_an_overridable_one_is_none():
    text = "(float[2,3] x, float one) => (float[2,3] y) <float one = {1}> { a = Mul(x, one) y = Relu(a) }"
    made = cleaned(text)
    assert [node.op_type for node in made.graph.node] == ["Mul", "Relu"]
    x = np.ones((2, 3), np.float32)
    assert run(made, {"x": x, "one": np.array(3, np.float32)})[0].max() == 3


def test_weights_of_an_old_file_that_are_folded_are_no_inputs_any_more():
    head = '<ir_version: 3, opset_import: ["": 9]>'
    made = cleaned(
        "(float[1,1,4,4] x, float[1,1,3,3] w, float[1] p) => (float[1,1,2,2] y)"
        "<float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, float[1] p = {2}>"
        "{ c = Conv(x, w) y = BatchNormalization(c, p, p, p, p) }",
        IMAGE,
        head,
        1e-5,
    )
    assert [i.name for i in made.graph.input] == ["x"]
    assert [node.op_type for node in made.graph.node] == ["Conv"]


BRANCHES = (
    "(float[1,1,4,4] x, bool cond) => (float[1,1,2,2] y)"
    "<float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, float[1] p = {2}, float one = {1}> {"
    " r = Relu(x) i = Identity(r)"
    " o = If(cond) <then_branch = t () => (float[1,1,2,2] to)"
    " { tc = Conv(i, w) to = BatchNormalization(tc, p, p, p, p) },"
    " else_branch = f () => (float[1,1,2,2] fo) { fk = Mul(i, one) fc = Conv(fk, w) fn = Identity(fc) fo = Neg(fn) }>"
    " y = Identity(o) }"
)


@pytest.mark.parametrize("condition", [True, False])
def test_graphs_inside_of_nodes_are_cleaned_up_with_the_constants_around_them(condition):
    made = cleaned(BRANCHES, {**IMAGE, "cond": np.array(condition)}, tolerance=1e-4)
    assert [node.op_type for node in made.graph.node] == ["Relu", "If"]
    branches = {a.name: a.g for a in made.graph.node[1].attribute}
    assert [node.op_type for node in branches["then_branch"].node] == ["Conv"]
    assert branches["then_branch"].node[0].input[0] == "r"
    assert len(branches["then_branch"].initializer) == 2
    assert [node.op_type for node in branches["else_branch"].node] == ["Conv", "Neg"]
    assert {t.name for t in made.graph.initializer} == {"w"}


def test_what_a_branch_returns_is_made_in_it():
    text = (
        "(float[2,3] x, bool cond) => (float[2,3] y) <float[2,3] c = {1,2,3,4,5,6}, float one = {1}> {"
        " y = If(cond) <then_branch = t () => (float[2,3] to) { to = Identity(x) },"
        " else_branch = f () => (float[2,3] fo) { fo = Mul(c, one) }> }"
    )
    for condition in (True, False):
        feeds = {"x": np.ones((2, 3), np.float32), "cond": np.array(condition)}
        made = cleaned(text, feeds)
        assert [[n.op_type for n in a.g.node] for a in made.graph.node[0].attribute] == [["Identity"], ["Identity"]]


def test_new_names_are_those_of_no_value_anywhere():
    text = BRANCHES.replace("to)", "tc_weight)").replace("to =", "tc_weight =").replace("fc", "c_weight")
    text = text.replace("y = Identity(o)", "c = Conv(x, w) n = BatchNormalization(c, p, p, p, p) y = Add(o, n)")
    for condition in (True, False):
        cleaned(text, {**IMAGE, "cond": np.array(condition)}, tolerance=1e-4)


def test_a_name_that_means_something_else_inside_is_not_replaced():
    graph = OnnxGraph.of(parsed(BRANCHES))
    inner = helper.make_graph([helper.make_node("Neg", ["i"], ["r"])], "t", [], [value("r", None)])
    node = helper.make_node("If", ["cond"], ["o"], then_branch=inner, else_branch=inner)
    nodes = [*graph.nodes[:2], node, graph.nodes[-1]]
    assert kinds(remove_no_ops(graph.with_(nodes, graph.constants)))[:2] == ["Relu", "Identity"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_chain_of_no_ops_keeps_every_output(data):
    calls = ["Identity({})", "Mul({}, one)", "Sub({}, zero)", "Relu({})", "Add({}, zero)", "Neg({})", "Add({}, {})"]
    values, lines = ["x"], []
    for at in range(data.draw(st.integers(1, 8))):
        call = data.draw(st.sampled_from(calls))
        lines.append(f"v{at} = {call.format(*[data.draw(st.sampled_from(values)) for _ in range(call.count('{}'))])}")
        values.append(f"v{at}")
    outputs = sorted(data.draw(st.sets(st.sampled_from(values[1:]), min_size=1)))
    proto = parsed(
        f"(float[2,3] x) => ({', '.join(f'float[2,3] {o}' for o in outputs)})"
        f"<float one = {{1}}, float zero = {{0}}> {{ {' '.join(lines)} }}"
    )
    made = cleaned(proto)
    assert [o.name for o in made.graph.output] == outputs
    removable = sum(node.op_type in {"Mul", "Sub"} for node in made.graph.node)
    assert removable == 0


def test_a_model_is_no_graph():
    with pytest.raises(GraphError, match="takes an OnnxGraph, not a ModelProto"):
        clean_up(parsed("(float[2] x) => (float[2] y) { y = Relu(x) }"))
