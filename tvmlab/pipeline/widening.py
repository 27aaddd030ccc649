"""A convolution whose output channels do not make whole vectors, so that they do.

There are two reasons.  The channels are no multiple of a vector, as 1000 are none of 16: then there are more, whose
weights are 0, and what follows leaves them out.  Or a vector covers several groups, as one of 16 does where a group has
34 outputs: then its window goes over the inputs of all of them, and the weights of the other groups are 0.  A vector
that lies within one group need not read the others' inputs: `Widening.reach` says what it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.pipeline.convolution import Convolution
from tvmlab.pipeline.kernel import Block

__all__ = ["Widening", "widened"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Widening:
    """How a convolution's output channels make vectors.

    Parameters
    ----------
    lanes : int
        Output channels of a vector, all of which read the same inputs.
    outputs, inputs, groups : int
        Output and input channels of a group, and how many groups there are.
    """

    lanes: int
    outputs: int
    inputs: int
    groups: int

    @property
    def vectors(self) -> int:
        return -(-self.outputs * self.groups // self.lanes)

    @property
    def spans(self) -> int:
        """Groups of a window: the most that a vector covers."""
        return max(int(self._last(v, min) - self._first(v) + 1) for v in range(self.vectors))

    @property
    def steps(self) -> int:
        """Input channels that all vectors together read."""
        return sum(self.reach(v)[1] for v in range(self.vectors))

    def start(self, channel: Any, least: Any = min) -> Any:
        """First input channel of the window of an output channel."""
        return least(self._first(channel // self.lanes), self.groups - self.spans) * self.inputs

    def reach(self, vector: Any, least: Any = min) -> tuple[Any, Any]:
        """Where in its window a vector begins to read, and how many input channels it reads."""
        first, last = self._first(vector), self._last(vector, least)
        begin = first * self.inputs - self.start(vector * self.lanes, least)
        return begin, (last - first + 1) * self.inputs

    def _first(self, vector: Any) -> Any:
        return vector * self.lanes // self.outputs

    def _last(self, vector: Any, least: Any) -> Any:
        return least((vector * self.lanes + self.lanes - 1) // self.outputs, self.groups - 1)

    def __call__(self, weights: Array) -> Array:
        """Weights ``(out, in of a group, rows, columns)`` with room for whole vectors and windows, 0 where they add."""
        out, inputs, *window = weights.shape
        wide = np.zeros((self.vectors * self.lanes, self.spans * inputs, *window), weights.dtype)
        for channel in range(out):
            at = channel // self.outputs * inputs - self.start(channel)
            wide[channel, at : at + inputs] = weights[channel]
        return wide


def widened(schedule: Any, convolution: Convolution, after: Block | None, widening: Widening) -> Any:
    """The kernel with a convolution of whole vectors, whose weights are larger.

    Parameters
    ----------
    schedule : tvm.s_tir.Schedule
        Is not changed.
    after : Block or None
        What reads the convolution's result, channel by channel; needed where there are more channels than before.

    Returns
    -------
    tvm.tirx.PrimFunc
    """
    import tvm_ffi
    from tvm import ir, s_tir, tirx

    weights, sums = convolution.weights.buffer, convolution.block.target.buffer
    out, inputs, *window = weights.shape
    channels, inner = convolution.block.spatial[1], convolution.block.reduction[0]
    more, wide = widening.vectors * widening.lanes, widening.spans * widening.inputs
    wider = tirx.decl_buffer(
        [_like(out, more), _like(inputs, wide), *window], str(weights.dtype), name=weights.name, layout=None
    )
    image, _, *pixels = sums.shape
    filled = tirx.decl_buffer([image, _like(out, more), *pixels], str(sums.dtype), name=sums.name, layout=None)
    old, new = convolution.data.indices[1], widening.start(channels.var, tirx.min) + inner.var
    extents = {channels.var: more, inner.var: wide}
    loops = _loops(schedule, convolution.block, {channels.var: more, inner.var: wide})
    if after is not None and more != int(out):
        extents[after.spatial[1].var] = more
        loops |= _loops(schedule, after, {after.spatial[1].var: more})

    def variable(each: Any) -> Any:
        return wider if each.same_as(weights) else filled if each.same_as(sums) else each

    def index(each: Any) -> Any:
        return new if widening.spans > 1 and tvm_ffi.structural_equal(each, old) else each

    def axis(each: Any) -> Any:
        if each.var not in extents:
            return each
        return tirx.IterVar(ir.Range(0, _like(each.dom.extent, extents[each.var])), each.var, each.iter_type)

    def walk(each: Any) -> Any:
        if each.loop_var not in loops:
            return each
        return tirx.For(each.loop_var, each.min, _like(each.extent, loops[each.loop_var]), each.kind, each.body)

    def guard(each: Any) -> Any:
        if after is None or each.name_hint != after.name or after.spatial[1].var not in extents:
            return each
        body = tirx.IfThenElse(after.spatial[1].var < out, each.body, None)
        return s_tir.SBlock(each.iter_vars, each.reads, each.writes, each.name_hint, body, annotations=each.annotations)

    changes = [(s_tir.SBlock, guard), (tirx.For, walk), (tirx.Add, index), (tirx.IterVar, axis), (tirx.Var, variable)]
    return tvm_ffi.structural_map(schedule.mod["main"], changes)


def _loops(schedule: Any, block: Block, extents: dict[Any, int]) -> dict[Any, int]:
    """The loops over some of a block's axes, each axis being walked by a loop of its own."""
    axes = [axis.var for axis in schedule.get(block.rv).iter_vars]
    loops = [schedule.get(loop).loop_var for loop in schedule.get_loops(block.rv)]
    return {loop: extents[axis] for axis, loop in zip(axes, loops, strict=True) if axis in extents}


def _resized(buffer: Any, shape: list[Any]) -> Any:
    """Without a layout: TVM keeps a buffer that has one outside of all loops."""
    from tvm import tirx

    return tirx.decl_buffer(shape, str(buffer.dtype), name=buffer.name, layout=None)


def _like(extent: Any, size: int) -> Any:
    """A size of the type of an extent."""
    from tvm import tirx

    return tirx.IntImm(str(extent.ty), size)
