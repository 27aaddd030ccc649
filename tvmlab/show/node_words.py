"""What is written on the tile of a node and said of it, and how wide that is."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from tvmlab.show.text import short, size

if TYPE_CHECKING:
    from tvmlab.fusion import Graph, Grouping
    from tvmlab.fusion.replay import Turn

__all__ = ["LONGEST", "STRIP", "elided", "text_width", "tile_text", "tile_width", "title_of", "told", "what"]

LONGEST = 400  # characters of a part of a title
STRIP = 17.0  # the letter of the kind, in pixels
_NARROW, _WIDE = set("iljtfrI.,:;'|!()[] "), set("mwMW@%")


def text_width(text: str) -> float:
    """About how wide a text is, in pixels."""
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 11.5
    return 4.2 if letter in _NARROW else 9.6 if letter in _WIDE else 7.6 if letter.isupper() else 6.7


def elided(text: str, width: float) -> str:
    """As much of a text as fits, with a sign that there is more."""
    text = short(text, LONGEST).replace("\n", " ")
    if text_width(text) <= width:
        return text
    room, at = width - 9, 0
    while at < len(text) and (room := room - _letter_width(text[at])) >= 0:
        at += 1
    return f"{text[:at]}…"


def tile_text(graph: Graph, node: int, labelled: bool) -> str:
    """What is written on a node."""
    return elided(graph.label(node) if labelled else what(graph, node), 150.0 if labelled else 96.0)


def what(graph: Graph, node: int) -> str:
    """A node's operation, or else its label."""
    return (graph.operations[node] if graph.operations else "") or graph.label(node)


def tile_width(text: str) -> float:
    """How wide a tile with a text is."""
    return max(STRIP + 14 + text_width(text), 46.0)


def title_of(graph: Graph, node: int) -> str:
    """All that is known of a node: name, operation, kind, type and attributes, bytes."""
    known = graph.sizes[node] if graph.sizes else None
    parts = [
        graph.label(node),
        graph.operations[node] if graph.operations else "",
        f"kind {graph.kind(node).name.lower()} ({graph.kind(node).title})",
        graph.describe(node) if graph.describe else "",
        f"{size(known)} written" if known is not None else "",
        graph.notes.get(node, ""),
    ]
    return "\n".join(short(part, LONGEST) for part in dict.fromkeys(parts) if part)


def told(grouping: Grouping, turn: Turn) -> str:
    """The verdict of a turn."""
    from tvmlab.fusion.reasons import decision_at, verdict

    return short(verdict(grouping, decision_at(grouping, turn.phase, turn.node)), 1500)
