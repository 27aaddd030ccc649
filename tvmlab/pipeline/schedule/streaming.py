"""Stores past the caches, of whole lines.

An ordinary store first reads the line that it is about to overwrite.  Of a tensor that is larger than the caches, that
is a third of all that moves, and nobody finds the result in a cache afterwards.  TIR has no such store, so that a
kernel brings two functions of LLVM's language along.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab.pipeline.schedule.caches import second_level_bytes

__all__ = ["STREAM", "stored_past_caches", "streams", "with_streaming"]

STREAM = "tvmlab_stream"

_LINE = 64  # bytes, of a line and of a vector that is one
_LARGE = 4  # times the second level of one core: more than its share of the third
_NAMES = {"float32": "float", "float64": "double"}
_FENCE = "tvmlab_fence"
_FUNCTIONS = """
define linkonce_odr void @{stream}_{dtype}(ptr %place, <{lanes} x {name}> %vector) alwaysinline {{
  store <{lanes} x {name}> %vector, ptr %place, align 64, !nontemporal !0
  ret void
}}
define linkonce_odr void @{fence}() alwaysinline {{
  fence seq_cst
  ret void
}}
!0 = !{{i32 1}}
"""


def streams(lanes: int, dtype: str, elements: int) -> bool:
    """Whether vectors of so many lanes are whole lines of a tensor that is larger than the caches."""
    size = np.dtype(dtype).itemsize
    return dtype in _NAMES and lanes * size == _LINE and elements * size > _LARGE * second_level_bytes()


def stored_past_caches(buffer: Any, indices: list[Any], vector: Any) -> Any:
    """The statement that stores a vector at an element of a buffer; a kernel of it has to be `with_streaming`."""
    from tvm import tirx

    address = tirx.address_of(tirx.BufferLoad(buffer, indices))
    return tirx.Evaluate(tirx.call_extern("void", f"{STREAM}_{buffer.dtype}", address, vector))


def with_streaming(function: Any, dtype: str) -> Any:
    """The kernel with the functions, and with a fence at the end of each outermost loop's turn.

    Such stores are in no order with others; a thread's have to be done before it says that it is.
    """
    import tvm_ffi
    from tvm import ir, tirx
    from tvm_ffi import WalkResult

    outermost: list[Any] = []

    def note(loop: Any) -> Any:
        outermost.append(loop)
        return WalkResult.SKIP

    tvm_ffi.structural_walk(function.body, (tirx.For, note), order="pre")
    lanes = _LINE // np.dtype(dtype).itemsize
    text = _FUNCTIONS.format(stream=STREAM, dtype=dtype, name=_NAMES[dtype], lanes=lanes, fence=_FENCE)

    def change(loop: Any) -> Any:
        if not any(loop.loop_var.same_as(each.loop_var) for each in outermost):
            return loop
        body = tirx.SeqStmt([loop.body, tirx.Evaluate(tirx.call_extern("void", _FENCE))])
        brought = tirx.AttrStmt(loop.loop_var, "pragma_import_llvm", ir.StringImm(text), body)
        return tirx.For(loop.loop_var, loop.min, loop.extent, loop.kind, brought, None, loop.annotations)

    return tvm_ffi.structural_map(function, [(tirx.For, change)])
