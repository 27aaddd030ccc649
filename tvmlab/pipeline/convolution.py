"""Which block of a kernel is a convolution over images, read from its TIR."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlab import runtime
from tvmlab.pipeline.kernel import Block, Load, extent_of

__all__ = ["FEW_INPUTS", "Convolution", "find_convolution", "stands_at"]

FEW_INPUTS = 32  # of a window: with more, what is loaded matters less than how many products a load serves
_IMAGE = 4  # axes of a tensor (image, channel, row, column)
_MULTIPLY_ADD = 5  # nodes of: accumulator + data * weight
_WINDOW = 3  # axes that a convolution sums over: input channel, kernel row, kernel column


@dataclass(frozen=True)
class Convolution:
    """A convolution of NCHW images with OIHW weights.

    Parameters
    ----------
    block : Block
        Its spatial axes are image, output channel, row, column; its reduction axes input channel of the group, kernel
        row, kernel column.
    data, weights : Load
    whole : bool
        Whether vectors may run over all output channels, whatever their groups.
    kept_channels : int or None
        How many of the output channels are needed, where some were added to make whole vectors.
    """

    block: Block
    data: Load
    weights: Load
    whole: bool = False
    kept_channels: int | None = None

    @property
    def out_channels(self) -> int:
        return int(self.weights.buffer.shape[0])

    @property
    def group_inputs(self) -> int:
        """Input channels of one group."""
        return int(self.weights.buffer.shape[1])

    @property
    def step(self) -> int | None:
        """Columns of the data from one output to the next; None if that is not constant."""
        from tvm import sym, tirx

        column, window = self.block.spatial[3].var, self.block.reduction[2].var
        found = sym.detect_linear_equation(self.data.indices[3], [column, window])
        return int(found[0]) if found and isinstance(found[0], tirx.IntImm) else None

    @property
    def flat(self) -> bool:
        """Whether it makes each pixel of many inputs at its place: rows and columns are one axis, in whole vectors."""
        image, _, *pixel = self.block.spatial
        channel, *window = self.block.reduction
        alone = self.groups == 1 and self.group_inputs > FEW_INPUTS and all(extent_of(axis) == 1 for axis in window)
        pixels = math.prod(extent_of(axis) or 1 for axis in pixel)
        lanes = runtime.vector_bytes() // np.dtype(str(self.data.buffer.dtype)).itemsize
        return alone and pixels % lanes == 0 and stands_at(self.data, (image, channel, *pixel))

    @property
    def depthwise(self) -> bool:
        """Whether each output channel reads the one input channel of its own number."""
        return self.group_inputs == 1 and self.groups == self.out_channels

    @property
    def group_outputs(self) -> int:
        """Output channels of one group."""
        return self.out_channels // self.groups

    @property
    def groups(self) -> int:
        return int(self.data.buffer.shape[1]) // self.group_inputs


def find_convolution(blocks: list[Block]) -> Convolution | None:
    """The first convolution with static channels, rows and columns among some blocks."""
    return next((found for found in map(_read, blocks) if found is not None), None)


def _read(block: Block) -> Convolution | None:
    if not block.single or (len(block.spatial), len(block.reduction), len(block.loads)) != (_IMAGE, _WINDOW, 2):
        return None
    if block.calls or block.size != _MULTIPLY_ADD or not stands_at(block.target, block.spatial):
        return None
    if any(extent_of(axis) is None for axis in (*block.spatial[1:], *block.reduction)):
        return None
    window = (block.spatial[1], *block.reduction)
    weights = next((load for load in block.loads if stands_at(load, window)), None)
    data = next((load for load in block.loads if load is not weights), None)
    if weights is None or data is None or len(data.indices) != _IMAGE:
        return None
    return Convolution(block, data, weights)


def stands_at(load: Load, axes: tuple[Any, ...]) -> bool:
    """Whether a load's indices are these axes, one by one; an axis of extent 1 may stand as 0."""
    if len(load.indices) != len(axes):
        return False
    return all(i.same_as(a.var) or extent_of(a) == 1 for i, a in zip(load.indices, axes, strict=True))
