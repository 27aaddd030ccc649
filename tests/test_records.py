"""Records are plain facts: they go to JSON and back, and say in a line what they found."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmlab import records
from tvmlab.errors import CallError
from tvmlab.records import OutputError, Side, Timing, Verification, plain, quantile


def timing(**seconds):
    sides = tuple(Side(name, tuple(values)) for name, values in seconds.items())
    return Timing("net", sides, sides[0].name, 1)


def verification(**changes):
    facts = {"max_abs": 1e-7, "peak": 1.0, "non_finite": 0, **changes}
    error = OutputError("y", (2,), "float32", max_ulp=1.0, index=(0,), expected=1.0, got=1.0, **facts)
    return Verification("net", "an oracle", 1e-4, (error,), 0.1)


def test_ratios_are_taken_round_by_round():
    ratio = timing(slow=[2.0, 4.0, 60.0], fast=[1.0, 2.0, 20.0]).ratio("slow", "fast")
    assert ratio == (2.0, 2.0, 2.5)


def test_an_unknown_side_is_named_with_those_there_are():
    with pytest.raises(KeyError, match="no side 'x'; there are slow, fast"):
        timing(slow=[1.0], fast=[1.0]).side("x")


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 1))
def test_quantile_is_numpys(values, q):
    assert quantile(sorted(values), q) == pytest.approx(float(np.quantile(values, q)), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "ok"),
    [({}, True), ({"max_abs": 1e-3}, False), ({"non_finite": 1}, False), ({"max_abs": math.nan}, False)],
)
def test_a_verification_holds_only_within_its_tolerance(changes, ok):
    assert verification(**changes).ok is ok


def test_data_that_json_does_not_know_is_written_so_that_it_can_be_read_back():
    data = plain({"a": math.nan, "b": (np.float32(2), np.arange(2)), 3: math.inf, "c": {1}, "d": 1j})
    read = json.loads(json.dumps(data, allow_nan=False))
    assert math.isnan(float(read["a"]))
    assert read["b"] == [2.0, [0, 1]]
    assert float(read["3"]) == math.inf
    assert read["c"] == [1]


@pytest.mark.parametrize("record", [timing(a=[1.0], b=[2.0]), verification(max_abs=math.nan)])
def test_every_record_goes_to_strict_json(record):
    assert json.loads(json.dumps(record.to_dict(), allow_nan=False))


def test_a_record_without_a_picture_shows_its_headline():
    class Plain(records.Record):
        headline = "nothing to see"

    assert Plain()._repr_mimebundle_() == {"text/plain": "nothing to see"}
    assert repr(Plain()) == "<Plain: nothing to see>"


@pytest.mark.parametrize("other", [3, None, "relax"])
def test_a_partition_differs_only_from_a_partition(other):
    part = records.Partition("net", "python", "onnx", (), 0, 0)
    assert part.diff(part).ok
    with pytest.raises(CallError, match=f"a {type(other).__name__} is no partition"):
        part.diff(other)
