"""TVM missing, or broken: an error that says how to install it."""

from __future__ import annotations

import importlib.abc
import sys
from importlib.metadata import PackageNotFoundError

import pytest

from tvmlab.errors import BackendError


class Broken(importlib.abc.MetaPathFinder):
    """Makes `import tvm` fail."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def find_spec(self, name, path, target=None):
        if name == "tvm":
            raise self.error


@pytest.fixture
def broken(monkeypatch):
    def breaks(error: Exception) -> None:
        monkeypatch.delitem(sys.modules, "tvm", raising=False)
        monkeypatch.setattr(sys, "meta_path", [Broken(error), *sys.meta_path])

    return breaks


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'tvm'", name="tvm"),
        OSError("libtvm.so: undefined symbol: TVMFFIx"),
        AttributeError("module 'tvm_ffi' has no attribute 'x'\nand more"),
        RuntimeError("type table mismatch"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("cell", ["%%tvm_op lab.x\ndef compute(x): pass", "%tvm_load a.onnx"])
def test_tvm_cannot_be_imported(notebook, api, broken, error, cell):
    broken(error)
    ran = notebook(cell)
    assert isinstance(ran.error, BackendError)
    assert ran.error.__cause__ is error
    first = str(error).splitlines()[0]
    assert ran.lines[0] == f"BackendError: Apache TVM cannot be imported: {type(error).__name__}: {first}"
    assert ran.lines[1].startswith("at apache-tvm ")
    assert "apache-tvm-ffi " in ran.lines[1]
    assert ran.lines[2].startswith("mend: pip install --force-reinstall tvmlab")
    assert (len(ran.lines), ran.err) == (3, "")
    assert api.calls == []


def test_a_package_that_is_not_installed_is_named(notebook, api, broken, monkeypatch):
    def version(package):
        raise PackageNotFoundError(package)

    broken(ModuleNotFoundError("No module named 'tvm'"))
    monkeypatch.setattr("importlib.metadata.version", version)
    ran = notebook("%tvm_load a.onnx")
    assert ran.lines[1] == "at apache-tvm is not installed, apache-tvm-ffi is not installed"


def test_the_doctor_needs_no_tvm(notebook, api, broken):
    broken(ModuleNotFoundError("No module named 'tvm'"))
    ran = notebook("%tvm_doctor")
    assert (ran.error, api.last.function) == (None, "doctor")


def test_a_misspelt_model_is_told_without_tvm(notebook, broken):
    broken(ModuleNotFoundError("No module named 'tvm'"))
    assert "there is no model" in notebook("%tvm_fuse net").out
