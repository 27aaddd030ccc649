"""Rule for a single block that reads in another order than it writes: transposes, and reshapes after them."""

from __future__ import annotations

import itertools
import math
from typing import Any

from tvmlab import runtime
from tvmlab.pipeline.kernel import Block, Load, blocks_of, extent_of, mentions
from tvmlab.pipeline.packing import lanes_for
from tvmlab.pipeline.schedule.loops import parallel, steps_by_one
from tvmlab.pipeline.schedule.streaming import streams
from tvmlab.pipeline.schedule.turning import turn_in_registers

__all__ = ["turned_tiles"]

_TILE = 16  # elements or rows a side: each line of the cache, and of rows each page, that is touched is used up
_STRIP = 64  # elements of a row that are read before the next rows: four lines of the cache
_LEAST_SIDE = 4  # of a tile that is turned in registers
_WORTH_A_THREAD = 1 << 16  # elements to move: a quarter of them an addition's time each


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
    return f"{block.name}: {', '.join(said)}"


def _rows(schedule: Any, block: Block, axis: int) -> str:
    """Both sides are contiguous along one axis; along the next, each has rows a page apart where the other has none."""
    loops = schedule.get_loops(block.rv)
    lanes = _divisor(extent_of(block.spatial[axis]) or 1, runtime.vector_bytes() // 4)
    near, walked = _read_axis(block, but=axis), [*loops[:axis]]
    if near is not None and near < axis - 1:
        (near_outer, near_inner), (next_outer, next_inner) = (
            schedule.split(loops[n], [None, _divisor(extent_of(block.spatial[n]) or 1, _TILE)])
            for n in (near, axis - 1)
        )
        walked = [*(loop for n, loop in enumerate(walked) if n not in (near, axis - 1)), near_outer, next_outer]
        schedule.reorder(*walked, next_inner, near_inner, *loops[axis:])
    if lanes > 1:
        schedule.vectorize(schedule.split(loops[axis], [None, lanes])[1])
    return ", ".join([f"rows in vectors of {lanes}", *_parallel(schedule, block, walked)])


def _tiles(schedule: Any, block: Block, read: int, written: int) -> str:
    """One side is contiguous along one axis, the other along another."""
    loops = schedule.get_loops(block.rv)
    outer = [loop for i, loop in enumerate(loops) if i not in (read, written)]
    side = _side(schedule, block, read, written)
    if side:
        strip = _divisor((extent_of(block.spatial[read]) or 1) // side, max(1, _STRIP // side))
        read_outer, read_middle, read_inner = schedule.split(loops[read], [None, strip, side])
        written_outer, written_inner = schedule.split(loops[written], [None, side])
        schedule.reorder(*outer, read_outer, written_outer, read_middle, read_inner, written_inner)
        past = streams(side, str(block.target.buffer.dtype), block.elements or 0)
        turn_in_registers(schedule, read_inner, past)
        said = f"tiles of {side} by {side} turned in registers{', stored past the caches' * past}"
        return ", ".join([said, *_parallel(schedule, block, [*outer, read_outer, written_outer])])
    height, width = (_divisor(extent_of(block.spatial[axis]) or 1, _TILE) for axis in (read, written))
    read_outer, read_inner = schedule.split(loops[read], [None, height])
    written_outer, written_inner = schedule.split(loops[written], [None, width])
    schedule.reorder(*outer, read_outer, written_outer, read_inner, written_inner)
    if width > 1:
        schedule.vectorize(written_inner)
    said = f"tiles of {height} by {width}"
    return ", ".join([said, *_parallel(schedule, block, [*outer, read_outer, written_outer])])


def _parallel(schedule: Any, block: Block, loops: list[Any]) -> list[str]:
    """In parallel, if so many elements are moved that it takes longer than to wake a thread."""
    return parallel(schedule, block, loops) if (block.iterations or 0) >= _WORTH_A_THREAD else []


def _side(schedule: Any, block: Block, read: int, written: int) -> int:
    """Of the square tiles that registers can turn: a vector, or half or a quarter of one; 0 if it is no plain copy."""
    if len(block.loads) != 1 or type(schedule.get(block.rv).body.value).__name__ != "TensorLoad":
        return 0
    lanes = lanes_for(
        math.gcd(*(extent_of(block.spatial[n]) or 1 for n in (read, written))), str(block.target.buffer.dtype)
    )
    unit = steps_by_one(block.loads[0], block.spatial[read].var) and steps_by_one(
        block.target, block.spatial[written].var
    )
    return lanes if unit and lanes >= _LEAST_SIDE else 0


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


def _read_axis(block: Block, but: int | None = None) -> int | None:
    """The axis along which the largest load is contiguous; or the one that it walks along next, but for that axis."""
    moving = [load for load in block.loads if any(mentions(i, a.var) for i in load.indices for a in block.spatial)]
    if not moving:
        return None
    indices = max(moving, key=lambda load: len(load.indices)).indices
    for index in indices[-1:] if but is None else reversed(indices):
        wide = [i for i, a in enumerate(block.spatial) if i != but and extent_of(a) != 1 and mentions(index, a.var)]
        if wide:
            return wide[-1]
    return None


def _divisor(extent: int, most: int) -> int:
    return max(d for d in range(1, most + 1) if extent % d == 0)
