"""The picture of a trace."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import functools
import re

import pytest
from tvm import relax

from tvmlab import pipeline
from tvmlab.records import FunctionDiff, StageDiff

NAMES = ["<script>window.hacked = 1</script>", "\"'&<>", "n" * 10_000, "مرحبا بالعالم", "卷積神經網絡"]


@functools.cache
def traced_model():
    def block(x: "float32[n, 4]", w: "float32[4, 4]"):
        return relax.op.nn.relu(relax.op.matmul(x, w))

    return pipeline.graph(block)


@pytest.fixture(scope="module")
def traced():
    return pipeline.trace(traced_model())


def test_every_stage_with_its_kernels_and_seconds(draw, traced):
    page, plain = draw(traced)
    assert page.text.startswith("block: 2 → 1 kernels")
    for stage in ("import", "legalize", "annotate", "fuse", "inline", "schedule"):
        assert f"{stage}: " in page.text
        assert any(line.startswith(stage) for line in plain.splitlines())
    assert "R.call_tir(fused_matmul_relu" in page.text
    fused = traced.diff("annotate", "fuse")
    plus, minus = (sum(getattr(f, what) for f in fused.functions) for what in ("added", "removed"))
    assert f"fuse: {len(fused.functions)} functions changed +{plus} −{minus}" in page.text


def test_passes_are_nested_and_idle_ones_folded_away(draw, traced):
    page, _ = draw(traced["fuse"])
    assert "of TVM's" in page.text
    assert "FuseTIRInner" in page.text
    assert re.search(r"changed nothing: [\w, .]*RemoveUnusedParameters", page.text)
    assert {"1em", "0em"} <= {s.get("padding-left") for s in page.styles}


def test_two_traces_side_by_side(draw, traced):
    page, plain = draw(traced.beside(pipeline.trace(traced_model(), engine="none")))
    assert page.text.startswith("block: kernels 1 (engine python) and 2 (engine none)")
    assert "The same programs after import, legalize, annotate." in page.text
    assert re.search(r"fuse: \d functions different \+\d+ −\d+", page.text)
    assert "kernels, engine none" in plain


@pytest.mark.parametrize("name", NAMES)
def test_odd_names_are_shown_and_break_nothing(draw, name):
    page, _ = draw(StageDiff(name, "a", "b", (FunctionDiff.of(name, f"x = '{name}'", "y = 1"),), 0))
    assert page.text.count(name) >= 3


def test_one_stage(draw, traced):
    page, plain = draw(traced["fuse"])
    assert "fuse: 1 kernels" in page.text
    assert "kernels that belong together as one" in plain
    assert "def main" in page.text


def test_machine_code_is_a_stage_once_it_is_there(draw):
    def block(x: "float32[4, 4]", w: "float32[4, 4]"):
        return relax.op.nn.relu(relax.op.matmul(x, w))

    trace = pipeline.trace(pipeline.graph(block))
    assert "machine code" not in draw(trace)[0].text
    _ = trace["build"]
    page, plain = draw(trace)
    assert "build: 1 kernel as machine code" in page.text
    assert "tirx.MakePackedAPI" in page.text
    assert plain.splitlines()[-1].startswith("build")
