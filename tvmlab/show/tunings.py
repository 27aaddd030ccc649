"""How tuning looks: what became of each kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvmlab.records import Bundle, picture
from tvmlab.show import palette
from tvmlab.show.html import Html, card, chip, join, mono, muted, notes, sentence, table
from tvmlab.show.text import count, duration, plain_table

if TYPE_CHECKING:
    from tvmlab.measure import KernelTuning, Tuning

_HEAD = ("kernel", "calls", "by the rule", "now", "", "how", "trials", "failed", "")
_ALIGN = "lrrrrlrrl"
_WORDS = {
    "tuned": "a faster one was found",
    "rule": "the rule's stays",
    "known": "known before",
    "left": "left as it is",
}


@picture("Tuning")
def tuning(record: Tuning) -> Bundle:
    """One row a kernel, and how to use what was found."""
    faster = record.gain > 1.0
    colour = palette.GOOD if faster else palette.NOTE
    title = join(
        [
            f"{record.model}: ",
            chip(f"{record.gain:.2f} × as fast", colour),
            muted(f" all kernels together, {count(record.threads, 'thread')}"),
        ]
    )
    rows = [_row(kernel) for kernel in record.kernels]
    use = "Use it: tl.trace(model, tuned=True), or tl.bench(model, sides=['scheduled', 'tuned'])."
    kept = f"Kept in {record.database} for {record.machine}; ignored on any other machine."
    page = card(
        title,
        table(_HEAD, ([mono(row[0]), *row[1:]] for row in rows), _ALIGN) if rows else Html(),
        sentence(use),
        sentence(kept),
        notes(record.notes),
        accent=colour,
    )
    lines = [record.headline, plain_table(_HEAD, rows, _ALIGN), use, kept, *record.notes]
    return {"text/plain": "\n".join(lines), "text/html": str(page)}


def _row(kernel: KernelTuning) -> tuple[str, ...]:
    known = kernel.rule_seconds > 0
    gain = f"{kernel.rule_seconds / kernel.seconds:.2f} ×" if known and kernel.seconds < kernel.rule_seconds else ""
    return (
        kernel.kernel,
        f"{kernel.calls:,}",
        duration(kernel.rule_seconds) if known else "–",
        duration(kernel.seconds) if known else "–",
        gain,
        _WORDS[kernel.how],
        f"{kernel.trials:,}",
        f"{kernel.failed:,}",
        kernel.note,
    )
