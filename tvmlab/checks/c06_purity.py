"""C06: it is what it is declared to be: without side effects, and well formed in and outside of a dataflow block."""

from __future__ import annotations

import functools
from typing import Any

from tvm import relax, tirx
from tvm.relax import TensorType

from tvmlab import tvm_api
from tvmlab.checks.outcome import Outcome, failed, ok
from tvmlab.checks.subject import Subject, within_tvm
from tvmlab.checks.walking import opaque_calls
from tvmlab.errors import TvmlabError
from tvmlab.ops import lowering


def run(subject: Subject) -> Outcome:
    """Build functions with a call of it, known and symbolic, and let TVM look at them."""
    op = subject.op
    if not bool(tvm_api.get_op(op.full_name).get_attr("FPurity")):
        return failed("FPurity is not set", "run the cell again")
    for types in (subject.base.types, _symbolic(subject)):
        for dataflow in (True, False):
            try:
                module = within_tvm(subject.spec, functools.partial(_module, subject, types, dataflow=dataflow))
                fine = relax.analysis.check_well_formed(module)
            except TvmlabError:
                continue
            if not fine:
                kind = "inside" if dataflow else "outside of"
                return failed(
                    f"a function with a call of it {kind} a dataflow block is not well formed",
                    "let the type rule return only sizes made of those of its inputs, no symbol of its own",
                    op.spec.source.of_name("type_rule"),
                )
    calls = opaque_calls(subject.prepare(subject.base))
    if calls:
        return failed(
            f"its kernel calls {calls[0]}, of which TVM knows nothing; yet it is declared pure, so calls of it may be "
            "moved, shared or dropped",
            "write the kernel with te.compute",
            lowering.location_of_compute(op.spec),
        )
    return ok("it is pure, and well formed in and outside of a dataflow block")


def _symbolic(subject: Subject) -> list[TensorType]:
    symbols: dict[int, Any] = {}
    return [
        TensorType([1 if d == 1 else symbols.setdefault(d, tirx.Var(f"n{d}", "int64")) for d in shape], dtype)
        for shape, dtype in zip(subject.base.shapes, subject.base.dtypes, strict=True)
    ]


def _module(subject: Subject, types: Any, *, dataflow: bool) -> Any:
    inputs = lowering.parameters(subject.spec, types)
    builder = relax.BlockBuilder()
    with builder.function("main", inputs):
        call = subject.op.bind(*inputs, **subject.base.attributes)
        if dataflow:
            with builder.dataflow():
                result = builder.emit_output(builder.emit(call))
        else:
            result = builder.emit(call)
        builder.emit_func_output(result)
    return builder.get()
