"""The stage explorer: every pass of a trace, and the program before and after it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tvmlab.records import Explorable, StageDiff, explorer
from tvmlab.show import steps
from tvmlab.show.explorers import widget
from tvmlab.show.steps import Step

if TYPE_CHECKING:
    from tvmlab.pipeline import Trace
    from tvmlab.pipeline.beside import Beside

__all__ = ["beside", "stage_diff", "trace"]

_SIDES = ("before", "after")
_SLICE_IN_SECONDS = 0.05


@explorer("Trace")
def trace(record: Trace) -> Any:
    """Every stage and pass; machine code is made when ``build`` is looked at."""
    return _explore(record, record.headline, steps.of_trace(record), lambda: _built(record))


@explorer(StageDiff)
def stage_diff(record: StageDiff) -> Any:
    """The difference as a whole, then every stage and pass on the way."""
    return _explore(record, record.headline, steps.of_diff(record))


@explorer("Beside")
def beside(record: Beside) -> Any:
    """What is different after each stage."""
    return _explore(record, record.headline, steps.of_two(record.left, record.right), sides=record.names)


def _built(record: Trace) -> list[Step]:
    _ = record["build"]
    return steps.of_trace(record)


def _explore(
    record: Explorable,
    label: str,
    found: Sequence[Step],
    build: Callable[[], Sequence[Step]] | None = None,
    sides: tuple[str, str] = _SIDES,
) -> Any:
    current = list(found)

    def answer(question: Mapping[str, Any]) -> Any:
        if question["what"] == "build" and build:
            current[:] = build()
            return {"steps": _facts(current)}
        step = current[question["step"]]
        if question["what"] == "functions":
            return [{"name": name, "state": step.state(name)} for name in step.changed]
        if question["what"] == "counts":
            return _counts(step, question["from"])
        matching = step.matching(question["function"], boilerplate=question["boilerplate"])
        changed = (block for block in matching.blocks if not block.same)
        return {
            "before": "\n".join(matching.before),
            "after": "\n".join(matching.after),
            "blocks": [[b.before.start, b.before.stop, b.after.start, b.after.stop] for b in changed],
            "renamed": matching.renamed,
            "added": matching.added,
            "removed": matching.removed,
        }

    facts = {"label": label, "sides": list(sides), "steps": _facts(current)}
    first = next((i for i, step in enumerate(current) if step.changed and step.before), 0)
    return widget("stages", record, facts, answer, first)


def _counts(step: Step, start: int) -> dict[str, Any]:
    """Lines added and removed in each function from `start` on, as many as fit into the time; and where to go on."""
    began = time.perf_counter()
    counts = []
    for name in step.changed[start:]:
        matching = step.matching(name, boilerplate=False)
        counts.append([matching.added, matching.removed])
        if time.perf_counter() - began > _SLICE_IN_SECONDS:
            break
    reached = start + len(counts)
    return {"counts": counts, "next": reached if reached < len(step.changed) else None}


def _facts(found: Sequence[Step]) -> list[dict[str, Any]]:
    return [
        {
            "name": step.name,
            "level": step.level,
            "seconds": step.seconds,
            "changed": bool(step.changed),
            "pending": step.pending,
        }
        for step in found
    ]
