"""The pictures of files that were written, and of a compiled model."""

from __future__ import annotations

from tvmlab.pipeline.saving import CompiledModel
from tvmlab.records import TensorInfo, Written


def test_files_with_their_sizes(draw):
    record = Written("net, compiled", "my <models>", {"library.so": 2048, "manifest.json": 12}, ("no <source>",), 1.5)
    page, plain = draw(record)
    for text in ("my <models>", "library.so", "2.0 KiB", "12 B", "no <source>", "1.50 s"):
        assert text in page.text
        assert text in plain
    assert record.to_dict()["files"] == {"library.so": 2048, "manifest.json": 12}


def test_a_compiled_model(draw):
    x, y = TensorInfo("x", ("n", 4), "float32"), TensorInfo("y", None, "")
    page, plain = draw(
        CompiledModel("net", (x,), (y,), ("lab.clamp",), ("lab.clamp is live in another version",), True)
    )
    for text in ("[n, 4]", "?", "lab.clamp", "another version", "all its kernels were proved safe"):
        assert text in page.text
        assert text in plain
    page, _ = draw(CompiledModel("net", (), ()))
    assert "no live operators" in page.text
    assert "not all its kernels" in page.text
