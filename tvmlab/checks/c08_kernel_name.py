"""C08: the kernel and its blocks have names that can be printed, read back, and told from those of others."""

from __future__ import annotations

import tvm

from tvmlab import ops
from tvmlab.checks.outcome import Outcome, failed, ok
from tvmlab.checks.subject import Subject, legalized
from tvmlab.ops import lowering
from tvmlab.runtime import quiet


def run(subject: Subject) -> Outcome:
    """Compare with the kernels of other live operators, and read the kernel's text back."""
    op, spec = subject.op, subject.spec
    clash = [
        name for name in ops.live_names() if name != op.name and ops.find(name).spec.kernel_name == spec.kernel_name
    ]
    if clash:
        return failed(
            f"its kernel is called {spec.kernel_name}, and so is that of {clash[0]}",
            f"rename one of the two: {op.name}_2",
        )
    names = [t.op.name for t in subject.prepare(subject.base).stages]
    strange = [name for name in names if not name.isidentifier()]
    if strange:
        return failed(
            f"a te.compute is called {strange[0]!r}, which is no name: the kernel's text cannot be read back",
            f"write name={_identifier(strange[0])!r}",
            lowering.location_of_compute(spec),
        )
    if subject.quick:
        return ok(f"the kernel {spec.kernel_name} is the only one of its name")
    with quiet():
        module = legalized(op, subject.base.types, subject.base.attributes)
        kernel = _kernel(module, spec.kernel_name)
        if kernel is None:
            return ok(f"its lowering makes no kernel of its own; the name {spec.kernel_name} is free")
        text = kernel.with_attr("global_symbol", spec.kernel_name).script()
        try:
            tvm.script.from_source(text)
        except Exception as error:  # noqa: BLE001  the parser raises whatever it likes
            said = [line.strip() for line in str(error).splitlines() if line.strip()]
            return failed(f"the kernel's TVMScript cannot be read back: {said[-1] if said else type(error).__name__}")
    return ok(f"the kernel {spec.kernel_name} is the only one of its name, and its text can be read back")


def _kernel(module: tvm.IRModule, name: str) -> tvm.tirx.PrimFunc | None:
    found = {v.name_hint: f for v, f in module.functions.items()}
    return found.get(name)


def _identifier(name: str) -> str:
    made = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "result"
    return made if made[0].isalpha() or made[0] == "_" else f"k_{made}"
