"""TVM missing, ill-matched or broken: an error that says how to install it."""

from __future__ import annotations

import importlib.abc
import importlib.metadata
import sys

import pytest

from tvmlab.errors import BackendError

CELLS = ["%%tvm_op lab.x\ndef compute(x): pass", "%tvm_load a.onnx"]


class Broken(importlib.abc.MetaPathFinder):
    """Makes `import tvm` fail."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def find_spec(self, name, path, target=None):
        if name == "tvm":
            raise self.error


@pytest.fixture
def broken(monkeypatch):
    """TVM is not imported yet, and its import fails."""

    def breaks(error: Exception) -> None:
        monkeypatch.delitem(sys.modules, "tvm", raising=False)
        monkeypatch.setattr(sys, "meta_path", [Broken(error), *sys.meta_path])

    return breaks


@pytest.fixture
def versions(monkeypatch):
    """Packages as if they were installed in other versions; None: not installed."""
    real = importlib.metadata.version

    def install(**others: str | None) -> None:
        def version(package: str) -> str:
            other = others.get(package.replace("-", "_"), real)
            if other is None:
                raise importlib.metadata.PackageNotFoundError(package)
            return real(package) if other is real else other

        monkeypatch.delitem(sys.modules, "tvm", raising=False)
        monkeypatch.setattr(importlib.metadata, "version", version)

    return install


@pytest.mark.parametrize(
    "error",
    [
        OSError("libtvm.so: undefined symbol: TVMFFIx"),
        AttributeError("module 'tvm_ffi' has no attribute 'x'\nand more"),
        RuntimeError("type table mismatch"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("cell", CELLS)
def test_tvm_cannot_be_imported(notebook, api, broken, error, cell):
    broken(error)
    ran = notebook(cell)
    assert isinstance(ran.error, BackendError)
    assert ran.error.__cause__ is error
    first = str(error).splitlines()[0]
    assert ran.lines == [
        f"BackendError: TVM cannot be imported: {type(error).__name__}: {first}",
        f"at {sys.executable}",
        "mend: %tvm_doctor looks for the cause",
    ]
    assert ran.err == ""
    assert api.calls == []


@pytest.mark.parametrize("cell", CELLS)
def test_tvm_is_not_installed(notebook, api, versions, cell):
    versions(apache_tvm=None)
    ran = notebook(cell)
    assert ran.lines[0] == "BackendError: apache-tvm is not installed"
    assert '-m pip install "apache-tvm>=' in ran.lines[2]
    assert (len(ran.lines), ran.err, api.calls) == (3, "", [])


@pytest.mark.parametrize(
    ("package", "version"), [("apache_tvm", "0.26.0"), ("apache_tvm_ffi", "0.1.15.post2"), ("apache_tvm_ffi", None)]
)
def test_a_pair_that_does_not_fit_is_not_imported(notebook, api, broken, versions, package, version):
    broken(AssertionError("it was imported"))
    versions(**{package: version})
    ran = notebook("%tvm_load a.onnx")
    assert isinstance(ran.error, BackendError)
    assert ran.lines[0].startswith(f"BackendError: {package.replace('_', '-')} {version or 'is not installed'}")
    assert "-m pip install" in ran.lines[2]


def test_a_pair_that_fits_is_imported(notebook, api, broken):
    broken(RuntimeError("so far it came"))
    assert "so far it came" in notebook("%tvm_load a.onnx").out


def test_the_doctor_needs_no_tvm(notebook, api, versions):
    versions(apache_tvm=None)
    ran = notebook("%tvm_doctor")
    assert (ran.error, api.last.function) == (None, "doctor")


def test_a_misspelt_model_is_told_without_tvm(notebook, versions):
    versions(apache_tvm=None)
    assert "there is no model" in notebook("%tvm_fuse net").out
