"""How the kernels of a timed model look: a table with bars, and the roofline."""

from __future__ import annotations

from collections.abc import Sequence

from tvmlab.records import Bundle, KernelProfile, KernelTime, picture
from tvmlab.show import palette
from tvmlab.show.html import Html, card, chip, details, image, join, mono, muted, scroll, sentence, table, tag
from tvmlab.show.rooflines import BOUNDS, WIDTH, roofline
from tvmlab.show.text import count, duration, plain_table, rate, short, size

__all__ = ["profile_body", "profile_lines"]

_FEW = 12
_PLAIN_ROWS = 20
_HEAD = ("", "kernel", "calls", "time", "share", "bytes", "operations", "reached", "", "bound by", "of its roof")
_ALIGN = "rlrrrrrrrlr"
_MARKED_HEAD, _MARKED_ALIGN = (*_HEAD[:5], "", *_HEAD[5:]), "rlrrrnrrrrlr"


@picture(KernelProfile)
def kernel_profile(record: KernelProfile) -> Bundle:
    """The profile alone."""
    page = card(f"{record.model}: {record.counted}", profile_body(record), accent=palette.NOTE)
    return {"text/plain": "\n".join(profile_lines(record)), "text/html": str(page)}


def profile_body(record: KernelProfile) -> Html:
    """Worst kernel, roofline, table and explanation, for within a card."""
    rows = [_marked(record, number, kernel) for number, kernel in enumerate(record.kernels, 1)]
    few = rows[:_FEW]
    rest = rows[_FEW:]
    more = (
        details(f"the other {count(len(rest), 'kernel')}", scroll(table(_MARKED_HEAD, rest, _MARKED_ALIGN)))
        if rest
        else ""
    )
    drawn = roofline(record)
    plot = image(drawn.encode(), _alt(record), WIDTH) if drawn else ""
    return join(
        [
            _verdict(record),
            plot,
            _legend() if drawn else "",
            table(_MARKED_HEAD, few, _MARKED_ALIGN),
            more,
            _explained(record),
        ]
    )


def profile_lines(record: KernelProfile) -> list[str]:
    """The same for a terminal."""
    rows = [_row(record, number, kernel) for number, kernel in enumerate(record.kernels[:_PLAIN_ROWS], 1)]
    left = len(record.kernels) - len(rows)
    table_ = plain_table(_HEAD, rows, _ALIGN)
    return [record.headline, table_, *([f"… {count(left, 'more kernel')}"] if left else []), _explanation(record)]


def _verdict(record: KernelProfile) -> Html:
    worst = record.worst
    if worst is None or worst.roof is None or not worst.median:
        return Html()
    lost = f"{duration(worst.lost)} of {duration(record.run)} a run"
    said = [
        "worst: ",
        mono(short(worst.name)),
        f", {lost} beyond its {worst.bound} roof ({worst.roof / worst.median:.0%} of it)",
    ]
    return tag("div", *said, style="margin:4px 0")


def _row(record: KernelProfile, number: int, kernel: KernelTime) -> tuple[str, ...]:
    times = duration(kernel.median), f"{record.share(kernel):.0%}"
    if kernel.roof is None or kernel.moved is None or kernel.operations is None:
        return (str(number), short(kernel.name), str(kernel.calls), *times, "?", "?", "", "", "not counted", "")
    seconds = kernel.median or float("inf")
    return (
        str(number),
        short(kernel.name),
        str(kernel.calls),
        *times,
        size(kernel.moved),
        f"{kernel.operations:,}" if kernel.operations < 1e6 else f"{kernel.operations / 1e6:,.1f} M",
        rate(kernel.moved / seconds),
        f"{kernel.operations / seconds / 1e9:.3g} Gop/s",
        kernel.bound,
        f"{kernel.roof / seconds:.0%}",
    )


def _marked(record: KernelProfile, number: int, kernel: KernelTime) -> Sequence[object]:
    row: list[object] = list(_row(record, number, kernel))
    row[1] = mono(row[1])
    row.insert(5, _bar(record, kernel))
    if kernel.bound:
        row[10] = chip(kernel.bound, BOUNDS[kernel.bound])
    return row


def _bar(record: KernelProfile, kernel: KernelTime) -> Html:
    """As long as the kernel takes: the full part is what its roof asks for, the pale one what is lost."""
    longest = max(each.median for each in record.kernels)
    whole = 6.0 * kernel.median / longest if longest else 0.0
    part = min(1.0, (kernel.roof or 0.0) / kernel.median) if kernel.median else 1.0
    colour = BOUNDS.get(kernel.bound, palette.NOTE)

    def piece(width: float, opacity: str) -> Html:
        style = f"display:inline-block;width:{width:.2f}em;height:0.7em;background:{colour};opacity:{opacity}"
        return tag("span", style=style)

    return join([piece(whole * part, "0.99"), piece(whole * (1 - part), "0.35")])


def _legend() -> Html:
    chips = [chip(f"bound by {bound}", colour) for bound, colour in BOUNDS.items()]
    text = "a dot's area is its share of the time; its number is its row's"
    return tag("div", *chips, muted(text), style="font-size:92%;margin:4px 0")


def _explained(record: KernelProfile) -> Html:
    return sentence(_explanation(record))


def _explanation(record: KernelProfile) -> str:
    return (
        f"Times: medians within runs of the whole model, of which kernels take {duration(record.seconds)} of "
        f"{duration(record.run)}; the rest is memory, calls and watching them. Bytes: each element that a kernel must "
        "read or write once, and buffers that go around between its loop nests; operations: those of the values, with "
        f"exp, tanh, erf and their kin as {record.function_weight} each. Its roof is what its bytes take at the "
        "bandwidth of y = 2x on as large a working set, or its operations at the peak of multiply and add in float32, "
        f"whichever is more; both were measured in this run, on {count(record.threads, 'thread')}. Above 100 % it "
        "profits from data that a kernel before it left in a cache; of a few µs most is the call itself."
    )


def _alt(record: KernelProfile) -> str:
    worst = record.worst
    named = f"; furthest below its roof in time: {short(worst.name)}" if worst is not None else ""
    return (
        f"Roofline of {count(len(record.kernels), 'kernel')}: operations a second over operations a byte, under a peak "
        f"of {record.peak / 1e9:.3g} Gop/s{named}"
    )
