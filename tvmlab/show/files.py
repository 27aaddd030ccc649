"""How files that were written look, and a compiled model that was read from some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvmlab.records import Bundle, TensorInfo, Written, picture
from tvmlab.show import palette
from tvmlab.show.html import card, join, mono, muted, notes, sentence, table
from tvmlab.show.text import duration, plain_table
from tvmlab.show.text import size as byte_count

if TYPE_CHECKING:
    from tvmlab.pipeline.saving import CompiledModel


@picture(Written)
def written(record: Written) -> Bundle:
    """Each file with its size."""
    rows = [(name, byte_count(size)) for name, size in record.files.items()]
    took = f" (in {duration(record.seconds)})" if record.seconds else ""
    head = f"{record.what}, written into {record.folder}"
    page = card(
        join([f"{record.what}, written into ", mono(record.folder), muted(took)]),
        table(("", ""), [(mono(name), size) for name, size in rows], "lr"),
        notes(record.notes),
        accent=palette.GOOD,
    )
    return {
        "text/plain": "\n".join([head + took, plain_table(("", ""), rows, "lr"), *record.notes]),
        "text/html": str(page),
    }


@picture("CompiledModel")
def compiled(record: CompiledModel) -> Bundle:
    """Inputs and outputs, and the operators that it was built with."""
    size = f"machine code, {byte_count(record.parameters)} of parameters"
    safe = "all its kernels were proved safe" if record.proved_safe else "not all its kernels were proved safe"
    rows = [*_rows("in", record.inputs), *_rows("out", record.outputs)]
    live = f"live operators in it: {', '.join(record.ops)}" if record.ops else "no live operators are in it"
    page = card(
        join([record.name, " ", muted(f"({size})")]),
        table(("", "name", "dtype", "shape"), rows, "lnnn"),
        sentence(f"{live}; {safe}."),
        notes(record.notes),
        accent=palette.SIDES[3],
    )
    lines = [f"{record.name} ({size})", plain_table(("", "", "", ""), rows), f"{live}; {safe}", *record.notes]
    return {"text/plain": "\n".join(lines), "text/html": str(page)}


def _rows(side: str, tensors: tuple[TensorInfo, ...]) -> list[tuple[str, ...]]:
    return [
        (
            side if at == 0 else "",
            t.name,
            t.dtype or "?",
            "?" if t.shape is None else f"[{', '.join(map(str, t.shape))}]",
        )
        for at, t in enumerate(tensors)
    ]


def _shape(tensor: TensorInfo) -> str:
    return "?" if tensor.shape is None else f"[{', '.join(map(str, tensor.shape))}]"
