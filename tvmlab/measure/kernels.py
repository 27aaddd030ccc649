"""Where a compiled model's time goes: its kernels, timed within its own runs, against what the machine can do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tvmlab import ongoing, runtime
from tvmlab.measure.accesses import Unknown
from tvmlab.measure.roofs import Roof, bandwidth_roof, fitting_size, peak_roof
from tvmlab.measure.rounds import Rounds
from tvmlab.measure.work import FUNCTION_WEIGHT, Work, count_work, sizes_of
from tvmlab.records import KernelProfile, KernelTime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tvmlab.pipeline import Trace

__all__ = ["KernelWatch", "watch_kernels"]

_RUN, _PEAK = "kernels", "peak"


@dataclass
class _Runs:
    """What the virtual machine told of each run: seconds of its kernel calls, in order."""

    kernels: frozenset[str]
    called: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    seconds: list[list[float]] = field(default_factory=list)
    started: float = 0.0

    def watch(self, _function: Any, name: str, before: bool, _result: Any, *arguments: Any) -> int:
        """Told by the virtual machine before and after each call of a function."""
        if name not in self.kernels:
            return 0
        if before:
            if len(self.seconds) == 1:
                self.called.append((name, tuple(_size(argument) for argument in arguments)))
            self.started = time.perf_counter()
        else:
            self.seconds[-1].append(time.perf_counter() - self.started)
        return 0


@dataclass(frozen=True)
class KernelWatch:
    """A compiled model whose kernels are timed while it runs, and the roofs to measure beside it.

    Parameters
    ----------
    calls : mapping of str to callable
        To be timed with `run_rounds`, best in one run with whatever else is compared.
    works : tuple
        What each kernel call has to do, in the order of the calls; None where it cannot be counted.
    """

    model: str
    calls: Mapping[str, Callable[[], Any]]
    threads: int
    works: tuple[Work | None, ...]
    runs: _Runs = field(repr=False)
    roofs: Mapping[str, Roof] = field(repr=False)

    def profile(self, rounds: Rounds) -> KernelProfile:
        """What was found in some rounds of `calls`."""
        rates = {n: roof.rate((rounds.quickest[n], *rounds.seconds[n])) for n, roof in self.roofs.items()}
        peak = rates.pop(_PEAK)
        bandwidths = {int(size): rate for size, rate in rates.items()}
        places: dict[str, list[int]] = {}
        for place, (name, _) in enumerate(self.runs.called):
            places.setdefault(name, []).append(place)
        repeats = _repeats(self.runs.seconds, len(rounds.seconds[_RUN]), rounds.calls[_RUN])
        kernels = [
            self._kernel(name, at, [sum(run[p] for p in at) for run in repeats], bandwidths, peak)
            for name, at in places.items()
        ]
        kernels.sort(key=lambda kernel: -kernel.median)
        return KernelProfile(
            model=self.model,
            kernels=tuple(kernels),
            peak=peak,
            bandwidths=bandwidths,
            function_weight=FUNCTION_WEIGHT,
            threads=self.threads,
            runs=rounds.seconds[_RUN],
        )

    def _kernel(
        self, name: str, places: list[int], seconds: list[float], bandwidths: Mapping[int, float], peak: float
    ) -> KernelTime:
        works = [work for place in places if (work := self.works[place]) is not None]
        if len(works) < len(places):
            return KernelTime(name, len(places), tuple(seconds))
        rates = [bandwidths[fitting_size(work.working_set)] for work in works]
        memory = sum(work.moved / rate for work, rate in zip(works, rates, strict=True))
        compute = sum(work.operations for work in works) / peak
        moved = sum(work.moved for work in works)
        return KernelTime(
            name=name,
            calls=len(places),
            seconds=tuple(seconds),
            read=sum(work.read for work in works),
            written=sum(work.written for work in works),
            around=sum(work.around for work in works),
            operations=sum(work.operations for work in works),
            functions=sum(work.functions for work in works),
            working_set=max(work.working_set for work in works),
            bandwidth=moved / memory if memory else rates[0],
            roof=max(memory, compute),
            bound="memory" if memory >= compute else "compute",
        )


def watch_kernels(trace: Trace, arrays: Sequence[Any], threads: int) -> KernelWatch:
    """Prepare to time the kernels of a model's full build; it is run once.

    Parameters
    ----------
    trace : Trace
    arrays : sequence of ndarray
        The model's inputs.
    threads : int
        That the kernels and the roofs run on.
    """
    from tvm import tirx

    scheduled, plain = (
        {v.name_hint: f for v, f in trace[stage].module.functions.items() if isinstance(f, tirx.PrimFunc)}
        for stage in ("schedule", "inline")
    )
    executable = trace.executable
    machine, call, runs = executable.vm, executable.bind(*arrays), _Runs(frozenset(scheduled))

    def watched() -> Any:
        runs.seconds.append([])
        machine.set_instrument(runs.watch)
        try:
            return call()
        finally:
            machine.set_instrument(None)

    watched()
    counted: dict[Any, Work | None] = {}
    for called in runs.called:
        if called not in counted:
            name, arguments = called
            counted[called] = _work_of(scheduled[name], plain.get(name), arguments)
    works = tuple(counted[called] for called in runs.called)
    sizes = sorted({fitting_size(work.working_set) for work in works if work is not None})
    ongoing.say("preparing to measure bandwidth and peak")
    roofs = {_PEAK: peak_roof(threads), **{str(size): bandwidth_roof(size, threads) for size in sizes}}
    calls = {_RUN: watched, **{name: roof.call for name, roof in roofs.items()}}
    return KernelWatch(trace.model, calls, threads, works, runs, roofs)


def _size(argument: Any) -> Any:
    """Of a tensor its shape; a number as it is."""
    return tuple(map(int, argument.shape)) if hasattr(argument, "shape") else argument


def _work_of(function: Any, plain: Any, arguments: tuple[Any, ...]) -> Work | None:
    """Bytes of the kernel as it runs; operations as they were before a schedule wrote ``exp`` as a polynomial."""
    with runtime.quiet():
        sizes = sizes_of(function, arguments)
        try:
            ours = count_work(function, sizes)
            asked = ours if plain is None else count_work(plain, sizes)
        except Unknown:
            return None
    return Work(ours.read, ours.written, ours.around, ours.working_set, asked.flops, asked.functions)


def _repeats(runs: list[list[float]], repeats: int, calls: int) -> list[list[float]]:
    """Seconds of each kernel call in each repeat: means over the runs of one repeat; runs to warm up are left out."""
    timed = runs[-repeats * calls :]
    return [
        [sum(each) / len(each) for each in zip(*timed[first : first + calls], strict=True)]
        for first in range(0, len(timed), calls)
    ]
