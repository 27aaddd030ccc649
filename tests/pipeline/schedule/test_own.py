# ruff: noqa: F821
from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from tvmlab import pipeline
from tvmlab.api import define
from tvmlab.pipeline.schedule import ATTRIBUTE

BODY = """
def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) * const_like(2, x), name="double")

def schedule(sch, block):
    loop = sch.fuse(*sch.get_loops(block))
    {step}
"""


@pytest.fixture
def traced():
    """A graph in which the operator stands between two others."""

    def trace(name, step):
        double = define(f"ownlab.{name}", BODY.format(step=step))

        def block(x: float32[8, 32]):
            return relax.op.exp(double(relax.op.nn.relu(x)))

        return pipeline.trace(pipeline.graph(block))

    return trace


def values(trace):
    x = np.random.default_rng(0).standard_normal((8, 32)).astype("f4")
    np.testing.assert_allclose(trace.executable.run(x), np.exp(2 * np.maximum(x, 0)), rtol=1e-5)
    (function,) = [f for v, f in trace["schedule"].module.functions.items() if v.name_hint != "main"]
    return str(function.attrs[ATTRIBUTE]), function.script()


def test_a_schedule_survives_fusion(traced):
    trace = traced("good", "sch.vectorize(sch.split(loop, [None, 4])[1])")
    assert trace["fuse"].kernels == 1
    said, text = values(trace)
    assert "double: by the schedule of ownlab.good" in said
    assert "T.vectorized(T.int64(4))" in text or "T.vectorized(4)" in text


def test_a_bad_schedule_names_its_line_and_is_left_out(traced):
    said, _ = values(traced("bad", "sch.vectorize(sch.get_loops(block)[5])"))
    assert "own_schedule refused" in said
    assert "the schedule of ownlab.bad fails: IndexError" in said
    assert "line 8: " in said
    assert "sch.get_loops(block)" in said
    assert "vectors of" in said


def test_a_model_without_such_operators_is_not_touched():
    def block(x: float32[8]):
        return relax.op.exp(x)

    module = pipeline.graph(block).module
    from tvmlab.pipeline.own_schedules import mark_blocks

    legal = relax.transform.LegalizeOps()(module)
    assert mark_blocks(module, legal) is legal
