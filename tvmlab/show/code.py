"""Code and differences of code, coloured with inline styles."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.style import Style
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, String, Token, _TokenType
from pygments.util import ClassNotFound

from tvmlab.matching import Block, Matching
from tvmlab.show import html
from tvmlab.show.html import MONO, Html, escape, join, muted, readable, tag

__all__ = ["INK", "PAPER", "block", "diff", "elided", "highlight", "side_by_side", "unified"]

_BLOCK = f"font-family:{MONO};font-size:88%;line-height:1.4;white-space:pre;overflow:auto;margin:4px 0;"

# Code lies on a light paper of its own on all themes, as plots do: no colour of a word reads well on light and on dark
# grounds, and on what is marked as added or removed.
PAPER, INK, ADDED, REMOVED = "#F6F6F6", "#1F1F1F", "#D9F0E7", "#FAE3D3"
GREY, BLUE, GREEN, VERMILION, PURPLE, OCHRE = "#5A5A5A", "#1A5A94", "#005C45", "#8F3F00", "#86366E", "#6B4C00"
_PAPER = f"{_BLOCK}background:{PAPER};color:{INK};border:none;border-radius:4px;padding:6px 10px"


class Middle(Style):
    """Token colours on the paper; plain text has the colour of its ink."""

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

    lexer = _lexer(language)
    return escape(source) if lexer is None else Html(colour(readable(source), lexer, _formatter()))


@functools.lru_cache(maxsize=8)
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@functools.lru_cache(maxsize=4096)
def _line(source: str) -> Html:
    """One line of TVMScript; most come again."""
    return highlight(source) if source.strip() else Html(" ")


def block(source: str, language: str = "python") -> Html:
    """Code as a block of its own."""
    return tag("pre", highlight(source, language), style=_PAPER)


def unified(matching: Matching, context: int = 3) -> Iterator[str]:
    """Lines of the unified difference, without the file names: each begins with ``@@``, ``+``, ``-`` or a space.

    Lines that are the same but for the names of variables stand as they are afterwards.
    """
    for hunk in _hunks(matching.blocks, context):
        yield f"@@ -{_span(hunk[0].before, hunk[-1].before)} +{_span(hunk[0].after, hunk[-1].after)} @@"
        for block in hunk:
            if block.same:
                yield from (f" {matching.after[j]}" for j in block.after)
            else:
                yield from (f"-{matching.before[i]}" for i in block.before)
                yield from (f"+{matching.after[j]}" for j in block.after)


def _hunks(blocks: Sequence[Block], context: int) -> Iterator[list[Block]]:
    """Changed blocks with so many lines around them; those that then touch are together."""
    hunk: list[Block] = []
    for at, block in enumerate(blocks):
        if not block.same:
            hunk.append(block)
            continue
        ends = (context if at else 0, context if at + 1 < len(blocks) else 0)  # lines kept at the start, and the end
        if len(block.before) <= sum(ends):
            hunk.append(block)
            continue
        if hunk:
            hunk.append(_part(block, 0, ends[0]))
            yield hunk
        hunk = [_part(block, len(block.before) - ends[1], len(block.before))]
    if any(not block.same for block in hunk):
        yield hunk


def _part(block: Block, start: int, stop: int) -> Block:
    return Block(same=True, before=block.before[start:stop], after=block.after[start:stop])


def _span(first: range, last: range) -> str:
    """Where a hunk is, as ``diff -u`` writes it: the first line, from 1, and how many."""
    length = last.stop - first.start
    return f"{first.start + (1 if length else 0)},{length}"


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
    more = [muted(f"… {hidden:,} more lines: {rest}")] if hidden else []
    return join([_paper(_diff_line(line) for line in lines), *more])


def _diff_line(line: str) -> Html:
    if line.startswith(("@@", "…")):
        return tag("span", line, style=f"display:block;color:{GREY}")
    background = {"+": ADDED, "-": REMOVED}.get(line[:1], "")
    style = f"display:block;{f'background:{background}' if background else ''}"
    return tag("span", line[:1], _line(line[1:]), style=style)


def side_by_side(lines: Iterable[str]) -> Html:
    """The lines of a unified difference in two columns, what went beside what came."""
    columns: tuple[list[Html], list[Html]] = ([], [])
    for _, run in itertools.groupby(lines, lambda line: line[:1] in ("-", "+")):
        shown = list(run)
        left = [line for line in shown if line[:1] != "+"]
        right = [line for line in shown if line[:1] != "-"]
        for a, b in itertools.zip_longest(left, right, fillvalue=" "):
            for column, line in zip(columns, (a, b), strict=True):
                column.append(_diff_line(line))
    return html.columns(*(_paper(column) for column in columns))


def _paper(lines: Iterable[Html]) -> Html:
    """Lines as wide as the longest, so that colours reach as far as one can scroll."""
    return tag("pre", tag("span", *lines, style="display:inline-block;min-width:100%"), style=_PAPER)
