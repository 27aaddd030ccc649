from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvmlab.errors import LoadError
from tvmlab.fusion.onnx_graph import OnnxGraph, fresh_names, label, reads


def value(name, shape=(2, 3)):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(nodes, inputs=("x",), outputs=("y",), constants=None, ir_version=8):
    initializers = [numpy_helper.from_array(v, n) for n, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", [value(n) for n in inputs], [value(n) for n in outputs], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=ir_version)


def test_nodes_are_sorted_and_stay_where_they_are_if_they_can():
    nodes = [
        helper.make_node("Exp", ["b"], ["y"]),
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Neg", ["x"], ["side"]),
        helper.make_node("Abs", ["a"], ["b"]),
    ]
    graph = OnnxGraph.of(model(nodes, outputs=("y", "side")))
    assert [n.op_type for n in graph.nodes] == ["Relu", "Neg", "Abs", "Exp"]


def test_a_cycle_and_a_missing_value_are_named():
    cycle = [helper.make_node("Add", ["x", "b"], ["a"], name="first"), helper.make_node("Relu", ["a"], ["b"])]
    with pytest.raises(LoadError, match="cycle through or before node 'first'"):
        OnnxGraph.of(model(cycle, outputs=("b",)))
    with pytest.raises(LoadError, match="reads 'nowhere', which nothing makes"):
        OnnxGraph.of(model([helper.make_node("Relu", ["nowhere"], ["y"])]))


@pytest.mark.parametrize(("ir_version", "constant"), [(3, True), (8, False)])
def test_an_initializer_that_is_an_input_is_only_a_default_since_version_4(ir_version, constant):
    weight = np.ones((2, 3), np.float32)
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    graph = OnnxGraph.of(model(nodes, inputs=("x", "w"), constants={"w": weight}, ir_version=ir_version))
    assert (graph.constant("w") is not None) == constant
    assert [i.name for i in graph.inputs] == ["x"]


def test_what_a_subgraph_captures_counts_as_read():
    branch = helper.make_graph([helper.make_node("Neg", ["r"], ["n"])], "branch", [], [value("n")])
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
    ]
    graph = OnnxGraph.of(model(nodes, inputs=("x", "c")))
    assert list(reads(nodes[1])) == ["c", "r", "r"]
    assert graph.readers()["r"] == 2


def test_absent_optional_outputs_are_dropped_without_changing_the_model():
    node = helper.make_node("MaxPool", ["x"], ["y", ""], kernel_shape=[1, 1])
    proto = model([node])
    assert list(OnnxGraph.of(proto).nodes[0].output) == ["y"]
    assert list(proto.graph.node[0].output) == ["y", ""]


def test_fresh_names_never_repeat():
    graph = OnnxGraph.of(model([helper.make_node("Relu", ["x"], ["y"])]))
    fresh = fresh_names(graph)
    assert [fresh("y"), fresh("y"), fresh("new"), fresh("new")] == ["y_1", "y_2", "new", "new_1"]


def test_labels_fall_back_on_the_first_output():
    assert label(helper.make_node("Relu", ["x"], ["y"], name="r")) == "r"
    assert label(helper.make_node("Relu", ["x"], ["y"])) == "y"
    assert label(onnx.NodeProto(op_type="Relu")) == "Relu"
