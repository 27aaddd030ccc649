"""How fast: a model unfused, fused and scheduled, and in onnxruntime, timed against each other in one run."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tvmlab import runtime
from tvmlab.errors import BackendError, CallError, PipelineError
from tvmlab.measure.inputs import Feeds, Given, make_inputs
from tvmlab.measure.machine import machine
from tvmlab.measure.onnx_engines import open_session
from tvmlab.measure.rounds import Rounds, run_rounds
from tvmlab.measure.ulp import compare
from tvmlab.records import Side, Timing, quantile

if TYPE_CHECKING:
    import onnx

    from tvmlab.pipeline import Model, Trace

__all__ = ["SIDES", "bench"]

Array = NDArray[Any]

SIDES = ("unfused", "fused", "scheduled", "onnxruntime")
PEER = "onnxruntime"
_STAGES = {"unfused": "legalize", "fused": "fuse"}
_SLICE = 0.004  # seconds a scheduler gives one of two threads that want the same processor
_TRIAL = 3  # rounds
_ENOUGH = 5
_NOISY = 1.5
_WRONG = 1e-3


@dataclass(frozen=True)
class _Contender:
    """A side before it is timed: a call that returns its outputs, and what a reader must know of it."""

    call: Callable[[], Sequence[Array]]
    note: str


def bench(
    model: Model,
    *,
    sides: Sequence[str] = SIDES,
    repeats: int | None = None,
    threads: int | None = None,
    inputs: Given = None,
    seed: int = 0,
    budget: float = 20.0,
) -> Timing:
    """Time a model's builds and onnxruntime against each other.

    Parameters
    ----------
    model : Model
    sides : sequence of str
        Of ``unfused`` (one kernel an operator), ``fused``, ``scheduled`` (fused, inlined, parallel, vectorised) and
        ``onnxruntime`` (all its optimisations).  The first is what the others are compared with.
    repeats : int, optional
        Rounds; each side runs once in each, in a random order.  Default: as many as fit into `budget`, 3 to 51.
    threads : int, optional
        Threads of every side.  Default: all that TVM uses.
    inputs : dict or sequence of ndarray, optional
        See `make_inputs`; random by default.
    seed : int
        Of the inputs and of the order.
    budget : float
        Seconds that the timing may take if `repeats` is not given; compiling comes on top.

    Returns
    -------
    Timing
        Every repeat of every side, in seconds for one run of the model.

    Raises
    ------
    CallError
        A side is unknown, or given twice; there are fewer threads than `threads`.
    BackendError
        Only onnxruntime was asked for, and it is not installed.

    Notes
    -----
    Inputs and outputs stay where each side wants them; nothing is copied within the time.  A model that holds live
    operators has none that onnxruntime knows: there the network before they came into it is timed, and the side's
    note says so.
    """
    _check_sides(sides)
    threads = runtime.thread_count() if threads is None else threads
    feeds = make_inputs(model.inputs, inputs, seed)
    with runtime.threads(threads):
        contenders, notes = _contenders(model, sides, feeds, threads)
        outputs: dict[str, Sequence[Array]] = {}
        rounds = run_rounds(
            {name: _keeping(name, c.call, outputs) for name, c in contenders.items()},
            repeats=repeats,
            budget=budget,
            seed=seed,
        )
    timed = tuple(Side(n, rounds.seconds[n], _note(c, rounds.calls[n])) for n, c in contenders.items())
    notes += [*feeds.notes, *_differing(outputs), *_suspicions(rounds, threads)]
    return Timing(model.name, timed, timed[0].name, threads, machine(), tuple(notes))


def _check_sides(sides: Sequence[str]) -> None:
    if isinstance(sides, str) or not sides or len(set(sides)) != len(sides):
        raise CallError(f"sides={sides!r} must be different names", mend=f"sides={SIDES!r}")
    for side in sides:
        if side not in SIDES:
            near = difflib.get_close_matches(str(side), SIDES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the sides are {', '.join(SIDES)}"
            raise CallError(f"there is no side {side!r}", mend=hint)


def _contenders(
    model: Model, sides: Sequence[str], feeds: Feeds, threads: int
) -> tuple[dict[str, _Contender], list[str]]:
    from tvmlab import pipeline

    trace = pipeline.trace(model) if any(side != PEER for side in sides) else None
    found: dict[str, _Contender] = {}
    notes: list[str] = []
    for side in sides:
        if side != PEER:
            assert trace is not None
            found[side] = _build(trace, side, feeds, threads)
            continue
        try:
            found[side] = _peer(model, feeds, threads)
        except (BackendError, PipelineError) as error:
            if len(sides) == 1:
                raise
            notes.append(f"{PEER} is left out: {error.what}" + (f" ({error.mend})" if error.mend else ""))
    return found, notes


def _build(trace: Trace, side: str, feeds: Feeds, threads: int) -> _Contender:
    stage = _STAGES.get(side)
    executable = trace.executable if stage is None else trace.compiled(stage)
    kernels = trace["legalize" if side == "unfused" else "fuse"].kernels
    # A kernel becomes parallel when it is scheduled.
    alone = ", on one thread" if stage is not None and threads > 1 else ""
    return _Contender(executable.bind(*feeds.arrays), f"{kernels:,} kernels{alone}")


def _peer(model: Model, feeds: Feeds, threads: int) -> _Contender:
    network, note = _network(model)
    asleep = _session_call(network, model, feeds, threads, spinning=False)
    if threads == 1:
        return _Contender(asleep, note)
    # Which of the two is faster depends on what else the machine does; the peer gets the better one.
    spinning = _session_call(network, model, feeds, threads, spinning=True)
    trial = run_rounds({"asleep": asleep, "spinning": spinning}, repeats=_TRIAL).seconds
    better, how = (asleep, "sleep") if min(trial["asleep"]) <= min(trial["spinning"]) else (spinning, "spin")
    return _Contender(better, "; ".join(filter(None, (note, f"threads that wait {how}, which is faster here"))))


def _session_call(
    network: onnx.ModelProto, model: Model, feeds: Feeds, threads: int, spinning: bool
) -> Callable[[], tuple[()]]:
    """A run of onnxruntime with inputs and outputs bound, so that nothing is copied in it."""
    session = open_session(network, optimise=True, threads=threads, spinning=spinning)
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
    arrays = {name: _arrays(result) for name, result in outputs.items() if name != PEER}
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
    if hasattr(result, "numpy"):
        return [result.numpy()]
    return [array for part in result for array in _arrays(part)]


def _suspicions(rounds: Rounds, threads: int) -> list[str]:
    """What a reader should doubt."""
    ordered = {name: sorted(seconds) for name, seconds in rounds.seconds.items()}
    fewest = min(map(len, ordered.values()))
    notes = [f"only {fewest} rounds: medians may be off, and quartiles say little"] if fewest < _ENOUGH else []
    sliced = [name for name, seconds in ordered.items() if threads > 1 and _looks_sliced(seconds)]
    if sliced:
        notes.append(
            f"{', '.join(sliced)}: times near multiples of {_SLICE * 1e3:.0f} ms come from a scheduler that shares a "
            "processor between threads, not of the kernels; threads=1 shows these"
        )
    noisy = [n for n, s in ordered.items() if len(s) >= _ENOUGH and quantile(s, 0.75) > _NOISY * quantile(s, 0.25)]
    if noisy:
        notes.append(
            f"{', '.join(noisy)}: half of the repeats are further apart than {_NOISY} to 1: the machine is busy"
        )
    return notes


def _looks_sliced(ordered: Sequence[float]) -> bool:
    """Whether most repeats lie near small multiples of a scheduler's slice, while the least does not need one."""
    multiples = [s / _SLICE for s in ordered]
    near = [m for m in multiples if 0.9 <= m <= 10 and abs(m - round(m)) < 0.08]
    return len(ordered) >= _ENOUGH and len(near) >= 0.6 * len(ordered) and ordered[0] < 0.6 * quantile(ordered, 0.5)
