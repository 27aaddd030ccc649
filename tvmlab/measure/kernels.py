"""Each kernel of a compiled model, timed within runs of the model, against what the machine can do at most."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvmlab import runtime
from tvmlab.measure.accesses import Unknown
from tvmlab.measure.roofs import Roof, bandwidth_roof, fitting_size, peak_roof
from tvmlab.measure.rounds import Rounds
from tvmlab.measure.work import FUNCTION_WEIGHT, Work, count_work, sizes_of
from tvmlab.records import KernelProfile, KernelTime

if TYPE_CHECKING:
    from tvmlab.pipeline import Trace

__all__ = ["KernelWatch", "watch_kernels"]

_WATCHED, _PEAK = "kernels", "peak"


@dataclass
class _Runs:
    """Seconds of every kernel call, run by run; what the virtual machine calls around each of its functions."""

    kernels: Mapping[str, Any]
    seconds: list[list[float]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    arguments: list[list[Any]] = field(default_factory=list)
    started: float = 0.0

    def __call__(self, _function: Any, name: str, before: bool, _result: Any, *arguments: Any) -> int:
        if name not in self.kernels:
            return 0
        if before:
            if len(self.seconds) == 1:
                self.names.append(name)
                self.arguments.append([_size(argument) for argument in arguments])
            self.started = time.perf_counter()
        else:
            self.seconds[-1].append(time.perf_counter() - self.started)
        return 0  # run it


@dataclass(frozen=True)
class KernelWatch:
    """A model whose kernels are timed while it runs.

    Parameters
    ----------
    calls : mapping of str to callable
        What to time: runs of the model, and the roofs that its kernels are held against.
    works : list
        What each kernel call has to do, in the order of the calls; None where it cannot be counted.
    """

    model: str
    threads: int
    runs: _Runs
    works: Sequence[Work | None]
    calls: Mapping[str, Callable[[], Any]]
    roofs: Mapping[str, Roof]

    def profile(self, rounds: Rounds) -> KernelProfile:
        """The kernels, from rounds in which `calls` took part."""
        repeats = _repeats(self.runs.seconds, len(rounds.seconds[_WATCHED]), rounds.calls[_WATCHED])
        rates = {name: roof.rate(rounds.seconds[name]) for name, roof in self.roofs.items()}
        bandwidths = {int(name.split()[1]): rate for name, rate in rates.items() if name != _PEAK}
        places: dict[str, list[int]] = {}
        for place, name in enumerate(self.runs.names):
            places.setdefault(name, []).append(place)
        made = [self._kernel(name, at, repeats, rates[_PEAK], bandwidths) for name, at in places.items()]
        made.sort(key=lambda kernel: -kernel.median)
        return KernelProfile(
            self.model,
            tuple(made),
            rates[_PEAK],
            bandwidths,
            FUNCTION_WEIGHT,
            self.threads,
            tuple(rounds.seconds[_WATCHED]),
        )

    def _kernel(
        self,
        name: str,
        places: Sequence[int],
        repeats: Sequence[Sequence[float]],
        peak: float,
        bandwidths: Mapping[int, float],
    ) -> KernelTime:
        seconds = tuple(sum(repeat[place] for place in places) for repeat in repeats)
        works = [work for work in (self.works[place] for place in places) if work is not None]
        if len(works) < len(places):
            return KernelTime(name, len(places), seconds)
        bandwidth = bandwidths[fitting_size(works[0].working_set)]
        memory = sum(work.moved for work in works) / bandwidth
        compute = sum(work.operations for work in works) / peak
        return KernelTime(
            name,
            len(places),
            seconds,
            read=sum(work.read for work in works),
            written=sum(work.written for work in works),
            around=sum(work.around for work in works),
            operations=sum(work.operations for work in works),
            functions=sum(work.functions for work in works),
            working_set=works[0].working_set,
            bandwidth=bandwidth,
            roof=max(memory, compute),
            bound="memory" if memory >= compute else "compute",
        )


def watch_kernels(trace: Trace, arrays: Sequence[NDArray[Any]], threads: int) -> KernelWatch:
    """Make a build of a model whose kernels are timed; it is run once.

    Parameters
    ----------
    trace : Trace
    arrays : sequence of ndarray
        The model's inputs.
    threads : int
        Of the roofs.
    """
    from tvm import tirx

    from tvmlab.pipeline import stages

    # Counted before the schedule, which writes exp as a polynomial.
    functions = {v.name_hint: f for v, f in stages.laid_out(trace["inline"].module).functions.items()}
    kernels = {name: f for name, f in functions.items() if isinstance(f, tirx.PrimFunc)}
    executable = runtime.compile_module(trace["schedule"].module)
    runs = _Runs(kernels)
    executable.vm.set_instrument(runs)
    run = executable.bind(*arrays)

    def watched() -> Any:
        runs.seconds.append([])
        return run()

    watched()
    works = [_work(kernels[name], given) for name, given in zip(runs.names, runs.arguments, strict=True)]
    sizes = sorted({fitting_size(work.working_set) for work in works if work is not None})
    roofs = {f"bandwidth {size}": bandwidth_roof(size, threads) for size in sizes}
    roofs[_PEAK] = peak_roof(threads)
    calls = {_WATCHED: watched, **{name: roof.call for name, roof in roofs.items()}}
    return KernelWatch(trace.model, threads, runs, works, calls, roofs)


def _work(function: Any, arguments: Sequence[Any]) -> Work | None:
    try:
        return count_work(function, sizes_of(function, arguments))
    except Unknown:
        return None


def _size(argument: Any) -> Any:
    """A number as it is, of a tensor its shape."""
    return argument if isinstance(argument, int) else tuple(map(int, getattr(argument, "shape", ())))


def _repeats(runs: Sequence[Sequence[float]], repeats: int, calls: int) -> list[list[float]]:
    """Seconds of every kernel call, one list a repeat: the mean over its runs; the runs before were to warm up."""
    last = np.asarray(runs[len(runs) - repeats * calls :]).reshape(repeats, calls, -1)
    means: list[list[float]] = last.mean(axis=1).tolist()
    return means
