from __future__ import annotations

import numpy as np
import onnx
import pytest
import tvm
from onnx import TensorProto, helper, numpy_helper, parser
from tvm import relax
from tvm.script import ir as I  # noqa: N812
from tvm.script import relax as R  # noqa: N812

from tvmlab import pipeline
from tvmlab.errors import CallError, LoadError


@I.ir_module
class Scripted:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        return R.exp(x)


@R.function
def alone(x: R.Tensor((3, 4), "float32")):
    return R.exp(x)


def python_function(x: float32[n, 4]):  # noqa: F821
    return relax.op.exp(x)


def test_onnx_from_path_bytes_and_proto(tmp_path, small):
    path = tmp_path / "my_net.onnx"
    onnx.save(small, path)
    by_path, by_bytes, by_proto = (pipeline.load(s) for s in (path, path.read_bytes(), small))
    assert by_path.name == "my_net"
    assert by_bytes.name == by_proto.name == "small"
    assert pipeline.load(str(path), name="other").name == "other"
    for model in (by_path, by_bytes, by_proto):
        assert [str(t) for t in (*model.inputs, *model.outputs)] == ["x: float32[1, 3, 12, 12]", "y: float32[1, 10]"]


@pytest.mark.parametrize(
    "source", [Scripted, Scripted.script(), alone, python_function], ids=["module", "text", "function", "python"]
)
def test_relax_in_every_form(source):
    model = pipeline.load(source)
    assert isinstance(model.module, tvm.IRModule)
    assert model.inputs[0].shape in {("n", 4), (3, 4)}
    x = np.ones((3, 4), "f4")
    np.testing.assert_allclose(pipeline.trace(model).executable.run(x), np.exp(x), rtol=1e-6)


def test_provenance_names_the_node_of_every_binding(small):
    model = pipeline.load(small)
    bindings = [b.var.name for block in model.module["main"].body.blocks for b in block.bindings]
    owners = [model.provenance[name] for name in bindings if name in model.provenance]
    nodes = [node.name for node in small.graph.node]
    assert set(owners) == set(nodes)
    assert owners == sorted(owners, key=nodes.index)
    assert model.provenance["conv1"] == "conv1"


def test_node_names_that_repeat_or_are_no_identifiers():
    nodes = [
        helper.make_node("Relu", ["x"], ["a.0"], name="same/name"),
        helper.make_node("Exp", ["a.0"], ["1b"], name="same/name"),
        helper.make_node("Neg", ["1b"], ["y"]),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [2])], [value("y", TensorProto.FLOAT, [2])])
    model = pipeline.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert list(dict.fromkeys(model.provenance.values())) == ["a.0", "1b", "y"]
    assert list(model.provenance)[:2] == ["same_name", "same_name1"]


def broken(change):
    """A small model with one thing wrong."""
    value = helper.make_tensor_value_info
    weight = numpy_helper.from_array(np.ones((2, 2), "f4"), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "g",
        [value("x", TensorProto.FLOAT, [2, 2])],
        [value("y", TensorProto.FLOAT, [2, 2])],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    change(model.graph)
    return model.SerializeToString()


def claim_huge(graph):
    graph.initializer[0].dims[:] = [1 << 40, 1 << 20]


def claim_negative(graph):
    graph.initializer[0].dims[:] = [-2, -2]


def make_huge(graph):
    graph.initializer.append(numpy_helper.from_array(np.array([1 << 30, 1 << 30]), "s"))
    graph.node.insert(0, helper.make_node("ConstantOfShape", ["s"], ["z"], name="maker"))


def unknown_operator(graph):
    graph.node[0].op_type = "MatMull"


def foreign_domain(graph):
    graph.node[0].domain = "com.acme"


def unknown_type(graph):
    graph.initializer[0].data_type = 999


def wrong_shapes(graph):
    graph.initializer[0].dims[:] = [4, 1]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (b"", "there is nothing in it"),
        (b"hello world", "this is no ONNX model"),
        (b"version https://git-lfs.github.com/spec/v1", "a Git LFS pointer"),
        (onnx.ModelProto(), "it has no graph with outputs"),
        (broken(claim_huge), "a tensor claims the shape"),
        (broken(claim_negative), "a tensor claims the shape (-2, -2)"),
        (broken(make_huge), "too large for any memory"),
        (broken(unknown_operator), "does not know MatMull"),
        (broken(foreign_domain), "does not know com.acme::MatMul"),
        (broken(unknown_type), "unknown type 999"),
        (broken(wrong_shapes), "cannot import node 'product' (MatMul)"),
        ("/nowhere/net.onnx", "there is no such file"),
        ("x = 1\ny = 2", "this TVMScript cannot be read"),
        (Scripted.script().replace("R.exp", "R.expp"), "this TVMScript cannot be read"),
        (3.5, "a float is no model"),
        (dict, "the class dict is no module"),
        (tvm.IRModule({}), "no Relax function called main"),
    ],
)
def test_what_cannot_be_read_says_what_and_how_to_mend_it(source, said, capfd):
    with pytest.raises(LoadError) as caught:
        pipeline.load(source)
    assert said in caught.value.what
    assert caught.value.mend
    assert len(str(caught.value).splitlines()) <= 3
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_a_truncated_file_at_any_byte_is_refused_or_still_whole(small):
    data = small.SerializeToString()
    for cut in range(0, len(data), max(1, len(data) // 40)):
        with pytest.raises(LoadError):
            pipeline.load(data[:cut])


def test_files_that_are_none(tmp_path, small):
    with pytest.raises(LoadError, match="a directory, not an ONNX file"):
        pipeline.load(tmp_path)
    onnx.save(small, tmp_path / "network.onnx")
    with pytest.raises(LoadError, match="did you mean 'network\\.onnx'"):
        pipeline.load(tmp_path / "netwrok.onnx")


def test_weights_beside_the_file(tmp_path, small):
    path = tmp_path / "net.onnx"
    onnx.save(small, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert pipeline.load(path).inputs[0].name == "x"
    with pytest.raises(LoadError, match="the weights are in another file"):
        pipeline.load(path.read_bytes())
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(LoadError, match="weights beside the file cannot be read"):
        pipeline.load(path)


def test_weights_outside_the_folder_are_refused(tmp_path, small):
    inner = tmp_path / "inner"
    inner.mkdir()
    onnx.save(small, inner / "net.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    (inner / "w.bin").rename(tmp_path / "w.bin")
    proto = onnx.load(inner / "net.onnx", load_external_data=False)
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../w.bin"
    onnx.save(proto, inner / "evil.onnx")
    with pytest.raises(LoadError, match="outside of the model's folder"):
        pipeline.load(inner / "evil.onnx")


def test_unknown_weights_and_weights_for_relax():
    with pytest.raises(LoadError, match="weights='zeros' is not known"):
        pipeline.load(Scripted, weights="zeros")
    with pytest.raises(LoadError, match="for ONNX models only"):
        pipeline.load(Scripted, weights="random")


def test_an_integer_constant_keeps_its_type():
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "k"], ["y"])],
        "g",
        [value("x", TensorProto.INT64, [2])],
        [value("y", TensorProto.INT64, [2])],
        [numpy_helper.from_array(np.array([1 << 40, 2]), "k")],
    )
    model = pipeline.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    result = pipeline.trace(model).executable.run(np.array([1, 2]))
    np.testing.assert_array_equal(result, [(1 << 40) + 1, 4])


@pytest.mark.parametrize("weights", [None, "random"])
def test_a_seed_below_zero_is_refused_in_words(weights):
    with pytest.raises(CallError, match="the seed must be"):
        pipeline.load("light_squeezenet.onnx", weights=weights, seed=-1)


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("light_squeeznet.onnx", "did you mean 'light_squeezenet.onnx', which comes with the onnx package?"),
        ("light_squeezenet", "did you mean 'light_squeezenet.onnx'"),
        ("light_resnet5.onnx", "did you mean 'light_resnet50.onnx'"),
        ("light_qqqqqqqqqqqqqqqqqqqq.onnx", "the onnx package has light_bvlc_alexnet.onnx, light_densenet121.onnx"),
    ],
)
def test_a_misspelt_network_of_the_onnx_package_is_suggested(typo, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LoadError, match="no such file") as refused:
        pipeline.load(typo)
    assert refused.value.mend.startswith(meant)


def test_a_file_that_is_here_is_nearer_than_one_of_the_onnx_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "light_squeeznets.onnx").write_bytes(b"")
    with pytest.raises(LoadError) as refused:
        pipeline.load("light_squeeznet.onnx")
    assert refused.value.mend == "did you mean 'light_squeeznets.onnx'?"


def test_constants_that_are_numbers_and_lists():
    proto = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x) => (float[2] y, int64[2] z)
        {
            a = Constant <value_float: float = -0.5> ()
            b = Constant <value_floats: floats = [1.0, 2.0]> ()
            c = Constant <value_int: int = 3> ()
            d = Constant <value_ints: ints = [4, 5]> ()
            m = Max(x, a)
            y = Add(m, b)
            z = Add(c, d)
        }
    """)
    y, z = pipeline.trace(pipeline.load(proto)).executable.run(np.array([-3, 2], "f4"))
    assert (y.tolist(), z.tolist()) == ([0.5, 4], [7, 8])
    assert (z.dtype, y.dtype) == ("i8", "f4")


def test_an_operator_is_no_model(clamp):
    with pytest.raises(LoadError, match="is an operator, and no model"):
        pipeline.load(clamp)


def test_a_name_that_is_no_text(small):
    data = small.SerializeToString()
    with pytest.raises(LoadError, match="no text in UTF-8"):
        pipeline.load(data.replace(b"conv1", b"conv\xff"))
