"""Timing calls against each other, by a clock that only the calls move."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmlab.errors import CallError
from tvmlab.measure.rounds import FEWEST, MOST, how_many, run_rounds


class Stage:
    """A clock and calls that each take their time on it; what is called is written down."""

    def __init__(self, **seconds):
        self.now = 0.0
        self.log = []
        self.calls = {name: self.call(name, s) for name, s in seconds.items()}

    def call(self, name, seconds):
        def run():
            self.log.append(name)
            self.now += seconds

        return run

    def rounds(self, **options):
        return run_rounds(self.calls, clock=lambda: self.now, **options)


def test_every_repeat_is_kept_and_is_the_time_of_one_call():
    stage = Stage(slow=2.0, fast=0.003)
    rounds = stage.rounds(repeats=5)
    assert rounds.seconds["slow"] == pytest.approx([2.0] * 5)
    assert rounds.seconds["fast"] == pytest.approx([0.003] * 5)
    assert rounds.calls == {"slow": 1, "fast": 4}


def test_sides_are_interleaved_in_changing_order():
    stage = Stage(a=1.0, b=1.0, c=1.0)
    stage.rounds(repeats=12, seed=3)
    timed = stage.log
    rounds = [tuple(timed[i : i + 3]) for i in range(0, len(timed), 3)]
    assert all(sorted(r) == ["a", "b", "c"] for r in rounds)
    assert len(set(rounds)) > 2
    again = Stage(a=1.0, b=1.0, c=1.0)
    again.rounds(repeats=12, seed=3)
    assert again.log == stage.log
    other = Stage(a=1.0, b=1.0, c=1.0)
    other.rounds(repeats=12, seed=4)
    assert other.log != stage.log


def test_fast_sides_are_warmed_up_and_slow_ones_are_not():
    stage = Stage(slow=2.0, fast=0.003)
    stage.rounds(repeats=1)
    assert stage.log.count("slow") == 1
    assert stage.log.count("fast") == 17 + 4


@given(
    seconds=st.dictionaries(st.sampled_from("abcd"), st.floats(1e-4, 10), min_size=1),
    budget=st.floats(1, 100),
)
def test_rounds_fit_the_budget(seconds, budget):
    stage = Stage(**seconds)
    rounds = stage.rounds(budget=budget)
    number = len(rounds.seconds[next(iter(seconds))])
    assert FEWEST <= number <= MOST
    assert number == FEWEST or stage.now <= budget * (1 + 1e-6)
    for name, values in rounds.seconds.items():
        assert values == pytest.approx([seconds[name]] * number, rel=1e-3)
        assert rounds.calls[name] == 1 or (rounds.calls[name] - 1) * seconds[name] < 0.0101


@given(st.integers(1, 500))
def test_asked_for_rounds_are_run(repeats):
    assert how_many(100.0, 1.0, repeats) == repeats


@pytest.mark.parametrize("repeats", [0, -1])
def test_no_rounds_are_an_error(repeats):
    with pytest.raises(CallError, match="at least"):
        Stage(a=1.0).rounds(repeats=repeats)


def test_the_garbage_collector_waits_and_comes_back():
    seen = []
    run_rounds({"a": lambda: seen.append(gc.isenabled())}, repeats=1)
    assert not any(seen)
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        run_rounds({"a": lambda: 1 / 0})
    assert gc.isenabled()


def test_the_quickest_call_is_known_apart():
    rounds = Stage(slow=2.0, fast=0.003).rounds(repeats=2)
    assert rounds.quickest == pytest.approx({"slow": 2.0, "fast": 0.003})
    some = rounds.of(["fast", "absent"])
    assert some.seconds == {"fast": rounds.seconds["fast"]}
    assert (some.calls, some.quickest) == ({"fast": 4}, {"fast": pytest.approx(0.003)})
