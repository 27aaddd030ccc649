"""The naive fuser is wrong in the ways that a lesson needs it to be: a test that fails here means someone mended it."""

from __future__ import annotations

import pytest
from onnx import parser

from tvmlab import fusion
from tvmlab.course.naive_fuser import REPAIRS, NaiveFuser, register_custom_pattern

HEAD = '<ir_version: 8, opset_import: ["": 17, "my.ops": 1]>'
IMAGE = (
    "(float[1,4,8,8] x) => (float[1,4,8,8] {}) <float[4,4,1,1] w = {{0}}, float[4] p = {{1,1,1,1}}, int64 axis = {{1}}>"
)
CONV_BN_RELU = "conv = Conv(x, w) bn = BatchNormalization(conv, p, p, p, p) relu = Relu(bn)"


def model(body, outputs="relu", head=IMAGE):
    """Nodes are called after their first outputs."""
    made = parser.parse_model(f"{HEAD} g {head.format(outputs)} {{ {body} }}")
    for node in made.graph.node:
        node.name = node.output[0]
    return made


def naive(body, outputs="relu", repairs=4):
    return NaiveFuser(model(body, outputs), REPAIRS[:repairs])


def groups(body, outputs="relu", repairs=4):
    return sorted(sorted(group) for group in naive(body, outputs, repairs).partition())


def right(body, outputs="relu"):
    graph = fusion.read_onnx(model(body, outputs)).graph
    return sorted(sorted(map(graph.label, group)) for group in fusion.partition(graph).groups)


def test_as_published_it_stops_at_once():
    with pytest.raises(IndexError):
        naive(CONV_BN_RELU, repairs=0)


def test_nodes_without_producers_have_no_entry():
    with pytest.raises(KeyError, match="conv"):
        naive(CONV_BN_RELU, repairs=1).partition()


def test_the_tree_is_upside_down():
    assert naive(CONV_BN_RELU, repairs=2).dominators == {"relu": None, "bn": "conv"}
    two = "a = Relu(x) b = Exp(x) add = Add(a, b) relu = Relu(add)"
    assert naive(two, repairs=2).dominators["add"] is None


def test_with_the_right_tree_the_table_is_asked_the_wrong_way_round():
    assert naive(CONV_BN_RELU, repairs=3).dominators == {"relu": None, "bn": "relu", "conv": "bn"}
    assert groups(CONV_BN_RELU, repairs=3) == [["bn"], ["conv"], ["relu"]]
    assert right(CONV_BN_RELU) == [["bn", "conv", "relu"]]


def test_a_node_is_in_two_groups():
    assert groups(CONV_BN_RELU) == [["bn", "conv"], ["bn", "conv", "relu"]]


def test_merging_again_doubles_a_group():
    fuser = naive(CONV_BN_RELU)
    fuser._merge("conv", "bn")
    fuser._merge("conv", "bn")
    assert fuser.groups["bn"] == ["bn", "conv", "bn", "conv"]


def test_another_output_is_forgotten():
    body = "r = Relu(x) relu = Relu(r) other = Exp(r)"
    assert "other" not in naive(body, "relu, float[1,4,8,8] other").groups


def test_an_opaque_node_ends_up_between_the_members_of_a_group():
    body = "conv = Conv(x, w) sum = CumSum(conv, axis) add = Add(conv, sum)"
    assert groups(body, "add") == [["add", "conv"], ["sum"]]
    assert right(body, "add") == [["add"], ["conv"], ["sum"]]


def test_what_is_between_is_left_out():
    body = "conv = Conv(x, w) r = Relu(conv) add = Add(conv, r)"
    assert groups(body, "add") == [["add", "conv"], ["r"]]
    assert right(body, "add") == [["add", "conv", "r"]]


def test_two_convolutions_in_one_group():
    body = "c1 = Conv(x, w) c2 = Conv(x, w) add = Add(c1, c2)"
    assert ["add", "c1", "c2"] in groups(body, "add")
    assert right(body, "add") == [["add", "c1"], ["c2"]]


@pytest.mark.parametrize(
    "body", ["a = Relu(x) relu = Relu(a)", "a = Transpose<perm=[0,1,3,2]>(x) b = Relu(a) relu = Relu(b)"]
)
def test_what_fuses_best_does_not_fuse(body):
    assert all(len(group) == 1 for group in groups(body))
    assert len(right(body)) == 1


def test_an_output_vanishes_into_a_group():
    body = "conv = Conv(x, w) relu = Relu(conv)"
    assert groups(body, "relu, float[1,4,8,8] conv") == [["conv", "relu"]]
    assert right(body, "relu, float[1,4,8,8] conv") == [["conv"], ["relu"]]


def test_nodes_without_names_are_one():
    made = model("a = Relu(x) b = Exp(a) relu = Relu(b)")
    for node in made.graph.node:
        node.name = ""
    assert NaiveFuser(made, REPAIRS).readers == {"": ["", ""]}


def test_absent_operands_connect_nodes():
    made = model("p = MaxPool<kernel_shape=[1,1]>(x) c = Clip(x, , p) relu = Relu(c)")
    made.graph.node[0].output.append("")
    assert NaiveFuser(made, REPAIRS).readers["p"] == ["c", "c"]


def test_a_constant_is_a_parent():
    body = "k = Constant<value_float=1.0>() conv = Conv(x, w) add = Add(conv, k) relu = Relu(add)"
    assert naive(body, repairs=2).dominators["add"] is None


def test_which_output_is_read_is_lost():
    assert naive("a, b = Split<axis=1>(x) relu = Add(a, b)").readers["a"] == ["relu", "relu"]


def test_a_foreign_operator_is_taken_for_one_of_its_name():
    body = "conv = Conv(x, w) relu = my.ops.Relu(conv)"
    assert groups(body) == [["conv", "relu"]]
    assert right(body) == [["conv"], ["relu"]]


def test_a_training_norm_is_fused():
    body = CONV_BN_RELU.replace("bn = BatchNormalization", "bn, m, v = BatchNormalization<training_mode=1>")
    assert ["bn", "conv"] in groups(body)


def test_a_long_chain_is_too_deep():
    body = " ".join(f"v{at + 1} = Relu(v{at})" for at in range(1200))
    with pytest.raises(RecursionError):
        naive(f"v0 = Relu(x) {body} relu = Relu(v1200)")


def test_patterns_are_remembered_nowhere():
    with pytest.raises(AttributeError, match="custom_patterns"):
        register_custom_pattern(naive(CONV_BN_RELU), "mine", ["Conv", "Relu"])
