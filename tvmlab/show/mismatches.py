"""How it looks where an answer first goes wrong: elements side by side, or two groupings of one graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tvmlab.records import (
    EdgeMismatch,
    ElementMismatch,
    GroupMismatch,
    KindMismatch,
    Mismatch,
    ParentMismatch,
    ShownMismatch,
)
from tvmlab.show import graphs, node_words, palette, scene_svg
from tvmlab.show.code import block
from tvmlab.show.html import Html, escape, image, join, mono, muted, scroll, sentence

__all__ = ["drawn", "plain"]

_WINDOW = 8  # rows and columns of an array that are shown
_CELL, _ROW = 74, 24
_GAP, _TOP = 44, 40
_BEND = 22.0  # pixels


def drawn(mismatch: Mismatch) -> Html:
    """What is wrong in a sentence, where, a picture, and what to do about it."""
    parts: list[object] = [sentence(mismatch.what)]
    if mismatch.where:
        parts.append(muted("at ", mono(mismatch.where)))
    if isinstance(mismatch, ElementMismatch):
        parts.append(_elements(mismatch))
    elif isinstance(mismatch, GroupMismatch):
        parts.append(_groups(mismatch))
    elif isinstance(mismatch, ParentMismatch):
        parts.append(_parents(mismatch))
    elif isinstance(mismatch, EdgeMismatch):
        parts += [_edges(mismatch), block(mismatch.code, "text")]
    elif isinstance(mismatch, KindMismatch):
        parts.append(block(mismatch.code))
    elif isinstance(mismatch, ShownMismatch):
        parts.append(Html(mismatch.record._repr_mimebundle_()["text/html"]))
    if mismatch.mend:
        parts.append(sentence(mismatch.mend))
    return join(parts)


def plain(mismatch: Mismatch) -> list[str]:
    """The same in lines of text."""
    case = [f"for {mismatch.case}"] if isinstance(mismatch, ElementMismatch) else []
    where = [f"at {mismatch.where}"] if mismatch.where else []
    groups = _told(mismatch) if isinstance(mismatch, GroupMismatch) else []
    code = mismatch.code.splitlines() if isinstance(mismatch, EdgeMismatch | KindMismatch) else []
    shown = [mismatch.record._repr_mimebundle_()["text/plain"]] if isinstance(mismatch, ShownMismatch) else []
    mend = [mismatch.mend] if mismatch.mend else []
    return [mismatch.what, *where, *case, *groups, *code, *shown, *mend]


def _told(mismatch: GroupMismatch) -> list[str]:
    sides = zip(mismatch.heads, (mismatch.got, mismatch.expected), strict=True)
    label = mismatch.graph.label
    nodes = range(len(mismatch.graph))
    shown = [
        (name, [[label(n) if n in nodes else str(n) for n in group] for group in groups]) for name, groups in sides
    ]
    return [f"{name}: {' '.join('{' + ', '.join(group) + '}' for group in groups)}" for name, groups in shown]


def _groups(mismatch: GroupMismatch) -> Html:
    """The graph twice, in the groups of the answer and in those of TVM."""
    graph = mismatch.graph
    mine = _whole(mismatch.got, len(graph))
    sides = zip(mismatch.heads, (mine, [list(group) for group in mismatch.expected]), strict=True)
    parts = [(heading, _marked(graphs.nodes_scene(graph, groups, folded=False), mismatch)) for heading, groups in sides]
    titles = {node: node_words.title_of(graph, node) for node in range(len(graph))}
    data, width, _ = scene_svg.svg(parts, titles, {graph.kind(node).name for node in range(len(graph))})
    yours, right = _told(mismatch)
    return scroll(image(data, f"A graph of {len(graph)} nodes. {yours}. {right}.", width), height="40em")


def _parents(mismatch: ParentMismatch) -> Html:
    """The graph, with an arrow from the node to the parent that is given, and one to the right one."""
    graph = mismatch.graph
    scene = graphs.nodes_scene(graph, [[node] for node in range(len(graph))], folded=False)
    tiles = {tile.node: tile for tile in scene.tiles}
    start = tiles[mismatch.node]
    ends = ((mismatch.got, "refused", scene.width), (mismatch.expected, "merged", scene.width + _BEND))
    arrows = tuple(
        graphs.Arrow(start.node, end, _around(start, tiles[end], bend), state=state)
        for end, state, bend in ends
        if end in tiles
    )
    scene = dataclasses.replace(scene, arrows=(*scene.arrows, *arrows), width=scene.width + 2 * _BEND)
    titles = {node: node_words.title_of(graph, node) for node in tiles}
    parts = [(f"node {start.node}: yours red and dashed, the right one green", scene)]
    data, width, _ = scene_svg.svg(parts, titles, {graph.kind(node).name for node in tiles})
    return scroll(image(data, f"A graph of {len(graph)} nodes. {mismatch.what}.", width), height="40em")


def _edges(mismatch: EdgeMismatch) -> Html:
    """The right graph, with the edges that are missing and those that are too many."""
    graph = mismatch.graph
    scene = graphs.nodes_scene(graph, [[node] for node in range(len(graph))], folded=False)
    tiles = {tile.node: tile for tile in scene.tiles}
    arrows = [
        dataclasses.replace(arrow, state="merged") if (arrow.start, arrow.end) in mismatch.missing else arrow
        for arrow in scene.arrows
    ]
    bend = scene.width + _BEND
    for start, end in mismatch.extra:
        if start in tiles and end in tiles:
            arrows.append(graphs.Arrow(start, end, _around(tiles[start], tiles[end], bend), state="refused"))
    scene = dataclasses.replace(scene, arrows=tuple(arrows), width=scene.width + 2 * _BEND)
    titles = {node: node_words.title_of(graph, node) for node in tiles}
    parts = [("missing in yours: green; too many: red and dashed", scene)]
    data, width, _ = scene_svg.svg(parts, titles, {graph.kind(node).name for node in tiles})
    return scroll(image(data, f"A graph of {len(graph)} nodes. {mismatch.what}.", width), height="40em")


def _around(start: graphs.Tile, end: graphs.Tile, bend: float) -> tuple[tuple[float, float], ...]:
    """From the right side of a tile, past all that is between, to that of another."""
    edges = (start.x + start.width / 2, end.x + end.width / 2)
    return ((edges[0], start.y), (bend, (start.y + end.y) / 2), (edges[1], end.y))


def _marked(scene: graphs.Scene, mismatch: GroupMismatch) -> graphs.Scene:
    """The edge that is wrong in another colour, and dashed."""
    arrows = (
        dataclasses.replace(arrow, state="refused") if (arrow.start, arrow.end) == mismatch.edge else arrow
        for arrow in scene.arrows
    )
    return dataclasses.replace(scene, arrows=tuple(arrows))


def _whole(groups: Sequence[Sequence[int]], nodes: int) -> list[list[int]]:
    """Groups that can be drawn: each node once, those that are left out alone."""
    seen: set[int] = set()
    found: list[list[int]] = []
    for group in [*groups, *([node] for node in range(nodes))]:
        members = [node for node in dict.fromkeys(group) if node not in seen and 0 <= node < nodes]
        seen.update(members)
        found += [members] if members else []
    return sorted(found, key=lambda group: group[-1])


def _elements(mismatch: ElementMismatch) -> Html:
    """A window of the result around the first wrong element, beside what should be there."""
    got, wrong = _plane(mismatch.got, mismatch.index), _plane(mismatch.wrong, mismatch.index)
    expected = _plane(mismatch.expected, mismatch.index)
    row, column = (0, 0, *mismatch.index)[-2:]
    rows, columns = (_window(i, size) for i, size in zip((row, column), got.shape, strict=True))
    gap = _GAP + 20 if mismatch.names else _GAP
    width = gap + len(columns) * _CELL

    def side(heading: str, values: Any, left: int) -> Iterator[str]:
        yield f'<text class="h" x="{left + gap}" y="14">{heading}</text>'
        yield from _numbers(rows, columns, left + gap, mismatch.names)
        for down, i in enumerate(rows):
            for across, j in enumerate(columns):
                first = (i, j) == (row, column)
                place = (left + gap + across * _CELL, _TOP + down * _ROW)
                yield _cell(values[i, j], place, bad=bool(wrong[i, j]), first=first)

    body = "".join([*side("yours", got, 0), *side("should be", expected, width + 16)])
    size = (2 * width + 24, _TOP + len(rows) * _ROW + 8)
    style = f"text{{font:11px {scene_svg.FONT};fill:#1f1f1f}}.h{{font-weight:600;font-size:12px}}.q{{fill:#595959}}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" '
    data = f'{head}height="{size[1]}"><style>{style}</style>{body}</svg>'.encode()
    count = int(mismatch.wrong.sum())
    counted = f"{count:,} of {mismatch.wrong.size:,} elements are wrong, for {mismatch.case}"
    return join([image(data, f"{counted}. {mismatch.what}.", size[0]), sentence(muted(counted))])


def _plane(array: Any, index: tuple[int, ...]) -> Any:
    """The last two axes, at the place of an element on the others."""
    plane = np.asarray(array)[index[:-2]] if len(index) > 2 else np.asarray(array)
    return plane.reshape((1,) * (2 - plane.ndim) + plane.shape)


def _window(at: int, size: int) -> range:
    start = max(0, min(at - _WINDOW // 2, size - _WINDOW))
    return range(start, min(size, start + _WINDOW))


def _numbers(rows: range, columns: range, left: int, names: Sequence[str]) -> Iterator[str]:
    def axis(x: float, y: float, number: int) -> str:
        named = escape(names[number]) if number < len(names) else number
        return f'<text class="q" text-anchor="middle" x="{x}" y="{y}">{named}</text>'

    yield from (axis(left + (k + 0.5) * _CELL, _TOP - 6, j) for k, j in enumerate(columns))
    yield from (axis(left - (32 if names else 16), _TOP + k * _ROW + 16, i) for k, i in enumerate(rows))


def _cell(value: Any, place: tuple[int, int], *, bad: bool, first: bool) -> str:
    """An element: red and underlined with a word for the eye that sees no colours, the first one framed."""
    x, y = place
    fill = palette.BAD if bad else "#ffffff"
    box = f'x="{x}" y="{y}" width="{_CELL}" height="{_ROW}" fill="{fill}" fill-opacity=".22"'
    edge = f'stroke="{palette.BAD}" stroke-width="2.5"' if first else 'stroke="#bdbdbd"'
    weight = ' font-weight="700" text-decoration="underline"' if bad else ""
    text = f"{value:.5g}" if np.asarray(value).dtype.kind == "f" else str(value)
    return f'<rect {box} {edge}/><text text-anchor="middle" x="{x + _CELL / 2:.0f}" y="{y + 16}"{weight}>{text}</text>'
