"""Small models, the nine networks that the onnx package ships, and a live operator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import tvm_ffi
from onnx import TensorProto, helper, numpy_helper

from tvmlab.api import define

NETWORKS = Path(onnx.__path__[0]) / "backend" / "test" / "data" / "light"

CLAMP = """
class Attrs:
    lower: float = -1.0
    slope: float = 0.1

def compute(x, lower, slope):
    low, leak = const_like(lower, x), const_like(slope, x)
    def clamp(*i):
        return tirx.max(low, x(*i)) + leak * tirx.min(x(*i) - low, const_like(0, x))
    return te.compute(x.shape, clamp, name="clamp")

def reference(x, lower, slope):
    return np.maximum(x, lower) + slope * np.minimum(x - lower, 0)
"""


@pytest.fixture(scope="session")
def clamp():
    """A live operator."""
    return define("pipelinelab.clamp", CLAMP)


@pytest.fixture
def network():
    """Path of one of the nine networks."""
    return lambda name: NETWORKS / f"light_{name}.onnx"


def small_network(opset=17, seed=0):
    """Conv, BatchNormalization, Relu, residual Sum, pooling and a dense layer, with random weights."""
    random = np.random.default_rng(seed)

    def constant(*shape):
        return random.standard_normal(shape).astype("f4")

    constants = {
        "w1": constant(8, 3, 3, 3),
        "gamma": random.uniform(0.5, 2, 8).astype("f4"),
        "beta": constant(8),
        "mean": constant(8),
        "var": random.uniform(0.5, 2, 8).astype("f4"),
        "w2": constant(8, 8, 3, 3),
        "b2": constant(8),
        "flat": np.array([1, -1]),
        "w3": constant(8 * 6 * 6, 10),
        "b3": constant(10),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["c1"], name="conv1", pads=[1] * 4),
        helper.make_node("BatchNormalization", ["c1", "gamma", "beta", "mean", "var"], ["n1"], name="bn1"),
        helper.make_node("Relu", ["n1"], ["r1"], name="relu1"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], name="conv2", pads=[1] * 4),
        helper.make_node("Sum", ["c2", "r1"], ["s"], name="sum"),
        helper.make_node("Relu", ["s"], ["r2"], name="relu2"),
        helper.make_node("MaxPool", ["r2"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["p", "flat"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], name="dense"),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 12, 12])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(v, n) for n, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.fixture
def small():
    """A small ONNX network, as a ModelProto."""
    return small_network()


@pytest.fixture
def unchanged():
    """Hash of a module, to compare before and after."""
    return tvm_ffi.structural_hash
