"""How an operator looks: its card, with the chain from the name to the kernel in three columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvmlab.records import Bundle, picture
from tvmlab.show import checks, code, palette
from tvmlab.show.html import Html, card, chip, columns, details, join, mono, muted, notes, table, tag
from tvmlab.show.text import plain_table

if TYPE_CHECKING:
    from tvmlab.ops import ChainPart, Op, OpCard

_STATUS = {"set": ("✓ set", palette.GOOD), "derived": ("derived", palette.SIDES[1]), "missing": ("missing", "#C8C8C8")}


@picture("Op")
def op(record: Op) -> Bundle:
    """An operator is shown by its card, and what its quick check has to say under it."""
    shown = op_card(record.card())
    if record.quick_check is None:
        return shown
    return {
        "text/plain": "\n".join([shown["text/plain"], "", *checks.brief_text(record.quick_check)]),
        "text/html": shown["text/html"] + str(checks.brief(record.quick_check)),
    }


@picture("OpCard")
def op_card(record: OpCard) -> Bundle:
    """Signature, attributes, the chain, and the kernel."""
    kind = chip(record.kind, palette.kind_colour(record.kind.split()[0]), title="pattern kind")
    title = join([tag("span", mono(record.signature), style="margin-bottom:4px"), " ", kind])
    lowered = [tag("div", muted("lowered for "), mono(record.example))] if record.example else []
    tir = [details("the kernel it lowers to (TIR)", code.block(record.tir))] if record.tir else []
    page = card(
        title,
        _doc(record.doc),
        _attributes(record),
        columns(*_columns(record.chain)),
        *lowered,
        *tir,
        notes(record.remarks),
        accent=palette.KINDS["kOutEWiseFusable"],
    )
    return {"text/plain": _plain(record), "text/html": str(page)}


def _doc(text: str) -> Html:
    return tag("div", text, style="white-space:pre-wrap;margin:2px 0;max-width:60em") if text else Html()


def _attributes(record: OpCard) -> Html:
    if not record.attributes:
        return Html()
    rows = (map(mono, attribute) for attribute in record.attributes)
    return table(("attribute", "type", "default"), (tuple(row) for row in rows), "nnn")


def _columns(chain: tuple[ChainPart, ...]) -> list[Html]:
    titles = dict.fromkeys(part.column for part in chain)
    return [join([_heading(title), *(_part(p) for p in chain if p.column == title)]) for title in titles]


def _heading(title: str) -> Html:
    style = f"font-weight:600;font-size:92%;border-bottom:1px solid {palette.LINE};margin:6px 0 4px 0"
    return tag("div", title, style=style)


def _part(part: ChainPart) -> Html:
    word, colour = _STATUS.get(part.status, (part.status, palette.NOTE))
    words = tag("div", muted(f"{part.old_word} → {part.now}"), style="font-size:85%")
    detail = tag("div", part.detail, style="font-size:92%;overflow-wrap:break-word")
    return tag("div", mono(part.part), " ", chip(word, colour), detail, words, style="margin-bottom:8px")


def _plain(record: OpCard) -> str:
    rows = [(p.column, p.part, p.status, p.detail, f"{p.old_word} → {p.now}") for p in record.chain]
    lines = [record.headline, *([record.doc] if record.doc else []), ""]
    lines.append(plain_table(("", "part", "", "", "then → in TVM 0.27"), rows))
    return "\n".join([*lines, *(["", record.tir] if record.tir else []), *record.remarks])
