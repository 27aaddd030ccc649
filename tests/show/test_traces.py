"""The picture of a trace."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import pytest
from tvm import relax

from tvmlab import pipeline


@pytest.fixture(scope="module")
def traced():
    def block(x: "float32[n, 4]", w: "float32[4, 4]"):
        return relax.op.nn.relu(relax.op.matmul(x, w))

    return pipeline.trace(pipeline.graph(block))


def test_every_stage_with_its_kernels_and_seconds(draw, traced):
    page, plain = draw(traced)
    assert page.text.startswith("block: 2 → 1 kernels")
    for stage in ("import", "legalize", "annotate", "fuse", "inline", "schedule"):
        assert f"main after {stage}" in page.text
        assert any(line.startswith(stage) for line in plain.splitlines())
    assert page.tags.count("details") == 6
    assert "R.call_tir(fused_matmul_relu" in page.text


def test_one_stage(draw, traced):
    page, plain = draw(traced["fuse"])
    assert "fuse: 1 kernels" in page.text
    assert "kernels that belong together as one" in plain
    assert "def main" in page.text
