"""Time several calls against each other: interleaved, in a new order each round, every repeat kept."""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tvmlab import ongoing
from tvmlab.errors import CallError

__all__ = ["FEWEST", "MOST", "Rounds", "how_many", "run_rounds"]

Call = Callable[[], object]

FEWEST, MOST = 3, 51  # rounds
_WARM_UP = 0.05  # seconds a side, at least one call
_SLOW = 1.0  # seconds: such a call is not warmed up
_LEAST_REPEAT = 0.01  # seconds: faster calls are taken together, since a clock and a scheduler have grains


@dataclass(frozen=True)
class Rounds:
    """Seconds of one call, for each side and round, and how many calls of each side made a repeat.

    `quickest` is the quickest single call while a side was warmed up.
    """

    seconds: Mapping[str, tuple[float, ...]]
    calls: Mapping[str, int]
    quickest: Mapping[str, float] = field(default_factory=dict)

    def of(self, names: Iterable[str]) -> Rounds:
        """The same for some of the sides."""
        kept = set(names)
        return Rounds(
            {name: seconds for name, seconds in self.seconds.items() if name in kept},
            {name: calls for name, calls in self.calls.items() if name in kept},
            {name: once for name, once in self.quickest.items() if name in kept},
        )


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
        The sides.  Those that take less than a second are warmed up first.
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

    Raises
    ------
    CallError
        `repeats` is no positive number.
    """
    if repeats is not None and repeats < 1:
        raise CallError(f"repeats={repeats}: there must be one round at least", mend=f"repeats={FEWEST}")
    order = list(calls)
    shuffle = random.Random(seed).shuffle  # noqa: S311  no secret depends on it
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    times: dict[str, int] = {}
    quickest: dict[str, float] = {}
    with _no_garbage():
        started = clock()
        shuffle(order)
        for at, name in enumerate(order):
            ongoing.say("warming up", at, len(order), undisturbed=True)
            once, times[name] = _warm_up(calls[name], clock)
            quickest[name] = once
            # For a slow side, what a first call costs more is little, and a second one much.
            seconds[name].append(once if once >= _SLOW else _repeat(calls[name], times[name], clock))
        spent = clock() - started
        rounds = how_many(sum(seconds[name][0] * times[name] for name in calls), budget - spent, repeats)
        for done in range(1, rounds):
            ongoing.say("timing, round by round", done, rounds, undisturbed=True)
            shuffle(order)
            for name in order:
                seconds[name].append(_repeat(calls[name], times[name], clock))
    return Rounds({name: tuple(values) for name, values in seconds.items()}, times, quickest)


def how_many(a_round: float, left: float, repeats: int | None = None) -> int:
    """How many rounds to run, the first one included.

    Parameters
    ----------
    a_round : float
        Seconds that a round takes.
    left : float
        Seconds that may pass after the first round.
    repeats : int, optional
        What was asked for, whatever it takes.
    """
    if repeats is not None:
        return repeats
    return min(max(1 + int(left / max(a_round, 1e-9)), FEWEST), MOST)


def _warm_up(call: Call, clock: Callable[[], float]) -> tuple[float, int]:
    """Call until it is warm; returns the seconds of the quickest call, and how many calls make a repeat."""
    started = before = clock()
    once = math.inf
    while before - started < _WARM_UP:
        call()
        now = clock()
        once, before = min(once, now - before), now
    return once, max(1, math.ceil(_LEAST_REPEAT / max(once, 1e-9)))


def _repeat(call: Call, times: int, clock: Callable[[], float]) -> float:
    started = clock()
    for _ in range(times):
        call()
    return (clock() - started) / times


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Keep Python's garbage collector from running in the middle of a repeat."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
