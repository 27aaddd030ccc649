"""HTML files that need nothing else: an executed notebook, for ``tvmlab demo`` and for handing on, and reports.

Other than a picture inside a notebook, a page is a file of its own, and may bring a style sheet with it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tvmlab.show import code, palette
from tvmlab.show.html import MONO, Html, escape, join, tag

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

__all__ = ["notebook_page", "notebook_sections", "page", "section"]

_NO_NAME = re.compile(r"[^a-z0-9]+")
_SECTION = re.compile(r'<section id="(?P<name>[^"]*)"><h2>(?P<title>.*?)</h2>')
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_STYLE = f"""
:root {{
  color-scheme: light dark;
  --ground: #ffffff; --ink: #1f1f1f; --stripe: #f5f5f5; --shade: #f4f4f2; --link: {code.BLUE};
}}
@media (prefers-color-scheme: dark) {{
  :root {{ --ground: #161616; --ink: #e4e4e4; --stripe: #212121; --shade: #222222; --link: #7db8e8; }}
}}
* {{ box-sizing: border-box; }}
body {{ background: var(--ground); color: var(--ink); font: 16px/1.6 system-ui, 'DejaVu Sans', sans-serif; margin: 0; }}
main {{ max-width: 62rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }}
h1, h2, h3 {{ line-height: 1.25; margin: 1.6em 0 0.5em; }}
h1 {{ margin-top: 0; }}
a {{ color: var(--link); }}
p code, li code, td code {{ background: var(--shade); border-radius: 4px; padding: 0 4px; }}
code, pre {{ font-family: {MONO}; font-size: 0.88em; }}
pre {{ overflow: auto; margin: 0; }}
blockquote {{ border-left: 4px solid {palette.LINE}; margin: 0.8em 0; padding-left: 1em; opacity: 0.85; }}
img {{ max-width: 100%; }}
.cell {{ margin: 1rem 0; }}
.input {{ border-left: 4px solid {palette.SIDES[1]}; border-radius: 0 6px 6px 0; }}
.input, .prose pre {{ background: {code.PAPER}; color: {code.INK}; }}
.input pre, .prose pre {{ padding: 10px 14px; }}
.output {{ margin: 0.6rem 0 0 4px; padding-left: 14px; overflow: auto; font-size: 0.9rem; }}
.error {{ border-left: 4px solid {palette.BAD}; }}
.prose pre {{ border-radius: 6px; }}
.prose table {{ border-collapse: collapse; font-size: 0.92em; }}
.prose th, .prose td {{ border-bottom: 1px solid {palette.LINE}; padding: 4px 14px 4px 0; text-align: left; }}
tbody tr:nth-child(even) {{ background: var(--stripe); }}
main.wide {{ max-width: 84rem; }}
section {{ font-size: 0.95rem; overflow-wrap: break-word; }}
section > div {{ overflow-x: auto; }}
summary:focus-visible, a:focus-visible {{ outline: 2px solid {palette.SIDES[3]}; }}
@media print {{
  :root {{
    color-scheme: light;
    --ground: #ffffff; --ink: #000000; --stripe: #f5f5f5; --shade: #f4f4f2; --link: {code.BLUE};
  }}
  main, main.wide {{ max-width: none; padding: 0; }}
  nav {{ display: none; }}
  h2 {{ break-after: avoid; }}
  tr, img {{ break-inside: avoid; }}
  pre {{ white-space: pre-wrap !important; }}
  [style*="max-height"] {{ max-height: none !important; overflow: visible !important; }}
}}
"""


def page(title: str, sections: Iterable[Html], *, contents: bool = False, wide: bool = False) -> str:
    """A whole HTML document: one column, light or dark as the reader's system is, nothing fetched.

    Parameters
    ----------
    title : str
    sections : iterable of Html
    contents : bool
        Whether the title and links to the sections come first.
    wide : bool
        Whether there is room for large pictures.
    """
    head = join(
        [
            Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
            tag("title", title),
            tag("style", Html(_STYLE)),
        ]
    )
    parts = list(sections)
    first = [tag("h1", title), _contents(parts)] if contents else []
    body = tag("main", *first, *parts, **({"class": "wide"} if wide else {}))
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def section(title: str, *children: object) -> Html:
    """A part of a page that can be linked to."""
    name = _NO_NAME.sub("-", title.lower()).strip("-")
    return tag("section", tag("h2", title), *children, id=name)


def _contents(sections: Iterable[Html]) -> Html:
    found = (_SECTION.match(each) for each in sections)
    links = (tag("a", Html(each["title"]), href=f"#{each['name']}") for each in found if each)
    return tag("nav", join(links, " · "), **{"aria-label": "Contents"})


def notebook_page(notebook: Mapping[str, Any], title: str | None = None) -> str:
    """An executed notebook as a whole HTML document.

    Parameters
    ----------
    notebook : mapping
        As `nbformat.read` gives it, version 4.
    title : str, optional
        Default: its first heading.
    """
    headings = (re.search(r"^#\s+(.+)$", _text(c["source"]), re.MULTILINE) for c in notebook["cells"])
    found = next((h.group(1).strip() for h in headings if h), "tvmlab")
    return page(title or found, notebook_sections(notebook))


def notebook_sections(notebook: Mapping[str, Any]) -> list[Html]:
    """One section a cell; empty cells, raw ones and those tagged ``hide`` are left out."""
    cells = (c for c in notebook["cells"] if _text(c["source"]).strip() and "hide" not in c["metadata"].get("tags", ()))
    return [_section(cell) for cell in cells if cell["cell_type"] in {"markdown", "code"}]


def _section(cell: Mapping[str, Any]) -> Html:
    source = _text(cell["source"])
    if cell["cell_type"] == "markdown":
        return _block("cell prose", Html(_markdown().render(source)))
    outputs = (_output(output) for output in cell["outputs"])
    return _block("cell", _block("input", tag("pre", _source(source))), *(o for o in outputs if o))


def _block(name: str, *children: object) -> Html:
    return tag("div", *children, **{"class": name})


def _source(text: str) -> Html:
    """A cell's code; a magic's line is no Python, but what is under it is."""
    first, newline, rest = text.partition("\n")
    if first.startswith("%"):
        return join([tag("span", first, style=f"color:{code.OCHRE};font-weight:600"), newline, code.highlight(rest)])
    return code.highlight(text)


def _output(output: Mapping[str, Any]) -> Html | None:
    kind = output["output_type"]
    if kind == "error":
        return _block("output error", tag("pre", _plain("\n".join(output["traceback"]))))
    if kind == "stream":
        return _block("output", tag("pre", _plain(_text(output["text"]))))
    shown = _best(output["data"])
    return _block("output", shown) if shown else None


def _best(data: Mapping[str, Any]) -> Html | None:
    """The richest form of a display that needs nothing from outside."""
    if "text/html" in data:
        return Html(_text(data["text/html"]))
    if "image/png" in data:
        alt = escape(_text(data.get("text/plain", "picture")))
        encoded = "".join(_text(data["image/png"]).split())
        return Html(f'<img src="data:image/png;base64,{escape(encoded)}" alt="{alt}">')
    if "text/markdown" in data:
        return Html(_markdown().render(_text(data["text/markdown"])))
    return tag("pre", _plain(_text(data["text/plain"]))) if "text/plain" in data else None


def _plain(text: str) -> str:
    return _ANSI.sub("", text).rstrip("\n")


def _text(value: str | Sequence[str]) -> str:
    """A notebook file may hold a text as a list of lines."""
    return value if isinstance(value, str) else "".join(value)


@functools.cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    def fence(source: str, language: str, _attributes: str) -> str:
        return code.highlight(source, language or "text")

    return MarkdownIt("commonmark", {"html": False, "highlight": fence}).enable("table")
