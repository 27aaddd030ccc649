"""Comparing arrays: absolute differences and units in the last place, against NumPy's own neighbours."""

from __future__ import annotations

import math

import hypothesis.extra.numpy as hnp
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmlab.errors import PipelineError
from tvmlab.measure.ulp import compare, difference, ulps

FLOATS = (np.float16, np.float32, np.float64)
INTEGERS = (np.bool_, np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64)


def steps(x, n):
    """The n-th neighbour of `x` above it."""
    for _ in range(n):
        x = np.nextafter(x, np.inf, dtype=x.dtype)
    return x


@pytest.mark.parametrize("dtype", FLOATS)
@given(data=st.data())
def test_neighbours_are_whole_units_apart(dtype, data):
    width = np.finfo(dtype).bits
    bound = float(np.finfo(dtype).max) / 4
    x = dtype(data.draw(st.floats(0, bound, width=width)))
    n = data.draw(st.integers(0, 8))
    near = steps(x, n)
    # Up from x the neighbours keep x's spacing until the next power of two, where it doubles.
    crossed = np.spacing(near) > np.spacing(x)
    apart = compare(np.array([x]), np.array([near])).max_ulp
    assert n <= apart <= 2 * n if crossed else apart == n


@pytest.mark.parametrize("dtype", FLOATS)
@given(data=st.data())
def test_one_ulp_is_numpys_spacing(dtype, data):
    elements = hnp.from_dtype(np.dtype(dtype), allow_nan=False, allow_infinity=False)
    a = data.draw(hnp.arrays(dtype, 5, elements=elements))
    b = data.draw(hnp.arrays(dtype, 5, elements=elements))
    with np.errstate(all="ignore"):
        below_the_largest = np.isfinite(np.spacing(np.abs(a)))
        want = np.abs(a.astype(np.float64) - b.astype(np.float64)) / np.spacing(np.abs(a)).astype(np.float64)
    np.testing.assert_array_equal(ulps(a, b)[below_the_largest], want[below_the_largest])


def test_a_negative_and_a_large_unsigned_integer_are_further_apart_than_64_bits_hold():
    a, b = np.array([2**64 - 1, 2**64 - 1, 0], np.uint64), np.array([-1, -(2**63), -1], np.int64)
    assert difference(a, b).tolist() == difference(b, a).tolist() == [2.0**64, 2.0**64 + 2.0**63, 1.0]


@given(st.data())
def test_integers_differ_exactly(data):
    dtypes = st.sampled_from(INTEGERS)
    a = data.draw(hnp.arrays(data.draw(dtypes), 6))
    b = data.draw(hnp.arrays(data.draw(dtypes), 6))
    want = [float(abs(int(p) - int(q))) for p, q in zip(a, b, strict=True)]
    assert difference(a, b).tolist() == want
    assert ulps(a, b).tolist() == want


@given(
    hnp.arrays(np.float32, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)),
    st.randoms(use_true_random=False),
)
def test_an_array_equals_itself(a, random):
    error = compare(a, a.copy(), "y")
    assert (error.max_abs, error.max_ulp, error.non_finite) == (0.0, 0.0, 0)
    assert (error.shape, error.dtype) == (a.shape, "float32")
    if a.size:
        spot = random.randrange(a.size)
        other = a.copy()
        other.flat[spot] = np.nan if np.isfinite(a.flat[spot]) else 1.0
        moved = compare(a, other)
        assert moved.non_finite == 1
        assert moved.index == np.unravel_index(spot, a.shape)


def test_where_and_how_much():
    expected = np.array([[1.0, -8.0], [2.0, 0.5]], np.float32)
    got = expected.copy()
    got[1, 0] = 2.25
    error = compare(expected, got, "y")
    assert (error.name, error.index, error.expected, error.got) == ("y", (1, 0), 2.0, 2.25)
    assert error.max_abs == 0.25
    assert error.peak == 8.0
    assert error.relative == 0.25 / 8
    assert error.max_ulp == 0.25 / np.spacing(np.float32(2))


def test_infinities_and_nans():
    expected = np.array([np.nan, np.inf, -np.inf, np.inf, np.nan, 3.0, 1.0])
    got = np.array([np.nan, np.inf, -np.inf, -np.inf, 1.0, np.inf, 1.0])
    error = compare(expected, got)
    assert error.non_finite == 3
    assert error.index == (3,)
    assert (error.expected, error.got) == (math.inf, -math.inf)
    assert error.max_abs == 0.0
    assert error.peak == 3.0


@pytest.mark.parametrize("dtype", [*FLOATS, ml_dtypes.bfloat16])
def test_the_largest_number_and_what_lies_beyond_it(dtype):
    largest = ml_dtypes.finfo(dtype).max
    below = np.nextafter(largest, dtype(0))
    assert compare(np.array([largest]), np.array([below])).max_ulp == 1
    with np.errstate(over="ignore"):
        beyond = np.array([float(largest) * 1.5])  # an oracle of more bits, rounded to infinity in dtype
    assert np.isfinite(compare(beyond, np.array([largest])).max_ulp)


def test_a_wider_oracle_shows_the_rounding():
    expected = np.array([1 / 3], np.float64)
    error = compare(expected, expected.astype(np.float32))
    assert error.dtype == "float32"
    assert 0 < error.max_ulp <= 0.5


def test_shapes_must_agree():
    with pytest.raises(PipelineError, match=r"y has shape \(2,\), its oracle \(3,\)"):
        compare(np.zeros(3), np.zeros(2), "y")


@pytest.mark.parametrize("bad", [np.zeros(1, np.complex64), np.array(["a"])])
def test_what_cannot_be_compared_says_so(bad):
    with pytest.raises(PipelineError, match="cannot be compared"):
        compare(bad, bad, "y")
