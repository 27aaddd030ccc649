"""What the inliner and the scheduler decided of each kernel, and where an operator's own schedule failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tvmlab.show.html import Html, details, mono, table, tag

if TYPE_CHECKING:
    from tvmlab.pipeline import Trace

_SHOWN = 40  # kernels


def doubts(record: Trace) -> Iterator[Html]:
    """One line for each schedule that failed."""
    return (tag("div", f"⚠ {line}") for line in plain_doubts(record))


def plain_doubts(record: Trace) -> list[str]:
    """One line for each schedule that failed: where, and what is done instead."""
    from tvmlab.pipeline.schedule import faults_of

    found = faults_of(record["schedule"].module)
    return [f"{name}: {fault}; the scheduler's own rules are taken instead" for name, fault in found.items()]


def decisions(record: Trace) -> Html:
    """Behind a fold: for each kernel, which blocks were inlined or why not, and how its loops run."""
    rows = list(_decided(record))
    shown = table(("kernel", "blocks", "loops"), ((mono(n), i, s) for n, i, s in rows[:_SHOWN]), "nll")
    more = f", the first {_SHOWN}" if len(rows) > _SHOWN else ""
    return details(f"what was decided for each kernel{more}", shown)


def _decided(record: Trace) -> Iterator[tuple[str, str, str]]:
    from tvmlab.pipeline.inlining import ATTRIBUTE as INLINED
    from tvmlab.pipeline.schedule import ATTRIBUTE as SCHEDULED

    for variable, function in record["schedule"].module.functions.items():
        said = function.attrs if function.attrs is not None and SCHEDULED in function.attrs else {}
        if said:
            yield variable.name_hint, str(said.get(INLINED, "")), str(said[SCHEDULED])
