"""C14: its pattern kind is what its kernel is, it fuses as that kind does, and fused it gives the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

from tvmlab.checks.comparison import Expectation, first_mismatch
from tvmlab.checks.graphs import between, kernels_called
from tvmlab.checks.inputs import rounds
from tvmlab.checks.kernels import runnable
from tvmlab.checks.outcome import Outcome, failed, ok, warning
from tvmlab.checks.subject import Refused, Subject
from tvmlab.errors import TvmlabError
from tvmlab.ops import lowering
from tvmlab.ops.card import PATTERN_KINDS
from tvmlab.ops.guarded import guarded
from tvmlab.runtime import quiet
from tvmlab.runtime.executable import first_line

_PASSES = ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR")


def run(subject: Subject) -> Outcome:
    """Infer the kind, fuse the operator with neighbours on both sides, and compare."""
    spec = subject.spec
    inferred = _inferred(subject)
    kind = PATTERN_KINDS[inferred]
    where = spec.source.of_name("pattern")
    if spec.pattern is not None and spec.pattern < inferred:
        return failed(
            f"pattern says {PATTERN_KINDS[spec.pattern]}, but its kernel is {kind}",
            f"remove pattern, or write pattern = {kind!r}",
            where,
        )
    kernels = {}
    for side, (before, after) in {"producer": (True, False), "consumer": (False, True)}.items():
        try:
            fused = _fused(subject, before=before, after=after)
        except TvmlabError as error:
            return failed(
                f"TVM cannot fuse it with a neighbour: {error.what}",
                "write pattern = 'opaque', so that nothing is fused with it; or write it with te.compute",
                lowering.location_of_compute(spec),
            )
        kernels[side] = kernels_called(fused)
        problem = _other_values(subject, fused, before=before, after=after)
        if problem:
            return problem
    if spec.pattern is not None and spec.pattern > inferred:
        return warning(
            f"pattern says {PATTERN_KINDS[spec.pattern]}, though its kernel is {kind}, which fuses more",
            "remove pattern, unless it must not be fused",
            where,
        )
    if inferred == 8:
        return warning(
            "its kernel is kOpaque: nothing fuses with it",
            "a read that depends on data, an extern or a scan makes it so",
            where,
        )
    sides = [side for side, count in kernels.items() if count == 1]
    fuses = f"fuses with an elementwise {' and '.join(sides)}" if sides else "fuses with no elementwise neighbour"
    return ok(f"its kernel is {kind}, {fuses}, and gives the same values fused")


def _inferred(subject: Subject) -> int:
    example = subject.op.examination.example
    assert example is not None
    with quiet():
        annotated = relax.transform.AnnotateTIROpPattern()(tvm.IRModule({"kernel": example.function}))
    return int(annotated["kernel"].attrs["op_pattern"])


def _fused(subject: Subject, *, before: bool, after: bool) -> tvm.IRModule:
    module = between(subject, subject.base, before=before, after=after)

    def through() -> tvm.IRModule:
        changed = module
        for name in _PASSES:
            changed = getattr(relax.transform, name)()(changed)
        return changed

    def explained(error: Exception) -> TvmlabError:
        said = first_line(error)
        return TvmlabError(said.partition(" is false: ")[2] or said)

    return guarded(through, explained)


def _other_values(subject: Subject, fused: tvm.IRModule, *, before: bool, after: bool) -> Outcome | None:
    prepared = subject.prepare(subject.base)
    arrays = rounds(subject, prepared, 1)[0].arrays
    first = next((i for i, a in enumerate(arrays) if a.dtype.kind == "f"), None)
    turned = [np.negative(a) if before and i == first else a for i, a in enumerate(arrays)]
    try:
        evaluation = subject.safe(prepared, turned)
        plain = subject.run(subject.base, turned)
        got: Any = subject.call(runnable(fused), arrays)
    except Refused:
        return None
    except TvmlabError as error:
        return failed(f"fused with its neighbours it does not compile: {error.what}", error.mend)
    signed = tuple(np.negative(p) if after and p.dtype.kind != "b" else p for p in plain)
    mismatch = first_mismatch(got, Expectation(signed, signed), None if evaluation is None else evaluation.errors)
    if mismatch is None:
        return None
    return failed(f"fused with its neighbours it gives {mismatch.got} where alone it gives {mismatch.expected}")
