"""How advice looks: the verdict with its reasons, what gives the same values, and the times behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvmlab.records import Bundle, picture
from tvmlab.show import palette
from tvmlab.show.html import Html, card, chip, details, join, mono, muted, notes, sentence, table
from tvmlab.show.text import plain_table, power
from tvmlab.show.timings import timing

if TYPE_CHECKING:
    from tvmlab.measure.advice import Advice, Match

_HEAD = ("what TVM has", "against the operator", "max error", "max ULP")
_ALIGN = "llrr"
_SHOWN = 6


@picture("Advice")
def advice(record: Advice) -> Bundle:
    """Verdict and reasons, a table of matches, and the timing folded away."""
    colour = palette.GOOD if record.verdict == "compose" else palette.NOTE
    rows = [_row(match) for match in (*record.matches[:_SHOWN], *([record.nearest] if record.nearest else []))]
    times = Html()
    plain_times: list[str] = []
    if record.timing is not None:
        drawn = timing(record.timing)
        times = details(f"the times, {record.timing.headline}", Html(drawn["text/html"]))
        plain_times = [drawn["text/plain"]]
    page = card(
        join([mono(record.op), " ", chip(record.verdict, colour), muted(f" {record.tried:,} calls of TVM's tried")]),
        notes(record.reasons),
        table(_HEAD, ([mono(row[0]), *row[1:]] for row in rows), _ALIGN) if rows else Html(),
        sentence(_explanation(record)),
        times,
        notes(record.notes),
        accent=colour,
    )
    lines = [f"{record.op}: {record.verdict}", *(f"  {reason}" for reason in record.reasons)]
    lines += [plain_table(_HEAD, rows, _ALIGN)] if rows else []
    lines += [_explanation(record), *plain_times, *record.notes]
    return {"text/plain": "\n".join(lines), "text/html": str(page)}


def _row(match: Match) -> tuple[str, ...]:
    ulp = f"{match.max_ulp:,.0f}" if match.max_ulp < 1e6 else power(match.max_ulp)
    return match.call, match.how or "other values, the nearest", power(match.relative), ulp


def _explanation(record: Advice) -> str:
    return (
        f"Compared on {record.elements:,} results: random inputs of several magnitudes, the attributes' own values, "
        "zeros, infinities and NaN. “max error” is over the largest value of the output. That is evidence, no proof."
    )
