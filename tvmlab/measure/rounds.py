"""Time several calls against each other: interleaved, in a new order each round, every repeat kept."""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tvmlab.errors import CallError

__all__ = ["FEWEST", "MOST", "Rounds", "Schedule", "plan", "run_rounds"]

Call = Callable[[], object]

FEWEST, MOST = 3, 51  # rounds
_WARM_UP = 0.05  # seconds a side, at least one call
_LEAST_REPEAT = 0.01  # seconds: faster calls are taken together, since a clock and a scheduler have grains


@dataclass(frozen=True)
class Schedule:
    """How often what runs: rounds, and for each side the calls in one repeat."""

    rounds: int
    calls: Mapping[str, int]


@dataclass(frozen=True)
class Rounds:
    """Seconds of one call, for each side and round."""

    seconds: Mapping[str, tuple[float, ...]]
    schedule: Schedule


def run_rounds(
    calls: Mapping[str, Call],
    *,
    repeats: int | None = None,
    budget: float = 20.0,
    seed: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> Rounds:
    """Time calls against each other.

    Parameters
    ----------
    calls : mapping of str to callable
        The sides.
    repeats : int, optional
        Rounds.  Default: as many as fit into `budget`, but 3 to 51.
    budget : float
        Seconds for all rounds, warming up included.
    seed : int
        Of the order within each round.
    clock : callable
        Gives seconds.

    Returns
    -------
    Rounds
        What disturbs a round disturbs all of its sides: compare round by round.
    """
    with _no_garbage():
        once = {name: _warm_up(call, clock) for name, call in calls.items()}
        schedule = plan(once, repeats, budget)
        order = list(calls)
        shuffle = random.Random(seed).shuffle  # noqa: S311  no secret depends on it
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(schedule.rounds):
            shuffle(order)
            for name in order:
                seconds[name].append(_repeat(calls[name], schedule.calls[name], clock))
    return Rounds({name: tuple(values) for name, values in seconds.items()}, schedule)


def plan(once: Mapping[str, float], repeats: int | None, budget: float) -> Schedule:
    """Rounds and calls a repeat, from the seconds that one call of each side takes.

    Raises
    ------
    CallError
        `repeats` is no positive number.
    """
    if repeats is not None and repeats < 1:
        raise CallError(f"repeats={repeats}: there must be one round at least", mend=f"repeats={FEWEST}")
    calls = {name: max(1, math.ceil(_LEAST_REPEAT / max(s, 1e-9))) for name, s in once.items()}
    a_round = sum(calls[name] * s for name, s in once.items())
    spent = sum(max(s, _WARM_UP) for s in once.values())
    fitting = int((budget - spent) / max(a_round, 1e-9))
    return Schedule(min(max(fitting, FEWEST), MOST) if repeats is None else repeats, calls)


def _warm_up(call: Call, clock: Callable[[], float]) -> float:
    """Call until it is warm; returns the seconds of the last call."""
    started = before = clock()
    while True:
        call()
        now = clock()
        if now - started >= _WARM_UP:
            return now - before
        before = now


def _repeat(call: Call, times: int, clock: Callable[[], float]) -> float:
    started = clock()
    for _ in range(times):
        call()
    return (clock() - started) / times


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Keep Python's garbage collector from running in the middle of a repeat."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
