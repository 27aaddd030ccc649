"""Showing a record imports nothing heavy that the record did not need itself."""

from __future__ import annotations

import subprocess
import sys


def test_pictures_import_neither_tvm_nor_matplotlib():
    code = """
import sys
from tvmlab.records import DoctorReport, Finding
assert "ok" in DoctorReport((Finding("a", "ok", "b"),))._repr_mimebundle_()["text/html"]
print(*({"tvm", "tvm_ffi", "matplotlib", "markdown_it", "onnx"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
    assert done.stderr == ""
