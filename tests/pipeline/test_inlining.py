# ruff: noqa: F821
from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax, te, topi
from tvm.script import tirx as T  # noqa: N812

from tvmlab import pipeline
from tvmlab.pipeline.inlining import ATTRIBUTE, inline_kernel
from tvmlab.pipeline.kernel import blocks_of
from tvmlab.pipeline.schedule import schedule_kernel


def kernel(*tensors):
    return te.create_prim_func(list(tensors))


def blocks(function):
    return [block.name for block in blocks_of(tvm.s_tir.Schedule(tvm.IRModule({"main": function})))]


def decisions(function):
    return str(function.attrs[ATTRIBUTE])


def trap(rows, steps=4):
    """A row vector goes through a chain, then meets a matrix: fused and inlined, the chain runs once a row."""

    def chain(x: f"float32[{rows}, 64]", row: float32[1, 64]):
        for _ in range(steps):
            row = relax.op.sqrt(relax.op.abs(relax.op.negative(row)))
        return relax.op.add(x, row)

    chain.__annotations__ = {"x": f"float32[{rows}, 64]", "row": "float32[1, 64]"}
    return pipeline.graph(chain)


def test_a_broadcast_chain_is_not_computed_for_every_row():
    trace = pipeline.trace(trap(rows=512))
    assert trace["fuse"].kernels == 1
    (name,) = [v.name_hint for v in trace["inline"].module.functions if v.name_hint != "main"]
    function = trace["inline"].module[name]
    assert len(blocks(function)) == 2
    assert "it would be computed 512 times" in decisions(function)
    x, row = np.ones((512, 64), "f4"), np.linspace(-1, 1, 64, dtype="f4")[None]
    want = row
    for _ in range(4):
        want = np.sqrt(np.abs(want))
    np.testing.assert_allclose(trace.executable.run(x, row), x + want, rtol=1e-5)


def test_the_same_chain_over_a_single_row_is_inlined():
    trace = pipeline.trace(trap(rows=1))
    (name,) = [v.name_hint for v in trace["inline"].module.functions if v.name_hint != "main"]
    assert len(blocks(trace["inline"].module[name])) == 1


@pytest.mark.parametrize(("functions", "left"), [(("exp", "tanh", "log"), 1), (("exp", "tanh", "exp", "tanh"), 2)])
def test_functions_in_each_other_are_limited(functions, left):
    """TVM takes ten times as long for each one more."""
    x = te.placeholder((64,), name="x")
    y = x
    for name in functions:
        y = getattr(topi, name)(y)
    inlined = inline_kernel(kernel(x, y))
    assert len(blocks(inlined)) == left
    assert ("more than 3 functions would stand in each other" in decisions(inlined)) == (left > 1)


def test_what_has_no_vector_form_keeps_to_itself():
    x = te.placeholder((64,), name="x")
    inlined = inline_kernel(kernel(x, topi.exp(topi.cos(topi.sqrt(topi.multiply(x, x))))))
    assert len(blocks(inlined)) == 2
    assert "cos has no vector form, and would keep exp from its own" in decisions(inlined)


def test_a_transpose_keeps_apart_from_functions_in_vectors():
    x = te.placeholder((48, 80), name="x")
    inlined = inline_kernel(kernel(x, topi.exp(topi.transpose(x))))
    assert len(blocks(inlined)) == 2
    assert "its reads jump, and would keep exp from vectors" in decisions(inlined)
    said = str(schedule_kernel(inlined).attrs["tvmlab.schedule"])
    assert "tiles of 16 by 16" in said
    assert "vectors of 16" in said
    assert len(blocks(inline_kernel(kernel(x, topi.nn.relu(topi.transpose(x)))))) == 1


def test_an_elementwise_chain_becomes_one_block():
    x = te.placeholder((8, 8), name="x")
    function = inline_kernel(kernel(x, topi.exp(topi.add(topi.nn.relu(x), topi.sigmoid(x)))))
    assert len(blocks(function)) == 1
    assert "kept" not in decisions(function)


def test_a_reduction_is_kept_and_what_feeds_it_is_inlined():
    x = te.placeholder((8, 8), name="x")
    function = inline_kernel(kernel(x, topi.exp(topi.sum(topi.abs(x), axis=1))))
    assert len(blocks(function)) == 2
    assert "kept: it reduces" in decisions(function)
    assert decisions(function).count("inlined") == 1


def test_padding_of_a_convolution_stays_a_block():
    x, w = te.placeholder((1, 4, 8, 8), name="x"), te.placeholder((4, 4, 3, 3), name="w")
    function = inline_kernel(kernel(x, w, topi.nn.conv2d_nchw(x, w, 1, 1, 1)))
    assert "pad_temp kept" in decisions(function)


def test_a_chain_of_squares_does_not_explode():
    x = te.placeholder((8,), name="x")
    y = x
    for _ in range(30):
        y = topi.multiply(y, y)
    function = inline_kernel(kernel(x, y))
    assert "its expression would grow too large" in decisions(function)
    assert len(str(function)) < 100_000


def test_a_reader_that_moves_data_twice_reads_a_plain_copy_in_place():
    x = te.placeholder((8, 8), name="x")
    turned = topi.transpose(x)
    function = inline_kernel(kernel(x, topi.concatenate((turned, turned), 0)))
    assert len(blocks(function)) == 1


@pytest.mark.parametrize("rows", [1, 7])
def test_symbolic_dimensions(rows):
    def block(x: float32[n, 64], y: float32[64]):
        return relax.op.exp(relax.op.nn.relu(relax.op.add(x, relax.op.exp(y))))

    trace = pipeline.trace(pipeline.graph(block))
    kept = [f for v, f in trace["inline"].module.functions.items() if v.name_hint != "main"]
    assert any("symbolic" in decisions(f) for f in kept)
    x, y = np.random.default_rng(0).standard_normal((2, rows, 64)).astype("f4")
    want = np.exp(np.maximum(x + np.exp(y[0]), 0))
    np.testing.assert_allclose(trace.executable.run(x, y[0]), want, rtol=1e-5)


@T.prim_func
def without_blocks(a: T.handle, b: T.handle):
    x = T.match_buffer(a, (8,), "float32")
    y = T.match_buffer(b, (8,), "float32")
    for i in range(8):
        y[i] = x[i] + T.float32(1)


def test_a_function_without_blocks_is_left_alone():
    assert inline_kernel(without_blocks).same_as(without_blocks)
    assert "left as it is" in str(schedule_kernel(without_blocks).attrs["tvmlab.schedule"])


def test_a_single_block_is_left_alone():
    x = te.placeholder((8,), name="x")
    single = kernel(x, topi.exp(x))
    assert inline_kernel(single).same_as(single)
