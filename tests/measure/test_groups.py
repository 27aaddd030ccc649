"""Fused kernels against the unfused ones."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import pytest
from tvm import relax

from tvmlab import pipeline
from tvmlab.errors import CallError
from tvmlab.measure import verify


@pytest.mark.parametrize("stage", ["fuse", "inline", "schedule", "build"])
def test_every_kernel_of_every_fused_stage(network, stage):
    compared = verify(network, groups=True, stage=stage)
    assert compared.ok
    trace = pipeline.trace(network)
    fused = {group.kernel: set(group.nodes) for group in trace.partition.groups}
    assert {group.kernel: set(group.nodes) for group in compared.groups} == fused
    assert all(group.outputs for group in compared.groups if len(group.nodes) > 1)
    assert f"after {stage}" in compared.headline


def test_a_tolerance_of_nothing_shows_the_rounding():
    def block(x: "float32[64, 256]"):
        return relax.op.tanh(relax.op.exp(x))

    compared = verify(pipeline.graph(block), groups=True, tolerance=0.0)
    assert not compared.ok
    assert "a kernel differs from the unfused ones: fused_tir_exp_tir_tanh" in compared.headline
    assert 0 < compared.groups[0].worst.ulp_of_peak < 8


@pytest.mark.parametrize("stage", ["legalize", "annotate", "nothing"])
def test_stages_at_which_nothing_is_fused(network, stage):
    with pytest.raises(CallError, match="nothing is fused"):
        verify(network, groups=True, stage=stage)


def test_a_network_with_a_live_operator(live_network):
    compared = verify(live_network, groups=True)
    assert compared.ok
    assert len(compared.groups) == pipeline.trace(live_network).partition.kernels_after
