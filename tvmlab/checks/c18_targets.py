"""C18: there is code for other targets, and a lowering for a target compiles for it."""

from __future__ import annotations

from tvmlab.checks.outcome import Outcome, failed, ok, warning
from tvmlab.checks.subject import Subject
from tvmlab.checks.targets import SOURCES, source_for
from tvmlab.errors import TvmlabError


def run(subject: Subject) -> Outcome:
    """Write the source for every target that needs no device to do so."""
    base, spec = subject.base, subject.spec
    written: list[str] = []
    missing: dict[str, TvmlabError] = {}
    for kind in SOURCES:
        try:
            lines = source_for(subject, kind, base.types, base.attributes).count("\n")
        except TvmlabError as error:
            missing[kind] = error
            continue
        own = " by a lowering of its own" if kind in spec.lowerings else ""
        written.append(f"{kind}{own} ({lines} lines)")
    for kind, failure in missing.items():
        binding = spec.lowerings.get(kind)
        if binding is not None:
            where = failure.where or spec.source.of_function(binding.function)
            return failed(f"lower_for_{kind} does not compile: {failure.what}", failure.mend, where)
    if "c" in missing:
        return failed(f"not even plain C: {missing['c'].what}", missing["c"].mend, missing["c"].where)
    if missing:
        kind, failure = next(iter(missing.items()))
        others = ", ".join(written)
        return warning(f"{failure.what}; there is code for {others}", f"write lower_for_{kind}(…), or leave {kind} out")
    unknown = sorted(set(spec.lowerings) - {*SOURCES, "llvm"})
    notes = (f"lower_for_{unknown[0]} was not compiled: its code cannot be written on this machine",) if unknown else ()
    return ok(f"source for {', '.join(written)}", notes)
