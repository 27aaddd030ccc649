"""Square tiles that are turned in registers: whole vectors are read, and whole vectors written.

A rule marks a tile, a block of two loops around a copy; its body is put in when the rule is done, since a schedule
knows no primitive for it.  Halves of the rows change places, then halves of the halves, down to single elements: a
tile of 16 by 16 takes 64 exchanges.  The lines of the cache that the next tile writes are asked for meanwhile: each is
in another page, and the processor does not guess them.  Whole lines of what is larger than the caches go past them.
"""

from __future__ import annotations

from typing import Any

from tvmlab.pipeline.schedule.streaming import stored_past_caches, with_streaming

__all__ = ["turn_in_registers", "with_turned_tiles"]

_TURNED = "tvmlab.turned"
_READ = 0  # of a request; one that says that it will write takes longer
_SECOND_LEVEL, _FIRST_LEVEL, _DATA = 2, 3, 1  # of a request, as LLVM counts
_NEAR, _PAST_CACHES = 1, 2


def turn_in_registers(schedule: Any, loop: Any, past_caches: bool) -> None:
    """Mark a tile: a loop along what is read, around one as long along what is written, around a copy."""
    schedule.annotate(schedule.blockize(loop), _TURNED, _PAST_CACHES if past_caches else _NEAR)


def with_turned_tiles(function: Any) -> Any:
    """The kernel with the bodies of the marked tiles, and without the marks."""
    import tvm_ffi
    from tvm import s_tir

    marked: list[Any] = []

    def note(block: Any) -> None:
        marked.extend([block] if _TURNED in block.annotations else [])

    def change(block: Any) -> Any:
        if _TURNED not in block.annotations:
            return block
        kept = {key: value for key, value in block.annotations.items() if key != _TURNED}
        body = _turned(block.body, block.annotations[_TURNED] == _PAST_CACHES)
        return s_tir.SBlock(block.iter_vars, block.reads, block.writes, block.name_hint, body, annotations=kept)

    tvm_ffi.structural_walk(function.body, (s_tir.SBlock, note))
    if not marked:
        return function
    turned = tvm_ffi.structural_map(function, [(s_tir.SBlock, change)])
    streamed = [block.writes[0].source for block in marked if block.annotations[_TURNED] == _PAST_CACHES]
    return with_streaming(turned, str(streamed[0].dtype)) if streamed else turned


def _turned(tile: Any, past_caches: bool) -> Any:
    from tvm import tirx

    copy = tile.body.body
    axes = [(axis.var, value) for axis, value in zip(copy.block.iter_vars, copy.iter_values, strict=True)]
    store, side, kind = copy.block.body, int(tile.extent), str(tile.loop_var.ty)
    load = store.value

    def indices(place: Any, read: int, written: int, vector: bool = True) -> list[Any]:
        here = [(tile.loop_var, tirx.IntImm(kind, read)), (tile.body.loop_var, tirx.IntImm(kind, written))]
        *others, last = [_put(_put(index, axes), here) for index in place.indices]
        return [*others, tirx.Ramp(last, 1, side) if vector else last]

    steps: list[Any] = []
    rows = [tirx.BufferLoad(load.source, indices(load, 0, n)) for n in range(side)]
    for n in range(side):
        if past_caches:
            asked = tirx.BufferLoad(load.source, indices(load, 0, side + n, vector=False))
        else:
            asked = tirx.BufferLoad(store.buffer, indices(store, n, side, vector=False))
        level = _SECOND_LEVEL if past_caches else _FIRST_LEVEL
        request = tirx.call_intrin("void", "tirx.prefetch", tirx.address_of(asked), _READ, level, _DATA)
        steps.append(tirx.Evaluate(request))
    turned = _exchanged([_named(steps, row) for row in rows], steps)
    for n, row in enumerate(turned):
        if past_caches:
            steps.append(stored_past_caches(store.buffer, indices(store, n, 0, vector=False), row))
        else:
            steps.append(tirx.BufferStore(store.buffer, row, indices(store, n, 0)))
    return tirx.SeqStmt(steps)


def _exchanged(rows: list[Any], steps: list[Any]) -> list[Any]:
    """The columns of a square of rows; its size is a power of two."""
    from tvm import tirx

    side = len(rows)
    half = side // 2
    while half:
        first = [n for n in range(side) if not n & half]
        near = [n - half + side if n & half else n for n in range(side)]
        for n in first:
            pair = [rows[n], rows[n + half]]
            rows[n] = _named(steps, tirx.Shuffle(pair, near))
            rows[n + half] = _named(steps, tirx.Shuffle(pair, [lane + half for lane in near]))
        half //= 2
    return rows


def _named(steps: list[Any], vector: Any) -> Any:
    """A variable for a vector, so that it is computed once."""
    from tvm import tirx

    variable = tirx.Var("row", vector.ty)
    steps.append(tirx.Bind(variable, vector))
    return variable


def _put(expression: Any, values: list[tuple[Any, Any]]) -> Any:
    """An expression with values for variables, simplified."""
    import tvm_ffi
    from tvm import sym, tirx

    def value(each: Any) -> Any:
        return next((new for old, new in values if old.same_as(each)), each)

    return sym.Analyzer().simplify(tvm_ffi.structural_map(expression, [(tirx.Var, value)]))
