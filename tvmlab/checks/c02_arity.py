"""C02: it takes as many tensors as its compute, and refuses any other number before it is compiled."""

from __future__ import annotations

import inspect

from tvm import relax

from tvmlab import tvm_api
from tvmlab.checks.outcome import Outcome, failed, ok, warning
from tvmlab.checks.subject import Subject
from tvmlab.errors import TvmlabError
from tvmlab.ops.registry import validate


def run(subject: Subject) -> Outcome:
    """Call it with one tensor too few and one too many; look for tensors that nothing reads."""
    spec, op = subject.spec, subject.op
    base = subject.base
    right = len(base.shapes)
    for count in [right + 1, right - 1] if not spec.variadic else [len(spec.tensors) - 1]:
        if count >= 0 and not _refuses(subject, count):
            return failed(f"it accepts {count} tensors, though compute takes {right}", f"call it as {spec.signature}")
    unread = _unread(subject)
    if unread:
        return warning(
            f"compute takes {unread[0]!r} and never reads it",
            f"remove the parameter {unread[0]!r}, or use it",
            spec.source.of_function(spec.compute.function),
        )
    signature = inspect.signature(spec.compute.function)
    return ok(f"compute{signature} takes {right} tensors and {len(spec.attributes)} attributes; {op.name} no others")


def _refuses(subject: Subject, count: int) -> bool:
    """Whether both the call and FValidate, which sees calls that were built by hand, refuse that many tensors."""
    op, base = subject.op, subject.base
    kinds = (base.types * (count + 1))[:count] if base.shapes else [relax.TensorType([2], "float32")] * count
    inputs = [relax.Var(f"x{i}", kind) for i, kind in enumerate(kinds)]
    refused = 0
    try:
        op.bind(*inputs, **base.attributes)
    except TvmlabError:
        refused += 1
    try:
        validate(relax.Call(tvm_api.get_op(op.full_name), inputs, op.spec.schema.make(base.attributes)))
    except TvmlabError:
        refused += 1
    return refused == 2


def _unread(subject: Subject) -> list[str]:
    """Tensors that no kernel of the base reads, and whose sizes do not matter either."""
    prepared = subject.prepare(subject.base)
    read = {id(t.op) for stage in prepared.stages for t in stage.op.input_tensors}
    read |= {id(o.op) for o in prepared.outputs}
    loaded = {t.op for stage in prepared.stages for t in stage.op.input_tensors} | {o.op for o in prepared.outputs}
    names = subject.names(len(prepared.placeholders))
    unread = [n for n, p in zip(names, prepared.placeholders, strict=True) if p.op not in loaded]
    source = inspect.getsource(subject.spec.compute.function) if unread else ""
    return [name for name in unread if f"{name}.shape" not in source]
