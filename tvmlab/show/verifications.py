"""How a verification looks: the verdict, and how far each output is from its oracle."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    words = _explanation(record)
    rows = ([_name(record, o), *_row(record, o)[1:]] for o in record.outputs)
    page = card(title, table(_HEAD, rows, _ALIGN), *map(sentence, words), notes(record.notes), accent=colour)
    rows_of_text = (_row(record, o) for o in record.outputs)
    lines = [record.headline, plain_table(_HEAD, rows_of_text, _ALIGN), *words[:-1], *record.notes]
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


def tolerance_in_words(outputs: Sequence[OutputError], tolerance: float) -> list[str]:
    """What is allowed and what was reached, one sentence a dtype, in units in the last place of the largest value."""
    judged: dict[tuple[str, float], list[OutputError]] = {}
    for output in outputs:
        bound = tolerance if output.tolerance is None else output.tolerance
        judged.setdefault((output.dtype, bound), []).append(output)
    words = [_of_one_dtype(dtype, bound, some) for (dtype, bound), some in judged.items()]
    if any("ULP" in sentence for sentence in words):
        words.append("A ULP, unit in the last place, is the step from a number to the next one of its dtype.")
    return words


def _of_one_dtype(dtype: str, bound: float, outputs: Sequence[OutputError]) -> str:
    worst = max(outputs, key=lambda o: (o.non_finite > 0, o.relative))
    if bound == 0:
        reached = "are" if worst.max_abs == 0 and not worst.non_finite else "are not"
        return f"{dtype}: every element must be equal, and all {reached}."
    if worst.non_finite:
        return f"{dtype}: {_strange(worst)}, which no tolerance allows."
    if not worst.unit or not worst.peak:
        return f"{dtype}: an element may differ by {power(bound)} of its output's largest value."
    allowed = bound * worst.peak / worst.unit
    return (
        f"{dtype}: an element may differ by {power(bound)} of its output's largest value ({worst.peak:.3g}), which is "
        f"{_whole(allowed)} ULP of it; reached: {_whole(worst.ulp_of_peak)} ULP."
    )


def _whole(ulp: float) -> str:
    return f"{ulp:,.0f}" if 100 <= ulp < 1e6 else f"{ulp:.2g}" if ulp < 100 else power(ulp)


def _explanation(record: Verification) -> list[str]:
    if not record.outputs:
        return []
    words = tolerance_in_words(record.outputs, record.tolerance)
    if record.tolerance > 0:
        words.append(
            "Small elements are not judged by their own size: they are what is left where large numbers cancel, and "
            "carry the rounding of those."
        )
    return words
