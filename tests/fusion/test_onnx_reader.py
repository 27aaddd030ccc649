"""What broke other tools is read rightly, and what is no graph is refused with the node's name."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper, parser

from tvmlab import fusion
from tvmlab.errors import CallError, GraphError, LoadError
from tvmlab.fusion import Edge, read_onnx

SHARED = runpy.run_path(str(Path(__file__).parents[1] / "onnx_cases.py"))
CASES, HEAD = SHARED["CASES"], SHARED["HEAD"]


def parsed(text, head=HEAD):
    return parser.parse_model(f"{head} g {text}")


def named(model, *names):
    for node, name in zip(model.graph.node, names, strict=True):
        node.name = name
    return model


def groups(source, **options):
    graph = read_onnx(source, **options).graph
    return [[graph.label(node) for node in group] for group in fusion.partition(graph).groups]


def kinds(source):
    graph = read_onnx(source).graph
    return {graph.label(node): graph.kind(node).name.lower() for node in range(len(graph))}


@pytest.mark.parametrize("name", CASES)
def test_the_groups_are_those_that_the_report_asks_for(name):
    text, right = CASES[name]
    assert groups(parsed(text)) == right


def test_nodes_are_told_apart_whatever_their_names():
    text = "(float[3,5] x) => (float[3,5] y) { a = Relu(x) b = Exp(a) c = Abs(x) d = Sqrt(c) y = Add(b, d) }"
    model = named(parsed(text), "", "dup", "", "dup", "sum")
    assert groups(model) == [["a", "b", "c", "d", "sum"]]


def test_names_of_nodes_and_of_values_are_different_things():
    text = (
        "(float[1,2,6,6] x) => (float[1,3,4,4] m, float[1,3,4,4] r) <float[3,2,3,3] W = {0}, float[3,1,1] s = {1,1,1}>"
        "{ c = Conv(x, W) m = Mul(c, s) r = Relu(m) }"
    )
    assert groups(named(parsed(text), "m", "r", "c")) == [["m", "r"], ["c"]]
    assert groups(named(parsed(text), "m", "", "c")) == [["c", "m"], ["r"]]


def test_an_empty_name_is_no_value():
    model = parsed(
        "(float[1,2,4,4] x) => (float[1,2,8,8] y) <float hi = {0.2}, float[4] scales = {1,1,2,2}>"
        "{ r = Relu(x) p = MaxPool<kernel_shape=[1,1]>(x) c = Clip(r, , hi) s = Add(p, c)"
        ' y = Resize<mode="nearest">(s, , scales) }'
    )
    model.graph.node[1].output.append("")
    reading = read_onnx(model)
    index = reading.graph.index
    assert index("c") not in reading.graph.readers(index("p"))
    assert groups(model) == [["r", "p", "c", "s"], ["y"]]


def test_edges_say_which_output_goes_into_which_input():
    model = parsed(
        "(float[2,6] x) => (float[2,3] y) <int64[2] sizes = {3,3}> { p, q = Split<axis=1>(x, sizes) y = Sub(q, p) }"
    )
    assert list(read_onnx(model).graph.edges()) == [Edge(0, 1, 1, 0), Edge(0, 0, 1, 1)]


def test_graphs_inside_of_nodes_are_graphs_of_their_own():
    text, _ = CASES["a branch that reads a value from outside"]
    inner = {(label, attribute): graph for label, attribute, graph in read_onnx(parsed(text)).bodies()}
    assert set(inner) == {("i", "then_branch"), ("i", "else_branch")}
    assert inner["i", "then_branch"].labels == ("to",)
    assert inner["i", "else_branch"].external == b"\1"


def test_constants_are_no_nodes():
    model = parsed(
        "(float[2] x) => (float[2] y) <int64[1] two = {2}>"
        "{ c = Constant<value_floats=[1.0, 2.0]>() w = ConstantOfShape(two) a = Add(x, c) y = Mul(a, w) }"
    )
    assert groups(model) == [["a", "y"]]


def test_an_initializer_that_is_an_input_is_a_constant_only_before_ir_version_4():
    text = "(float[2,6] x, int64[2] shape) => (float[3,4] y) <int64[2] shape = {3,4}> { y = Reshape(x, shape) }"
    assert kinds(parsed(text)) == {"y": "opaque"}
    assert kinds(parsed(text, HEAD.replace("ir_version: 8", "ir_version: 3"))) == {"y": "inj"}


def test_a_function_of_the_model_is_not_the_operator_of_its_name():
    function = helper.make_function(
        "my.domain", "Relu", ["x"], ["y"], [helper.make_node("CumSum", ["x", "x"], ["y"])], []
    )
    model = parsed("(float[2] x) => (float[2] y) { a = my.domain.Relu(x) y = Relu(a) }")
    model.functions.append(function)
    assert kinds(model) == {"a": "opaque", "y": "elem"}


def test_kinds_of_single_nodes_may_be_given():
    model = parsed("(float[2] x) => (float[2] y) { a = Relu(x) b = Exp(a) y = Neg(b) }")
    assert groups(model) == [["a", "b", "y"]]
    assert groups(model, kinds={"b": "opaque"}) == [["a"], ["b"], ["y"]]
    with pytest.raises(GraphError, match="no node 'bb'"):
        groups(model, kinds={"bb": "opaque"})


def test_reasons_speak_of_the_model():
    graph = read_onnx(parsed("(float[2] x) => (float[2] y, float[2] z) { y = Relu(x) z = my.domain.Clamp(y) }")).graph
    assert "y is an output of the model" in fusion.partition(graph).why("y", "z")
    graph = read_onnx(parsed("(float[2] x) => (float[2] z) { y = my.domain.Clamp(x) z = Relu(y) }")).graph
    assert "y is opaque, since nothing is known of its operator" in fusion.partition(graph).why("y", "z")
    graph = read_onnx(parsed("(float[2] x) => (float[2] y, float[2] z) { y = my.domain.Clamp(x) z = Relu(y) }")).graph
    assert "y is an output of the model" in fusion.partition(graph).why("y", "z")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("(float x) => (float y) { a = Add(x, y) y = Relu(a) }", "a cycle through or before node 'a'"),
        ("(float x) => (float y) { y = Add(x, z) }", "node 'y' .Add. reads 'z', which nothing makes"),
        ("(float x) => (float y) { y = Relu(x) y = Exp(x) }", "node 'y' .Exp. makes 'y', and so does node 'y'"),
        ("(float x) => (float x) { x = Relu(x) }", "makes 'x', and so does an input"),
        ("(float x) => (float z) { y = Relu(x) }", "output 'z' is made by no node"),
        ("(float x) => (float y) { y = Relu(y) }", "a cycle"),
    ],
)
def test_what_is_no_graph_is_refused(text, complaint):
    with pytest.raises(LoadError, match=complaint):
        read_onnx(parsed(text))


# Files that are made to hurt.


def a_million_inputs():
    node = helper.make_node("Sum", ["a"] * 1_000_000, ["y"], name="sum")
    relu = helper.make_node("Relu", ["x"], ["a"], name="relu")
    return graph_of([relu, node])


def graph_of(nodes, initializers=()):
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def nested_branches(levels):
    model = graph_of([helper.make_node("Relu", ["x"], ["a"]), helper.make_node("If", ["a"], ["y"], name="outer")])
    graph = None
    node = model.graph.node[1]
    for level in range(levels):
        attribute = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH)
        graph = attribute.g
        graph.name = f"level {level}"
        node = graph.node.add(op_type="If", output=[f"o{level}"], input=["a"])
    return model


def with_initializer(dims, **parts):
    tensor = TensorProto(name="w", dims=dims, data_type=TensorProto.FLOAT, **parts)
    return graph_of([helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Mul", ["a", "w"], ["y"])], [tensor])


def test_a_node_with_a_million_inputs():
    reading = read_onnx(a_million_inputs())
    assert len(reading.graph.producers) == 1_000_000
    assert fusion.partition(reading.graph).groups == [[0, 1]]


def test_graphs_nested_deeper_than_python_may_recur():
    model = nested_branches(2 * sys.getrecursionlimit())
    assert groups(model) == [["a"], ["outer"]]


def test_bytes_nested_deeper_than_protobuf_reads():
    with pytest.raises(LoadError, match="no ONNX model"):
        read_onnx(nested_branches(90).SerializeToString())


@pytest.mark.parametrize("dims", [[-2], [1 << 40], [1 << 31, 1 << 31, 1 << 31], [0]])
def test_weights_of_absurd_shapes_are_not_touched(dims):
    assert groups(with_initializer(dims)) == [["a", "y"]]
    assert groups(with_initializer(dims, raw_data=b"abc")) == [["a", "y"]]


def test_names_with_zeros_and_markup_in_them():
    name = "a\0<b>\n"
    model = graph_of([helper.make_node("Relu", ["x"], [name]), helper.make_node("Exp", [name], ["y"], name="e\0")])
    assert groups(model) == [[name, "e\0"]]


def test_a_long_chain_of_identities():
    nodes = [helper.make_node("Identity", ["x"], ["v0"])]
    nodes += [helper.make_node("Identity", [f"v{i}"], [f"v{i + 1}"]) for i in range(20_000)]
    model = graph_of([*nodes, helper.make_node("Relu", ["v20000"], ["y"])])
    assert len(groups(model)) == 79


def test_functions_that_call_each_other_without_end_are_not_unfolded():
    model = parsed("(float[2] x) => (float[2] y) { a = my.domain.f(x) y = Relu(a) }")
    for name, other in (("f", "g"), ("g", "f")):
        body = [helper.make_node(other, ["x"], ["y"], domain="my.domain")]
        opsets = [helper.make_opsetid("my.domain", 1)]
        model.functions.append(helper.make_function("my.domain", name, ["x"], ["y"], body, opsets))
    assert groups(model) == [["a"], ["y"]]


def test_every_network_of_the_onnx_package_is_read():
    right = {"bvlc_alexnet": 24, "inception_v1": 144, "resnet50": 176, "shufflenet": 203, "squeezenet": 66, "vgg19": 46}
    for name, nodes in right.items():
        reading = read_onnx(f"light_{name}.onnx")
        assert len(reading.graph) == nodes
        assert all(reading.shapes.get(output) for node in reading.nodes for output in node.output[:1])


def test_options_that_are_none_are_refused_and_a_limit_of_nothing_is_one():
    model = parsed("(float[3] x) => (float[3] y) { a = Relu(x) y = Exp(a) }")
    assert len(fusion.fuse_onnx(model).groups) == 1
    assert len(fusion.fuse_onnx(model, max_depth=0).groups) == 2
    with pytest.raises(CallError, match="engine='tvn' is not known"):
        fusion.fuse_onnx(model, engine="tvn")
    for change in ({"max_depth": 8}, {"kinds": {"a": "opaque"}}, {"templates": ["attention"]}):
        with pytest.raises(CallError, match=f'{next(iter(change))} is for engine="python"'):
            fusion.fuse_onnx(model, engine="none", **change)
    assert len(fusion.fuse_onnx(model, engine="none").groups) == 2
    assert fusion.fuse_onnx(model, templates="attention").headline == fusion.fuse_onnx(model).headline
    with pytest.raises(GraphError, match="templates=5 is no list"):
        fusion.fuse_onnx(model, templates=5)
