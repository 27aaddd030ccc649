"""C07: it lowers to a kernel: always the same one, and nothing of the operator is left."""

from __future__ import annotations

import tvm_ffi

from tvmlab.checks.outcome import Outcome, failed, failed_by, ok
from tvmlab.checks.subject import Subject, legalized
from tvmlab.errors import TvmlabError
from tvmlab.ops import lowering, spec_of
from tvmlab.ops.guards import check_lowering


def run(subject: Subject) -> Outcome:
    """Legalize a call twice, and every ``lower_for_<target>`` once."""
    op, base = subject.op, subject.base
    try:
        first, second = (legalized(op, base.types, base.attributes) for _ in range(2))
    except TvmlabError as error:
        return failed_by(error)
    left = [
        binding
        for block in first["main"].body.blocks
        for binding in block.bindings
        if spec_of(getattr(binding, "value", None)) is not None
    ]
    if left:
        return failed("a call of it is still there after LegalizeOps", "let the lowering return another expression")
    if not tvm_ffi.structural_equal(first, second):
        return failed(
            "lowered twice, it gives two different kernels",
            "let compute depend on its arguments alone: no counters, no random numbers, no list that grows",
            lowering.location_of_compute(op.spec),
        )
    example = op.examination.example
    for binding in op.spec.lowerings.values():
        try:
            if example is not None:
                check_lowering(op.spec, binding, example)
        except TvmlabError as error:
            return failed_by(error)
    more = f", and through {len(op.spec.lowerings)} lowerings for targets" if op.spec.lowerings else ""
    return ok(f"LegalizeOps turns a call of it into kernels{more}; twice into the same")
