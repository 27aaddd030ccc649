"""A graph and its groups as a scene: tiles for nodes, boxes for groups, arrows; and the scene as an SVG.

Each group is laid out for itself, and then the groups are, as boxes with the places at which their lines come in and go
out.  So boxes never overlap, whatever the groups are.  The explorer draws the same scenes.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvmlab.fusion import Graph, Grouping, Kind
from tvmlab.fusion.reasons import decision_at, verdict
from tvmlab.fusion.replay import Turn
from tvmlab.records import Partition
from tvmlab.show import palette
from tvmlab.show.html import escape
from tvmlab.show.layouts import Layout, Line, Point, layered
from tvmlab.show.repeats import Block, blocks
from tvmlab.show.text import operation, size

__all__ = [
    "Arrow",
    "Box",
    "Scene",
    "Tile",
    "clean",
    "curve",
    "elided",
    "facts",
    "kernels_scene",
    "members",
    "nodes_scene",
    "numbers",
    "paths",
    "shortened",
    "svg",
    "tile_text",
    "tile_width",
    "title_of",
    "told",
]

FONT = "system-ui, 'DejaVu Sans', sans-serif"
LETTERS = {"ELEM": "E", "BCAST": "B", "INJ": "I", "REDUCE": "R", "OEF": "O", "TUPLE": "T", "OPAQUE": "X"}
TINTS = (palette.SIDES[0], palette.SIDES[3], palette.SIDES[2], palette.SIDES[4], palette.SIDES[1], palette.SIDES[5])

_TILE = 22.0
_STRIP = 17.0  # the letter of the kind
_NARROW, _WIDE = set("iljtfrI.,:;'|!()[] "), set("mwMW@%")
_DIGIT = 7.0
_RIGHT, _ABOVE = 10.0, 7.0  # inside of a box
_INNER_GAP, _OUTER_GAP = (14.0, 10.0), (22.0, 24.0)
_FOLD = 38.0
_CARD = 186.0
_TITLE = 400
SMALL = 24  # nodes: up to here they wear their names, beyond what they do
FOLD_FROM = 40  # nodes

# Colour, more of its style, and how wide the head is, of each sort of arrow.
_STROKES = {
    "between": ("#5f5f5f", "stroke-width:1.7", 8),
    "inside": ("#8a8a8a", "stroke-width:1", 6),
    "merged": (palette.GOOD, "stroke-width:2.2", 8),
    "refused": (palette.BAD, "stroke-width:1.5;stroke-dasharray:5 3", 8),
    "end": ("#8a8a8a", "stroke-width:1;stroke-dasharray:1 3", 6),
}


@dataclass(frozen=True)
class Tile:
    """A node, by its middle."""

    node: int
    x: float
    y: float
    width: float
    text: str
    kind: str
    computes: bool = True


@dataclass(frozen=True)
class Box:
    """A group, or a block that is folded away, by its left upper corner."""

    group: int
    number: int | None
    x: float
    y: float
    width: float
    height: float
    text: tuple[str, ...] = ()
    folded: bool = False


@dataclass(frozen=True)
class Arrow:
    """One or several uses of a value; between nodes, -1 stands for a block that is folded away."""

    start: int
    end: int
    points: tuple[Point, ...]
    inside: bool = False
    state: str = ""

    @property
    def style(self) -> str:
        """How it is drawn: one of ``inside``, ``between``, ``merged``, ``refused`` and ``end``."""
        return self.state or ("inside" if self.inside else "between")


@dataclass(frozen=True)
class Scene:
    """What is drawn, in pixels."""

    tiles: tuple[Tile, ...]
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    width: float
    height: float
    frames: tuple[Box, ...] = ()
    rows: Sequence[Point] = field(default=(), repr=False)
    blocks: tuple[Block, ...] = field(default=(), repr=False)


# Groups


def members(record: Partition) -> list[list[int]]:
    """The nodes of each group of a partition, those that compute nothing too; ordered by their last node."""
    grouping: Grouping = record.grouping
    graph = grouping.graph
    computing = [[n for n in group if not graph.computes or graph.computes[n]] for group in grouping.groups]
    named = [tuple(graph.label(n) for n in group) for group in computing if group]
    if named == [group.nodes for group in record.groups]:
        return grouping.groups
    found = [sorted(graph.index(label) for label in group.nodes) for group in record.groups]
    taken = {node for group in found for node in group}
    return sorted([*found, *([node] for node in range(len(graph)) if node not in taken)], key=lambda group: group[-1])


def paths(graph: Graph) -> list[tuple[int, int]]:
    """The pairs of nodes of which the second reads the first."""
    return sorted(set(zip(graph.producers.tolist(), graph.consumers.tolist(), strict=True)), key=lambda e: e[::-1])


def _folding(graph: Graph, groups: Sequence[Sequence[int]], edges: Sequence[tuple[int, int]]) -> list[Block]:
    group_of = {node: at for at, group in enumerate(groups) for node in group}
    between = sorted({(group_of[a], group_of[b]) for a, b in edges if group_of[a] != group_of[b]})
    names = [tuple((operation(_what(graph, n)), graph.kinds[n]) for n in group) for group in groups]
    outputs = [at for at, group in enumerate(groups) if any(graph.external[node] for node in group)]
    return blocks(names, between, outputs)


# Scenes


def nodes_scene(
    graph: Graph, groups: Sequence[Sequence[int]], *, folded: bool | None = None, names: bool | None = None
) -> Scene:
    """Every node as a tile, in the box of its group.

    Parameters
    ----------
    graph : Graph
    groups : sequence of sequence of int
        Ascending, by their last nodes.
    folded : bool, optional
        Whether blocks that come again are shown once; default: in graphs of more than 40 nodes.
    names : bool, optional
        Whether tiles wear labels, or else operations; default: labels in graphs of at most 24 nodes.
    """
    edges = paths(graph)
    wanted = len(graph) > FOLD_FROM if folded is None else folded
    found = _folding(graph, groups, edges) if wanted else [Block("", tuple(range(len(groups))))]
    labelled = len(graph) <= SMALL if names is None else names
    return _Builder(graph, groups, edges, found, labelled).scene()


class _Builder:
    """Puts a scene together."""

    def __init__(
        self,
        graph: Graph,
        groups: Sequence[Sequence[int]],
        edges: Sequence[tuple[int, int]],
        found: Sequence[Block],
        labelled: bool,
    ) -> None:
        self.graph, self.groups, self.edges, self.blocks, self.labelled = graph, groups, edges, found, labelled
        self.group_of = {node: at for at, group in enumerate(groups) for node in group}
        self.fold_of = {group: at for at, b in enumerate(found) if b.folded for group in b.vertices}
        visible = [(group, None) for group in range(len(groups)) if group not in self.fold_of]
        folds = [(block.vertices[0], at) for at, block in enumerate(found) if block.folded]
        self.vertices = sorted([*visible, *folds], key=lambda pair: pair[0])
        self.vertex_of = {("fold", fold) if fold is not None else ("group", group): at
                          for at, (group, fold) in enumerate(self.vertices)}  # fmt: skip
        self.numbers = numbers(graph, groups)
        self.entries: defaultdict[int, list[int]] = defaultdict(list)
        self.exits: defaultdict[int, list[int]] = defaultdict(list)
        self.own: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for a, b in edges:
            if self.group_of[a] == self.group_of[b]:
                self.own[self.group_of[a]].append((a, b))
            else:
                self.exits[self.group_of[a]].append(a)
                self.entries[self.group_of[b]].append(b)
        for node, escapes in enumerate(graph.external):
            if escapes and graph.readers(node):
                self.exits[self.group_of[node]].append(node)

    def vertex(self, node: int) -> int:
        group = self.group_of[node]
        fold = self.fold_of.get(group)
        return self.vertex_of["group", group] if fold is None else self.vertex_of["fold", fold]

    def scene(self) -> Scene:
        inner = {group: self._inside(group) for group, fold in self.vertices if fold is None}
        sizes = [self._size(inner, group, fold) for group, fold in self.vertices]
        lines: dict[Line, list[tuple[int, int]]] = defaultdict(list)
        for a, b in self.edges:
            start, end = self.vertex(a), self.vertex(b)
            if start != end:
                leaves = self._port(inner, a, "exit", sizes[start])
                lines[Line(start, end, leaves, self._port(inner, b, "entry", sizes[end]))].append((a, b))
        outer = layered(sizes, list(lines), gap=_OUTER_GAP)
        corners = [(x - w / 2, y - h / 2) for (x, y), (w, h) in zip(outer.places, sizes, strict=True)]
        tiles: list[Tile] = []
        boxes: list[Box] = []
        arrows: list[Arrow] = []
        for (group, fold), corner, extent in zip(self.vertices, corners, sizes, strict=True):
            if fold is not None:
                boxes.append(self._fold(self.blocks[fold], corner, extent))
                continue
            boxes.append(Box(group, self.numbers[group], *corner, *extent))
            tiles += inner[group].tiles(corner)
            arrows += inner[group].arrows(corner)
        for line, route in zip(lines, outer.routes, strict=True):
            for a, b in lines[line]:
                before, after = self._ways(inner, a, b, corners)
                shown = [-1 if self.group_of[node] in self.fold_of else node for node in (a, b)]
                arrows.append(Arrow(shown[0], shown[1], (*before, *route, *after)))
        frames = tuple(self._frames(boxes))
        width = max([outer.width, *(f.x + f.width for f in frames)])
        return Scene(
            tuple(tiles), tuple(boxes), tuple(arrows), width, outer.height, frames, outer.rows, tuple(self.blocks)
        )

    def _ways(
        self, inner: Mapping[int, _Inside], a: int, b: int, corners: Sequence[Point]
    ) -> tuple[list[Point], list[Point]]:
        """From a node to the edge of its box, and from the edge of a box to a node in it."""
        start, end = (inner.get(self.group_of[node]) for node in (a, b))
        before = start.way("exit", a, corners[self.vertex(a)]) if start else []
        after = end.way("entry", b, corners[self.vertex(b)]) if end else []
        return before, after

    def _size(self, inner: Mapping[int, _Inside], group: int, fold: int | None) -> Point:
        return (190.0, _FOLD) if fold is not None else inner[group].size

    def _port(self, inner: Mapping[int, _Inside], node: int, side: str, extent: Point) -> float:
        found = inner.get(self.group_of[node])
        return found.port(side, node) - extent[0] / 2 if found else 0.0

    def _inside(self, group: int) -> _Inside:
        nodes = self.groups[group]
        texts = [tile_text(self.graph, node, self.labelled) for node in nodes]
        number = self.numbers[group]
        left = 10 + _DIGIT * len(str(number)) if number is not None else _RIGHT
        return _Inside(self.graph, nodes, texts, self.own[group], self.entries[group], self.exits[group], left)

    def _fold(self, block: Block, corner: Point, extent: Point) -> Box:
        times = f"{block.times} × " if block.times > 1 else ""
        nodes = sum(len(self.groups[group]) for group in block.vertices)
        text = (f"{times}block {block.name} again", f"{len(block.vertices)} kernels, {nodes} nodes")
        return Box(block.vertices[0], None, *corner, *extent, text, folded=True)

    def _frames(self, boxes: Sequence[Box]) -> Iterator[Box]:
        """Around the blocks to which others are compared."""
        known = {block.name for block in self.blocks if block.folded}
        place = {box.group: box for box in boxes if not box.folded}
        for block in self.blocks:
            if not block.folded and block.name in known:
                inside = [place[group] for group in block.vertices]
                left, top = min(b.x for b in inside) - 6, min(b.y for b in inside) - 6
                right, bottom = max(b.x + b.width for b in inside), max(b.y + b.height for b in inside)
                yield Box(-1, None, left, top, right - left + 24, bottom - top + 6, (block.name,))


class _Inside:
    """One group: its tiles, the lines between them, and those to the edges of its box."""

    def __init__(
        self,
        graph: Graph,
        nodes: Sequence[int],
        texts: Sequence[str],
        edges: Sequence[tuple[int, int]],
        entries: Iterable[int],
        exits: Iterable[int],
        left: float,
    ) -> None:
        self.graph, self.nodes, self.texts, self.edges, self.left = graph, nodes, texts, edges, left
        ins, outs = list(dict.fromkeys(entries)), list(dict.fromkeys(exits))
        first = len(ins)
        place = {node: first + at for at, node in enumerate(nodes)}
        last = first + len(nodes)
        widths = [tile_width(text) for text in texts]
        sizes = [(2.0, 0.0)] * first + [(width, _TILE) for width in widths] + [(2.0, 0.0)] * len(outs)
        lines = [Line(place[a], place[b]) for a, b in edges]
        lines += [Line(at, place[node]) for at, node in enumerate(ins)]
        lines += [Line(place[node], last + at) for at, node in enumerate(outs)]
        self.widths = widths
        self.layout: Layout = layered(sizes, lines, gap=_INNER_GAP, top=range(first), bottom=range(last, len(sizes)))
        self.first = first
        self.ports = {("entry", node): at for at, node in enumerate(ins)}
        self.ports |= {("exit", node): last + at for at, node in enumerate(outs)}
        self.lines = {("entry", node): len(edges) + at for at, node in enumerate(ins)}
        self.lines |= {("exit", node): len(edges) + first + at for at, node in enumerate(outs)}
        # where nothing comes in or goes out there is no gap above or below
        self.above, below = (0.0 if ins else _ABOVE), (0.0 if outs else _ABOVE)
        self.size = (self.layout.width + left + _RIGHT, self.layout.height + self.above + below)

    def tiles(self, corner: Point) -> Iterator[Tile]:
        for at, node in enumerate(self.nodes):
            x, y = self.layout.places[self.first + at]
            computes = not self.graph.computes or bool(self.graph.computes[node])
            kind = self.graph.kind(node).name
            yield Tile(node, *self._at(corner, x, y), self.widths[at], self.texts[at], kind, computes)

    def arrows(self, corner: Point) -> Iterator[Arrow]:
        for (a, b), route in zip(self.edges, self.layout.routes, strict=False):
            yield Arrow(a, b, tuple(self._at(corner, *point) for point in route), inside=True)

    def port(self, side: str, node: int) -> float:
        """How far from the left edge of the box a line comes in or goes out."""
        return self.layout.places[self.ports[side, node]][0] + self.left

    def way(self, side: str, node: int, corner: Point) -> list[Point]:
        return [self._at(corner, *point) for point in self.layout.routes[self.lines[side, node]]]

    def _at(self, corner: Point, x: float, y: float) -> Point:
        return corner[0] + self.left + x, corner[1] + self.above + y


def kernels_scene(graph: Graph, groups: Sequence[Sequence[int]], like: Scene, kernels: Mapping[int, str]) -> Scene:
    """The kernels alone, each in the row of its group in another scene.

    Parameters
    ----------
    graph, groups
        As of `nodes_scene`.
    like : Scene
        That one.
    kernels : mapping of int to str
        Names of the kernels, by number.
    """
    edges = paths(graph)
    place = {box.group: at for at, box in enumerate(like.boxes)}
    group_of = {node: at for at, group in enumerate(groups) for node in group}
    vertex_of = {group: place[group] for group in place}
    for block in like.blocks:
        if block.folded:
            vertex_of |= dict.fromkeys(block.vertices, place[block.vertices[0]])
    lines: dict[Line, tuple[int, int]] = {}
    for a, b in edges:
        start, end = vertex_of[group_of[a]], vertex_of[group_of[b]]
        if start != end:
            lines.setdefault(Line(start, end), (groups[group_of[a]][-1], groups[group_of[b]][-1]))
    layout = layered([(_CARD, box.height) for box in like.boxes], list(lines), gap=_OUTER_GAP, rows=like.rows)
    boxes = []
    for box, (x, y) in zip(like.boxes, layout.places, strict=True):
        text = box.text if box.folded else _kernel_text(graph, groups[box.group], box.number, kernels)
        boxes.append(Box(box.group, box.number, x - _CARD / 2, y - box.height / 2, _CARD, box.height, text, box.folded))
    arrows = [Arrow(*ends, tuple(route)) for ends, route in zip(lines.values(), layout.routes, strict=True)]
    return Scene((), tuple(boxes), tuple(arrows), layout.width, layout.height)


def _kernel_text(graph: Graph, group: Sequence[int], number: int | None, kernels: Mapping[int, str]) -> tuple[str, ...]:
    if number is None:
        return (tile_text(graph, group[0], labelled=True),)
    computing = [node for node in group if not graph.computes or graph.computes[node]]
    written = graph.sizes[group[-1]] if graph.sizes else None
    parts = [f"{len(computing)} nodes" if len(computing) > 1 else "", f"writes {size(written)}" if written else ""]
    return (kernels[number], *filter(None, parts))


def numbers(graph: Graph, groups: Sequence[Sequence[int]]) -> list[int | None]:
    """The number of each group, from 1; None for those that compute nothing."""
    found: list[int | None] = []
    count = 0
    for group in groups:
        computing = not graph.computes or any(graph.computes[node] for node in group)
        count += computing
        found.append(count if computing else None)
    return found


# Words


def clean(text: str) -> str:
    """A text that XML can hold: without control characters and halves of pairs."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def text_width(text: str) -> float:
    """About how wide a text is, in pixels."""
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 11.5
    return 4.2 if letter in _NARROW else 9.6 if letter in _WIDE else 7.6 if letter.isupper() else 6.7


def elided(text: str, width: float) -> str:
    """As much of a text as fits, with a sign that there is more."""
    text = clean(text[:_TITLE]).replace("\n", " ")
    if text_width(text) <= width:
        return text
    room, at = width - 9, 0
    while at < len(text) and (room := room - _letter_width(text[at])) >= 0:
        at += 1
    return f"{text[:at]}…"


def tile_text(graph: Graph, node: int, labelled: bool) -> str:
    """What is written on a node."""
    return elided(graph.label(node) if labelled else _what(graph, node), 150.0 if labelled else 96.0)


def _what(graph: Graph, node: int) -> str:
    return (graph.operations[node] if graph.operations else "") or graph.label(node)


def tile_width(text: str) -> float:
    return max(_STRIP + 14 + text_width(text), 46.0)


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
    return "\n".join(
        clean(part[:_TITLE] + ("…" if len(part) > _TITLE else "")) for part in dict.fromkeys(parts) if part
    )


def told(grouping: Grouping, turn: Turn) -> str:
    """The verdict of a turn."""
    return shortened(verdict(grouping, decision_at(grouping, turn.phase, turn.node)), 1500)


def shortened(text: str, most: int = _TITLE) -> str:
    """At most so many characters."""
    return clean(text if len(text) <= most else f"{text[:most]}…")


# SVG


def curve(points: Sequence[Point]) -> str:
    """A smooth way through points, from above to below, as the data of a path."""
    distinct = [p for at, p in enumerate(points) if not at or _apart(p, points[at - 1])]
    parts = [f"M{_number(distinct[0][0])} {_number(distinct[0][1])}"]
    for (x, y), (to_x, to_y) in itertools.pairwise(distinct):
        if abs(x - to_x) < 0.6:
            parts.append(f"L{_number(to_x)} {_number(to_y)}")
        else:
            middle = (y + to_y) / 2
            numbers_ = " ".join(map(_number, (x, middle, to_x, middle, to_x, to_y)))
            parts.append(f"C{numbers_}")
    return "".join(parts)


def _apart(a: Point, b: Point) -> bool:
    return abs(a[0] - b[0]) > 0.1 or abs(a[1] - b[1]) > 0.1


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def tint(number: int | None) -> str:
    """The colour of a group."""
    return TINTS[(number - 1) % len(TINTS)] if number is not None else "#9A9A9A"


def colour_of(kind: str) -> str:
    return palette.kind_colour(Kind[kind].title)


def svg(
    parts: Sequence[tuple[str, Scene]], titles: Mapping[int, str], kinds: Iterable[str], margin: float = 10.0
) -> tuple[bytes, int, int]:
    """Scenes side by side, each under its heading, and a legend; with width and height in pixels."""
    drawn, at = [], margin
    height = max(scene.height for _, scene in parts)
    for heading, scene in parts:
        drawn.append(f'<g transform="translate({_number(at)} 34)">')
        drawn.append(f'<text class="h" x="0" y="-18">{escape(heading)}</text>{"".join(_drawn(scene, titles))}</g>')
        at += max(scene.width, 1.25 * text_width(heading)) + 40
    legend = "".join(_legend(kinds, height + 58))
    width = max(at - 40 + margin, 30 + 118.0 * min(len(set(kinds)), 4))
    rows = (len(set(kinds)) + 3) // 4
    whole = (round(width), round(height + 46 + 20 * rows))
    style = (
        f"text{{font:11px {FONT};fill:#1f1f1f}}.h{{font-weight:600;font-size:12px}}.q{{fill:#595959;font-size:10px}}"
        ".t{fill:#fff;stroke:#6b6b6b}.f{fill:none;stroke:#6b6b6b;stroke-dasharray:4 3}"
        ".n{font-weight:700;font-size:10px}.b{unicode-bidi:isolate}"
        + "".join(f".{name}{{fill:none;stroke:{ink};{more}}}" for name, (ink, more, _) in _STROKES.items())
    )
    size_of = f'viewBox="0 0 {whole[0]} {whole[1]}" width="{whole[0]}" height="{whole[1]}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size_of}>'
    markers = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="{wide}" markerHeight="{wide}" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="{ink}"/></marker>'
        for name, (ink, _, wide) in _STROKES.items()
    )
    text = f"{head}<style>{style}</style><defs>{markers}</defs>{''.join(drawn)}{legend}</svg>"
    return text.encode(), *whole


def _drawn(scene: Scene, titles: Mapping[int, str]) -> Iterator[str]:
    for frame in scene.frames:
        right = _number(frame.x + frame.width - 14)
        yield f'<rect class="f" rx="6" {_rectangle(frame)}/>'
        yield f'<text class="h" x="{right}" y="{_number(frame.y + 15)}">{escape(frame.text[0])}</text>'
    for box in scene.boxes:
        yield from _box(box)
    seen: set[str] = set()
    for arrow in scene.arrows:
        path = curve(arrow.points)
        if path not in seen:
            seen.add(path)
            yield f'<path class="{arrow.style}" marker-end="url(#{arrow.style})" d="{path}"/>'
    for tile in scene.tiles:
        yield _tile(tile, titles.get(tile.node, ""))


def _rectangle(box: Box) -> str:
    return f'x="{_number(box.x)}" y="{_number(box.y)}" width="{_number(box.width)}" height="{_number(box.height)}"'


def _box(box: Box) -> Iterator[str]:
    if box.folded:
        yield f'<rect rx="6" fill="#ececec" stroke="#6b6b6b" stroke-dasharray="4 3" {_rectangle(box)}/>'
    else:
        ink = tint(box.number)
        yield f'<rect rx="6" fill="{ink}" fill-opacity=".16" stroke="{ink}" {_rectangle(box)}/>'
        if box.number is not None:
            yield f'<text class="n" x="{_number(box.x + 4)}" y="{_number(box.y + 13)}">{box.number}</text>'
    middle = box.y + box.height / 2
    lines = [line for line in box.text if line]
    if 13 * len(lines) > box.height - 4:
        lines = [lines[0], " · ".join(lines[1:])]
    start = middle + 4 - 6.5 * (len(lines) - 1)
    for at, line in enumerate(lines):
        style = "b" if not at else "q"
        left = 10 if box.number is None else 10 + _DIGIT * len(str(box.number))
        room, x = box.width - left - 6, box.x + left
        place = f'x="{_number(x)}" y="{_number(start + 13 * at)}"'
        yield f'<text class="{style}" {place}>{escape(elided(line, room))}</text>'


def _tile(tile: Tile, title: str) -> str:
    x, y = tile.x - tile.width / 2, tile.y - _TILE / 2
    ink = colour_of(tile.kind)
    dashes = "" if tile.computes else ' stroke-dasharray="3 2"'
    strip = f"M{_number(x + 4)} {_number(y)}h{_STRIP - 4:.0f}v{_TILE:.0f}h-{_STRIP - 4:.0f}q-4 0 -4 -4v-14q0 -4 4 -4z"
    corner = f'x="{_number(x)}" y="{_number(y)}" width="{_number(tile.width)}" height="{_number(_TILE)}"'
    return (
        f"<g><title>{escape(title)}</title>"
        f'<rect class="t" rx="4" {corner}{dashes}/>'
        f'<path fill="{ink}" d="{strip}"/>'
        f'<text class="n" text-anchor="middle" x="{_number(x + _STRIP / 2)}" y="{_number(tile.y + 4)}" '
        f'style="fill:{palette.ink_on(ink)}">{LETTERS[tile.kind]}</text>'
        f'<text class="b" x="{_number(x + _STRIP + 6)}" y="{_number(tile.y + 4)}">{escape(tile.text)}</text></g>'
    )


def _legend(kinds: Iterable[str], y: float) -> Iterator[str]:
    order = [kind.name for kind in Kind if kind.name in set(kinds)]
    for at, kind in enumerate(order):
        x, down = 10 + 118 * (at % 4), y + 20 * (at // 4)
        ink = colour_of(kind)
        yield f'<rect x="{x}" y="{_number(down - 11)}" width="16" height="15" rx="3" fill="{ink}"/>'
        yield (
            f'<text class="n" text-anchor="middle" x="{x + 8}" y="{_number(down + 1)}" '
            f'style="fill:{palette.ink_on(ink)}">{LETTERS[kind]}</text>'
        )
        yield f'<text x="{x + 22}" y="{_number(down + 1)}">{kind.lower()}</text>'


def facts(scene: Scene) -> dict[str, Any]:
    """A scene as JSON data."""
    return {
        "width": round(scene.width, 1),
        "height": round(scene.height, 1),
        "tiles": [
            {"node": t.node, "x": round(t.x, 1), "y": round(t.y, 1), "width": round(t.width, 1), "text": t.text,
             "kind": t.kind, "computes": t.computes}
            for t in scene.tiles
        ],
        "boxes": [
            {"group": b.group, "number": b.number, "x": round(b.x, 1), "y": round(b.y, 1), "width": round(b.width, 1),
             "height": round(b.height, 1), "text": [elided(line, b.width - 30) for line in b.text if line],
             "folded": b.folded}
            for b in [*scene.boxes]
        ],
        "frames": [
            {"x": round(f.x, 1), "y": round(f.y, 1), "width": round(f.width, 1), "height": round(f.height, 1),
             "text": f.text[0]}
            for f in scene.frames
        ],
        "arrows": [
            {"start": a.start, "end": a.end, "path": curve(a.points), "style": a.style} for a in scene.arrows
        ],
    }  # fmt: skip
