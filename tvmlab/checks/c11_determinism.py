"""C11: the same inputs give the same bits, are left as they were, and the result is memory of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.checks.inputs import rounds
from tvmlab.checks.outcome import Outcome, failed, ok, skipped
from tvmlab.checks.subject import Refused, Subject
from tvmlab.ops import lowering
from tvmlab.runtime import Executable

_RUNS = 5


def run(subject: Subject) -> Outcome:
    """Run the compiled kernel several times on the same tensors."""
    base = subject.base
    prepared = subject.prepare(base)
    arrays = rounds(subject, prepared, 1)[0].arrays
    try:
        subject.safe(prepared, arrays)
    except Refused as refusal:
        if not subject_is_opaque(subject):
            return skipped(str(refusal))
    where = lowering.location_of_compute(subject.spec)
    kernel = subject.kernel(base)
    first = [a.copy() for a in subject.call(kernel, arrays)]
    kept = subject.call(kernel, arrays)
    for _ in range(_RUNS):
        again = subject.call(kernel, arrays)
        if not all(map(_same_bits, first, again)):
            return failed(
                "run again on the same inputs, it gives other values",
                "take what is random or counted out of the kernel; pass it in as a tensor",
                where,
            )
    if isinstance(kernel, Executable) and _writes_its_inputs(kernel, arrays):
        return failed("it writes into its inputs", "write into the result alone", where)
    subject.call(kernel, [np.zeros_like(a) for a in arrays])
    if not all(map(_same_bits, first, kept)):
        return failed("a later call changes an earlier result: they share memory", "return a te.compute", where)
    return ok(f"{_RUNS + 2} runs gave the same bits; inputs and earlier results stayed as they were")


def subject_is_opaque(subject: Subject) -> bool:
    """Whether its kernel calls functions outside of TVM, which are run as they are."""
    from tvmlab.checks.walking import opaque_calls

    return bool(opaque_calls(subject.prepare(subject.base)))


def _same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _writes_its_inputs(kernel: Executable, arrays: Sequence[NDArray[Any]]) -> bool:
    from tvm import runtime

    tensors = []
    for array in arrays:
        tensor = runtime.empty(array.shape, array.dtype.name)
        tensor.copyfrom(np.array(array))
        tensors.append(tensor)
    kernel.vm["main"](*tensors)
    return any(not _same_bits(np.array(a), t.numpy()) for a, t in zip(arrays, tensors, strict=True))
