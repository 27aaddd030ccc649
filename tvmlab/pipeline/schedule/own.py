"""Rule for a kernel that holds a live operator with a schedule of its own: that is what is applied."""

from __future__ import annotations

from typing import Any

from tvmlab.errors import PipelineError
from tvmlab.pipeline.kernel import Block
from tvmlab.pipeline.own_schedules import MARK, spec_of_mark
from tvmlab.pipeline.schedule.loops import spatial_and_reductions
from tvmlab.runtime.executable import first_line

__all__ = ["own_schedule"]


def own_schedule(schedule: Any, blocks: list[Block]) -> str | None:
    """Call ``schedule(sch, block)`` of each live operator on its block, and take the generic rule for the others."""
    marked = [block for block in blocks if MARK in schedule.get(block.rv).annotations]
    if not marked:
        return None
    said = [spatial_and_reductions(schedule, [block]) or "" for block in blocks if block not in marked]
    for block in marked:
        spec = spec_of_mark(str(schedule.get(block.rv).annotations[MARK]))
        assert spec.schedule is not None
        try:
            spec.schedule(schedule, block.rv)
        except Exception as error:
            where = spec.source.of_exception(error)
            raise PipelineError(f"the schedule of {spec.name} fails: {first_line(error)}; at {where}") from error
        said.append(f"{block.name}: by the schedule of {spec.name}")
    return "; ".join(said)
