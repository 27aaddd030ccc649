"""C16: the gradient is the slope: compared with central differences in float64, kinks told apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm import relax

from tvmlab.checks import variants
from tvmlab.checks.graphs import function
from tvmlab.checks.inputs import rounds
from tvmlab.checks.kernels import Kernel, runnable
from tvmlab.checks.outcome import Outcome, failed, failed_by, ok, skipped
from tvmlab.checks.repro import gradient_cell
from tvmlab.checks.subject import Configuration, Prepared, Refused, Subject, outputs_of
from tvmlab.errors import TvmlabError
from tvmlab.ops import lowering
from tvmlab.ops.evaluate import NotEvaluable
from tvmlab.ops.guarded import guarded

Array = NDArray[Any]

_STEP = 6e-6
_KINK = 1e-3
_TOLERANCE = 2e-6
_ELEMENTS = 12
_ROUNDS = 3


@dataclass
class _Tally:
    """What was seen: slopes that agree, kinks, and the worst that does not agree."""

    agreed: int = 0
    kinks: list[str] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    worst: tuple[float, str, float, float, Configuration, Sequence[Array]] | None = None


def run(subject: Subject) -> Outcome:
    """Differentiate a weighted sum of the outputs by TVM, and by differences."""
    spec = subject.spec
    if spec.gradient is None:
        return skipped("the cell has no gradient, so it cannot be trained through; add def gradient(dy, x, …)")
    tally = _Tally()
    reason = ""
    for configuration in _configurations(subject):
        try:
            prepared = subject.prepare(configuration)
            compiled = _differentiated(subject, prepared)
        except Refused as refusal:
            reason = reason or str(refusal)
            continue
        if isinstance(compiled, TvmlabError):
            return failed_by(compiled)
        for each in rounds(subject, prepared, _ROUNDS):
            if not each.special:
                _compare(subject, prepared, compiled, each.arrays, tally)
    if tally.worst is not None:
        return _wrong(subject, tally)
    if not tally.agreed:
        return skipped(reason or "no slope could be taken: it needs inputs of floating-point numbers")
    return ok(f"{tally.agreed} slopes equal central differences in float64", _kinks(tally))


def _configurations(subject: Subject) -> list[Configuration]:
    """Small shapes in float64, of different attributes."""
    base = subject.base.with_dtype("float64")
    if "float64" not in base.dtypes:
        return []
    found = [base]
    found += [Configuration(base.shapes, base.dtypes, a) for a in variants.attribute_variants(subject, 10)[1:]]
    found = [c for c in found if subject.takes(c)][:3]
    for shapes in variants.shape_variants(subject)[1:]:
        candidate = Configuration(shapes, base.dtypes, base.attributes)
        sizes = [int(np.prod(s)) for s in shapes]
        if max(sizes, default=0) <= 2 * _ELEMENTS and min(sizes, default=0) and subject.takes(candidate):
            found.append(candidate)
        if len(found) >= 4:
            break
    return found


Slopes = Callable[[Sequence[Array]], tuple[Array, ...]]


@dataclass(frozen=True)
class _Compiled:
    kernel: Kernel
    weights: tuple[Array, ...]


def _differentiated(subject: Subject, prepared: Prepared) -> _Compiled | TvmlabError:
    """The adjoint of a sum of the outputs with weights, compiled; or what its gradient does wrong."""
    rng = np.random.default_rng(subject.seed)
    configuration = prepared.configuration
    floats = [np.dtype(str(o.dtype)).kind == "f" for o in prepared.outputs]
    if not any(floats):
        raise Refused("its outputs are no floating-point numbers")
    shapes = [tuple(int(d) for d in o.shape) for o in prepared.outputs]
    weights = tuple(
        rng.uniform(0.5, 2.0, s).astype(str(o.dtype)) for s, o in zip(shapes, prepared.outputs, strict=True)
    )

    def build(builder: relax.BlockBuilder, inputs: list[relax.Var]) -> Any:
        called = builder.emit(subject.op.bind(*inputs, **configuration.attributes))
        parts = [called]
        if isinstance(called.ty, relax.TupleType):
            parts = [builder.emit(relax.TupleGetItem(called, i)) for i in range(len(called.ty.fields))]
        total: Any = None
        for part, weight, floating in zip(parts, weights, floats, strict=True):
            if floating:
                summed = builder.emit(
                    relax.op.sum(builder.emit(relax.op.multiply(part, relax.const(weight, weight.dtype.name))))
                )
                total = summed if total is None else builder.emit(relax.op.add(total, summed))
        return total

    module = function(subject, configuration, build)
    wanted = [v for v in module["main"].params if "float" in str(v.ty.dtype)]
    gradient = subject.spec.gradient
    assert gradient is not None
    try:
        adjoint = guarded(
            lambda: relax.transform.LegalizeOps()(relax.transform.Gradient("main", wanted)(module)),
            lambda error: lowering.user_error(subject.spec, gradient, error, TvmlabError),
        )
        return _Compiled(runnable(adjoint), weights)
    except TvmlabError as error:
        return error


def _compare(subject: Subject, prepared: Prepared, compiled: _Compiled, arrays: Sequence[Array], tally: _Tally) -> None:
    def total(given: Sequence[Array]) -> float:
        try:
            outputs: Sequence[Array] = prepared.evaluate(given).outputs
        except NotEvaluable:
            outputs = subject.run(prepared.configuration, given)
        with np.errstate(all="ignore"):
            terms = [np.sum(o.astype("longdouble") * w) for o, w in zip(outputs, compiled.weights, strict=True)]
        return float(sum(terms))

    try:
        subject.safe(prepared, arrays)
    except Refused:
        return
    result = subject.result(compiled.kernel, arrays, "main_adjoint")[1]
    slopes = iter(outputs_of(result))
    for which, array in enumerate(arrays):
        if array.dtype.kind != "f":
            continue
        slope = next(slopes)
        for place in _places(array.size):
            _one(subject, prepared, total, arrays, which, place, float(slope.flat[place]), tally)


def _places(size: int) -> list[int]:
    """Some elements, spread evenly."""
    spread = np.linspace(0, size - 1, min(size, _ELEMENTS))
    return list(dict.fromkeys(int(place) for place in spread))


def _one(
    subject: Subject,
    prepared: Prepared,
    total: Callable[[Sequence[Array]], float],
    arrays: Sequence[Array],
    which: int,
    place: int,
    claimed: float,
    tally: _Tally,
) -> None:
    """Compare one partial derivative."""
    middle = float(arrays[which].flat[place])
    step = _STEP * max(1.0, abs(middle))

    def at(value: float) -> float:
        moved = arrays[which].copy()
        moved.flat[place] = value
        return total([moved if i == which else a for i, a in enumerate(arrays)])

    before, here, after = at(middle - step), at(middle), at(middle + step)
    if not np.isfinite([before, here, after]).all():
        return
    left, right = (here - before) / step, (after - here) / step
    measured = (after - before) / (2 * step)
    name = subject.names(len(arrays))[which]
    index = ", ".join(str(int(i)) for i in np.unravel_index(place, arrays[which].shape))
    noise = 64 * np.finfo("float64").eps * (abs(here) + 1) / step
    if abs(right - left) > _KINK * max(1.0, abs(measured)) + noise:
        within = min(left, right) - 1e-4 <= claimed <= max(left, right) + 1e-4
        said = f"{name} = {middle:g}: the slope is {left:.4g} before and {right:.4g} after"
        tally.kinks.append(said if within else f"{said}, and the gradient says {claimed:.4g}")
        return
    apart = abs(claimed - measured)
    if apart <= _TOLERANCE * max(1.0, abs(measured)) + noise:
        tally.agreed += 1
        return
    if abs(measured) > 1e-3:
        tally.ratios.append(claimed / measured)
    worse = apart / max(1.0, abs(measured)) if np.isfinite(apart) else np.inf
    if tally.worst is None or worse > tally.worst[0]:
        what = f"{name}[{index}] of {name} = {middle:g}"
        tally.worst = (worse, what, claimed, measured, prepared.configuration, arrays)


def _wrong(subject: Subject, tally: _Tally) -> Outcome:
    assert tally.worst is not None
    assert subject.spec.gradient is not None
    _, what, claimed, measured, configuration, arrays = tally.worst
    count = len(tally.ratios)
    ratio = float(np.median(tally.ratios)) if tally.ratios else float("nan")
    same = count > 2 and np.ptp(tally.ratios) < 1e-3 * max(1.0, abs(ratio))
    verdict, mend = "", "compare it with the derivative on paper; dy is multiplied in once"
    if same and abs(ratio + 1) < 1e-3:
        verdict, mend = "; the sign is wrong everywhere", "turn the sign around"
    elif same:
        verdict, mend = (
            f"; everywhere it is {ratio:.4g} times the slope",
            "look for a factor that is missing or surplus",
        )
    agreed = f"; {tally.agreed} others agree" if tally.agreed else ""
    return failed(
        f"by {what} the slope is {measured:.6g}, and the gradient says {claimed:.6g}{verdict}{agreed}",
        mend,
        subject.spec.source.of_result(subject.spec.gradient.function),
        gradient_cell(subject.op, arrays, configuration.attributes),
        _kinks(tally),
    )


def _kinks(tally: _Tally) -> tuple[str, ...]:
    unique = list(dict.fromkeys(tally.kinks))
    if not unique:
        return ()
    more = f", and at {len(unique) - 1} more places" if len(unique) > 1 else ""
    return (f"kinks were left out, at {unique[0]}{more}",)
