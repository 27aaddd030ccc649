"""What the machine can do at most: the kernels that measure it do what they say."""

from __future__ import annotations

import pytest

from tvmlab.measure.roofs import bandwidth_roof, fitting_size, peak_roof


@pytest.mark.parametrize("threads", [1, 2])
def test_a_bandwidth_is_that_of_arrays_of_the_size_asked_for(threads):
    roof = bandwidth_roof(1 << 20, threads)
    arrays = roof.call.args
    assert sum(array.numpy().nbytes for array in arrays) == 1 << 20
    roof.call()
    there, back = (array.numpy() for array in arrays)
    assert (there == 1).all()
    assert (back == 2).all()
    assert roof.amount % (2 << 20) == 0


def test_small_arrays_are_gone_over_more_often():
    small, large = bandwidth_roof(1 << 14, 1), bandwidth_roof(1 << 26, 1)
    assert small.amount >= 1 << 24
    assert large.amount == 2 << 26


def test_every_part_of_the_peak_converges():
    roof = peak_roof(1)
    roof.call()
    given, made = (array.numpy() for array in roof.call.args)
    given[:] = 1
    assert made.shape == given.shape
    assert made == pytest.approx(1)
    assert roof.amount == 2 * made.size << 16


def test_a_rate_is_the_best_one():
    assert peak_roof(1).rate([2.0, 1.0, 4.0]) == peak_roof(1).amount


@pytest.mark.parametrize(
    ("working_set", "size"),
    [(0, 1 << 14), (1 << 20, 1 << 20), ((1 << 20) + 5, 1 << 20), (3 << 20, 1 << 22), (1 << 40, 1 << 28)],
)
def test_the_fitting_size(working_set, size):
    assert fitting_size(working_set) == size
