"""Files that are no model, or say that their weights are elsewhere."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper, parser

from tvmlab import fusion
from tvmlab.errors import LoadError
from tvmlab.fusion import read_onnx

MODEL = '<ir_version: 8, opset_import: ["": 17]> g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }'


def with_external(location, *, inside_node=False):
    model = parser.parse_model(MODEL)
    tensor = onnx.TensorProto(name="w", dims=[1 << 31], data_type=1, data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    if inside_node:
        model.graph.node.append(helper.make_node("Constant", [], ["w"], name="holder", value=tensor))
    else:
        model.graph.initializer.append(tensor)
    return model


@pytest.mark.parametrize(
    "location", ["/etc/passwd", "../w.bin", "a/../../w", "C:\\w.bin", "\\\\host\\w", "..\\w", "a\0b", ""]
)
@pytest.mark.parametrize("inside_node", [False, True])
def test_weights_outside_of_the_folder_are_refused_without_looking(location, inside_node):
    with pytest.raises(LoadError, match="outside of the model's folder") as refused:
        read_onnx(with_external(location, inside_node=inside_node))
    assert ("holder" in refused.value.where) == inside_node


@pytest.mark.parametrize("location", ["w.bin", "weights/w.bin"])
def test_weights_beside_the_model_are_not_read(tmp_path, location):
    path = tmp_path / "m.onnx"
    path.write_bytes(with_external(location).SerializeToString())
    assert read_onnx(path).graph.labels == ("y",)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "nothing in it"),
        (b"version https://git-lfs.github.com/spec/v1", "Git LFS pointer"),
        (b"\x80\x02}q\x00", "no ONNX model"),
        (b"\x08\x08", "no graph with outputs"),
        (b"\x3a\xff\xff\xff\xff\x07\x00", "no ONNX model"),
    ],
    ids=["empty", "pointer", "pickle", "beginning", "claims two gigabytes"],
)
def test_bytes_that_are_no_model(data, complaint):
    with pytest.raises(LoadError, match=complaint):
        read_onnx(data)


def test_paths_that_are_no_file(tmp_path):
    (tmp_path / "net.onnx").write_bytes(b"x")
    for path, complaint in (
        (tmp_path, "a directory"),
        (tmp_path / "nett.onnx", "no such file"),
        ("a\0b", "no such file|cannot be read"),
    ):
        with pytest.raises(LoadError, match=complaint):
            read_onnx(path)
    with pytest.raises(LoadError, match="a int is no ONNX model"):
        read_onnx(3)


def test_a_path_bytes_and_a_message_are_read_alike(tmp_path):
    model = parser.parse_model(MODEL)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    for source in (path, str(path), path.read_bytes(), memoryview(path.read_bytes()), model):
        assert read_onnx(source).graph.labels == ("y",)
    assert len(read_onnx("light_squeezenet.onnx").graph) == 66


def test_a_name_near_that_of_a_shipped_network_is_suggested(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LoadError, match=r"did you mean 'light_squeezenet\.onnx', which comes with the onnx package\?"):
        fusion.fuse_onnx("light_squeeznet.onnx")
    (tmp_path / "lite_squeeznet.onnx").write_bytes(b"")
    with pytest.raises(LoadError, match=r"did you mean 'lite_squeeznet\.onnx'\?"):
        fusion.fuse_onnx("lite_squeeznt.onnx")


@pytest.mark.parametrize(("name", "where"), [("NODE", "node 0"), ("Relu", "node 0"), ("VALUE", "inputs")])
def test_names_that_are_no_text_are_refused(name, where):
    model = parser.parse_model(MODEL)
    model.graph.node[0].name = "NODE"
    model.graph.input.append(helper.make_tensor_value_info("VALUE", 1, [2]))
    with pytest.raises(LoadError, match="is no text in UTF-8") as refused:
        read_onnx(model.SerializeToString().replace(name.encode(), b"\xff" * len(name)))
    assert where in refused.value.where
