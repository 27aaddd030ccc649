"""How tuning looks: what became of each kernel; and, while it goes on, where it stands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from tvmlab.records import Bundle, picture
from tvmlab.show import palette
from tvmlab.show.html import Html, card, chip, escape, join, mono, muted, notes, sentence, table, tag
from tvmlab.show.text import count, duration, plain_table

if TYPE_CHECKING:
    from tvmlab.measure import KernelTuning, Step, Tuning

__all__ = ["progress"]

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


def progress() -> Callable[[Step], None] | None:
    """What shows progress here: one display that changes in a notebook, lines on a terminal, nothing in a pipe."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is not None:
        return _notebook()
    return _line if sys.stdout is not None and sys.stdout.isatty() else None


def _line(step: Step) -> None:
    sys.stdout.write(f"{step}\n")
    sys.stdout.flush()


def _notebook() -> Callable[[Step], None]:
    from IPython.display import HTML, display

    handle = display(HTML(str(muted("tuning starts"))), display_id=True)

    def show(step: Step) -> None:
        handle.update(HTML(step_html(step)))

    return show


def step_html(step: Step) -> str:
    """A bar, and the words beside it."""
    share = step.done / max(step.trials, 1)
    bar = tag("div", style=f"width:{100 * share:.0f}%;height:6px;background:{palette.GOOD}")
    frame = tag("div", bar, style=f"width:20em;height:6px;background:{palette.SHADE};margin:4px 0")
    return str(join([frame, tag("div", escape(str(step)), style="font-size:92%")]))
