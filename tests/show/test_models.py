"""The picture of a model."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import re

import numpy as np
import pytest
from tvm import relax

from tvmlab import pipeline
from tvmlab.api import define
from tvmlab.show.models import operators, weights


@pytest.fixture(scope="module")
def block():
    op = define(
        "showlab.half", "def compute(x): return te.compute(x.shape, lambda *i: x(*i) / const_like(2, x), name='h')"
    )

    def block(x: "float32[n, 4]", w: "float32[4, 3]"):
        weighted = relax.op.matmul(relax.op.matmul(x, relax.const(np.ones((4, 4), np.float32))), w)
        return op.bind(weighted)

    return pipeline.graph(block)


def test_what_goes_in_and_what_comes_out(draw, block):
    page, plain = draw(block)
    for cell in ("x", "w", "float32", "[n, 4]", "[4, 3]", "[n, 3]"):
        assert cell in page.text
        assert cell in plain
    assert "block (3 operator calls, 16 numbers in its weights)" in page.text


def test_operators_are_counted_and_live_ones_come_first(draw, block):
    page, plain = draw(block)
    assert "operators: showlab.half × 1matmul × 2" in page.text
    assert "matmul × 2, showlab.half (live) × 1" in plain
    assert re.search(r"def main(\[n\])?\(x: R.Tensor", page.text)  # with [n] from Python 3.12 on


def test_counts(block):
    assert operators(block.module) == {"matmul": 2, "showlab.half": 1}
    assert weights(block.module) == 16


def test_a_long_module_is_cut(draw):
    def long(x: "float32[2]"):
        for _ in range(200):
            x = relax.op.nn.relu(x)
        return x

    page, _ = draw(pipeline.graph(long))
    assert "more lines: print(model.module.script())" in page.text
    assert page.text.count("R.nn.relu") < 70
