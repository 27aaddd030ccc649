"""A graph and its groups as a scene: tiles for nodes, boxes for groups, arrows.

Each group is laid out for itself, and then the groups are, as boxes with the places at which their lines come in and go
out.  So boxes never overlap, whatever the groups are.  The explorer draws the same scenes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tvmlab.records import Partition
from tvmlab.show.layouts import Layout, Line, Point, layered
from tvmlab.show.node_words import tile_text, tile_width, what
from tvmlab.show.repeats import Block, blocks
from tvmlab.show.text import operation, size

if TYPE_CHECKING:
    from tvmlab.fusion import Graph, Grouping

__all__ = [
    "DIGIT",
    "FOLD_FROM",
    "SMALL",
    "TILE",
    "Arrow",
    "Box",
    "Scene",
    "Tile",
    "kernels_scene",
    "members",
    "nodes_scene",
    "numbers",
    "paths",
]


TILE = 22.0
DIGIT = 7.0
_RIGHT, _ABOVE = 10.0, 7.0  # inside of a box
_INNER_GAP, _OUTER_GAP = (14.0, 10.0), (22.0, 24.0)
_FOLD = 38.0
_CARD = 186.0
SMALL = 24  # nodes: up to here they wear their names, beyond what they do
FOLD_FROM = 40  # nodes


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
    named = bool(graph.operations or graph.labels)  # or else they are called by numbers
    names = [tuple((operation(what(graph, n)) if named else "", graph.kinds[n]) for n in group) for group in groups]
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
        left = 10 + DIGIT * len(str(number)) if number is not None else _RIGHT
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
        sizes = [(2.0, 0.0)] * first + [(width, TILE) for width in widths] + [(2.0, 0.0)] * len(outs)
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
