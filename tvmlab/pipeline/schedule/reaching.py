"""Vectors of a convolution in groups that read only the inputs of the groups they cover.

The window of such a convolution is as long for all vectors, and its weights are 0 where a vector has nothing to read.
A rule marks the loop over the inputs; when it is done, the loop gets the bounds that the present vector needs, since
a schedule knows no primitive for that.
"""

from __future__ import annotations

from typing import Any

from tvmlab.pipeline.kernel import extent_of
from tvmlab.pipeline.packing import REACH
from tvmlab.pipeline.widening import Widening

_CHANNELS, _INPUTS = 1, 5  # axes of a packed convolution

__all__ = ["keep_to_reach", "with_reach"]


def keep_to_reach(schedule: Any, block: Any, loop: Any) -> None:
    """Mark the loop over the inputs of a convolution, if its vectors do not need all of them."""
    reach = schedule.get(block).annotations.get(REACH)
    if reach is not None:
        lanes, outputs, inputs, groups = map(int, reach)
        whole = inputs * Widening(lanes, outputs, inputs, groups).spans
        turns = whole // (extent_of(schedule.get(loop)) or whole)
        schedule.annotate(loop, REACH, [lanes, outputs, inputs // turns, groups])


def with_reach(function: Any) -> Any:
    """The kernel with the bounds of the marked loops, and without the marks."""
    import tvm_ffi
    from tvm import s_tir, sym, tirx

    marked: list[Any] = []

    def note(loop: Any) -> None:
        marked.extend([loop] if REACH in loop.annotations else [])

    def shorter(loop: Any) -> Any:
        if REACH not in loop.annotations:
            return loop
        _, extent = _widening(loop).reach(_vector(loop), tirx.min)
        plain = sym.Analyzer().simplify(extent)
        return tirx.For(loop.loop_var, loop.min, plain, loop.kind, loop.body, None, _unmarked(loop))

    def shifted(block: Any) -> Any:
        """Begins in the block: were it in the loop, TVM would keep the sums of all vectors, not of one."""
        if REACH not in block.annotations:
            return block
        axes, kept = block.iter_vars, _unmarked(block)
        begin, _ = _widening(block).reach(axes[_CHANNELS].var, tirx.min)
        later = {axes[_INPUTS].var: axes[_INPUTS].var + begin}
        reads, body = _put(list(block.reads), later), _put(block.body, later)
        return s_tir.SBlock(axes, reads, block.writes, block.name_hint, body, block.init, annotations=kept)

    tvm_ffi.structural_walk(function.body, (tirx.For, note))
    return tvm_ffi.structural_map(function, [(tirx.For, shorter), (s_tir.SBlock, shifted)]) if marked else function


def _widening(marked: Any) -> Widening:
    return Widening(*map(int, marked.annotations[REACH]))


def _unmarked(node: Any) -> dict[Any, Any]:
    return {key: value for key, value in node.annotations.items() if key != REACH}


def _vector(loop: Any) -> Any:
    """The convolution's block of channels, of which there is one within the loop."""
    import tvm_ffi
    from tvm import s_tir, tirx

    inside: list[Any] = []
    realized: list[Any] = []
    tvm_ffi.structural_walk(loop.body, (tirx.For, lambda each: inside.append(each.loop_var)))
    tvm_ffi.structural_walk(loop.body, (s_tir.SBlockRealize, realized.append))
    return _put(realized[0].iter_values[_CHANNELS], {each: tirx.IntImm(str(each.ty), 0) for each in inside})


def _put(node: Any, values: dict[Any, Any]) -> Any:
    """An expression or statement with values for variables."""
    import tvm_ffi
    from tvm import tirx

    return tvm_ffi.structural_map(node, [(tirx.Var, lambda each: values.get(each, each))])
