"""One kernel in another layout: images in blocks of channels, weights of a convolution packed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab import runtime
from tvmlab.pipeline.convolution import FEW_INPUTS, Convolution, find_convolution, stands_at
from tvmlab.pipeline.kernel import Block, blocks_of, extent_of
from tvmlab.pipeline.matmul import Matmul, find_matmul
from tvmlab.pipeline.register_tiles import register_tile
from tvmlab.pipeline.widening import Widening, widened

__all__ = ["CONVOLUTION", "PANEL", "REACH", "Packed", "is_direct", "lanes_for", "pack_kernel"]

CONVOLUTION = "tvmlab.convolution"
REACH = "tvmlab.reach"
PANEL = "tvmlab.panel"

Array = NDArray[Any]

_IMAGE = 4
_BYTES = {"float32": 4, "float64": 8}
_WORTH_A_PANEL = 4  # lanes
_WORTH_PADDING = 64  # columns: with fewer, padded rows cost more than their tiles gain
_COLUMNS = 8  # vectors of at least so many
_LEAST = 2  # lanes: still better than a scalar, in groups of few channels


@dataclass(frozen=True)
class Packer:
    """Packs weights ``(out, in, rows, columns)`` to ``(out / lanes, in / inner, rows, columns, inner, lanes)``."""

    lanes: int
    inner: int
    widening: Widening | None = None

    def __call__(self, weights: Array) -> Array:
        weights = weights if self.widening is None else self.widening(weights)
        out, inputs, *window = weights.shape
        split = weights.reshape(out // self.lanes, self.lanes, inputs // self.inner, self.inner, *window)
        packed = split.transpose(0, 2, 4, 5, 3, 1)
        return np.ascontiguousarray(packed[..., 0, :] if self.inner == 1 else packed)


@dataclass(frozen=True)
class PanelPacker:
    """Packs a matrix ``(inner, columns)``, or turned ``(columns, inner)``, to ``(columns / panel, inner, panel)``."""

    panel: int
    turned: bool

    def __call__(self, matrix: Array) -> Array:
        columns_first = matrix if self.turned else matrix.T
        panels = columns_first.reshape(-1, self.panel, columns_first.shape[1])
        return np.ascontiguousarray(panels.transpose(0, 2, 1))


@dataclass(frozen=True)
class Packed:
    """A kernel in a layout, and how to bring its constants into it."""

    function: Any
    constants: Mapping[int, Callable[[Array], Array]] = field(default_factory=dict)


def lanes_for(channels: int, dtype: str) -> int:
    """How many channels stand together: as many as a vector holds, or half or a quarter of that; 0 if none divides."""
    if dtype not in _BYTES:
        return 0
    lanes = runtime.vector_bytes() // _BYTES[dtype]
    while lanes >= _LEAST:
        if channels % lanes == 0:
            return lanes
        lanes //= 2
    return 0


def pack_kernel(function: Any, lanes: tuple[int, ...], constants: tuple[int, ...]) -> Packed | None:
    """Bring a kernel's images into blocks of channels, and pack a convolution's weights.

    Parameters
    ----------
    function : tvm.tirx.PrimFunc
        Is not changed.
    lanes : tuple of int
        For each parameter, how many channels stand together; 0 where the layout stays.
    constants : tuple of int
        Positions of parameters that are known at compile time.

    Returns
    -------
    Packed or None
        None if TVM cannot bring the kernel into that layout.
    """
    import tvm

    schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": function}))
    found = find_convolution(blocks_of(schedule))
    if found is not None and not _weights_stand(_parameters(schedule), lanes, found):
        return None if any(lanes) else Packed(function)
    direct = found is not None and not any(lanes) and is_direct(found)
    widening = None if found is None or direct else _widening(schedule, found, constants)
    if found is not None and widening is not None:
        schedule, found, widening = _widen(schedule, found, widening)
    convolution = None if direct else _packable(found)
    product = None if convolution is not None else find_matmul(blocks_of(schedule))
    padding = _padding(product)
    if product is not None and padding:
        schedule = _padded(schedule, product, padding)
        product = find_matmul(blocks_of(schedule))
    matmul = _panelled(product)
    if convolution is None and matmul is None and not any(lanes):
        return Packed(schedule.mod["main"])
    try:
        packers: dict[int, Callable[[Array], Array]] = {}
        if matmul is not None:
            packers.update(_pack_panels(schedule, matmul, constants))
        packers.update(_pack(schedule, lanes, convolution, constants, widening))
    except (tvm.s_tir.ScheduleError, ValueError, RuntimeError):
        return None if any(lanes) else Packed(function)
    return Packed(_with_plain_conditions(schedule.mod["main"]), packers)


def _with_plain_conditions(function: Any) -> Any:
    """Conditions on channels as conditions on their blocks, where these decide them.

    A condition that depends on the channel within a block would keep the kernel from vectors.  TVM's analyzer knows
    that ``16 * block + channel < 64`` is ``block < 4``, but not that ``64 <= 16 * block + channel`` is its contrary.
    """
    import tvm_ffi
    from tvm import s_tir, sym, tirx

    def plain(block: Any) -> Any:
        analyzer = sym.Analyzer()
        for axis in block.iter_vars:
            analyzer.bind(axis.var, axis.dom)

        def contrary(each: Any) -> Any:
            return analyzer.simplify(tirx.Not(tirx.LT(each.b, each.a)))

        body = tvm_ffi.structural_map(block.body, [(tirx.LE, contrary)])
        return s_tir.SBlock(
            block.iter_vars,
            block.reads,
            block.writes,
            block.name_hint,
            body,
            block.init,
            block.alloc_buffers,
            block.match_buffers,
            block.annotations,
        )

    return tvm_ffi.structural_map(function, [(s_tir.SBlock, plain)])


def _weights_stand(parameters: list[Any], lanes: tuple[int, ...], found: Convolution) -> bool:
    """Whether the weights are a parameter in its own layout, not computed in the kernel, nor taken for an image."""
    return any(p.same_as(found.weights.buffer) and not count for p, count in zip(parameters, lanes, strict=True))


def _panelled(found: Matmul | None) -> Matmul | None:
    """The product if its right side is one matrix whose columns make whole panels."""
    return found if found is not None and found.plain and _panel(found) else None


def _panel(matmul: Matmul) -> int:
    """Columns that stand together: those of a tile."""
    lanes = lanes_for(matmul.columns or 1, str(matmul.right.buffer.dtype))
    if lanes < _WORTH_A_PANEL:
        return 0
    return lanes * register_tile((matmul.columns or 1) // lanes, matmul.tiled_rows).vectors


def _padding(matmul: Matmul | None) -> list[int]:
    """Of each axis, what its extent should be a multiple of for whole tiles; nothing if there is nothing to gain."""
    if matmul is None or (matmul.columns or 0) < _WORTH_PADDING:
        return []
    lanes, axes = lanes_for(matmul.columns or 1, str(matmul.right.buffer.dtype)), matmul.block.spatial
    if lanes < _WORTH_A_PANEL or not matmul.rows_on_one_axis or len(axes) < matmul.batch + 2 or matmul.rows == 0:
        return []
    height = register_tile((matmul.columns or 1) // lanes, matmul.tiled_rows).height
    if extent_of(axes[-2]) == 1 or matmul.rows_divide_by(height):
        return []
    return [1] * (len(axes) - 2) + [height, 1, 1]


def _padded(schedule: Any, matmul: Matmul, padding: list[int]) -> Any:
    """A schedule in which a product's rows make whole tiles; what is too much is cut off by what follows."""
    import tvm

    padded = schedule.copy()
    names = {block.name for block in blocks_of(padded)}
    try:
        padded.pad_einsum(matmul.block.rv, padding)
        position = next(i for i, b in enumerate(blocks_of(padded)) if b.name == matmul.block.name)
        cut = blocks_of(padded)[position + 1]
        if cut.name not in names and not _writes_parameter(padded, cut.rv):
            padded.compute_inline(cut.rv)
    except tvm.s_tir.ScheduleError:
        return schedule
    return padded


def _pack_panels(schedule: Any, matmul: Matmul, constants: tuple[int, ...]) -> dict[int, PanelPacker]:
    """Store the right side panel by panel, if that can be done at compile time, or if it lies the wrong way round."""
    block, panel, turned = matmul.block.rv, _panel(matmul), matmul.turned
    parameters = _parameters(schedule)
    position = next((i for i in constants if parameters[i].same_as(matmul.right.buffer)), None)
    if position is None and not turned:
        return {}
    place = _read_place(schedule, block, matmul.right.buffer)
    if position is None:
        schedule.cache_read(block, place, "global")
    schedule.annotate(block, PANEL, panel)
    schedule.transform_layout(block, ("read", place), _panel_map(panel, turned))
    return {} if position is None else {position: PanelPacker(panel, turned)}


def _panel_map(panel: int, turned: bool) -> Callable[..., Any]:
    if turned:
        return lambda j, k: (j // panel, k, j % panel)
    return lambda k, j: (j // panel, k, j % panel)


def _widening(schedule: Any, found: Convolution, constants: tuple[int, ...]) -> Widening | None:
    """How to fill whole vectors with output channels, where that takes fewer of them than shorter vectors would."""
    known = any(_parameters(schedule)[i].same_as(found.weights.buffer) for i in constants)
    dtype = str(found.weights.buffer.dtype)
    if not known or found.group_inputs == 1 or not lanes_for(found.out_channels, dtype):
        return None
    lanes = runtime.vector_bytes() // _BYTES[dtype]
    widening = Widening(lanes, found.group_outputs, found.group_inputs, found.groups)
    shorter = found.out_channels // max(lanes_for(found.group_outputs, dtype), 1) * found.group_inputs
    return widening if widening.steps < shorter else None


def _widen(schedule: Any, found: Convolution, widening: Widening) -> tuple[Any, Convolution, Widening | None]:
    """The kernel with whole vectors; as it was, if channels are to be added and what follows cannot leave them out."""
    import tvm

    wider = schedule.copy()
    if _writes_parameter(wider, found.block.rv):
        wider.cache_write(found.block.rv, 0, "global")
    blocks = blocks_of(wider)
    at = next(n for n, block in enumerate(blocks) if block.name == found.block.name)
    after = blocks[at + 1] if len(blocks) == at + 2 and _goes_along(blocks[at + 1], blocks[at].target.buffer) else None
    convolution = find_convolution(blocks)
    assert convolution is not None
    if after is None and found.out_channels % widening.lanes:
        return schedule, found, None
    wider = tvm.s_tir.Schedule(tvm.IRModule({"main": widened(wider, convolution, after, widening)}))
    again = find_convolution(blocks_of(wider))
    assert again is not None
    return wider, replace(again, whole=True, kept_channels=found.out_channels), widening


def _goes_along(block: Block, sums: Any) -> bool:
    """Whether a block takes an image element by element and writes one of the same size."""
    loads = [load for load in block.loads if load.buffer.same_as(sums)]
    plain = block.single and not block.reduction and len(block.spatial) == _IMAGE
    return plain and all(stands_at(place, block.spatial) for place in (block.target, *loads))


def is_direct(convolution: Convolution) -> bool:
    """Whether an image in its own layout is best taken as it is: few inputs a window, side by side, many columns."""
    columns, step = extent_of(convolution.block.spatial[3]) or 1, convolution.step
    inputs = convolution.group_inputs * math.prod(extent_of(a) or 1 for a in convolution.block.reduction[1:])
    if len(convolution.data.indices) != _IMAGE or step != 1:
        return False
    return convolution.flat or (columns % _COLUMNS == 0 and inputs <= FEW_INPUTS)


def _packable(found: Convolution | None) -> Convolution | None:
    """The convolution if whole vectors of output channels share their inputs, or each has its own."""
    if found is None or not lanes_for(_vector_channels(found), str(found.weights.buffer.dtype)):
        return None
    return found


def _vector_channels(convolution: Convolution) -> int:
    """How many output channels may be spread over vectors: those of a group, or all if each is its own group."""
    free = convolution.whole or convolution.depthwise
    return convolution.out_channels if free else convolution.group_outputs


def _pack(
    schedule: Any,
    lanes: tuple[int, ...],
    convolution: Convolution | None,
    constants: tuple[int, ...],
    widening: Widening | None,
) -> dict[int, Packer]:
    if convolution is not None and _writes_parameter(schedule, convolution.block.rv):
        schedule.cache_write(convolution.block.rv, 0, "global")
    walks = _walks(schedule, lanes, convolution)
    for position, count in enumerate(lanes):
        if count:
            _exchange(schedule, _parameters(schedule)[position], _image_map(count))
    for block, count in walks:
        if not _writes_parameter(schedule, block):
            schedule.transform_layout(block, ("write", 0), _image_map(count))
        if convolution is None or schedule.get(block).name_hint != convolution.block.name:
            schedule.transform_block_layout(block, _walk_map(len(schedule.get(block).iter_vars), count))
    return {} if convolution is None else _pack_weights(schedule, convolution, constants, widening)


def _walks(schedule: Any, lanes: tuple[int, ...], convolution: Convolution | None) -> list[tuple[Any, int]]:
    """The blocks that walk over images element by element, each with the channels it should take together."""
    counts = dict(zip(_parameters(schedule), lanes, strict=True))
    found = []
    for block in blocks_of(schedule):
        if len(block.spatial) != _IMAGE or not block.single or not stands_at(block.target, block.spatial):
            continue
        if any(extent_of(axis) is None for axis in block.spatial[1:]):
            continue
        channels = extent_of(block.spatial[1]) or 0
        count = counts.get(block.target.buffer, lanes_for(channels, str(block.target.buffer.dtype)))
        if convolution is not None:
            count = _count_beside(block, convolution, counts)
        if count and channels % count == 0:
            found.append((block.rv, count))
    return found


def _count_beside(block: Block, convolution: Convolution, counts: Mapping[Any, int]) -> int:
    """Channels that a block of a convolution's kernel takes together: before it as its data, after it as its image."""
    dtype = str(convolution.weights.buffer.dtype)
    if block.name == convolution.block.name:
        return lanes_for(_vector_channels(convolution), dtype)
    if block.target.buffer.same_as(convolution.data.buffer):
        return next((counts[load.buffer] for load in block.loads if load.buffer in counts), 0)
    return lanes_for(convolution.kept_channels or _vector_channels(convolution), dtype)


def _pack_weights(
    schedule: Any, convolution: Convolution, constants: tuple[int, ...], widening: Widening | None
) -> dict[int, Packer]:
    """Pack the weights, and let the convolution walk over them in their order."""
    block = convolution.block.rv
    schedule.annotate(block, CONVOLUTION, 1)
    lanes = lanes_for(_vector_channels(convolution), str(convolution.weights.buffer.dtype))
    inner = _inner_inputs(schedule, convolution, widening)
    if widening is not None and widening.spans > 1:
        reach = (widening.lanes, widening.outputs, widening.inputs // inner, widening.groups)
        schedule.annotate(block, REACH, list(reach))
    place = _read_place(schedule, block, convolution.weights.buffer)
    position = next((i for i in constants if _parameters(schedule)[i].same_as(convolution.weights.buffer)), None)
    if position is None:  # packed whenever the kernel runs
        schedule.cache_read(block, place, "global")
    schedule.transform_layout(block, ("read", place), _weights_map(lanes, inner))
    schedule.transform_block_layout(block, _convolution_map(lanes, inner))
    return {} if position is None else {position: Packer(lanes, inner, widening)}


def _inner_inputs(schedule: Any, convolution: Convolution, widening: Widening | None) -> int:
    """Input channels that stand together in the data, if they do so in each group; else 1."""
    regions = schedule.get(convolution.block.rv).reads
    data = next(r.source for r in regions if not r.source.same_as(convolution.weights.buffer))
    inner = int(data.shape[_IMAGE]) if len(data.shape) > _IMAGE else 1
    inputs = convolution.group_inputs if widening is None else widening.inputs
    return inner if inputs % inner == 0 else 1


def _exchange(schedule: Any, buffer: Any, places: Callable[..., Any]) -> None:
    """Give a parameter another layout."""
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        for kind, regions in (("read", schedule.get(block).reads), ("write", schedule.get(block).writes)):
            for position, region in enumerate(regions):
                if region.source.same_as(buffer):
                    schedule.transform_layout(block, (kind, position), places)
                    return


def _read_place(schedule: Any, block: Any, buffer: Any) -> int:
    return next(i for i, region in enumerate(schedule.get(block).reads) if region.source.same_as(buffer))


def _parameters(schedule: Any) -> list[Any]:
    return [p for p in schedule.mod["main"].params if hasattr(p, "shape")]


def _writes_parameter(schedule: Any, block: Any) -> bool:
    target = schedule.get(block).writes[0].source
    return any(target.same_as(p) for p in _parameters(schedule))


def _image_map(count: int) -> Callable[..., Any]:
    return lambda n, c, h, w: (n, c // count, h, w, c % count)


def _walk_map(axes: int, count: int) -> Any:
    """Of a block that walks over an image and, perhaps, over a window."""
    from tvm.tirx import IndexMap

    return IndexMap.from_func(lambda n, c, h, w, *r: (n, c // count, h, w, c % count, *r), ndim=axes)


def _weights_map(lanes: int, inner: int) -> Callable[..., Any]:
    if inner == 1:
        return lambda o, i, a, b: (o // lanes, i, a, b, o % lanes)
    return lambda o, i, a, b: (o // lanes, i // inner, a, b, i % inner, o % lanes)


def _convolution_map(lanes: int, inner: int) -> Callable[..., Any]:
    if inner == 1:
        return lambda n, o, y, x, i, a, b: (n, o // lanes, y, x, o % lanes, i, a, b)
    return lambda n, o, y, x, i, a, b: (n, o // lanes, y, x, o % lanes, i // inner, a, b, i % inner)
