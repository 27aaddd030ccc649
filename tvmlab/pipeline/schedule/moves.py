"""Rule for a single block that reads in another order than it writes: transposes, and reshapes after them."""

from __future__ import annotations

import itertools
from typing import Any

from tvmlab import runtime
from tvmlab.pipeline.kernel import Block, Load, blocks_of, extent_of, mentions
from tvmlab.pipeline.schedule.loops import parallel

__all__ = ["turned_tiles"]

_TILE = 16  # elements a side: each line of the cache that is touched is used up


def turned_tiles(schedule: Any, blocks: list[Block]) -> str | None:
    """Walk over the axes that a reshape has joined one by one, and over a transpose in tiles."""
    if len(blocks) != 1 or blocks[0].reduction or not blocks[0].single or blocks[0].calls:
        return None
    if not _turns(blocks[0]):
        return None
    block, said = blocks[0], []
    split = _splits(block)
    if split:
        _unflatten(schedule, block, split)
        said.append("joined axes one by one")
        (block,) = blocks_of(schedule)
    written, read = _last_wide(block), _read_axis(block)
    if written is None or read is None or len(schedule.get_loops(block.rv)) != len(block.spatial):
        return None
    said.append(_rows(schedule, block, written) if read == written else _tiles(schedule, block, read, written))
    return f"{block.name}: {', '.join(said)}, parallel"


def _rows(schedule: Any, block: Block, axis: int) -> str:
    """Both sides are contiguous along one axis."""
    loops = schedule.get_loops(block.rv)
    lanes = _divisor(extent_of(block.spatial[axis]) or 1, runtime.vector_bytes() // 4)
    if lanes > 1:
        schedule.vectorize(schedule.split(loops[axis], [None, lanes])[1])
    parallel(schedule, block, loops[:axis])
    return f"rows in vectors of {lanes}"


def _tiles(schedule: Any, block: Block, read: int, written: int) -> str:
    """One side is contiguous along one axis, the other along another."""
    loops = schedule.get_loops(block.rv)
    outer = [loop for i, loop in enumerate(loops) if i not in (read, written)]
    height, width = (_divisor(extent_of(block.spatial[axis]) or 1, _TILE) for axis in (read, written))
    read_outer, read_inner = schedule.split(loops[read], [None, height])
    written_outer, written_inner = schedule.split(loops[written], [None, width])
    schedule.reorder(*outer, read_outer, written_outer, read_inner, written_inner)
    if width > 1:
        schedule.vectorize(written_inner)
    parallel(schedule, block, [*outer, read_outer, written_outer])
    return f"tiles of {height} by {width}"


def _turns(block: Block) -> bool:
    """Whether a load's last index does not walk along with the last axis that is written."""
    last = _last_wide(block)
    if last is None or not _exact(block):
        return False
    variable = block.spatial[last].var
    return any(
        not load.indices[-1].same_as(variable)
        for load in block.loads
        if load.indices and any(mentions(index, axis.var) for index in load.indices for axis in block.spatial)
    )


def _exact(block: Block) -> bool:
    """Whether the block writes element by element, over axes of known size."""
    pairs = zip(block.target.indices, block.spatial, strict=False)
    known = all(extent_of(axis) is not None for axis in block.spatial)
    return (
        known
        and len(block.target.indices) == len(block.spatial)
        and all(index.same_as(axis.var) or extent_of(axis) == 1 for index, axis in pairs)
    )


def _splits(block: Block) -> dict[int, list[int]]:
    """For each axis that loads divide, the sizes of its parts, outermost first."""
    found: dict[int, list[int]] = {}
    for position, axis in enumerate(block.spatial):
        extent = extent_of(axis) or 1
        steps = sorted({s for load in block.loads for s in _divisors_of(load, axis.var) if 1 < s < extent})
        bounds = [1, *steps, extent]
        if steps and all(big % small == 0 for small, big in itertools.pairwise(bounds)):
            found[position] = [big // small for small, big in itertools.pairwise(bounds)][::-1]
    return found


def _divisors_of(load: Load, variable: Any) -> set[int]:
    """Constants by which a load's indices divide a variable, alone."""
    import tvm_ffi
    from tvm import tirx

    found: set[int] = set()

    def visit(node: Any) -> None:
        if isinstance(node.b, tirx.IntImm) and mentions(node.a, variable):
            found.add(int(node.b))

    for index in load.indices:
        tvm_ffi.structural_walk(index, [(tirx.FloorDiv, visit), (tirx.FloorMod, visit)])
    return found


def _unflatten(schedule: Any, block: Block, split: dict[int, list[int]]) -> None:
    """Let the block walk over the parts of its axes, and simplify what it reads."""
    from tvm.tirx import IndexMap

    def parts(*axes: Any) -> list[Any]:
        result = []
        for position, axis in enumerate(axes):
            below = 1
            pieces = []
            for size in reversed(split.get(position, [])[1:]):
                pieces.append(axis // below % size if below > 1 else axis % size)
                below *= size
            pieces.append(axis // below if below > 1 else axis)
            result += reversed(pieces)
        return result

    schedule.transform_block_layout(block.rv, IndexMap.from_func(parts, ndim=len(block.spatial)))


def _last_wide(block: Block) -> int | None:
    return next((i for i in range(len(block.spatial) - 1, -1, -1) if extent_of(block.spatial[i]) != 1), None)


def _read_axis(block: Block) -> int | None:
    """The axis along which the largest load is contiguous."""
    moving = [load for load in block.loads if any(mentions(i, a.var) for i in load.indices for a in block.spatial)]
    if not moving:
        return None
    last = max(moving, key=lambda load: len(load.indices)).indices[-1]
    wide = [i for i, axis in enumerate(block.spatial) if extent_of(axis) != 1 and mentions(last, axis.var)]
    return wide[-1] if wide else None


def _divisor(extent: int, most: int) -> int:
    return max(d for d in range(1, most + 1) if extent % d == 0)
