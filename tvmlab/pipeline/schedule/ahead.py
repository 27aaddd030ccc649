"""Requests for the weights of the next output channels while the present ones are computed.

A network's weights do not stay in the near caches from one run to the next, and those of the next channels come too
late if they are asked for when they are needed.  A tile asks for a few lines of them at each turn of the loop around
the innermost one over the inputs; the tiles of a column of rows share the lines.  A rule marks that loop; the requests
are put in when it is done, since a schedule knows no primitive for them.
"""

from __future__ import annotations

import math
from typing import Any

from tvmlab.pipeline.kernel import extent_of, mentions

__all__ = ["ask_for_next_weights", "with_weights_ahead"]

_AHEAD = "tvmlab.weights_ahead"
_READ, _SECOND_LEVEL, _DATA = 0, 2, 1  # of a request, as LLVM counts
_CHANNELS, _ROW = 1, 2  # axes of a packed convolution


def ask_for_next_weights(schedule: Any, loop: Any, vectors: int) -> None:
    """Mark the loop around the innermost one over the inputs of a tile of so many vectors of channels."""
    schedule.annotate(loop, _AHEAD, vectors)


def with_weights_ahead(function: Any) -> Any:
    """The kernel with the requests that its marks ask for, and without the marks."""
    import tvm_ffi
    from tvm import tirx

    marked: list[Any] = []

    def note(loop: Any) -> None:
        marked.extend([loop] if _AHEAD in loop.annotations else [])

    def change(loop: Any) -> Any:
        if _AHEAD not in loop.annotations:
            return loop
        kept = {key: value for key, value in loop.annotations.items() if key != _AHEAD}
        body = tirx.SeqStmt([*_requests(loop, int(loop.annotations[_AHEAD])), loop.body])
        return tirx.For(loop.loop_var, loop.min, loop.extent, loop.kind, body, loop.thread_binding, kept)

    tvm_ffi.structural_walk(function.body, (tirx.For, note))
    return tvm_ffi.structural_map(function, [(tirx.For, change)]) if marked else function


def _requests(loop: Any, vectors: int) -> list[Any]:
    """Of the lines that this turn reads, but for the next channels: those that fall to the present row."""
    import tvm_ffi
    from tvm import s_tir, tirx

    inside: list[Any] = []  # outermost first
    realized: list[Any] = []
    tvm_ffi.structural_walk(loop.body, (tirx.For, inside.append), order="pre")
    tvm_ffi.structural_walk(loop.body, (s_tir.SBlockRealize, realized.append))
    block, values = realized[0].block, list(realized[0].iter_values)
    zero = {each.loop_var: tirx.IntImm(str(each.loop_var.ty), 0) for each in inside}
    lines, rows = extent_of(inside[0]) or 1, extent_of(block.iter_vars[_ROW]) or 1
    share = math.ceil(lines / rows)
    first = _put(values[_ROW], zero) % math.ceil(lines / share) * share
    weights = _weights(block)
    requests = []
    for vector in range(vectors):
        for line in range(share):
            here = {**zero, inside[0].loop_var: first + line}
            axes = {axis.var: _put(value, here) for axis, value in zip(block.iter_vars, values, strict=True)}
            axes[block.iter_vars[_CHANNELS].var] += vectors + vector
            address = tirx.address_of(tirx.BufferLoad(weights.source, [_put(i, axes) for i in weights.indices]))
            asked = tirx.call_intrin("void", "tirx.prefetch", address, _READ, _SECOND_LEVEL, _DATA)
            requests.append(tirx.Evaluate(asked))
    return requests


def _weights(block: Any) -> Any:
    """The load that goes with the channels and not with the row; not that of the sums, which goes with both."""
    import tvm_ffi

    loads: list[Any] = []

    def note(node: Any) -> None:
        loads.extend([node] if type(node).__name__ == "TensorLoad" else [])

    tvm_ffi.structural_walk(block.body, note)
    channels, row = (block.iter_vars[axis].var for axis in (_CHANNELS, _ROW))
    return next(
        load
        for load in loads
        if mentions(load.indices[0], channels) and not any(mentions(index, row) for index in load.indices)
    )


def _put(node: Any, values: dict[Any, Any]) -> Any:
    """An expression with values for variables, simplified."""
    import tvm_ffi
    from tvm import sym, tirx

    return sym.Analyzer().simplify(tvm_ffi.structural_map(node, [(tirx.Var, lambda each: values.get(each, each))]))
