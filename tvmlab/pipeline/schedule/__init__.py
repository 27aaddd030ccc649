"""The stage that gives kernels loops a processor likes: parallel, contiguous, in vectors.

One rule a file.  A rule takes a fresh schedule and the kernel's blocks, and says in a few words what it did, or None
where the kernel is not of its kind.  Where TVM refuses a step of a rule, the next rule is tried; the last resort is the
kernel as it came.  What was done stands in the kernel itself, in the attribute ``tvmlab.schedule``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlab.errors import PipelineError
from tvmlab.pipeline.kernel import Block, blocks_of
from tvmlab.pipeline.schedule.ahead import with_weights_ahead
from tvmlab.pipeline.schedule.convolution import packed_convolution
from tvmlab.pipeline.schedule.direct_convolution import direct_convolution
from tvmlab.pipeline.schedule.loops import spatial_and_reductions
from tvmlab.pipeline.schedule.matmul import packed_matmul
from tvmlab.pipeline.schedule.moves import turned_tiles
from tvmlab.pipeline.schedule.own import own_schedule
from tvmlab.pipeline.schedule.prefetching import with_requests
from tvmlab.pipeline.schedule.reaching import with_reach
from tvmlab.pipeline.schedule.rows import reduced_rows
from tvmlab.pipeline.schedule.turning import with_turned_tiles
from tvmlab.pipeline.schedule.vector_math import with_vector_math
from tvmlab.runtime.executable import first_line

__all__ = ["ATTRIBUTE", "FAULT", "RULES", "faults_of", "schedule_kernel"]

ATTRIBUTE = "tvmlab.schedule"
FAULT = "tvmlab.schedule_fault"

Rule = Callable[[Any, list[Block]], str | None]


def block_by_block(schedule: Any, blocks: list[Block]) -> str | None:
    """Several blocks, of which some read in another order than they write: each by the rule for its kind."""
    if len(blocks) < 2:
        return None
    turned = [turned_tiles(schedule, [block]) for block in blocks]
    if not any(turned):
        return None
    said = (tiled or spatial_and_reductions(schedule, [block]) for tiled, block in zip(turned, blocks, strict=True))
    return "; ".join(filter(None, said))


RULES: tuple[Rule, ...] = (
    own_schedule,
    packed_convolution,
    direct_convolution,
    packed_matmul,
    reduced_rows,
    turned_tiles,
    block_by_block,
    spatial_and_reductions,
)


def schedule_kernel(function: Any) -> Any:
    """A PrimFunc with scheduled loops.

    Parameters
    ----------
    function : tvm.tirx.PrimFunc
        Is not changed.

    Returns
    -------
    tvm.tirx.PrimFunc
        With what was done, or why nothing was, in its attribute ``tvmlab.schedule``.
    """
    import tvm

    vectorised, functions = with_vector_math(function)
    refused: list[str] = []
    faults: dict[str, str] = {}
    for rule in RULES:
        schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": vectorised}))
        try:
            blocks = blocks_of(schedule)
            if not blocks:
                break  # written by hand, in a way that TVM cannot schedule
            done = rule(schedule, blocks)
            scheduled = _completed(schedule.mod["main"])
        except Exception as error:  # noqa: BLE001 - TVM raises whatever it likes; the next rule is the answer
            if isinstance(error, PipelineError):
                faults[FAULT] = error.what
            refused.append(f"{rule.__name__} refused: {first_line(error)}")
            continue
        if done is not None:
            rewritten = [f"{', '.join(functions)} in vectors"] if functions else []
            said = "; ".join([*refused, *rewritten, done])
            return scheduled.with_attrs({ATTRIBUTE: said, "tirx.is_scheduled": True, **faults})
    return function.with_attrs({ATTRIBUTE: "; ".join([*refused, "left as it is"]), **faults})


def _completed(function: Any) -> Any:
    """With what the rules asked for in marks."""
    import tvm

    plain = tvm.s_tir.transform.StmtSimplify()(tvm.IRModule({"main": with_reach(function)}))["main"]
    return with_turned_tiles(with_requests(with_weights_ahead(plain)))


def faults_of(module: Any) -> dict[str, str]:
    """Kernels whose operator brings a schedule that fails, and what it says; there the scheduler's own rules are taken.

    Parameters
    ----------
    module : tvm.IRModule
        After the stage ``schedule``.
    """
    attributes = {v.name_hint: f.attrs for v, f in module.functions.items() if f.attrs is not None}
    return {name: str(found[FAULT]) for name, found in attributes.items() if FAULT in found}
