# ruff: noqa: F821, F722
from __future__ import annotations

import numpy as np
import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import relax, te, topi

from tvmlab import pipeline
from tvmlab.pipeline.kernel import blocks_of
from tvmlab.pipeline.schedule import ATTRIBUTE, schedule_kernel
from tvmlab.pipeline.schedule.loops import contiguous_axes, vector_width

RANDOM = np.random.default_rng(0)


def said(*tensors):
    return str(schedule_kernel(te.create_prim_func(list(tensors))).attrs[ATTRIBUTE])


def contiguous(*tensors):
    (block,) = blocks_of(tvm.s_tir.Schedule(te.create_prim_func(list(tensors))))
    return contiguous_axes(block)


def test_contiguous_axes():
    x, bias = te.placeholder((2, 8, 5, 7), name="x"), te.placeholder((1, 8, 1, 1), name="b")
    assert contiguous(x, topi.nn.relu(x)) == 4
    assert contiguous(x, bias, topi.add(x, bias)) == 2
    assert contiguous(x, topi.transpose(x, (0, 1, 3, 2))) == 0
    assert contiguous(x, topi.transpose(x, (1, 0, 2, 3))) == 2
    assert contiguous(x, te.compute((2, 8, 5, 3), lambda n, c, h, w: x[n, c, h, w], name="crop")) == 1


def test_what_was_done_is_said():
    big, small = te.placeholder((64, 1024), name="big"), te.placeholder((3, 5), name="small")
    assert said(big, topi.nn.relu(big)) == "compute: parallel, vectors of 16"
    assert said(small, topi.nn.relu(small)) == "compute: in order"
    assert "reduction around the contiguous axis, vectors of 16" in said(
        big, te.compute((1024,), lambda j: te.sum(big[k := te.reduce_axis((0, 64), "k"), j], axis=k), name="columns")
    )


@pytest.mark.parametrize(("rows", "tasks", "turns"), [(8, 24, 85), (64, 64, 255)])
def test_a_loop_that_is_needed_for_tasks_enough_is_not_fused_whole(rows, tasks, turns):
    """A thread's innermost loop would divide its variable at each turn."""
    x, y = (te.placeholder((rows // 2, 255 * 16), name=name) for name in "xy")
    text = schedule_kernel(te.create_prim_func([x, y, topi.concatenate([x, y], 0)])).script()
    assert f"T.parallel({tasks})" in text
    assert f"range({turns})" in text


def test_a_kernel_that_cannot_be_scheduled_stays_and_says_why(monkeypatch):
    def refuses(schedule, blocks):
        raise tvm.s_tir.ScheduleError("no")

    monkeypatch.setattr("tvmlab.pipeline.schedule.RULES", (refuses,))
    x = te.placeholder((8,), name="x")
    function = te.create_prim_func([x, topi.exp(x)])
    scheduled = schedule_kernel(function)
    assert str(scheduled.attrs[ATTRIBUTE]) == "refuses refused: ScheduleError: no; left as it is"
    assert scheduled.without_attr(ATTRIBUTE).script() == function.script()


shapes = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), shape=shapes)
def test_any_elementwise_chain_keeps_its_values(data, shape):
    """Elementwise and broadcasting operators, transposes and reductions in any order."""
    x = RANDOM.standard_normal(shape).astype("f4")
    given_row = RANDOM.standard_normal(shape[-1:]).astype("f4")
    steps = data.draw(st.lists(st.sampled_from(["relu", "row", "turn", "twice", "sum", "keep"]), max_size=5))

    def chain(a, row):
        e, axes = a, len(shape)
        for step in steps:
            if step == "relu":
                e = relax.op.nn.relu(e)
            elif step == "row" and "turn" not in steps and "sum" not in steps:
                e = relax.op.add(e, relax.op.exp(row))
            elif step == "turn":
                e = relax.op.permute_dims(e)
            elif step == "twice":
                e = relax.op.multiply(e, relax.op.sigmoid(e))
            elif step == "sum" and axes > 1:
                e, axes = relax.op.sum(e, axis=-1), axes - 1
            elif step == "keep":
                e = relax.op.subtract(e, relax.op.max(e, axis=0, keepdims=True))
        return relax.op.negative(e)

    chain.__annotations__ = {"a": f"float32[{', '.join(map(str, shape))}]", "row": f"float32[{shape[-1]}]"}
    trace = pipeline.trace(pipeline.graph(chain))
    want = trace.compiled("annotate").run(x, given_row)
    got = trace.executable.run(x, given_row)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@settings(max_examples=15, deadline=None)
@given(
    channels=st.sampled_from([1, 3, 16]),
    outputs=st.sampled_from([1, 5, 16]),
    size=st.integers(3, 18),
    kernel=st.sampled_from([1, 3]),
    stride=st.sampled_from([1, 2]),
    groups=st.booleans(),
)
def test_any_convolution_keeps_its_values(channels, outputs, size, kernel, stride, groups):
    count = channels if groups and outputs % channels == 0 else 1

    def block(x, w, b):
        y = relax.op.nn.conv2d(x, w, strides=stride, padding=kernel // 2, groups=count)
        return relax.op.nn.relu(relax.op.add(y, b))

    shapes = {
        "x": (1, channels, size, size),
        "w": (outputs, channels // count, kernel, kernel),
        "b": (1, outputs, 1, 1),
    }
    block.__annotations__ = {n: f"float32[{', '.join(map(str, s))}]" for n, s in shapes.items()}
    arrays = [RANDOM.standard_normal(s).astype("f4") for s in shapes.values()]
    trace = pipeline.trace(pipeline.graph(block))
    want = trace.compiled("annotate").run(*arrays)
    np.testing.assert_allclose(trace.executable.run(*arrays), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [1, 3, 40])
def test_symbolic_shapes(rows):
    def block(x: float32[n, m], w: float32[m, 32], b: float32[32]):
        h = relax.op.add(relax.op.matmul(x, w), b)
        return relax.op.nn.softmax(h), relax.op.sum(h), relax.op.permute_dims(h)

    arrays = [RANDOM.standard_normal(s).astype("f4") for s in ((rows, 7), (7, 32), (32,))]
    trace = pipeline.trace(pipeline.graph(block))
    for got, want in zip(trace.executable.run(*arrays), trace.compiled("annotate").run(*arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_scalars_and_empty_tensors():
    def scalar(x: "float32[]"):
        return relax.op.exp(x)

    def rows(x: float32[n, 4]):
        return relax.op.exp(x)

    assert pipeline.trace(pipeline.graph(scalar)).executable.run(np.float32(0)) == 1
    assert pipeline.trace(pipeline.graph(rows)).executable.run(np.ones((0, 4), "f4")).shape == (0, 4)


@pytest.mark.parametrize(("extent", "width"), [(64, 16), (250, 25), (197, 1), (10, 10), (33, 11), (7, 7), (None, 1)])
def test_vectors_divide_an_axis_and_waste_little(extent, width):
    assert vector_width(extent, 16) == width


def test_functions_on_rows_that_no_vector_divides_are_in_vectors():
    x = te.placeholder((40, 250), name="x")
    row = te.placeholder((250,), name="row")
    assert "vectors of 25" in said(x, row, te.compute(x.shape, lambda i, j: te.exp(x[i, j] + row[j]), name="y"))
