"""How a verification looks: the verdict, and how far each output is from its oracle."""

from __future__ import annotations

import math

from tvmlab.records import Bundle, OutputError, Verification, picture
from tvmlab.show import palette
from tvmlab.show.html import Html, card, chip, join, mono, muted, notes, sentence, table, tag
from tvmlab.show.text import duration, plain_table, power

_HEAD = ("output", "max abs error", "of the largest value", "allowed", "max ULP", "where", "oracle", "got")
_ALIGN = "lrrrrnrr"


@picture(Verification)
def verification(record: Verification) -> Bundle:
    """Verdict, one row an output, and what the tolerance means."""
    colour = palette.GOOD if record.ok else palette.BAD
    against = muted(f" against {record.oracle}, {duration(record.seconds)}")
    title = join([f"{record.model} ", chip(record.verdict, colour), against])
    rows = ([_name(record, o), *_row(record, o)[1:]] for o in record.outputs)
    page = card(title, table(_HEAD, rows, _ALIGN), sentence(_explanation(record)), notes(record.notes), accent=colour)
    lines = [record.headline, plain_table(_HEAD, (_row(record, o) for o in record.outputs), _ALIGN), *record.notes]
    return {"text/plain": "\n".join(lines), "text/html": str(page)}


def _row(record: Verification, o: OutputError) -> tuple[str, ...]:
    bound = record.tolerance if o.tolerance is None else o.tolerance
    ulp = "–" if math.isnan(o.max_ulp) else f"{o.max_ulp:,.0f}" if o.max_ulp < 1e6 else power(o.max_ulp)
    where = f"[{', '.join(map(str, o.index))}]"
    values = (f"{o.expected:.7g}", f"{o.got:.7g}")
    return (_plain_name(o), power(o.max_abs), power(o.relative), power(bound), ulp, where, *values)


def _plain_name(o: OutputError) -> str:
    strange = f" ({_strange(o)})" if o.non_finite else ""
    return f"{o.name}: {o.dtype}[{', '.join(map(str, o.shape))}]{strange}"


def _strange(o: OutputError) -> str:
    return f"{o.non_finite:,} × NaN or infinity on one side"


def _name(record: Verification, o: OutputError) -> Html:
    mark = [] if record.within(o) else [chip("WRONG", palette.BAD), " "]
    strange = [" ", chip(_strange(o), palette.BAD)] if o.non_finite else []
    kind = tag("span", f"{o.dtype}[{', '.join(map(str, o.shape))}]", style="opacity:0.7;white-space:nowrap")
    return join([*mark, mono(o.name), " ", kind, *strange])


def _explanation(record: Verification) -> str:
    if record.tolerance == 0:
        return "Every element must be equal."
    return (
        f"An element may differ by {power(record.tolerance)} of its output's largest value. Small ones are not judged "
        "by their own size: they are what is left where large numbers cancel, and carry the rounding of those."
    )
