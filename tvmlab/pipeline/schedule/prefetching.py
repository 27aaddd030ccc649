"""Requests for the next row of a tensor while the present one is computed.

A processor that guesses what is read next guesses no further than a page, and a row may be one.  A rule marks two
loops; the requests are put in when it is done, since a schedule knows no primitive for them.  No loop that sums in
registers is marked: LLVM would keep the sums in memory.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ask_for_next_row", "with_requests"]

_ROW, _ASKING = "tvmlab.row", "tvmlab.next_row"
_FIRST_LEVEL = 3  # locality, as LLVM counts it
_DATA = 1


def ask_for_next_row(schedule: Any, row: Any, column: Any, tensors: list[tuple[Any, bool]]) -> None:
    """Mark the loop over rows, and one over vectors of a row in which the next row is asked for.

    Parameters
    ----------
    tensors : list of (tvm.tirx.Buffer, bool)
        Parameters of the kernel, rows on their last axis, and whether they are written.
    """
    parameters = list(schedule.mod["main"].params)
    places = [next(i for i, p in enumerate(parameters) if p.same_as(buffer)) for buffer, _ in tensors]
    schedule.annotate(row, _ROW, 1)
    schedule.annotate(column, _ASKING, [2 * p + written for p, (_, written) in zip(places, tensors, strict=True)])


def with_requests(function: Any) -> Any:
    """The kernel with the requests that its marks ask for, and without the marks."""
    import tvm_ffi
    from tvm import tirx

    rows: list[Any] = []

    def note(loop: Any) -> None:
        rows.extend([loop.loop_var] if _ROW in loop.annotations else [])

    def change(loop: Any) -> Any:
        if not loop.annotations.keys() & {_ROW, _ASKING}:
            return loop
        asked = [
            _request(function.params[int(a) // 2], int(a) % 2, rows[0], loop) for a in loop.annotations.get(_ASKING, [])
        ]
        kept = {key: value for key, value in loop.annotations.items() if key not in (_ROW, _ASKING)}
        body = tirx.SeqStmt([*asked, loop.body]) if asked else loop.body
        return tirx.For(loop.loop_var, loop.min, loop.extent, loop.kind, body, loop.thread_binding, kept)

    tvm_ffi.structural_walk(function.body, (tirx.For, note))
    return tvm_ffi.structural_map(function, [(tirx.For, change)]) if rows else function


def _request(buffer: Any, written: int, row: Any, loop: Any) -> Any:
    """Of the vector that the next row has where this one has its own; beyond the last row it asks for nothing."""
    from tvm import tirx

    width = buffer.shape[-1]
    place = (row + 1) * width + loop.loop_var * (width // loop.extent)
    address = tirx.address_of(tirx.BufferLoad(buffer, [*[0] * (len(buffer.shape) - 1), place]))
    return tirx.Evaluate(tirx.call_intrin("void", "tirx.prefetch", address, written, _FIRST_LEVEL, _DATA))
