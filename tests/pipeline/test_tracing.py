# ruff: noqa: F821
from __future__ import annotations

import json

import numpy as np
import pytest
from tvm import relax

from tvmlab import pipeline
from tvmlab.api import define
from tvmlab.errors import CallError, ComputeError
from tvmlab.matching import without_boilerplate


@pytest.fixture
def traced(small):
    return pipeline.trace(pipeline.load(small))


def test_every_stage_by_name(traced):
    assert [traced[name].name for name in pipeline.STAGES] == list(pipeline.STAGES)
    assert traced["legalize"].kernels == traced.partition.kernels_before
    assert traced["fuse"].kernels == traced.partition.kernels_after
    assert traced["build"].seconds == traced.executable.seconds_to_compile
    assert traced["build"].module is traced["schedule"].module
    with pytest.raises(CallError, match="there is no stage 'fused'"):
        traced["fused"]


def test_the_partition_names_nodes_and_kinds(traced):
    first = traced.partition.groups[0]
    assert first.kernel == "fused_conv2d_add_relu"
    assert first.nodes == ("conv1: conv2d", "conv1: add", "relu1: relu")
    assert first.kinds == ("kOutEWiseFusable", "kElemWise", "kElemWise")
    labels = [label for group in traced.partition.groups for label in group.nodes]
    assert len(set(labels)) == len(labels) == traced.partition.kernels_before


def test_what_changed_between_two_stages(traced):
    diff = traced.diff("legalize", "fuse")
    changed = {f.name: f for f in diff.functions}
    assert changed["conv2d"].before
    assert not changed["conv2d"].after
    assert "fused_conv2d_add_relu" in changed["main"].after
    assert "fused_conv2d_add_relu" not in changed["main"].before
    assert changed["main"].added > 0
    assert all(f.added == len(without_boilerplate(f.after).splitlines()) > 2 for f in diff.functions if not f.before)
    nothing = traced.diff("fuse", "fuse")
    assert nothing.functions == ()
    assert nothing.unchanged == len(traced["fuse"].module.functions)


def test_text_is_rendered_when_asked_for(traced, capfd):
    stage = traced["inline"]
    assert "text" not in vars(stage)
    assert "tvmlab.inline" in stage.text
    assert "text" in vars(stage)
    assert stage.function_text("nothing") == ""
    assert capfd.readouterr().err == ""


def test_records_are_plain_data(traced):
    data = json.loads(json.dumps(traced.to_dict()))
    assert [stage["name"] for stage in data["stages"]] == list(pipeline.STAGES[:-1])
    assert "kernels" in repr(traced)


def test_a_model_with_live_operators_is_fused_with_them(small, clamp):
    replaced = pipeline.load(small).replace("Relu", clamp, lower=0.0)
    groups = {g.kernel: g.nodes for g in pipeline.fuse(replaced).groups}
    assert groups["fused_conv2d_add_pipelinelab_clamp"] == (
        "conv1: conv2d",
        "conv1: add",
        "relu1: pipelinelab_clamp",
    )


def test_without_an_engine_nothing_is_fused(small):
    partition = pipeline.fuse(pipeline.load(small), engine="none")
    assert partition.kernels_before == partition.kernels_after == len(partition.groups)


def test_symbolic_shapes_and_several_outputs_are_read_right():
    def block(x: float32[n, 6], y: float32[6]):
        h = relax.op.exp(relax.op.add(x, y))
        halves = relax.op.split(h, 2, axis=1)
        return relax.op.sum(h, axis=1), halves[0] + halves[1]

    partition = pipeline.fuse(pipeline.graph(block))
    assert sum(len(group.nodes) for group in partition.groups) == partition.kernels_before
    assert len(partition.groups) == partition.kernels_after


def test_equal_calls_are_told_apart():
    def block(x: float32[8]):
        first = relax.op.take(relax.op.exp(x), relax.const(np.array([0, 1])))
        second = relax.op.take(relax.op.exp(x), relax.const(np.array([1, 0])))
        return first + second, relax.op.exp(x)

    partition = pipeline.fuse(pipeline.graph(block))
    assert sum(len(group.nodes) for group in partition.groups) == partition.kernels_before


def test_an_error_of_a_cell_is_raised_as_it_is(small, capfd):
    body = """
type_rule = rules.same

def compute(x):
    if len(x.shape) == 4 and not isinstance(x.shape[1], tirx.Var) and int(x.shape[1]) == 8:
        raise ValueError("eight channels are unlucky")
    return te.compute(x.shape, lambda *i: x(*i), name="picky")
"""
    define("pipelinelab.picky", body)
    model = pipeline.load(small).replace("Relu", "pipelinelab.picky")
    with pytest.raises(ComputeError, match="eight channels are unlucky"):
        pipeline.trace(model)
    assert capfd.readouterr().err == ""
