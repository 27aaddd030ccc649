"""Vectors of a convolution in groups that read only the inputs of the groups they cover.

The window of such a convolution is as long for all vectors, and its weights are 0 where a vector has nothing to read.
A rule marks the loop over the inputs; when it is done, the loop gets the bounds that the present vector needs, since
a schedule knows no primitive for that.
"""

from __future__ import annotations

from typing import Any

from tvmlab.pipeline.packing import REACH
from tvmlab.pipeline.widening import Widening

__all__ = ["keep_to_reach", "with_reach"]


def keep_to_reach(schedule: Any, block: Any, loop: Any) -> None:
    """Mark the loop over the inputs of a convolution, if its vectors do not need all of them."""
    reach = schedule.get(block).annotations.get(REACH)
    if reach is not None:
        schedule.annotate(loop, REACH, list(reach))


def with_reach(function: Any) -> Any:
    """The kernel with the bounds of the marked loops, and without the marks."""
    import tvm_ffi
    from tvm import sym, tirx

    marked: list[Any] = []

    def note(loop: Any) -> None:
        marked.extend([loop] if REACH in loop.annotations else [])

    def change(loop: Any) -> Any:
        if REACH not in loop.annotations:
            return loop
        vector = _vector(loop)
        begin, extent = Widening(*map(int, loop.annotations[REACH])).reach(vector, tirx.min)
        kept = {key: value for key, value in loop.annotations.items() if key != REACH}
        plain, kind = sym.Analyzer().simplify, loop.loop_var.ty
        walked = tirx.Var(loop.loop_var.name, kind)
        body = _put(loop.body, {loop.loop_var: walked + plain(begin)})
        return tirx.For(walked, tirx.IntImm(str(kind), 0), plain(extent), loop.kind, body, None, kept)

    tvm_ffi.structural_walk(function.body, (tirx.For, note))
    return tvm_ffi.structural_map(function, [(tirx.For, change)]) if marked else function


def _vector(loop: Any) -> Any:
    """The convolution's block of channels, of which there is one within the loop."""
    import tvm_ffi
    from tvm import s_tir, tirx

    inside: list[Any] = []
    realized: list[Any] = []
    tvm_ffi.structural_walk(loop.body, (tirx.For, lambda each: inside.append(each.loop_var)))
    tvm_ffi.structural_walk(loop.body, (s_tir.SBlockRealize, realized.append))
    return _put(realized[0].iter_values[1], {each: tirx.IntImm(str(each.ty), 0) for each in inside})


def _put(node: Any, values: dict[Any, Any]) -> Any:
    """An expression or statement with values for variables."""
    import tvm_ffi
    from tvm import tirx

    return tvm_ffi.structural_map(node, [(tirx.Var, lambda each: values.get(each, each))])
