"""Search for faster schedules than the rules', on request, and keep what was found."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tvmlab import ongoing, pipeline, runtime
from tvmlab.errors import CallError
from tvmlab.measure.lone_kernels import module_text
from tvmlab.pipeline import stages, tuned
from tvmlab.pipeline.tuned import Database, TunedKernel
from tvmlab.records import Record, quantile
from tvmlab.runtime.children import Child, ChildLost

if TYPE_CHECKING:
    from tvmlab.pipeline import Model

__all__ = ["KernelTuning", "Progress", "Tuning", "tune"]

_STARTING = 120.0  # seconds for a child to start and to do its first work
_PROPOSING = 600.0  # seconds for a batch of proposals: evolution takes its time
_RUNNING = 30.0  # seconds to build and run one candidate
_LEAST_SHARE = 0.01  # of the model's time; kernels below are left to the rules
_LEAST_TRIALS = 4


@dataclass(frozen=True)
class KernelTuning:
    """What became of one kernel.

    Parameters
    ----------
    kernel : str
    calls : int
        In one run of the model.
    how : {"tuned", "rule", "known", "left"}
        A faster schedule was found; none was, and the rule's stays; the database knew it; it was not searched for.
    rule_seconds, seconds : float
        One call by the rule's schedule, and by the one that is now taken.
    trials, failed : int
        Candidates that were measured in this run, and those of them that failed.
    note : str
        Why it was left, or what went wrong.
    """

    kernel: str
    calls: int
    how: str
    rule_seconds: float
    seconds: float
    trials: int = 0
    failed: int = 0
    note: str = ""


@dataclass(frozen=True, repr=False)
class Tuning(Record):
    """What tuning a model found.

    Parameters
    ----------
    kernels : tuple of KernelTuning
        Those that take longest first.
    database : str
        The file in which the schedules are.
    machine : str
        For which they are: processor and version of TVM.
    """

    model: str
    kernels: tuple[KernelTuning, ...]
    database: str
    machine: str
    threads: int
    notes: tuple[str, ...] = ()

    @property
    def gain(self) -> float:
        """How many times as fast the kernels together are, against the rules' schedules; 1 where nothing is known."""
        before = sum(k.calls * k.rule_seconds for k in self.kernels)
        after = sum(k.calls * k.seconds for k in self.kernels)
        return before / after if after else 1.0

    @property
    def headline(self) -> str:
        faster = sum(k.seconds < k.rule_seconds for k in self.kernels)
        measured = sum(k.trials for k in self.kernels)
        return (
            f"{self.model}: {faster} of {len(self.kernels)} kernels have a faster schedule than the rule's, "
            f"{self.gain:.2f} times as fast together; {measured:,} candidates measured"
        )

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "gain": self.gain}


@dataclass(frozen=True)
class Step:
    """Where tuning stands: how many of all trials are done, in which kernel, and its best candidate so far."""

    done: int
    trials: int
    kernel: str
    rule_seconds: float
    best_seconds: float | None

    def __str__(self) -> str:
        return f"{self.done:>4} of {self.trials}  {self.words}"

    @property
    def words(self) -> str:
        """Without the count."""
        best = "nothing yet" if self.best_seconds is None else f"best {self.best_seconds * 1e3:.3g} ms"
        return f"{self.kernel}: rule {self.rule_seconds * 1e3:.3g} ms, {best}"


Progress = Callable[[Step], None]


class Runner(Protocol):
    """What builds and runs kernels: a process of ours, or a remote device."""

    machine: str
    target: Any

    def rule(self, module: str) -> list[float]:
        """Take a new kernel, by the rule's schedule; its seconds."""

    def candidate(self, module: str) -> list[float]:
        """Seconds of a candidate; ValueError says what is wrong with it."""

    def duel(self, module: str) -> dict[str, list[float]]:
        """Seconds of ``rule`` and ``tuned``, interleaved."""

    def close(self) -> None:
        """End it."""


def tune(
    model: Model,
    *,
    trials: int = 64,
    database: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    remote: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Tuning:
    """Search for schedules that are faster than the rules'.

    Parameters
    ----------
    model : Model
    trials : int
        Candidates to measure, dealt to the kernels by the time that they take.
    database : path, optional
        The file that keeps what is found.  Default: ``tvmlab/tuned.jsonl`` in the user's cache folder.
    threads : int, optional
        To measure on.  Default: all that TVM uses.  A schedule is taken for this number alone.
    remote : str, optional
        ``tracker://host:port/key``: measure on a device there.
    seed : int
        Of the search and of the inputs.
    progress : callable, optional
        Called with a `Step` after each candidate; default: it is said.

    Returns
    -------
    Tuning

    Raises
    ------
    CallError
        `trials` is below 1, or there are fewer threads than `threads`.
    PipelineError
        The database is damaged, or cannot be written.
    RemoteLost
        The remote device went away.

    Notes
    -----
    The search is TVM's meta_schedule, in a process of its own; candidates are built and run in another.  One that
    dies, hangs or computes other values counts as failed.  The best is then timed against the rule's schedule,
    interleaved, and taken only if it is faster in three of four rounds.  A kernel is written to the database as soon
    as it is finished, so that an interrupt costs the kernel at hand and nothing else; the next run goes on after it.
    Use what is known with ``tl.trace(model, tuned=True)`` or ``tl.bench(model, sides=["scheduled", "tuned"])``.
    """
    if type(trials) is not int or trials < 1:
        raise CallError(f"trials={trials!r} must be a whole number from 1 on", mend="trials=64")
    runtime.check_seed(seed)
    known = Database(database)
    threads = runtime.thread_count() if threads is None else threads
    with runtime.threads(threads):  # refuses more than there are
        tasks, left = _tasks(model)
    runner = _runner(remote, threads, seed)
    try:
        done = _tune_all(tasks, runner, known, trials, threads, seed, progress)
    finally:
        runner.close()
    kernels = sorted([*done, *left], key=lambda k: -k.calls * k.rule_seconds)
    return Tuning(model.name, tuple(kernels), str(known.path), runner.machine, threads, _remarks(remote))


def _remarks(remote: str | None) -> tuple[str, ...]:
    if remote is None:
        return ()
    return (f"measured on {remote}, by the device's own clock: what the network takes is not in the times",)


@dataclass(frozen=True)
class _Task:
    """A kernel to tune: as it is before scheduling, and by the rule's schedule."""

    name: str
    key: str
    calls: int
    plain: Any = field(repr=False)
    rule: Any = field(repr=False)


def _tasks(model: Model) -> tuple[list[_Task], list[KernelTuning]]:
    """The kernels of a model that can be tuned, and those that are left, with the reason."""
    trace = pipeline.trace(model)
    module = stages.laid_out(trace["inline"].module)
    scheduled = {v.name_hint: f for v, f in trace["schedule"].module.functions.items()}
    calls = _calls(module)
    tasks, left = [], []
    for name, function in sorted((v.name_hint, f) for v, f in module.functions.items() if v.name_hint in calls):
        reason = tuned.reason_to_leave(function)
        if reason:
            left.append(KernelTuning(name, calls[name], "left", 0.0, 0.0, note=reason))
            continue
        plain = tuned.searchable(function)
        tasks.append(_Task(name, tuned.kernel_key(function), calls[name], plain, scheduled[name]))
    return tasks, left


def _calls(module: Any) -> dict[str, int]:
    """How often main calls each kernel."""
    from tvm import relax

    counted: dict[str, int] = {}
    for block in module["main"].body.blocks:
        for binding in block.bindings:
            value = getattr(binding, "value", None)
            if isinstance(value, relax.Call) and getattr(value.op, "name", "") == "relax.call_tir":
                name = value.args[0].name_hint
                counted[name] = counted.get(name, 0) + 1
    return counted


def _runner(remote: str | None, threads: int, seed: int) -> Runner:
    if remote is None:
        return LocalRunner(threads, seed)
    from tvmlab.measure.remote import RemoteRunner

    return RemoteRunner(remote, threads, seed)


def _tune_all(
    tasks: Sequence[_Task],
    runner: Runner,
    known: Database,
    trials: int,
    threads: int,
    seed: int,
    progress: Progress | None,
) -> list[KernelTuning]:
    done: list[KernelTuning] = []
    timed: list[tuple[_Task, float]] = []
    for at, task in enumerate(tasks):
        ongoing.say(f"timing {task.name} by the rule", at, len(tasks))
        record = known.get(task.key, runner.machine, threads)
        try:
            seconds = record.rule_seconds if record else quantile(sorted(runner.rule(module_text(task.rule))), 0.5)
        except ValueError as error:
            done.append(KernelTuning(task.name, task.calls, "left", 0.0, 0.0, note=str(error)))
        else:
            timed.append((task, seconds))
    timed.sort(key=lambda pair: -pair[0].calls * pair[1])
    shares = deal(trials, [task.calls * seconds for task, seconds in timed])
    wanted = [share - _tried(known, task, runner, threads) for (task, _), share in zip(timed, shares, strict=True)]
    counter = _Counter(sum(max(more, 0) for more in wanted), progress)
    for (task, seconds), more in zip(timed, wanted, strict=True):
        record = known.get(task.key, runner.machine, threads)
        if more > 0:
            done.append(_search_further(task, record, runner, known, more, threads, seed, counter))
        elif record is not None:
            done.append(_row(task, record, "known"))
        else:
            note = "too little of the model's time for so few trials"
            done.append(KernelTuning(task.name, task.calls, "left", seconds, seconds, note=note))
    return done


def _tried(known: Database, task: _Task, runner: Runner, threads: int) -> int:
    record = known.get(task.key, runner.machine, threads)
    return 0 if record is None else record.trials


def _search_further(
    task: _Task,
    before: TunedKernel | None,
    runner: Runner,
    known: Database,
    trials: int,
    threads: int,
    seed: int,
    counter: _Counter,
) -> KernelTuning:
    """Search with as many trials more, and keep the better of what was known and what is found."""
    tried = before.trials if before is not None else 0
    try:
        found, failed, note = _tune_one(task, runner, trials, threads, seed + tried, counter)
    except ValueError as error:
        return KernelTuning(task.name, task.calls, "left", 0.0, 0.0, note=str(error))
    better = before if before is not None and before.gain >= found.gain else found
    record = dataclasses.replace(better, trials=tried + found.trials)
    known.add(record)
    return _row(task, record, "tuned" if record.taken else "rule", found.trials, failed, note)


def _row(task: _Task, record: TunedKernel, how: str, trials: int = 0, failed: int = 0, note: str = "") -> KernelTuning:
    now = record.seconds if record.taken else record.rule_seconds
    return KernelTuning(task.name, task.calls, how, record.rule_seconds, now, trials, failed, note)


def deal(trials: int, seconds: Sequence[float]) -> list[int]:
    """Deal trials to kernels (the longest first) by their time; none to those for which too few are left."""
    total, left = sum(seconds), trials
    shares = []
    for each in seconds:
        share = min(left, max(_LEAST_TRIALS, round(trials * each / total))) if each >= _LEAST_SHARE * total else 0
        if share < min(_LEAST_TRIALS, trials):
            share = 0
        shares.append(share)
        left -= share
    if shares and left > 0:
        shares[0] += left
    return shares


@dataclass
class _Counter:
    """Counts trials, and tells of each."""

    trials: int
    progress: Progress | None
    done: int = 0

    def tell(self, kernel: str, rule: float, best: float | None) -> None:
        self.done += 1
        step = Step(self.done, self.trials, kernel, rule, best)
        if self.progress is not None:
            self.progress(step)
        else:
            ongoing.say(step.words, step.done, step.trials)


def _tune_one(
    task: _Task, runner: Runner, trials: int, threads: int, seed: int, counter: _Counter
) -> tuple[TunedKernel, int, str]:
    """Search for one kernel: what is to be kept, how many candidates failed, and what went wrong.

    Raises
    ------
    ValueError
        Not even the rule's schedule can be measured.
    """
    rule_module = module_text(task.rule)
    rule = quantile(sorted(runner.rule(rule_module)), 0.5)
    best: tuple[float, str, Any] | None = None
    measured, failed, note = 0, 0, ""
    question = {
        "module": module_text(task.plain),
        "target": _target_facts(runner.target, threads),
        "trials": trials,
        "seed": seed,
        "threads": threads,
    }
    with Child("tvmlab.measure.searching") as searcher:
        try:
            answer = searcher.ask(question, _PROPOSING)
            while "candidates" in answer:
                found: list[list[float] | None] = []
                for candidate in answer["candidates"]:
                    seconds, why = _measured(runner, candidate["module"])
                    found.append(seconds)
                    measured, failed, note = measured + 1, failed + (seconds is None), why or note
                    if seconds and (best is None or min(seconds) < best[0]):
                        best = (min(seconds), candidate["module"], candidate["trace"])
                    counter.tell(task.name, rule, best[0] if best else None)
                answer = searcher.ask({"seconds": found}, _PROPOSING)
        except ChildLost as lost:
            note = f"the search ended early: {lost}"
    return _duel(task, runner, rule_module, best, measured, threads, rule), failed, note


def _duel(
    task: _Task,
    runner: Runner,
    rule_module: str,
    best: tuple[float, str, Any] | None,
    measured: int,
    threads: int,
    rule: float,
) -> TunedKernel:
    """The best candidate against the rule's schedule: the record to keep."""
    facts: dict[str, Any] = {
        "key": task.key,
        "kernel": task.name,
        "machine": runner.machine,
        "threads": threads,
        "trials": measured,
    }
    nothing = TunedKernel(**facts, rule_seconds=rule, seconds=rule, gain=1.0, trace=None)
    if best is None:
        return nothing
    try:
        runner.rule(rule_module)
        rounds = runner.duel(best[1])
    except ValueError:
        return nothing
    ratios = sorted(a / b for a, b in zip(rounds["rule"], rounds["tuned"], strict=True))
    middle = {name: quantile(sorted(seconds), 0.5) for name, seconds in rounds.items()}
    return TunedKernel(
        **facts,
        rule_seconds=middle["rule"],
        seconds=middle["tuned"],
        gain=quantile(ratios, 0.25),
        trace=best[2],
    )


def _measured(runner: Runner, module: str) -> tuple[list[float] | None, str]:
    try:
        return runner.candidate(module), ""
    except ValueError as error:
        return None, f"a candidate failed: {error}"


def _target_facts(target: Any, threads: int) -> dict[str, Any]:
    return {"kind": "llvm", "mcpu": str(target.attrs["mcpu"]), "num-cores": threads}


class LocalRunner:
    """Runs kernels in a process of ours, and starts another one where it dies or hangs."""

    def __init__(self, threads: int, seed: int) -> None:
        self.machine = tuned.here()
        self.target = runtime.host_target()
        self._threads, self._seed = threads, seed
        self._rule = ""
        self._child: Child | None = None

    def rule(self, module: str) -> list[float]:
        self._rule = module
        return self._seconds({"rule": module, "threads": self._threads, "seed": self._seed}, _STARTING)

    def candidate(self, module: str) -> list[float]:
        return self._seconds({"candidate": module}, _RUNNING)

    def duel(self, module: str) -> dict[str, list[float]]:
        return self._take(self._ask({"candidate": module, "duel": True}, _RUNNING))

    def _seconds(self, message: Mapping[str, Any], timeout: float) -> list[float]:
        seconds: list[float] = self._take(self._ask(message, timeout))["seconds"]
        return seconds

    def close(self) -> None:
        if self._child is not None:
            self._child.close()

    def _ask(self, message: Mapping[str, Any], timeout: float) -> dict[str, Any]:
        try:
            if self._child is None:
                self._child = Child("tvmlab.measure.kernel_runner")
                if "rule" not in message:
                    greeting = {"rule": self._rule, "threads": self._threads, "seed": self._seed}
                    self._take(self._child.ask(greeting, _STARTING))
            return self._child.ask(dict(message), timeout)
        except ChildLost as lost:
            self._child = None
            raise ValueError(f"the process that ran it: {lost}") from lost

    @staticmethod
    def _take(answer: dict[str, Any]) -> dict[str, Any]:
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer
