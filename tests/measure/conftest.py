"""Live operators for the tests of this room."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvmlab import pipeline
from tvmlab.api import define

CLAMP = """
class Attrs:
    lower: float = -1.0

def compute(x, lower):
    return te.compute(x.shape, lambda *i: tirx.max(const_like(lower, x), x(*i)), name="clamp")

def reference(x, lower):
    return np.maximum(x, lower)
"""


@pytest.fixture(scope="session")
def clamp():
    """An operator with a reference and an attribute."""
    return define("measurelab.clamp", CLAMP)


@pytest.fixture(scope="session")
def halves():
    """An operator with two outputs."""
    body = """
def compute(x):
    low = te.compute(x.shape, lambda *i: x(*i) * const_like(0.5, x), name="low")
    high = te.compute(x.shape, lambda *i: x(*i) + const_like(1, x), name="high")
    return low, high

def reference(x):
    return x * 0.5, x + 1
"""
    return define("measurelab.halves", body)


@pytest.fixture(scope="session")
def doubled():
    """An operator without a reference."""
    body = "def compute(x): return te.compute(x.shape, lambda *i: x(*i) + x(*i), name='doubled')"
    return define("measurelab.doubled", body)


@pytest.fixture(scope="session")
def network():
    """A little network from ONNX: two layers and a softmax."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
        for name, shape in {"w1": (16, 32), "b1": (32,), "w2": (32, 10)}.items()
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], name="gemm1"),
        helper.make_node("Relu", ["h"], ["r"], name="relu1"),
        helper.make_node("MatMul", ["r", "w2"], ["z"], name="matmul2"),
        helper.make_node("Softmax", ["z"], ["y"], name="softmax"),
        helper.make_node("ArgMax", ["z"], ["i"], axis=1, name="argmax"),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "little",
        [info("x", TensorProto.FLOAT, [4, 16])],
        [info("y", TensorProto.FLOAT, [4, 10]), info("i", TensorProto.INT64, [4, 1])],
        weights,
    )
    return pipeline.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


@pytest.fixture(scope="session")
def live_network(network, clamp):
    """The same network with a live operator in the place of its Relu."""
    return network.replace("relax.nn.relu", clamp, lower=0.0)
