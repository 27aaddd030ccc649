"""A few helpers for static HTML that survives every sanitiser.

Only inline styles, and only those that JupyterLab keeps in an untrusted notebook: no ``<style>``, no ``<script>``,
no inline ``<svg>``, nothing fetched.  Text is escaped unless it is `Html`, so that forgetting is harmless.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Sequence

from tvmlab.show import palette

__all__ = [
    "MONO",
    "Html",
    "card",
    "chip",
    "columns",
    "details",
    "escape",
    "image",
    "join",
    "mono",
    "muted",
    "notes",
    "readable",
    "scroll",
    "sentence",
    "table",
    "tag",
]

MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # neither HTML nor XML has them
_CELL = "padding:3px 12px 3px 0;border:none;vertical-align:top;"


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(value: object) -> Html:
    """A value as HTML text; `Html` stays as it is."""
    return value if isinstance(value, Html) else Html(html.escape(readable(str(value)), quote=True))


def readable(text: str) -> str:
    """A text with a sign in place of every character that no page may hold."""
    return _NO_TEXT.sub("\ufffd", text)


def join(parts: Iterable[object], separator: str = "") -> Html:
    """Parts one after the other, each escaped unless it is `Html`."""
    return Html(escape(separator).join(escape(part) for part in parts))


def tag(name: str, *children: object, style: str = "", **attributes: object) -> Html:
    """An element.  ``style`` comes last; an attribute that is True stands alone, one that is None is left out."""
    given = {**attributes, **({"style": style} if style else {})}
    written = "".join(
        f" {key}" if value is True else f' {key}="{escape(value)}"' for key, value in given.items() if value is not None
    )
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def muted(*children: object) -> Html:
    """Text that stands back."""
    return tag("span", *children, style="opacity:0.75")


def mono(*children: object) -> Html:
    """Names and code within a sentence."""
    return tag("span", *children, style=f"font-family:{MONO};font-size:92%")


def chip(text: object, colour: str, title: str = "") -> Html:
    """A word on a colour of its own, so that it reads on every theme."""
    style = (
        f"display:inline-block;background:{colour};color:{palette.ink_on(colour)};border-radius:9px;"
        "padding:0 8px;margin:1px 4px 1px 0;font-size:88%;line-height:1.6;overflow-wrap:break-word;max-width:100%"
    )
    return tag("span", text, style=style, title=title or None)


def table(head: Sequence[object], rows: Iterable[Sequence[object]], align: str = "") -> Html:
    """A table.  ``align`` has one letter a column: ``l`` left, ``n`` left in one line, ``r`` right; default ``l``."""
    letters = align.ljust(len(head), "l")
    sides = ["right" if letter == "r" else "left" for letter in letters]
    wraps = ["" if letter == "l" else "white-space:nowrap;" for letter in letters]
    rule = f"border-bottom:1px solid {palette.LINE};"

    def cell(name: str, content: object, side: str, extra: str = "", **attributes: object) -> Html:
        return tag(name, content, style=f"{_CELL}text-align:{side};{extra}", **attributes)

    top = tag("tr", *(cell("th", h, s, rule, scope="col") for h, s in zip(head, sides, strict=True)))
    body = (tag("tr", *(cell("td", *c) for c in zip(row, sides, wraps, strict=True))) for row in rows)
    style = "border-collapse:collapse;border:none;font-size:92%;margin:4px 0"
    return tag("table", *([tag("thead", top)] if any(head) else []), tag("tbody", *body), style=style)


def details(summary: object, *body: object, opened: bool = False) -> Html:
    """A part that folds."""
    head = tag("summary", summary, style="cursor:pointer")
    inner = tag("div", *body, style=f"margin:4px 0 8px 6px;padding-left:12px;border-left:2px solid {palette.LINE}")
    return tag("details", head, inner, style="margin:2px 0", open=opened or None)


def sentence(text: object) -> Html:
    """One line of explanation under a table."""
    return tag("div", text, style="opacity:0.85;font-size:92%;margin:4px 0;max-width:60em")


def notes(lines: Iterable[object]) -> Html:
    """What the reader must know, one point each."""
    points = [tag("li", line, style="margin:2px 0") for line in lines]
    return tag("ul", *points, style="font-size:92%;margin:4px 0;padding-left:18px;max-width:60em") if points else Html()


def scroll(*children: object, height: str = "24em") -> Html:
    """A long part in a box of limited height."""
    return tag("div", *children, style=f"max-height:{height};overflow:auto")


def columns(*parts: object) -> Html:
    """Parts side by side where there is room, one under the other where there is not."""
    boxes = (tag("div", part, style="flex:1 1 230px;min-width:0") for part in parts)
    return tag("div", *boxes, style="display:flex;flex-wrap:wrap;column-gap:20px")


def card(title: object, *body: object, accent: str = palette.LINE) -> Html:
    """The frame of every picture: a title, a body, a coloured edge."""
    head = tag("div", title, style="font-weight:600;margin-bottom:4px")
    style = f"border-left:4px solid {accent};padding:2px 0 2px 12px;line-height:1.45;overflow-wrap:break-word"
    return tag("div", head, *body, style=style)


def image(data: bytes, alt: str, width: int, *, shrinks: bool = True) -> Html:
    """A PNG or an SVG inside the page, on a white card, since a plot has one set of colours for all themes.

    It gets smaller where there is no room for it, unless it has to be scrolled then.
    """
    kind = "svg+xml" if data.startswith(b"<svg") else "png"
    encoded = base64.b64encode(data).decode("ascii")
    room = "max-width:100%;" if shrinks else ""
    style = f"{room}background:#FFFFFF;border:1px solid {palette.LINE};border-radius:6px;margin:4px 0"
    return Html(
        f'<img src="data:image/{kind};base64,{encoded}" alt="{escape(alt)}" width="{width}" style="{style}">',
    )
