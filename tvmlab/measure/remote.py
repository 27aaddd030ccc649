"""Timing on a remote device: models for `bench`, kernels for `tune`.

A model's time is taken on the device, by TVM's time evaluator there: what the network takes is not in it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab import pipeline
from tvmlab.errors import CallError, RemoteLost
from tvmlab.measure.inputs import Given, make_inputs
from tvmlab.measure.lone_kernels import DIFFERENT, arguments_of, as_arrays, build, worst_difference
from tvmlab.measure.machine import machine
from tvmlab.measure.rounds import FEWEST, MOST, Rounds
from tvmlab.pipeline import Model, tuned
from tvmlab.records import Side, Timing
from tvmlab.runtime import quiet
from tvmlab.runtime.executable import first_line
from tvmlab.runtime.remote import Remote

__all__ = ["RemoteRunner", "remote_bench", "remote_call", "remote_rounds"]

Evaluate = Callable[[int], float]
"""Seconds of one call on the device, as the mean of so many."""

_LEAST_REPEAT = 0.01  # seconds
_TRIAL_SECONDS = 0.05


def remote_call(remote: Remote, module: Any, arrays: Sequence[NDArray[Any]]) -> tuple[Evaluate, list[NDArray[Any]]]:
    """A model on a device: how to time it, and what it computes.

    Parameters
    ----------
    module : tvm.IRModule
        Of which all operators are legalized.
    arrays : sequence of ndarray
        Its inputs; they are sent once.
    """
    import tvm
    from tvm import relax

    with quiet():
        built = relax.build(module.clone(), remote.target)
        sent = remote.send(built)
        with remote.guard():
            machine = relax.VirtualMachine(sent, remote.device)
            machine.set_input("main", *(tvm.runtime.tensor(array, remote.device) for array in arrays))
            machine.invoke_stateful("main")
            outputs = _arrays(machine.get_outputs("main"))

    def evaluate(times: int) -> float:
        with remote.guard():
            timed = machine.time_evaluator("invoke_stateful", remote.device, number=times, repeat=1)
            return float(timed("main").mean)

    return evaluate, outputs


def _arrays(result: Any) -> list[NDArray[Any]]:
    if hasattr(result, "numpy"):
        return [result.numpy()]
    return [array for part in result for array in _arrays(part)]


def remote_rounds(
    sides: Mapping[str, Evaluate],
    *,
    repeats: int | None = None,
    budget: float = 20.0,
    seed: int = 0,
) -> Rounds:
    """Time sides against each other on a device, as `run_rounds` does here.

    Raises
    ------
    RemoteLost
        The device went away; its ``partial`` is the `Rounds` of what was finished: rounds in which every side ran.
    """
    shuffle = random.Random(seed).shuffle  # noqa: S311  no secret depends on it
    order = list(sides)
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    times: dict[str, int] = {}
    try:
        for name in order:
            sides[name](1)
            times[name] = max(1, math.ceil(_LEAST_REPEAT / max(sides[name](1), 1e-9)))
        rounds = 0
        while rounds < (repeats or FEWEST) or (repeats is None and rounds < MOST and _spent(seconds, times) < budget):
            shuffle(order)
            for name in order:
                seconds[name].append(sides[name](times[name]))
            rounds += 1
    except RemoteLost as lost:
        lost.partial = _finished(seconds, times)
        raise
    return _finished(seconds, times)


def _spent(seconds: Mapping[str, Sequence[float]], times: Mapping[str, int]) -> float:
    return sum(sum(values) * times[name] for name, values in seconds.items())


def _finished(seconds: Mapping[str, Sequence[float]], times: Mapping[str, int]) -> Rounds:
    """The rounds in which every side was timed."""
    whole = min(map(len, seconds.values()), default=0)
    return Rounds({name: tuple(values[:whole]) for name, values in seconds.items()}, dict(times))


class RemoteRunner:
    """Runs kernels on a device, for `tune`."""

    def __init__(self, address: str, threads: int | None, seed: int) -> None:
        self._remote = Remote(address, threads)
        self.machine = remote_machine(self._remote)
        self.target = self._remote.target
        self._seed = seed
        self._arguments: list[Any] = []
        self._wanted: list[NDArray[Any]] = []
        self._rule: Evaluate | None = None

    def rule(self, module: str) -> list[float]:
        """See `tvmlab.measure.tuning.Runner`."""
        with self._remote.guard():
            self._arguments = arguments_of(module, self._seed, self._remote.device)
        self._rule = self._kernel(module)
        self._wanted = self._results()
        return self._seconds(self._rule)

    def candidate(self, module: str) -> list[float]:
        """See `tvmlab.measure.tuning.Runner`."""
        return self._seconds(self._checked(module))

    def duel(self, module: str) -> dict[str, list[float]]:
        """See `tvmlab.measure.tuning.Runner`."""
        assert self._rule is not None
        rounds = remote_rounds({"rule": self._rule, "tuned": self._checked(module)}, budget=1.5)
        return {name: list(seconds) for name, seconds in rounds.seconds.items()}

    def close(self) -> None:
        """Give the device back."""
        self._rule, self._arguments = None, []
        self._remote.close()

    def _checked(self, module: str) -> Evaluate:
        kernel = self._kernel(module)
        difference = worst_difference(self._wanted, self._results())
        if difference > DIFFERENT:
            raise ValueError(f"it computes other values: off by {difference:.0e} of the largest")
        return kernel

    def _kernel(self, module: str) -> Evaluate:
        """Build, send and run once."""
        try:
            with quiet():
                built = build(module, self.target)
        except Exception as error:
            raise ValueError(first_line(error)) from error
        with quiet():
            sent = self._remote.send(built)

        def evaluate(times: int) -> float:
            with self._remote.guard():
                timed = sent.time_evaluator("main", self._remote.device, number=times, repeat=1)
                return float(timed(*self._arguments).mean)

        evaluate(1)
        return evaluate

    def _results(self) -> list[NDArray[Any]]:
        with self._remote.guard():
            return as_arrays(self._arguments)

    @staticmethod
    def _seconds(kernel: Evaluate) -> list[float]:
        rounds = remote_rounds({"it": kernel}, budget=_TRIAL_SECONDS)
        return [float(np.float64(s)) for s in rounds.seconds["it"]]


_MODULES = {"none": "legalize", "fuse": "fuse", "fuse+inline": "inline", "full": "schedule", "tuned": "schedule"}
_OTHER_NAMES = {"unfused": "none", "fused": "fuse", "scheduled": "full"}
_CLOCK = "timed on the device by its own clock: what the network takes is not in the times"


def remote_bench(
    model: Model,
    address: str,
    *,
    sides: Sequence[str],
    repeats: int | None,
    threads: int | None,
    inputs: Given,
    seed: int,
    budget: float,
) -> Timing:
    """Time a model's builds on a remote device; parameters are those of `tvmlab.measure.bench`.

    Raises
    ------
    RemoteLost
        The device cannot be reached, or went away; in its ``partial`` is then a `Timing` of the rounds that were
        finished.
    """
    feeds = make_inputs(model.inputs, inputs, seed)
    chosen = [side for side in sides if _OTHER_NAMES.get(side, side) in _MODULES]
    notes = [
        _CLOCK,
        *(f"{side} is left out: it does not run on a remote device" for side in sides if side not in chosen),
    ]
    if not chosen:
        raise CallError("none of these sides runs on a remote device", mend='sides=["fused", "scheduled"]')
    remote = Remote(address, threads)

    def measured() -> Timing:
        calls, kernels, outputs = {}, {}, {}
        for side in chosen:
            module, kernels[side] = _module(model, _OTHER_NAMES.get(side, side), remote)
            calls[side], outputs[side] = remote_call(remote, module, feeds.arrays)
        notes.extend([*_differing(outputs), *feeds.notes])
        facts = {**machine(), "device": f"{remote.name} at {address}"}

        def timing(rounds: Rounds) -> Timing:
            timed = tuple(Side(side, rounds.seconds[side], kernels[side]) for side in chosen)
            return Timing(model.name, timed, chosen[0], remote.threads, facts, tuple(notes))

        try:
            return timing(remote_rounds(calls, repeats=repeats, budget=budget, seed=seed))
        except RemoteLost as lost:
            rounds: Any = lost.partial
            finished = len(rounds.seconds[chosen[0]])
            what = f"{lost.what}; finished rounds: {finished}, kept in the error's partial"
            raise RemoteLost(what, lost.where, lost.mend, partial=timing(rounds) if finished else None) from lost

    try:
        return measured()  # what it holds of the device is let go before the device is given back
    finally:
        remote.close()


def _module(model: Model, side: str, remote: Remote) -> tuple[Any, str]:
    """The module of a side, and how to count its kernels."""
    trace = pipeline.trace(model)
    if side == "tuned":
        known = tuned.TunedSchedules(tuned.Database(), remote_machine(remote), remote.threads)
        trace = pipeline.trace(model, tuned=known)
    stage = trace[_MODULES[side]]
    count = trace["legalize" if side == "none" else "fuse"].kernels
    return stage.module, f"{count:,} kernel{'s' * (count != 1)}"


def remote_machine(remote: Remote) -> str:
    """What a tuned schedule of that device is filed under."""
    return tuned.machine_name(f"{remote.name}, remote")


def _differing(outputs: Mapping[str, Sequence[NDArray[Any]]]) -> list[str]:
    first, *rest = outputs
    found = []
    for side in rest:
        difference = worst_difference(outputs[first], outputs[side])
        if difference > DIFFERENT:
            found.append(f"{side} gives other values than {first}: off by {difference:.0e} of the largest")
    return found
