"""Two traces side by side."""

from __future__ import annotations

import pytest
from tvm import relax

from tvmlab import pipeline
from tvmlab.errors import CallError


@pytest.fixture(scope="module")
def model():
    def block(x: "float32[4, 4]", w: "float32[4, 4]"):  # noqa: F821, UP037  types of a graph are written as texts
        return relax.op.nn.relu(relax.op.matmul(x, w))

    return pipeline.graph(block)


def test_they_are_told_apart_by_the_options_in_which_they_differ(model):
    trace = pipeline.trace(model)
    assert trace.beside(pipeline.trace(model, engine="none")).names == ("engine python", "engine none")
    other = pipeline.trace(model, cleanup="none", engine="tvm")
    assert trace.beside(other).names == ("cleanup tvmlab, engine python", "cleanup none, engine tvm")
    assert trace.beside(trace).names == ("left", "right")


def test_stages_are_equal_until_the_engines_part(model):
    beside = pipeline.trace(model).beside(pipeline.trace(model, engine="none"))
    assert [stage for stage in beside.stages if beside[stage].functions] == ["fuse", "inline", "schedule"]
    fused = {f.name: f.state for f in beside["fuse"].functions}
    assert fused == {"main": "changed", "fused_matmul_relu": "gone", "matmul": "new", "relu": "new"}
    assert beside["fuse"].before == "fuse (engine python)"


def test_an_unknown_stage(model):
    trace = pipeline.trace(model)
    with pytest.raises(CallError, match="no stage 'fusion'") as caught:
        trace.beside(trace)["fusion"]
    assert caught.value.mend == "the stages are import, legalize, annotate, fuse, inline, schedule"
