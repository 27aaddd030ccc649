"""Kernels timed within runs of a model."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from tvmlab import pipeline
from tvmlab.measure import bench
from tvmlab.measure.kernels import _repeats, watch_kernels
from tvmlab.records import KernelProfile, KernelTime


@pytest.fixture(scope="module")
def profile(network):
    timing = bench(network, sides=("full",), repeats=3, threads=1, kernels=True)
    assert [side.name for side in timing.sides] == ["full"]
    return timing.kernels


def test_every_kernel_of_the_full_build_is_timed(network, profile):
    trace = pipeline.trace(network)
    main = trace["schedule"].text
    assert {kernel.name for kernel in profile.kernels} == {
        v.name_hint for v in trace["schedule"].module.functions if v.name_hint != "main"
    }
    for kernel in profile.kernels:
        assert kernel.calls == main.count(f"R.call_tir(cls.{kernel.name},")
        assert len(kernel.seconds) == 3
        assert all(seconds > 0 for seconds in kernel.seconds)
    assert [k.median for k in profile.kernels] == sorted((k.median for k in profile.kernels), reverse=True)
    assert sum(profile.share(kernel) for kernel in profile.kernels) == pytest.approx(1)
    assert 0 < profile.seconds < profile.run


def test_a_product_of_matrices_by_hand(profile):
    (product,) = (kernel for kernel in profile.kernels if "relu" in kernel.name)
    assert product.read == 4 * (4 * 16 + 16 * 32 + 32)
    assert product.written == 4 * 4 * 32
    assert product.operations == 4 * 32 * (2 * 16 + 1 + 1)
    assert product.bandwidth in profile.bandwidths.values()


def test_exp_counts_as_itself_though_the_schedule_writes_a_polynomial(profile):
    (softmax,) = (kernel for kernel in profile.kernels if "softmax" in kernel.name)
    assert softmax.functions == 4 * 10
    assert softmax.operations == 4 * 4 * 10 + profile.function_weight * 4 * 10


def test_the_roof_is_the_higher_of_two(profile):
    for kernel in profile.kernels:
        memory, compute = kernel.moved / kernel.bandwidth, kernel.operations / profile.peak
        assert kernel.roof == pytest.approx(max(memory, compute))
        assert kernel.bound == ("memory" if memory >= compute else "compute")


def test_the_model_is_not_watched_any_longer(network):
    watched = watch_kernels(pipeline.trace(network), [np.ones(t.shape, t.dtype) for t in network.inputs], 1)
    watched.calls["kernels"]()
    seen = len(watched.runs.seconds[-1])
    pipeline.trace(network).executable.run(*[np.ones(t.shape, t.dtype) for t in network.inputs])
    assert len(watched.runs.seconds) == 2
    assert len(watched.runs.seconds[-1]) == seen == len(watched.works)


def test_sizes_that_are_symbols_are_those_of_the_run():
    def rows(x: "float32[n, 32]"):
        return relax.op.sum(relax.op.exp(x), axis=1)

    model = pipeline.graph(rows)
    timing = bench(model, sides=("full",), repeats=1, threads=1, inputs=[np.ones((6, 32), "f4")], kernels=True)
    assert sum(kernel.read for kernel in timing.kernels.kernels) >= 4 * 6 * 32
    assert sum(kernel.functions for kernel in timing.kernels.kernels) == 6 * 32


def test_the_worst_kernel_loses_most_time_not_most_percent():
    slow = KernelTime("slow", 1, (10.0,), 1, 1, 0, 1, 0, 2, 1.0, roof=6.0, bound="memory")
    poor = KernelTime("poor", 1, (1.0,), 1, 1, 0, 1, 0, 2, 1.0, roof=0.01, bound="compute")
    unknown = KernelTime("unknown", 3, (99.0,))
    profile = KernelProfile("net", (unknown, slow, poor), 1.0, {2: 1.0}, 20, 1, (120.0,))
    assert profile.worst is slow
    assert profile.headline == "net: 3 kernels in 5 calls; worst: slow, at 60% of its memory roof"
    assert profile.to_dict()["worst"] == "slow"
    assert KernelProfile("net", (unknown,), 1.0, {}, 20, 1, (120.0,)).worst is None
    assert unknown.moved is None
    assert unknown.lost == 0


def test_runs_to_warm_up_are_left_out_and_runs_of_a_repeat_are_averaged():
    runs = [[9.0, 9.0], [1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
    assert _repeats(runs, repeats=2, calls=2) == [[2.0, 3.0], [6.0, 7.0]]
