from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from tvmlab.pipeline.weights import with_random_weights

NETWORKS = [
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50"),
    *("shufflenet", "squeezenet", "vgg19", "zfnet512"),
]


@pytest.mark.parametrize("name", NETWORKS)
def test_logits_are_finite_and_depend_on_the_input(network, name):
    light = onnx.load(network(name))
    proto = with_random_weights(light, seed=0)
    assert not any(node.op_type == "ConstantOfShape" for node in proto.graph.node)
    softmax = next((node for node in proto.graph.node[::-1] if node.op_type == "Softmax"), None)
    if softmax is not None:
        proto.graph.output[0].CopyFrom(onnx.ValueInfoProto(name=softmax.input[0]))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options)
    given = session.get_inputs()[0]
    random = np.random.default_rng(0)
    first, second = (session.run(None, {given.name: random.standard_normal(given.shape, "f4")})[0] for _ in range(2))
    assert np.isfinite(first).all()
    assert 0.05 < first.std() < 100
    assert np.abs(first - second).max() > 1e-5


def test_weights_depend_on_the_seed_alone_and_variances_are_positive(network):
    light = onnx.load(network("resnet50"))
    untouched = light.SerializeToString()
    one, same, other = (with_random_weights(light, seed) for seed in (0, 0, 1))
    assert light.SerializeToString() == untouched
    assert one.SerializeToString() == same.SerializeToString() != other.SerializeToString()
    values = {t.name: numpy_helper.to_array(t) for t in one.graph.initializer}
    variances = [node.input[4] for node in one.graph.node if node.op_type == "BatchNormalization"]
    assert all((values[name] > 0).all() for name in variances)


def test_trained_weights_are_kept(small):
    before = {t.name: numpy_helper.to_array(t) for t in small.graph.initializer}
    after = {t.name: numpy_helper.to_array(t) for t in with_random_weights(small, 0).graph.initializer}
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)
