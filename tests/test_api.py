from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from tvmlab import api
from tvmlab.errors import CallError


@pytest.fixture
def network():
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Neg", ["r"], ["y"])]
    x, y = value("x", TensorProto.FLOAT, [2, 3]), value("y", TensorProto.FLOAT, [2, 3])
    graph = helper.make_graph(nodes, "net", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("level", ["relax", "onnx"])
def test_a_model_is_fused_from_a_file_its_bytes_or_onnx_itself(network, level, tmp_path):
    file = tmp_path / "net.onnx"
    onnx.save(network, file)
    for source in (file, str(file), network, network.SerializeToString()):
        assert api.fuse(source, level=level).kernels_after == 1


@pytest.mark.parametrize("level", ["relax", "onnx"])
def test_one_phase_is_a_list_of_one(network, level):
    one, listed = (api.fuse(network, level=level, without=phase) for phase in ("phase0", ["phase0"]))
    assert one.groups == listed.groups
    assert api.fuse(network, level=level, without=["phase0", "phase1"]).kernels_after == 2


@pytest.mark.parametrize("level", ["relax", "onnx"])
@pytest.mark.parametrize("option", [{"without": 5}, {"templates": 5}, {"without": [1]}])
def test_what_is_no_list_of_names_is_refused(network, level, option):
    with pytest.raises(CallError, match="is no list of names"):
        api.fuse(network, level=level, **option)
