"""MODEL: a variable, else a name given by a magic, else a file."""

from __future__ import annotations

import keyword
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmlab.errors import LoadError
from tvmlab.magics.errors import TvmlabUsageError
from tvmlab.magics.shelf import variable_for


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.onnx").write_bytes(b"")
    (tmp_path / "my net.onnx").write_bytes(b"")


def test_a_variable_comes_before_a_name_and_a_file(notebook, api, files):
    Path("net").write_bytes(b"")
    notebook("%tvm_load a.onnx --name net -q")
    other = api.load(Path("other"))
    notebook.shell.user_ns["net"] = other
    notebook("%tvm_fuse net")
    assert api.last.args == (other,)


def test_a_name_comes_before_a_file(notebook, api, files):
    Path("net").write_bytes(b"")
    notebook("%tvm_load a.onnx --name net -q -v kept")
    notebook("del net")
    notebook("%tvm_fuse net")
    assert api.last.args == (notebook["kept"],)


def test_a_file_is_loaded_and_not_bound(notebook, api, files):
    assert notebook("%tvm_fuse 'my net.onnx'").error is None
    assert [call[0] for call in api.calls] == ["load", "fuse"]
    assert api.calls[0][1] == (Path("my net.onnx"),)
    assert "my_net" not in notebook.shell.user_ns


def test_a_file_elsewhere_is_left_to_load(notebook, api):
    assert notebook("%tvm_fuse light_resnet50.onnx").error is None
    assert api.calls[0][1] == (Path("light_resnet50.onnx"),)


def test_a_file_in_the_home_folder(notebook, api, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "a.onnx").write_bytes(b"")
    assert notebook("%tvm_fuse ~/a.onnx").error is None
    assert api.calls[0][1] == (tmp_path / "a.onnx",)


def test_a_variable_that_is_no_model_is_loaded(notebook, api):
    notebook("path = 'a.onnx'")
    notebook("%tvm_fuse path")
    assert api.calls[0][:2] == ("load", ("a.onnx",))


def test_a_variable_that_cannot_be_loaded(notebook, api, monkeypatch):
    def load(source, **options):
        raise LoadError(f"{source!r} is not a model")

    monkeypatch.setattr(api, "load", load, raising=False)
    notebook("net = 3")
    assert isinstance(notebook("%tvm_fuse net").error, LoadError)


def test_nothing_of_that_name(notebook, api):
    ran = notebook("%tvm_fuse net")
    assert ran.lines == [
        "TvmlabUsageError: there is no model, variable or file 'net'",
        "at Cell In[2], line 1: %tvm_fuse ▸net",
        "mend: %tvm_load FILE or %%tvm_graph NAME makes a model",
    ]
    notebook("%tvm_load light.onnx -q")
    notebook("%tvm_load heavy.onnx -q")
    assert notebook("%tvm_fuse lihgt").lines[2] == "mend: did you mean light?"
    assert notebook("%tvm_fuse other").lines[2] == "mend: the models here: heavy, light"
    assert [call[0] for call in api.calls] == ["load", "load"]


def test_a_name_that_is_no_identifier(notebook, api):
    notebook("%tvm_load resnet50-v1.onnx -q")
    assert notebook("%tvm_fuse resnet50-v1").error is None
    assert notebook("%tvm_fuse resnet50_v1").error is None
    assert [call[1] for call in api.calls[1:]] == [(notebook["resnet50_v1"],)] * 2


def test_a_name_from_the_file_hides_no_variable(notebook, api):
    notebook("np = 3")
    ran = notebook("%tvm_load np.onnx")
    assert isinstance(ran.error, TvmlabUsageError)
    assert ran.lines[-1] == "mend: give the model another name: --name NAME"
    assert notebook["np"] == 3


def test_a_name_that_is_asked_for_is_given(notebook, api):
    notebook("net = 3")
    ran = notebook("%tvm_load a.onnx --name net")
    assert notebook["net"] is ran.value


def test_loading_again_replaces_the_model(notebook, api):
    first = notebook("%tvm_load a.onnx").value
    second = notebook("%tvm_load a.onnx").value
    assert first is not second
    assert notebook["a"] is second


@given(st.text(min_size=1))
def test_variable_for_is_an_identifier(name):
    variable = variable_for(name)
    assert variable.isidentifier()
    assert not keyword.iskeyword(variable)
    assert variable_for(variable) == variable
