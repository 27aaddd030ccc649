"""Code and differences of code, coloured with inline styles."""

from __future__ import annotations

import difflib
import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import ClassVar

from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.style import Style
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, String, Token, _TokenType
from pygments.util import ClassNotFound

from tvmlab.show import palette
from tvmlab.show.html import MONO, Html, escape, join, muted, tag

__all__ = ["block", "diff", "highlight", "unified"]

_BLOCK = f"font-family:{MONO};font-size:88%;line-height:1.4;white-space:pre;overflow:auto;margin:4px 0;"
_PAPER = f"{_BLOCK}background:{palette.SHADE};border:none;border-radius:4px;padding:6px 10px"


# Half-way between black and white: a contrast of about 4 on either.
GREY, BLUE, GREEN, VERMILION, PURPLE, OCHRE = "#7D7D7D", "#2F80C5", "#008F68", "#C65B00", "#B8609A", "#A07000"


class Middle(Style):
    """Token colours for light and dark themes alike; plain text is the theme's own."""

    background_color = "transparent"
    styles: ClassVar[dict[_TokenType, str]] = {
        Token: "",
        Comment: f"italic {GREY}",
        Keyword: PURPLE,
        Operator.Word: PURPLE,
        Name.Builtin: BLUE,
        Name.Function: BLUE,
        Name.Class: BLUE,
        Name.Decorator: OCHRE,
        Number: GREEN,
        Literal: GREEN,
        String: VERMILION,
    }


@functools.lru_cache(maxsize=8)
def _formatter() -> HtmlFormatter[str]:
    return HtmlFormatter(style=Middle, noclasses=True, nowrap=True)


def highlight(source: str, language: str = "python") -> Html:
    """Code as spans with inline colours, line by line as it was."""
    from pygments import highlight as colour

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape(source)
    return Html(colour(source, lexer, _formatter()))


def block(source: str, language: str = "python") -> Html:
    """Code as a block of its own."""
    return tag("pre", highlight(source, language), style=_PAPER)


def unified(before: str, after: str, context: int = 3) -> Iterator[str]:
    """Lines of the unified difference, without the file names: each begins with ``@@``, ``+``, ``-`` or a space."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=context)
    return itertools.islice(lines, 2, None)


def elided(lines: Iterable[str], longest: int, rest: str) -> Iterator[str]:
    """Cut each run of added, removed or equal lines to `longest`; a line with … says how many more, and where."""
    what = {"+": "added", "-": "removed"}
    for sign, run in itertools.groupby(lines, lambda line: line[:1]):
        shown = list(run)
        yield from shown[:longest]
        if len(shown) > longest:
            yield f"… {len(shown) - longest:,} more lines {what.get(sign, 'equal')}: {rest}"


def diff(lines: list[str], hidden: int = 0, rest: str = "") -> Html:
    """A unified difference in colours.

    Parameters
    ----------
    lines : list of str
        From `unified` or `elided`.
    hidden : int
        How many lines were cut off after these.
    rest : str
        What to write to see them.
    """
    more = ["\n", muted(f"… {hidden:,} more lines: {rest}")] if hidden else []
    # As wide as its longest line, so that colours reach as far as one can scroll.
    wide = tag("span", *(_diff_line(line) for line in lines), style="display:inline-block;min-width:100%")
    return tag("pre", wide, *more, style=_PAPER)


def _diff_line(line: str) -> Html:
    if line.startswith(("@@", "…")):
        return tag("span", line, style="display:block;opacity:0.6")
    background = {"+": palette.ADDED, "-": palette.REMOVED}.get(line[:1], "")
    style = f"display:block;{f'background:{background}' if background else ''}"
    return tag("span", join([line[:1], highlight(line[1:]) if line[1:].strip() else " "]), style=style)
