"""What every picture must be: HTML that an untrusted notebook keeps whole; nothing fetched, nothing unescaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

# Of what JupyterLab 4's sanitiser lets through, the part that pictures use.
TAGS = {
    "details", "div", "img", "li", "pre", "span", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"alt", "open", "scope", "src", "style", "title", "width", "colspan"}
_LENGTH = r"(?:0|-?\d*\.?\d+(?:px|em|%))"
_COLOUR = r"(?:#[0-9A-Fa-f]{6}|rgba\(\d+,\d+,\d+,0\.\d+\)|transparent)"
STYLES = {
    "background": _COLOUR,
    "border": rf"none|1px solid {_COLOUR}",
    "border-bottom": rf"1px solid {_COLOUR}",
    "border-collapse": "collapse",
    "border-left": rf"\dpx solid {_COLOUR}",
    "border-radius": _LENGTH,
    "color": _COLOUR,
    "column-gap": _LENGTH,
    "cursor": "pointer",
    "display": "block|inline-block|flex",
    "flex": rf"\d \d {_LENGTH}",
    "flex-wrap": "wrap",
    "font-family": r"[\w', -]+",
    "font-size": r"\d+%",
    "font-style": "italic",
    "font-weight": r"\d00|bold",
    "height": _LENGTH,
    "line-height": r"\d*\.?\d+",
    "margin": rf"{_LENGTH}(?: {_LENGTH})*",
    "margin-bottom": _LENGTH,
    "margin-top": _LENGTH,
    "max-height": _LENGTH,
    "max-width": _LENGTH,
    "min-width": _LENGTH,
    "opacity": r"0\.\d+",
    "overflow": "auto",
    "overflow-wrap": "break-word",
    "padding": rf"{_LENGTH}(?: {_LENGTH})*",
    "padding-left": _LENGTH,
    "text-align": "left|right",
    "vertical-align": "top|middle",
    "white-space": "pre|pre-wrap|nowrap",
    "width": _LENGTH,
}
VOID = {"img"}


class Page(HTMLParser):
    """The text, the images and the tags of a page; raises AssertionError on anything that a sanitiser would touch."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.images: list[dict[str, str]] = []
        self.styles: list[dict[str, str]] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS, tag
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        given = dict(attrs)
        assert set(given) <= ATTRIBUTES, (tag, given)
        declarations = [d.partition(":") for d in (given.get("style") or "").split(";") if d.strip()]
        style = {name.strip(): value.strip() for name, _, value in declarations}
        for name, value in style.items():
            assert re.fullmatch(STYLES[name], value), (name, value)
        self.styles.append(style)
        if tag == "img":
            assert given["src"].startswith(("data:image/png;base64,", "data:image/svg+xml;base64,"))
            assert given["alt"]
            self.images.append(given)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


@pytest.fixture
def draw():
    """Draw a record: the checked `Page` of its HTML, and its plain text."""

    def drawn(record):
        bundle = record._repr_mimebundle_()
        assert {"text/plain", "text/html"} <= set(bundle) <= {"text/plain", "text/html", "image/png"}
        assert not re.search(r"https?://", bundle["text/html"])
        return Page(bundle["text/html"]), bundle["text/plain"]

    return drawn


@pytest.fixture
def page():
    """Check HTML and give its text, tags, images and styles."""
    return Page
