"""How the loads of a kernel look: a bar for each buffer."""

from __future__ import annotations

from tvmlab.records import Bundle, Loads, picture
from tvmlab.show import palette
from tvmlab.show.html import Html, card, muted, table, tag
from tvmlab.show.text import plain_table

_HEAD = ("buffer", "", "loads", "for each element of it", "")
_ROLES = {
    "input": ("an input", palette.SIDES[0]),
    "between": ("made on the way", palette.SIDES[1]),
    "result": ("the running total", palette.SIDES[2]),
}
_BAR = 160  # pixels


@picture(Loads)
def loads(record: Loads) -> Bundle:
    """Buffers in the order of their first load, and what that is for each element of the result."""
    most = max((each.loads for each in record.buffers), default=0)
    rows = [
        (each.buffer, _ROLES[each.role][0], f"{each.loads:,}", f"{each.loads / max(each.elements, 1):.3g}")
        for each in record.buffers
    ]
    bars = [_bar(each.loads / most if most else 0, _ROLES[each.role][1]) for each in record.buffers]
    drawn = table(_HEAD, [(*row, bar) for row, bar in zip(rows, bars, strict=True)], "llrrl")
    note = "counted on the loops as they are written, at every iteration; a schedule may keep some in registers"
    page = card(record.headline, drawn, muted(note), accent=palette.SIDES[0])
    return {"text/plain": f"{record.headline}\n{plain_table(_HEAD[:4], rows, 'llrr')}", "text/html": str(page)}


def _bar(share: float, colour: str) -> Html:
    width = max(round(_BAR * share), 1)
    return tag("div", style=f"background:{colour};width:{width}px;height:10px;border-radius:2px")
