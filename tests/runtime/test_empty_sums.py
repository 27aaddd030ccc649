"""Reductions that turn out to run over nothing give their neutral element, whatever was in memory before."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from tvmlab import pipeline
from tvmlab.runtime.empty_sums import set_before_summing


def rows(x: "float32[n, 23]"):
    return relax.op.sum(x, axis=[0])


def everything(x: "float32[n, 23]"):
    return relax.op.sum(x)


def columns(x: "float16[5, n]"):
    return relax.op.sum(x, axis=[1])


def product(x: "float32[5, n]", y: "float32[n, 7]"):
    return relax.op.nn.relu(relax.op.matmul(x, y))


@pytest.mark.parametrize("graph", [rows, everything, columns, product])
@pytest.mark.parametrize("stage", ["legalize", "inline", "build"])
def test_nothing_is_summed_to_zero(graph, stage):
    model = pipeline.graph(graph)
    executable = pipeline.trace(model).compiled(stage)

    def inputs(n):
        return [np.full([n if d == "n" else d for d in t.shape], 0.5, t.dtype) for t in model.inputs]

    assert executable.run(*inputs(6)).min() > 0  # leaves its values in memory
    for _ in range(3):
        np.testing.assert_array_equal(executable.run(*inputs(0)), 0)


def test_known_sizes_and_plain_kernels_stay_as_they_are():
    def known(x: "float32[4, 23]"):
        return relax.op.sum(x, axis=[0])

    def plain(x: "float32[n, 23]"):
        return relax.op.exp(x)

    for graph in (known, plain):
        module = pipeline.trace(pipeline.graph(graph))["legalize"].module
        assert set_before_summing(module) is module


def test_the_module_that_is_given_is_not_changed():
    module = pipeline.trace(pipeline.graph(rows))["legalize"].module
    before = module.script()
    assert set_before_summing(module) is not module
    assert module.script() == before
