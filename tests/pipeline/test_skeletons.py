"""What is written for operators that nobody knows defines and registers them, whatever they are called."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, parser

import tvmlab as tl
from tvmlab.errors import CallError, ComputeError, UnknownOperators

WRITTEN = {
    "raise NotImplementedError('write what Fan-Out computes: return a tuple of 2 of te.compute(…)')": (
        "return tuple(te.compute(x.shape, lambda *i: x(*i) * const_like(k, x), name=f'part{k}') for k in (2, 3))"
    ),
    "raise NotImplementedError('write what Relu computes: return te.compute(x.shape, lambda *i: …)')": (
        "return te.compute(x.shape, lambda *i: x(*i) + const_like(shift_by, x), name='relu')"
    ),
}


@pytest.fixture(autouse=True)
def clean():
    yield
    for each in tl.onnx.registrations():
        tl.onnx.unregister(each.domain, each.op_type)


def odd_model():
    """Operators whose names are no Python, in domains that are namespaces of TVM or none at all."""
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], domain="nn", **{"shift-by": 2.0, "class": "a'\"\n"}),
        helper.make_node("Relu", ["a", "x"], ["b"], domain="nn", name="second\nraise SystemExit"),
        helper.make_node("Fan-Out", ["b"], ["c", "d"], domain="3-d.net"),
        helper.make_node("Add", ["c", "d"], ["y"]),
    ]
    nodes[0].attribute.append(helper.make_attribute("table", helper.make_tensor("t", TensorProto.FLOAT, [1], [1.0])))
    graph = helper.make_graph(nodes, "odd", [value("x", TensorProto.FLOAT, [2])], [value("y", TensorProto.FLOAT, [2])])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("nn", 1), helper.make_opsetid("3-d.net", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def test_all_unknown_operators_are_told_at_once_and_written_down(tmp_path):
    with pytest.raises(UnknownOperators) as caught:
        tl.load(odd_model())
    assert caught.value.what == "TVM's importer does not know 3-d.net::Fan-Out, nn::Relu"
    assert caught.value.where == "node 'a' and 2 more"
    text = tl.onnx.skeleton(odd_model())
    assert tl.diagnose(caught.value).code == caught.value.skeleton == text

    for raised, written in WRITTEN.items():
        assert raised in text
        text = text.replace(raised, written)
    exec(compile(text, str(tmp_path / "written.py"), "exec"), {"__name__": "written"})
    model = tl.load(odd_model())
    assert tl.run(model, np.zeros(2, "f4")).tolist() == [
        20,
        20,
    ]  # (0 + 2 + 2) * 2 + … * 3, with the first node's default


def test_a_skeleton_that_nobody_filled_in_says_so():
    proto = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "blank" : 1]> g (float[2] x) => (float[2] y) { y = blank.Op(x) }'
    )
    with pytest.raises(ComputeError, match="write what Op computes"):
        exec(tl.onnx.skeleton(proto), {"__name__": "written"})


def test_a_model_without_unknown_operators_needs_none():
    proto = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    )
    with pytest.raises(CallError, match="all operators of the model are known"):
        tl.onnx.skeleton(proto)
