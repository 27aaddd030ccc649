from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tvmlab.fusion import OnnxGraph, clean_up
from tvmlab.fusion.rewrites import fold_batchnorm_into_conv

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
