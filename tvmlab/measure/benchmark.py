"""How fast: a model's builds and onnxruntime, or an operator's forms, timed against each other in one run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvmlab import ongoing, ops, runtime
from tvmlab.errors import BackendError, CallError, PipelineError, nearest
from tvmlab.measure.inputs import Feeds, Given, make_inputs
from tvmlab.measure.kernels import KernelWatch, watch_kernels
from tvmlab.measure.machine import machine
from tvmlab.measure.onnx_engines import open_session
from tvmlab.measure.operator_forms import OP_SIDES, Form, operator_forms
from tvmlab.measure.rounds import Rounds, run_rounds
from tvmlab.measure.ulp import compare
from tvmlab.records import Side, Timing, quantile

if TYPE_CHECKING:
    import onnx

    from tvmlab.pipeline import Model

__all__ = ["DEFAULT_SIDES", "OP_SIDES", "SIDES", "bench"]

Array = NDArray[Any]

_PEERS = {"onnxruntime": True, "onnxruntime-all": True, "onnxruntime-off": False}
"""Whether onnxruntime optimises the graph."""

DEFAULT_SIDES = ("unfused", "fused", "scheduled", "onnxruntime")
_FULL = ("full", "scheduled")
_SLICE = 0.004  # seconds a scheduler gives one of two threads that want the same processor
_NEAR = 0.1
_TRIAL = 3  # rounds
_ENOUGH = 5
_NOISY = 1.5
_STALLED = 2.0
_WRONG = 1e-3


@dataclass(frozen=True)
class _Build:
    """One way to compile a model.

    Parameters
    ----------
    compile : callable
        From a model to its executable.
    stage : str
        The stage of the trace that has as many kernels.
    parallel : bool
        Whether its kernels use several threads.
    """

    compile: Callable[[Model], Any]
    stage: str
    parallel: bool


def _of_stage(stage: str, *, kernels: str = "fuse") -> _Build:
    def compiled(model: Model) -> Any:
        from tvmlab import pipeline

        return pipeline.trace(model).compiled(stage)

    # A kernel becomes parallel when it is scheduled.
    return _Build(compiled, kernels, parallel=stage == "schedule")


def _tuned(model: Model) -> Any:
    from tvmlab import pipeline

    return pipeline.trace(model, tuned=True).executable


_BUILDS = {
    "none": _of_stage("legalize", kernels="legalize"),
    "fuse": _of_stage("fuse"),
    "fuse+inline": _of_stage("inline"),
    "full": _of_stage("schedule"),
    "tuned": _Build(_tuned, "fuse", parallel=True),
}
_OTHER_NAMES = {"unfused": "none", "fused": "fuse", "scheduled": "full", "onnxruntime-all": "onnxruntime"}
SIDES = (*_BUILDS, "onnxruntime", "onnxruntime-off", *_OTHER_NAMES)


@dataclass(frozen=True)
class _Contender:
    """A side before it is timed: a call that returns its outputs, and what a reader must know of it."""

    call: Callable[[], Sequence[Array]]
    note: str
    kernels: int = 0


def bench(
    model: Model | ops.Op,
    *,
    sides: Sequence[str] | None = None,
    repeats: int | None = None,
    threads: int | None = None,
    inputs: Given = None,
    seed: int = 0,
    budget: float = 20.0,
    kernels: bool = False,
    composed: Any = None,
    attributes: Mapping[str, Any] | None = None,
    remote: str | None = None,
) -> Timing:
    """Time a model's builds and onnxruntime against each other, or an operator's forms.

    Parameters
    ----------
    model : Model or Op
    sides : sequence of str, optional
        Of a model: ``none`` or ``unfused`` (one kernel an operator), ``fuse`` or ``fused``, ``fuse+inline`` (no buffers
        between the steps of a kernel), ``full`` or ``scheduled`` (also parallel and vectorised), ``tuned`` (with the
        schedules that `tvmlab.measure.tune` found faster than these), ``onnxruntime`` or
        ``onnxruntime-all`` (all its optimisations), ``onnxruntime-off`` (none).  Default: `DEFAULT_SIDES`.
        Of an operator: ``numpy`` (its reference), ``composed`` and ``kernel``.  Default: those that it has.
        The first is what the others are compared with.
    repeats : int, optional
        Rounds; each side runs once in each, in a random order.  Default: as many as fit into `budget`, 3 to 51.
    threads : int, optional
        Threads of every side.  Default: all that TVM uses.
    inputs : dict or sequence of ndarray, optional
        See `make_inputs`; random by default.  An operator's have the form of its example, but are larger.
    seed : int
        Of the inputs and of the order.
    budget : float
        Seconds that the timing may take if `repeats` is not given; compiling comes on top.
    kernels : bool
        Whether to time each kernel of the full build too, and what the machine can do at most.
    composed : Op, str or callable, optional
        The same as an operator, made of others: another operator with the same attributes, or a function of Relax
        expressions and the attributes by name.
    attributes : mapping, optional
        Of the operator.
    remote : str, optional
        ``tracker://host:port/key``: on a device that TVM's RPC tracker lends, by that device's own clock.

    Returns
    -------
    Timing
        Every repeat of every side, in seconds for one run; its `kernels` if they were asked for.

    Raises
    ------
    CallError
        A side is unknown, or given twice; there are fewer threads than `threads`; an option is for operators alone.
    BackendError
        Only onnxruntime was asked for, and it is not installed.
    RemoteLost
        The remote device cannot be reached or went away; its ``partial`` is a Timing of the rounds before.

    Notes
    -----
    Inputs and outputs stay where each side wants them; nothing is copied within the time.  A model that holds live
    operators has none that onnxruntime knows: there the network before they came into it is timed, and the side's
    note says so.
    """
    if remote is not None:
        return _on_remote(model, remote, sides, repeats, threads, inputs, seed, budget, kernels=kernels)
    threads = runtime.thread_count() if threads is None else threads
    with runtime.threads(threads):
        if isinstance(model, ops.Op):
            made = operator_forms(model, sides, composed, attributes or {}, inputs, seed)
            contenders = {n: _of_form(form) for n, form in made.forms.items()}
            name, feeds, full, notes = model.name, made.feeds, made.model, [*made.notes]
        else:
            if composed is not None or attributes is not None:
                raise CallError("composed and attributes are for operators", mend="leave them out, or give an operator")
            chosen = DEFAULT_SIDES if sides is None else sides
            _check_sides(chosen)
            feeds = make_inputs(model.inputs, inputs, seed)
            contenders, notes = _contenders(model, chosen, feeds, threads)
            name, full = model.name, model
        watch = _watch(full, feeds, threads) if kernels else None
        outputs: dict[str, Sequence[Array]] = {}
        calls: dict[str, Callable[[], object]] = {n: _keeping(n, c.call, outputs) for n, c in contenders.items()}
        rounds = run_rounds({**calls, **(watch.calls if watch else {})}, repeats=repeats, budget=budget, seed=seed)
    timed = tuple(Side(n, rounds.seconds[n], _note(c, rounds.calls[n])) for n, c in contenders.items())
    counts = {n: c.kernels for n, c in contenders.items() if c.kernels}
    notes += [*feeds.notes, *_differing(outputs), *_suspicions(rounds.of(contenders), threads, counts)]
    profile = watch.profile(rounds) if watch else None
    return Timing(name, timed, timed[0].name, threads, machine(), tuple(notes), profile)


def _on_remote(
    model: Model | ops.Op,
    remote: str,
    sides: Sequence[str] | None,
    repeats: int | None,
    threads: int | None,
    inputs: Given,
    seed: int,
    budget: float,
    *,
    kernels: bool,
) -> Timing:
    from tvmlab.measure.remote import remote_bench

    if isinstance(model, ops.Op) or kernels:
        raise CallError("a remote device times whole models", mend="give a model, and leave kernels out")
    chosen = DEFAULT_SIDES if sides is None else sides
    _check_sides(chosen)
    return remote_bench(
        model, remote, sides=chosen, repeats=repeats, threads=threads, inputs=inputs, seed=seed, budget=budget
    )


def _watch(model: Model, feeds: Feeds, threads: int) -> KernelWatch:
    from tvmlab import pipeline

    return watch_kernels(pipeline.trace(model), feeds.arrays, threads)


def _of_form(form: Form) -> _Contender:
    return _Contender(form.call, form.note)


def _check_sides(sides: Sequence[str]) -> None:
    if isinstance(sides, str) or not sides:
        raise CallError(f"sides={sides!r} must be different names", mend=f"sides={DEFAULT_SIDES!r}")
    for side in sides:
        if side not in SIDES:
            near = nearest(side, SIDES)
            hint = f"did you mean {near!r}?" if near else f"the sides are {', '.join(SIDES)}"
            raise CallError(f"there is no side {side!r}", mend=hint)
    if len({_OTHER_NAMES.get(side, side) for side in sides}) != len(sides):
        raise CallError(f"sides={tuple(sides)!r} names one side twice", mend=f"sides={DEFAULT_SIDES!r}")


def _contenders(
    model: Model, sides: Sequence[str], feeds: Feeds, threads: int
) -> tuple[dict[str, _Contender], list[str]]:
    found: dict[str, _Contender] = {}
    notes: list[str] = []
    for side in sides:
        ongoing.say(f"compiling {side}", len(found), len(sides))
        if side not in _PEERS:
            found[side] = _build(model, _BUILDS[_OTHER_NAMES.get(side, side)], feeds, threads)
            continue
        try:
            found[side] = _peer(model, feeds, threads, optimise=_PEERS[side])
        except (BackendError, PipelineError) as error:
            if len(sides) == 1:
                raise
            notes.append(f"{side} is left out: {error.what}" + (f" ({error.mend})" if error.mend else ""))
    return found, notes


def _build(model: Model, build: _Build, feeds: Feeds, threads: int) -> _Contender:
    from tvmlab import pipeline

    count = pipeline.trace(model)[build.stage].kernels
    alone = ", on one thread" if threads > 1 and not build.parallel else ""
    return _Contender(build.compile(model).bind(*feeds.arrays), f"{count:,} kernel{'s' * (count != 1)}{alone}", count)


def _peer(model: Model, feeds: Feeds, threads: int, *, optimise: bool) -> _Contender:
    network, note = _network(model)
    note = "; ".join(filter(None, (note, "" if optimise else "its graph as it is")))
    asleep = _session_call(network, model, feeds, threads, optimise=optimise, spinning=False)
    if threads == 1:
        return _Contender(asleep, note)
    # Which of the two is faster depends on what else the machine does; the peer gets the better one.
    spinning = _session_call(network, model, feeds, threads, optimise=optimise, spinning=True)
    trial = run_rounds({"asleep": asleep, "spinning": spinning}, repeats=_TRIAL).seconds
    better, how = (asleep, "sleep") if min(trial["asleep"]) <= min(trial["spinning"]) else (spinning, "spin")
    return _Contender(better, "; ".join(filter(None, (note, f"threads that wait {how}, which is faster here"))))


def _session_call(
    network: onnx.ModelProto, model: Model, feeds: Feeds, threads: int, *, optimise: bool, spinning: bool
) -> Callable[[], tuple[()]]:
    """A run of onnxruntime with inputs and outputs bound, so that nothing is copied in it."""
    session = open_session(network, optimise=optimise, threads=threads, spinning=spinning)
    binding = session.io_binding()
    for tensor, array in zip(model.inputs, feeds.arrays, strict=True):
        binding.bind_cpu_input(tensor.name, array)
    for output in network.graph.output:
        binding.bind_output(output.name)

    def call() -> tuple[()]:
        session.run_with_iobinding(binding)
        return ()

    call()
    return call


def _network(model: Model) -> tuple[onnx.ModelProto, str]:
    """What onnxruntime runs in the model's place, and how to say so."""
    if model.onnx is None:
        raise PipelineError("the model did not come from ONNX")
    if not model.ops:
        return model.onnx, ""
    if model.original is None or model.original.onnx is None or model.original.ops:
        raise PipelineError(f"it does not know {', '.join(model.ops)}")
    return model.original.onnx, f"the network before {', '.join(model.ops)} came into it"


def _keeping(name: str, call: Callable[[], Any], outputs: dict[str, Any]) -> Callable[[], object]:
    """The call, with its last outputs kept."""

    def kept() -> None:
        outputs[name] = call()

    return kept


def _note(contender: _Contender, calls: int) -> str:
    taken = f"{calls:,} calls a repeat" if calls > 1 else ""
    return "; ".join(filter(None, (contender.note, taken)))


def _differing(outputs: Mapping[str, Any]) -> list[str]:
    """A fast wrong answer is no speed: whether the builds agree with each other."""
    arrays = {name: _arrays(result) for name, result in outputs.items() if name not in _PEERS}
    first = next(iter(arrays), None)
    notes = []
    for name, results in arrays.items():
        errors = [compare(want, got) for want, got in zip(arrays[first or ""], results, strict=True)]
        if any(error.non_finite or error.relative > _WRONG for error in errors):
            worst = max(error.relative for error in errors)
            notes.append(
                f"{name} gives other values than {first} ({worst:.0e} of the largest): tl.verify(model) says which"
            )
    return notes


def _arrays(result: Any) -> list[Array]:
    if isinstance(result, np.ndarray | np.generic):
        return [np.asarray(result)]
    if hasattr(result, "numpy"):
        return [result.numpy()]
    return [array for part in result for array in _arrays(part)]


def _suspicions(rounds: Rounds, threads: int, kernels: Mapping[str, int]) -> list[str]:
    """What a reader should doubt.

    Parameters
    ----------
    kernels : mapping of str to int
        How many kernels each side runs, where that is known.
    """
    ordered = {name: sorted(seconds) for name, seconds in rounds.seconds.items()}
    fewest = min(map(len, ordered.values()))
    notes = [f"only {fewest} rounds: medians may be off, and quartiles say little"] if fewest < _ENOUGH else []
    if threads > 1:
        notes += _slices(ordered, rounds.quickest, kernels)
    noisy = [n for n, s in ordered.items() if len(s) >= _ENOUGH and quantile(s, 0.75) > _NOISY * quantile(s, 0.25)]
    if noisy:
        notes.append(
            f"{', '.join(noisy)}: half of the repeats are further apart than {_NOISY} to 1: the machine is busy"
        )
    return notes


def _slices(
    ordered: Mapping[str, Sequence[float]], quickest: Mapping[str, float], kernels: Mapping[str, int]
) -> list[str]:
    """Signs that threads waited for a processor, which a scheduler hands out in slices, once for each kernel."""
    slice_ms = f"{_SLICE * 1e3:.0f} ms"
    notes = []
    sliced = [name for name, seconds in ordered.items() if _looks_sliced(seconds)]
    if sliced:
        notes.append(
            f"{', '.join(sliced)}: times near multiples of {slice_ms} come from a scheduler that shares a "
            "processor between threads, not from the kernels; threads=1 shows these"
        )
    medians = {name: quantile(seconds, 0.5) for name, seconds in ordered.items()}
    for slow, fast in itertools.combinations(kernels, 2):
        ratio, expected = medians[slow] / medians[fast], kernels[slow] / kernels[fast]
        whole = all(_in_slices(medians[name]) for name in (slow, fast))
        if whole and expected != 1 and abs(ratio / expected - 1) < _NEAR:
            notes.append(
                f"{slow} / {fast} = {ratio:.2f} is the ratio of their kernels, {kernels[slow]} / {kernels[fast]}, and "
                f"both times are multiples of {slice_ms}: one slice of a scheduler a kernel; threads=1 shows these"
            )
    stalled = [name for name, once in quickest.items() if medians[name] > _STALLED * once and name not in sliced]
    if stalled:
        notes.append(
            f"{', '.join(stalled)}: the usual call takes more than {_STALLED:g} times as long as the quickest: its "
            "threads wait for a processor; threads=1 shows the kernels"
        )
    return notes


def _in_slices(seconds: float) -> bool:
    """Whether a time is near a small multiple of a scheduler's slice."""
    multiple = seconds / _SLICE
    return 0.9 <= multiple <= 10 and abs(multiple - round(multiple)) < 0.08


def _looks_sliced(ordered: Sequence[float]) -> bool:
    """Whether most repeats lie near small multiples of a scheduler's slice, while the least does not need one."""
    near = [s for s in ordered if _in_slices(s)]
    return len(ordered) >= _ENOUGH and len(near) >= 0.6 * len(ordered) and ordered[0] < 0.6 * quantile(ordered, 0.5)
