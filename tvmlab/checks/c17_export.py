"""C17: exported as a library and loaded again, it gives the same values."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import tvm
from tvm import relax

from tvmlab.checks.inputs import rounds
from tvmlab.checks.outcome import Outcome, failed, ok, skipped
from tvmlab.checks.subject import Refused, Subject, legalized, outputs_of
from tvmlab.checks.walking import opaque_calls
from tvmlab.ops import lowering
from tvmlab.runtime import Executable, host_target
from tvmlab.runtime.executable import first_line

_COMPILERS = ("g++", "c++", "clang++", "cc")


def run(subject: Subject) -> Outcome:
    """Export, load, run."""
    base = subject.base
    prepared = subject.prepare(base)
    calls = opaque_calls(prepared)
    if calls:
        return failed(
            f"its kernel calls {calls[0]}, which lives in this process: a library would not run anywhere else",
            "write the kernel with te.compute",
            lowering.location_of_compute(subject.spec),
        )
    if not any(map(shutil.which, _COMPILERS)):
        return skipped(f"to link a library takes a C++ compiler, and there is none of {', '.join(_COMPILERS)}")
    arrays = rounds(subject, prepared, 1)[0].arrays
    try:
        subject.safe(prepared, arrays)
    except Refused as refusal:
        return skipped(str(refusal))
    kernel = subject.kernel(base)
    wanted = subject.call(kernel, arrays)
    with tempfile.TemporaryDirectory(prefix="tvmlab-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "operator.so"
        try:
            built = relax.build(legalized(subject.op, base.types, base.attributes), host_target())
            built.export_library(str(file))
            size = file.stat().st_size
            if not isinstance(kernel, Executable):
                return skipped(f"a library of {size // 1024} KiB was written, and not run: it may end this process")
            machine = relax.VirtualMachine(tvm.runtime.load_module(str(file)), tvm.cpu())
        except Exception as error:  # noqa: BLE001  TVM and the linker raise whatever they like
            return failed(f"it cannot be exported: {first_line(error)}")
        result = machine["main"](*(tvm.runtime.tensor(a) for a in arrays))
        fields = [result] if isinstance(result, tvm.runtime.Tensor) else list(result)
        got = outputs_of(tuple(r.numpy() for r in fields))
    if any(g.tobytes() != w.tobytes() for g, w in zip(got, wanted, strict=True)):
        return failed("loaded from a library, it gives other values")
    return ok(f"a library of {size // 1024} KiB gives the same bits")
