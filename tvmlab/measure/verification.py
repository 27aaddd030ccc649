"""Is it right: a model's outputs against an oracle's."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import ml_dtypes  # noqa: F401  registers bfloat16 and its kin with NumPy
import numpy as np
from numpy.typing import NDArray

from tvmlab import ongoing
from tvmlab.errors import CallError, PipelineError
from tvmlab.measure import bisection
from tvmlab.measure.doubts import doubt_on
from tvmlab.measure.groups import compare_groups
from tvmlab.measure.inputs import Feeds, Given, make_inputs
from tvmlab.measure.oracles import Answer, ask
from tvmlab.measure.ulp import compare
from tvmlab.pipeline.weights import has_constant_weights
from tvmlab.records import Bisection, GroupComparison, OutputError, Verification

if TYPE_CHECKING:
    from tvmlab.pipeline import Model

__all__ = ["TOLERANCES", "tolerance_for", "verify"]

Array = NDArray[Any]

# Of the largest value of an output.  Taking a sum of n products in another order moves it by some sqrt(n) roundings,
# and a deep network takes a hundred such sums one after the other.  Right kernels of ResNet-50 and its like come to
# about 1e-5 in float32, whose rounding is 6e-8; a wrong one comes to 1e-2 and more.
TOLERANCES = {"float64": 1e-10, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
_OTHER_FLOATS = 0.1  # of 8 bits and less
_NOT_RUNNABLE = ("import",)


def verify(
    model: Model,
    *,
    stage: str = "build",
    inputs: Given = None,
    seed: int = 0,
    tolerance: float | None = None,
    bisect: bool = False,
    groups: bool = False,
) -> Verification | Bisection | GroupComparison:
    """Compare a model's outputs with those of an oracle that shares none, or little, of its code.

    Parameters
    ----------
    model : Model
    stage : str
        Which module of the trace is run: ``legalize``, ``annotate``, ``fuse``, ``inline``, ``schedule``, ``build``.
    inputs : dict or sequence of ndarray, optional
        By name or in order.  Default: random, normal for floats and 1 to 3 for integers.
    seed : int
        Of the random inputs.
    tolerance : float, optional
        Largest difference allowed, as a part of the largest value of the output.  Default: by the output's dtype, 1e-4
        for float32; integers and booleans must be equal.
    bisect : bool
        Go through all stages, kernel by kernel, and name the first stage and kernel whose values leave the tolerance.
    groups : bool
        Compare each fused kernel of `stage` with the unfused kernels of its nodes, on the same inputs.

    Returns
    -------
    Verification
        Its ``oracle`` says who gave the right answers, its notes what this is worth, and its doubts where it says
        little: outputs that are NaN or alike, which are right if they are equal.
    Bisection
        With `bisect`: ``.stage`` and ``.kernel`` are the first that are wrong.
    GroupComparison
        With `groups`.

    Raises
    ------
    CallError
        The inputs do not fit, the tolerance or the seed is negative, there is no such stage, or options exclude each
        other.
    PipelineError
        No oracle can run the model, or it gives other shapes.
    """
    if stage in _NOT_RUNNABLE:
        raise CallError(f"nothing runs at stage {stage!r}: its operators have no kernels yet", mend='stage="legalize"')
    if tolerance is not None and not 0 <= tolerance < math.inf:
        raise CallError(
            f"the tolerance is a part of the largest value, from 0 on, not {tolerance!r}",
            mend="write tolerance=1e-4 or --tolerance 1e-4, or leave it out",
        )
    if bisect and (groups or stage != "build"):
        raise CallError(
            "bisect goes through all stages and kernels", mend="leave out groups and stage, or leave out bisect"
        )
    feeds = make_inputs(model.inputs, inputs, seed)

    def bound(dtype: str) -> float:
        return tolerance_for(dtype) if tolerance is None else tolerance

    if bisect:
        return _with_notes(bisection.bisect(model, feeds.arrays, bound), feeds.notes)
    if groups:
        return _with_notes(compare_groups(model, feeds.arrays, stage, bound), feeds.notes)
    return _verify(model, stage, feeds, tolerance)


_Noted = TypeVar("_Noted", Bisection, GroupComparison)


def _with_notes(record: _Noted, notes: tuple[str, ...]) -> _Noted:
    return dataclasses.replace(record, notes=(*record.notes, *notes))


def _verify(model: Model, stage: str, feeds: Feeds, tolerance: float | None) -> Verification:
    from tvmlab import pipeline

    started = time.perf_counter()
    ongoing.say("asking the oracle")
    answer = ask(model, feeds.arrays)  # first: it refuses in words what would kill the process
    got = pipeline.trace(model).compiled(stage).run(*feeds.arrays)
    outputs = got if isinstance(got, tuple) else (got,)
    errors, notes = _errors(model, answer, outputs)
    kinds = [tolerance_for(error.dtype) if tolerance is None else tolerance for error in errors]
    loosest = max(kinds, default=0.0)
    doubts, proves_nothing = _doubts(model, answer, errors, kinds)
    own = (
        error if bound == loosest else dataclasses.replace(error, tolerance=bound)
        for error, bound in zip(errors, kinds, strict=True)
    )
    return Verification(
        model=model.name if stage == "build" else f"{model.name} after {stage}",
        oracle=answer.oracle,
        tolerance=loosest,
        outputs=tuple(own),
        seconds=time.perf_counter() - started,
        notes=(*answer.notes, *notes, *feeds.notes, *doubts),
        doubts=doubts,
        proves_nothing=proves_nothing,
    )


def tolerance_for(dtype: str) -> float:
    """The default tolerance of an output, as a part of its largest value."""
    if np.dtype(dtype).kind in "biu":
        return 0.0
    return TOLERANCES.get(dtype, _OTHER_FLOATS)


def _errors(model: Model, answer: Answer, outputs: tuple[Array, ...]) -> tuple[list[OutputError], list[str]]:
    if len(outputs) != len(answer.outputs):
        raise PipelineError(
            f"the model gives {len(outputs)} outputs, its oracle {len(answer.outputs)}", where=model.name
        )
    names = (tensor.name for tensor in model.outputs)
    errors = [compare(want, got, name) for want, got, name in zip(answer.outputs, outputs, names, strict=True)]
    notes: list[str] = []
    for logits, expected in answer.logits:
        error, hidden = logits.compare(expected, outputs[logits.output])
        errors.append(error)
        notes.append(_on_logits(error, hidden))
    return errors, notes


def _doubts(
    model: Model, answer: Answer, errors: Sequence[OutputError], bounds: Sequence[float]
) -> tuple[tuple[str, ...], bool]:
    """What is to be doubted, and whether nothing else is left; logits say no more than the output behind them."""
    found = [doubt_on(*each) for each in zip(errors, answer.outputs, bounds, strict=False)]
    doubts = tuple(doubt for doubt, _ in found if doubt)
    nothing = bool(found) and all(empty for _, empty in found)
    if nothing and model.onnx is not None and has_constant_weights(model.onnx):
        doubts += ('the weights are constant: load the model with weights="random", or --weights random',)
    return doubts, nothing


def _on_logits(error: OutputError, hidden: int) -> str:
    left_out = f"; {hidden:,} of them, too small for it, are left out" if hidden else ""
    return f"{error.name} are read off the softmax behind them, by its logarithm{left_out}"
