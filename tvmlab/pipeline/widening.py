"""A convolution in small groups, with windows over two groups: so that whole vectors of output channels share inputs.

Where a group has 34 outputs, a vector of 8 may cover two groups.  Both read from the inputs of their groups, so the
window is widened to two neighbouring groups, and the weights of the other group are 0.  Twice the work, in vectors
several times as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.pipeline.convolution import Convolution

__all__ = ["Widening", "widened"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Widening:
    """How a convolution's groups are read together.

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

    def start(self, channel: Any, least: Any = min) -> Any:
        """First input channel of the window of an output channel."""
        return least(channel // self.lanes * self.lanes // self.outputs, self.groups - 2) * self.inputs

    def __call__(self, weights: Array) -> Array:
        """Weights ``(out, in of a group, rows, columns)`` with room for two groups, 0 where the other group is read."""
        out, inputs, *window = weights.shape
        wide = np.zeros((out, 2 * inputs, *window), weights.dtype)
        for channel in range(out):
            at = channel // self.outputs * inputs - self.start(channel)
            wide[channel, at : at + inputs] = weights[channel]
        return wide


def widened(function: Any, convolution: Convolution, loop: Any, widening: Widening) -> Any:
    """The kernel with the convolution's windows over two groups; its weights are twice as large.

    Parameters
    ----------
    function : tvm.tirx.PrimFunc
        Is not changed.
    loop : tvm.tirx.For
        The one over the input channels of a group.
    """
    import tvm_ffi
    from tvm import ir, tirx

    weights = convolution.weights.buffer
    out, inputs, *window = weights.shape
    wider = tirx.decl_buffer([out, 2 * inputs, *window], str(weights.dtype), name=weights.name)
    inner = convolution.block.reduction[0]
    old = convolution.data.indices[1]
    start = widening.start(convolution.block.spatial[1].var, tirx.min)
    new = start + inner.var

    def variable(each: Any) -> Any:
        return wider if each.same_as(weights) else each

    def index(each: Any) -> Any:
        return new if tvm_ffi.structural_equal(each, old) else each

    def axis(each: Any) -> Any:
        if not each.var.same_as(inner.var):
            return each
        return tirx.IterVar(ir.Range(0, 2 * inner.dom.extent), each.var, each.iter_type, each.thread_tag)

    def walk(each: Any) -> Any:
        if not each.loop_var.same_as(loop.loop_var):
            return each
        return tirx.For(each.loop_var, each.min, 2 * each.extent, each.kind, each.body)

    return tvm_ffi.structural_map(
        function, [(tirx.For, walk), (tirx.Add, index), (tirx.IterVar, axis), (tirx.Var, variable)]
    )
