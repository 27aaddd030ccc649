"""Compose or add?  Whether TVM's own operators do what an operator does, and what that costs."""

from __future__ import annotations

import inspect
import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvmlab import ongoing, ops, runtime
from tvmlab.errors import CallError, PipelineError, TvmlabError
from tvmlab.measure.candidates import Candidate, candidates
from tvmlab.measure.machine import machine
from tvmlab.measure.rounds import run_rounds
from tvmlab.records import Record, Side, Timing
from tvmlab.runtime.children import Child, ChildLost
from tvmlab.runtime.executable import first_line

if TYPE_CHECKING:
    from tvmlab.ops import Op

__all__ = ["Advice", "Match", "advise"]

Array = NDArray[Any]
Build = Callable[[Any, Sequence[Any]], Any]

EXACT, ROUNDED, FINITE = "equal", "equal up to rounding", "equal for finite inputs only"
COMPOSED = "the composition given"

_ROUNDING = {"float16": 4e-3, "bfloat16": 3e-2, "float64": 1e-12}
_ROUNDING_ELSE = 2e-6  # float32, of an output's largest value
_NEAR = 0.05
_SLOWER = 1.1
_SEARCHED = 200  # elements of the largest input that is compared
_TIMED = 1 << 20  # elements of the largest input that is timed
_SCALES = (1e-3, 0.3, 1.0, 4.0, 30.0, 1e3)
_PATIENCE = 20.0  # seconds for one candidate
_STARTING = 120.0  # seconds for a child to start
_SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan)
_FEW = ((2, 3), (4,), (2, 3, 4))


@dataclass(frozen=True)
class Match:
    """A call of TVM's own operators that gives the values of ours, or nearly.

    Parameters
    ----------
    call : str
        As one writes it.
    how : str
        ``"equal"``, ``"equal up to rounding"``, ``"equal for finite inputs only"``; empty if it is only near.
    relative : float
        Largest difference on finite inputs, over the largest value of its output.
    max_ulp : float
        The same in units in the last place.
    """

    call: str
    how: str
    relative: float
    max_ulp: float


@dataclass(frozen=True, repr=False)
class Advice(Record):
    """Whether to compose an operator of existing ones, or to add it.

    Parameters
    ----------
    op : str
    verdict : {"compose", "add"}
    reasons : tuple of str
        Why, with the figures that were measured; the deciding one first.
    matches : tuple of Match
        What gives the same values, the best first.
    nearest : Match or None
        What comes nearest, where nothing matches.
    tried : int
        Calls of TVM's operators that were evaluated.
    elements : int
        Outputs that were compared, for each of them.
    timing : Timing or None
        The operator against its composition.
    """

    op: str
    verdict: str
    reasons: tuple[str, ...]
    matches: tuple[Match, ...]
    nearest: Match | None
    tried: int
    elements: int
    timing: Timing | None = field(default=None)
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        return f"{self.op}: {self.verdict}; {self.reasons[0]}"


def advise(
    op: str | Op,
    *,
    composed: Callable[..., Any] | None = None,
    inputs: Sequence[Any] | None = None,
    threads: int | None = None,
    seed: int = 0,
    budget: float = 6.0,
    **attributes: Any,
) -> Advice:
    """Compose or add: search TVM's operators for an equal one, and measure ours against it.

    Parameters
    ----------
    op : str or Op
        A live operator.
    composed : callable, optional
        The same from TVM's operators, for what no single one does: a function of Relax expressions, then of the
        attributes that it names, such as ``lambda x, lower: relax.op.maximum(x, relax.const(lower))``.
    inputs : sequence of ndarray, optional
        To time with.  Default: random ones, the largest of a million elements where the operator takes any size.
    threads : int, optional
        To time on.  Default: all that TVM uses.
    seed : int
        Of the inputs.
    budget : float
        Seconds that the timing may take.
    **attributes
        Of the operator; default: those of its example.

    Returns
    -------
    Advice

    Raises
    ------
    CallError
        No inputs are known that the operator takes.
    PipelineError
        The operator ends the process on inputs of its own types.

    Notes
    -----
    The rule is that of the usual advice on new operators: compose if existing operators give the same values and the
    fused composition is as fast; add if they do not, or if it costs more than a tenth.  Values are compared on random
    inputs of several magnitudes, around the attributes' values, and with zeros, infinities and NaN in them; that is
    evidence, no proof.  The search runs in a process of its own, which some operators end.
    """
    op = ops.find(op) if isinstance(op, str) else op
    subject = _Subject(op, attributes)
    matches, nearest, tried, elements, notes = _search(subject, composed, seed)
    timing = None
    if matches:
        timing, more = _measure(subject, _builder(matches[0][0], subject), inputs, threads, seed, budget)
        notes += more
    found = tuple(match for _, match in matches)
    verdict, reasons = _verdict(subject, found, nearest, tried, timing, given=composed is not None)
    return Advice(op.name, verdict, reasons, found, nearest, tried, elements, timing, tuple(notes))


@dataclass(frozen=True)
class _Subject:
    """The operator, with the attributes it is judged for."""

    op: Op
    given: Mapping[str, Any]

    @property
    def attributes(self) -> dict[str, Any]:
        example = self.op.examination.example
        schema = self.op.spec.schema
        return dict(schema.values(schema.make({**(example.attributes if example else {}), **self.given})))

    def types(self, elements: int) -> list[tuple[tuple[int, ...], str]]:
        """Shape and dtype of each input, the largest of about so many elements where sizes are open."""
        examined = self.op.examination
        if examined.example is None:
            raise CallError(
                f"no inputs are known that {self.op.name} takes",
                where=self.op.spec.signature,
                mend="add examples = [{'x': (2, 3)}] to its cell",
            )
        kinds = examined.example.types if examined.symbolic is None else examined.symbolic.types
        rank = max((sum(not _is_number(d) for d in k.shape) for k in kinds), default=0)
        size = max(2, round(elements ** (1 / rank))) if rank else 1
        return [(tuple(int(d) if _is_number(d) else size for d in k.shape), str(k.dtype)) for k in kinds]

    def module(self, types: Sequence[tuple[tuple[int, ...], str]], build: Build | None = None) -> Any:
        """A function ``main`` that is one call of the operator, or what `build` emits."""
        from tvm import relax

        inputs = [
            relax.Var(name, relax.TensorType(shape, dtype))
            for name, (shape, dtype) in zip(self.names, types, strict=True)
        ]
        builder = relax.BlockBuilder()
        with runtime.quiet(), builder.function("main", inputs):
            with builder.dataflow():
                made = build(builder, inputs) if build else builder.emit(self.op.bind(*inputs, **self.attributes))
                result = builder.emit_output(made)
            builder.emit_func_output(result)
        return builder.get()

    @property
    def names(self) -> list[str]:
        count = len(self.types(1))
        own = list(self.op.spec.tensors)
        return [*own, *(f"x{i}" for i in range(len(own), count))][:count]


def _is_number(dimension: Any) -> bool:
    return isinstance(dimension, int) or hasattr(dimension, "value")


Found = tuple[Candidate | Callable[..., Any], Match]


def _search(
    subject: _Subject, composed: Callable[..., Any] | None, seed: int
) -> tuple[list[Found], Match | None, int, int, list[str]]:
    """What matches (the best first), what is nearest, how many were evaluated on how many elements, and remarks."""
    types = subject.types(_SEARCHED)
    sets, finite = _input_sets(types, subject.attributes, seed)
    composition = None if composed is None else _composition(subject, composed, types)
    with tempfile.TemporaryDirectory(prefix="tvmlab-") as folder:
        asker = _Asker(subject, types, sets, Path(folder) / "sets.npz")
        try:
            found: list[Found] = []
            near: list[Match] = []
            notes: list[str] = []
            if composed is not None:
                answer = asker.judge_module(composition)
                match = _match(COMPOSED, answer, finite, types)
                if match is None or not match.how:
                    notes.append(_differs(answer))
                else:
                    found.append((composed, match))
            for library in ("relax.op", "topi"):
                if any(match.how != FINITE for _, match in found):
                    break
                for candidate in candidates(library, len(types), subject.attributes):
                    ongoing.say(f"trying {candidate.text(subject.names)}")
                    match = _match(candidate.text(subject.names), asker.judge(candidate), finite, types)
                    if match is not None:
                        (found if match.how else near).append((candidate, match) if match.how else match)  # type: ignore[arg-type]
        finally:
            asker.close()
    found.sort(key=lambda f: (*_rank(f[1]), len(f[1].call)))
    nearest = min(near, key=lambda m: m.relative, default=None) if not found else None
    if asker.deadly:
        which = ", ".join(sorted(asker.deadly))
        notes.append(f"{which}: ended the process that evaluated them on these inputs, and count as different")
    return found, nearest, asker.tried, asker.elements, notes


def _rank(match: Match) -> tuple[int, int]:
    """The most equal first; of those, an operator before a compute without one."""
    return (EXACT, ROUNDED, FINITE).index(match.how), match.call.startswith("topi.")


def _differs(answer: Mapping[str, Any]) -> str:
    """Why the composition given is no match."""
    if "sets" not in answer:
        return f"the composition given cannot be taken: {answer['refused']}"
    worst = max(s["relative"] for s in answer["sets"])
    return f"the composition given has other values: off by {worst:.0e} of the largest"


def _input_sets(
    types: Sequence[tuple[tuple[int, ...], str]], attributes: Mapping[str, Any], seed: int
) -> tuple[list[tuple[Array, ...]], list[bool]]:
    """Inputs to compare on, and whether each set is finite."""
    random = np.random.default_rng(seed)
    marks = [float(v) for v in attributes.values() if isinstance(v, int | float)]
    sets = [tuple(_random(random, shape, dtype, scale) for shape, dtype in types) for scale in _SCALES]
    finite = [True] * len(sets)
    floats = any(np.dtype(dtype).kind == "f" for _, dtype in types)
    for values in (_SPECIAL[:4] + tuple(marks), _SPECIAL):
        if floats:
            sets.append(tuple(_strewn(random, shape, dtype, values) for shape, dtype in types))
            finite.append(all(map(math.isfinite, values)))
    return sets, finite


def _random(random: np.random.Generator, shape: Sequence[int], dtype: str, scale: float) -> Array:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if kind in "iu":
        return random.integers(1, 4, shape).astype(dtype)  # no zero to divide by; small, as they may be indices
    return (random.standard_normal(shape) * scale).astype(dtype)


def _strewn(random: np.random.Generator, shape: Sequence[int], dtype: str, values: Sequence[float]) -> Array:
    """Random numbers, of which a third are special."""
    array = _random(random, shape, dtype, 1.0)
    if array.dtype.kind == "f":
        chosen = random.random(shape) < 1 / 3
        array[chosen] = random.choice(values, int(chosen.sum()))
    return array


class _Asker:
    """Evaluates candidates in a child, and starts another one where it dies."""

    def __init__(
        self,
        subject: _Subject,
        types: Sequence[tuple[tuple[int, ...], str]],
        sets: Sequence[Sequence[Array]],
        path: Path,
    ) -> None:
        import tvm

        from tvmlab.pipeline import stages

        np.savez(path, **{f"{i}_{j}": array for i, arrays in enumerate(sets) for j, array in enumerate(arrays)})  # type: ignore[arg-type]
        self._hello = {
            "sets": str(path),
            "count": len(sets),
            "module": tvm.ir.save_json(stages.legalize(subject.module(types))),
        }
        self._name = subject.op.name
        self.tried = self.elements = 0
        self.deadly: dict[str, str] = {}
        self._child = self._start()

    def judge(self, candidate: Candidate) -> dict[str, Any]:
        """The child's answer; a death is a refusal, and what died once is not asked again."""
        name = f"{candidate.library}.{candidate.name}"
        if name in self.deadly:
            return {"refused": self.deadly[name]}
        facts = {"name": candidate.name, "order": candidate.order, "arguments": candidate.arguments}
        return self._ask(name, {"library": candidate.library, **facts})

    def judge_module(self, module: Any) -> dict[str, Any]:
        """The same for a legalized module."""
        import tvm

        return self._ask(COMPOSED, {"module": tvm.ir.save_json(module)})

    def close(self) -> None:
        self._child.close()

    def _ask(self, name: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            json.dumps(message)
        except TypeError:  # an attribute that is no plain value
            return {"refused": "an attribute cannot be given to another process"}
        try:
            answer = self._child.ask(message, _PATIENCE)
        except ChildLost as lost:
            self.tried += 1
            self.deadly[name] = str(lost)
            self._child = self._start()
            return {"refused": str(lost)}
        self.tried += "sets" in answer
        return answer

    def _start(self) -> Child:
        child = Child("tvmlab.measure.equality")
        try:
            self.elements = int(child.ask(self._hello, _STARTING)["elements"])
        except ChildLost as lost:
            raise PipelineError(
                f"{self._name} cannot be evaluated on inputs of its own types: {lost}",
                where="a process that was started for this",
                mend="run its cell again, call it on such inputs, and mend what it does there",
            ) from lost
        return child


def _match(
    call: str, answer: Mapping[str, Any], finite: Sequence[bool], types: Sequence[tuple[tuple[int, ...], str]]
) -> Match | None:
    """What the answer says of a candidate; None if it is not even near."""
    if "sets" not in answer:
        return None
    judged = list(zip(answer["sets"], finite, strict=True))
    usual = [s for s, is_finite in judged if is_finite]
    bound = max(_ROUNDING.get(dtype, _ROUNDING_ELSE) for _, dtype in types)

    def equal(sets: Sequence[Mapping[str, Any]]) -> bool:
        return all(s["non_finite"] == 0 and s["relative"] <= bound for s in sets)

    everything = [s for s, _ in judged]
    how = ""
    if all(s["exact"] for s in everything):
        how = EXACT
    elif equal(everything):
        how = ROUNDED
    elif equal(usual):
        how = FINITE
    relative = max(s["relative"] for s in usual)
    if not how and (any(s["non_finite"] for s in usual) or not relative <= _NEAR):
        return None
    return Match(call, how, relative, max(s["ulp"] for s in usual))


def _builder(chosen: Candidate | Callable[..., Any], subject: _Subject) -> Build:
    """What emits the composition into a block builder."""
    if isinstance(chosen, Candidate):
        return chosen.emit
    return lambda builder, tensors: builder.emit(_call_composed(chosen, subject, tensors))


def _composition(subject: _Subject, composed: Callable[..., Any], types: Sequence[tuple[tuple[int, ...], str]]) -> Any:
    from tvmlab.pipeline import stages

    try:
        return stages.legalize(subject.module(types, _builder(composed, subject)))
    except TvmlabError:
        raise
    except Exception as error:
        raise CallError(
            f"the composition given fails: {first_line(error)}",
            where="composed=",
            mend=f"it takes {', '.join(subject.names)} as Relax expressions, then the attributes that it names",
        ) from error


def _call_composed(composed: Callable[..., Any], subject: _Subject, tensors: Sequence[Any]) -> Any:
    from tvm import relax

    if isinstance(composed, relax.Function):
        return relax.Call(composed, list(tensors))
    named = inspect.signature(composed).parameters
    attributes = {name: value for name, value in subject.attributes.items() if name in named}
    return composed(*tensors, **attributes)


def _measure(
    subject: _Subject,
    build: Build,
    inputs: Sequence[Any] | None,
    threads: int | None,
    seed: int,
    budget: float,
) -> tuple[Timing, list[str]]:
    """The operator, and its composition unfused and fused, in one interleaved run."""
    from tvmlab import pipeline
    from tvmlab.pipeline.model import model_of_module

    notes: list[str] = []
    random = np.random.default_rng(seed)
    if inputs is None:
        types = subject.types(_TIMED)
        arrays: list[Array] = [_random(random, shape, dtype, 1.0) for shape, dtype in types]
        if subject.op.examination.symbolic is None:
            notes.append("the operator has fixed sizes, so small inputs were timed; inputs=[…] gives others")
    else:
        arrays = [np.asarray(a) for a in inputs]
        types = [(tuple(a.shape), str(a.dtype)) for a in arrays]
    own = model_of_module(subject.module(types), subject.op.name)
    other = model_of_module(subject.module(types, build), COMPOSED)
    fused, apart = pipeline.trace(other), pipeline.trace(other, engine="none")
    kernels = {subject.op.name: pipeline.trace(own)}
    if apart["schedule"].kernels > fused["schedule"].kernels:
        kernels["composed, unfused"] = apart
    kernels["composed"] = fused
    threads = runtime.thread_count() if threads is None else threads
    with runtime.threads(threads):
        calls = {name: trace.executable.bind(*arrays) for name, trace in kernels.items()}
        rounds = run_rounds(calls, budget=budget, seed=seed)
    shapes = ", ".join(f"{dtype}[{', '.join(map(str, shape))}]" for shape, dtype in types)
    sides = tuple(
        Side(name, rounds.seconds[name], _kernel_count(trace["schedule"].kernels)) for name, trace in kernels.items()
    )
    return Timing(f"on {shapes}", sides, subject.op.name, threads, machine()), notes


def _kernel_count(kernels: int) -> str:
    return f"{kernels:,} kernel{'s' * (kernels != 1)}"


def _verdict(
    subject: _Subject,
    matches: Sequence[Match],
    nearest: Match | None,
    tried: int,
    timing: Timing | None,
    given: bool,
) -> tuple[str, tuple[str, ...]]:
    if not matches or timing is None:
        return "add", tuple(_why_nothing(nearest, tried, given))
    best = matches[0]
    low, middle, high = timing.ratio("composed", subject.op.name)
    takes = f"{middle:.2f} ({low:.2f} – {high:.2f}) times as long"
    reasons = list(_unfused(timing, subject.op.name))
    if best.how == FINITE:
        reasons.append(
            "it differs where an input is infinite or NaN: add the operator if these matter to you, else compose"
        )
    if subject.op.spec.schedule is not None:
        reasons.append("its cell brings a schedule, which no composition carries: what it gains is in the times above")
    if low > _SLOWER:
        return "add", (f"{best.call} is {best.how}, but takes {takes} even fused", *reasons)
    gain = "nothing is left to maintain"
    if best.call.startswith("topi."):
        gain = "it is a compute that needs no operator, since builder.emit_te(…) puts it into a model"
    return "compose", (f"{best.call} is {best.how}, and takes {takes}; {gain}", *reasons)


def _unfused(timing: Timing, own: str) -> Iterator[str]:
    names = [side.name for side in timing.sides]
    if "composed, unfused" in names:
        _, apart, _ = timing.ratio("composed, unfused", own)
        yield f"without fusion it takes {apart:.2f} times as long: where a backend does not fuse, that is its price"


def _why_nothing(nearest: Match | None, tried: int, given: bool) -> Iterator[str]:
    yield f"none of {tried:,} calls of TVM's operators gives its values"
    if nearest is not None:
        yield f"the nearest is {nearest.call}, off by {nearest.relative:.0e} of the largest value"
    if not given:
        yield "if several of them together do, give them to be measured: composed=lambda x: relax.op.…"
