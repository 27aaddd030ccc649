"""Where the boxes and lines of a graph go: layers from top to bottom, ordered so that few lines cross.

The method is Sugiyama's.  A vertex lies below all that it reads; a line that passes layers has a bend in each, and all
lines of one value share theirs.  The order within a layer is that of the mean places of the neighbours, swept down and
up a few times.  Coordinates are the nearest to those of the neighbours that keep the order and the gaps: a regression
that pools adjacent violators.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Layout", "Line", "Point", "layered"]

_SWEEPS = 10
_BEND = 4.0  # width of a line that passes a layer
_MANY = 4000  # vertices and bends: beyond, fewer sweeps

Point = tuple[float, float]


class Line(NamedTuple):
    """A line between two vertices, and how far from the middle of each it starts and ends."""

    start: int
    end: int
    start_offset: float = 0.0
    end_offset: float = 0.0


@dataclass(frozen=True)
class Layout:
    """The middles of all vertices, the points of each line, top and bottom of each layer, and the size; in pixels."""

    places: list[Point]
    routes: list[list[Point]]
    rows: list[Point]
    width: float
    height: float
    crossings: int


def layered(
    sizes: Sequence[Point],
    lines: Sequence[Line],
    *,
    gap: Point = (16.0, 30.0),
    top: Collection[int] = (),
    bottom: Collection[int] = (),
    rows: Sequence[Point] = (),
) -> Layout:
    """Lay a graph out.

    Parameters
    ----------
    sizes : sequence of (width, height)
        Of the vertices, which are in topological order.
    lines : sequence of Line
    gap : (horizontal, vertical)
        Between vertices.
    top, bottom : collection of int
        Vertices that belong into the first and the last layer.
    rows : sequence of (top, bottom)
        Where the layers are, if another layout of as many has to be matched.
    """
    graph = _Layers(sizes, lines, top, bottom)
    graph.order()
    return graph.drawn(gap, rows)


class _Layers:
    """Vertices and bends in layers."""

    def __init__(
        self, sizes: Sequence[Point], lines: Sequence[Line], top: Collection[int], bottom: Collection[int]
    ) -> None:
        self.sizes = list(sizes)
        self.lines = lines
        ends = [(min(line.start, line.end), max(line.start, line.end)) for line in lines]
        self.rank = _ranks(len(sizes), ends, set(top), set(bottom))
        self.real = len(sizes)
        self.above: defaultdict[int, list[tuple[int, float, float]]] = defaultdict(list)
        self.below: defaultdict[int, list[tuple[int, float, float]]] = defaultdict(list)
        bends: defaultdict[tuple[int, float], list[int]] = defaultdict(list)
        self.ways = [self._way(line, bends) for line in lines]
        self.layers: list[list[int]] = [[] for _ in range(max(self.rank, default=-1) + 1)]
        for vertex in self._from_the_ends():
            self.layers[self.rank[vertex]].append(vertex)

    def _way(self, line: Line, bends: defaultdict[tuple[int, float], list[int]]) -> list[int]:
        """The bends of a line, from its upper end to its lower one."""
        start, end, own, other = line
        if start > end:
            start, end, own, other = end, start, other, own
        shared = bends[start, own]
        needed = self.rank[end] - self.rank[start] - 1
        while len(shared) < needed:
            before, offset = (shared[-1], 0.0) if shared else (start, own)
            bend = len(self.sizes)
            self.sizes.append((_BEND, 0.0))
            self.rank.append(self.rank[start] + len(shared) + 1)
            self._join(before, bend, offset, 0.0)
            shared.append(bend)
        way = shared[: max(needed, 0)]
        self._join(way[-1] if way else start, end, 0.0 if way else own, other)
        return list(way)

    def _join(self, upper: int, lower: int, upper_offset: float, lower_offset: float) -> None:
        self.below[upper].append((lower, upper_offset, lower_offset))
        self.above[lower].append((upper, lower_offset, upper_offset))

    def _from_the_ends(self) -> list[int]:
        """All vertices as they are found upwards from those that nobody reads: so the lines of a tree do not cross."""
        found: dict[int, None] = {}
        waiting = [vertex for vertex in reversed(range(len(self.sizes))) if not self.below[vertex]]
        while waiting:
            vertex = waiting.pop()
            if vertex not in found:
                found[vertex] = None
                waiting += [upper for upper, *_ in reversed(self.above[vertex])]
        return list(found)

    def order(self) -> None:
        """Order the layers; the best order that was seen is kept."""
        best, fewest = [list(layer) for layer in self.layers], self.crossings()
        sweeps = _SWEEPS if len(self.sizes) < _MANY else 4
        for sweep in range(sweeps):
            if not fewest:
                break
            down = sweep % 2 == 0
            neighbours = self.above if down else self.below
            place = self._placed()
            for layer in self.layers if down else reversed(self.layers):
                keys = {v: _mean([place[n] for n, *_ in neighbours[v]], place[v]) for v in layer}
                layer.sort(key=keys.__getitem__)
                place.update((vertex, at / len(layer)) for at, vertex in enumerate(layer))
            if len(self.sizes) < _MANY:
                self._transpose()
            now = self.crossings()
            if now < fewest:
                best, fewest = [list(layer) for layer in self.layers], now
        self.layers = best

    def _placed(self) -> dict[int, float]:
        return {vertex: at / len(layer) for layer in self.layers for at, vertex in enumerate(layer)}

    def _transpose(self) -> None:
        """Swap neighbours where that saves crossings."""
        place = {vertex: at for layer in self.layers for at, vertex in enumerate(layer)}
        for layer in self.layers:
            for at in range(len(layer) - 1):
                left, right = layer[at], layer[at + 1]
                saved = 0
                for neighbours in (self.above, self.below):
                    a = sorted(place[n] for n, *_ in neighbours[left])
                    b = sorted(place[n] for n, *_ in neighbours[right])
                    saved += sum(len(a) - bisect.bisect_right(a, x) for x in b)
                    saved -= sum(bisect.bisect_left(a, x) for x in b)
                if saved > 0:
                    layer[at], layer[at + 1] = right, left
                    place[left], place[right] = at + 1, at

    def crossings(self) -> int:
        """How many pairs of lines cross."""
        place = {vertex: at for layer in self.layers for at, vertex in enumerate(layer)}
        total = 0
        for layer in self.layers:
            ends: list[int] = []
            for vertex in layer:
                own = sorted(place[n] for n, *_ in self.below[vertex])
                total += sum(len(ends) - bisect.bisect_right(ends, end) for end in own)
                for end in own:
                    bisect.insort(ends, end)
        return total

    def drawn(self, gap: Point, rows: Sequence[Point]) -> Layout:
        """The picture of the order."""
        across = self._across(gap[0])
        left = min((x - self.sizes[v][0] / 2 for v, x in enumerate(across)), default=0.0)
        across = [x - left for x in across]
        tops, bottoms = self._down(across, gap[1])
        if len(rows) == len(tops):
            tops, bottoms = [top for top, _ in rows], [bottom for _, bottom in rows]
        down = [(tops[r] + bottoms[r]) / 2 for r in self.rank]
        width = max((x + self.sizes[v][0] / 2 for v, x in enumerate(across)), default=0.0)
        places = list(zip(across, down, strict=True))
        routes = [
            self._route(line, way, places, tops, bottoms) for line, way in zip(self.lines, self.ways, strict=True)
        ]
        layers = list(zip(tops, bottoms, strict=True))
        return Layout(places[: self.real], routes, layers, width, max(bottoms, default=0.0), self.crossings())

    def _across(self, gap: float) -> list[float]:
        x = [0.0] * len(self.sizes)
        for layer in self.layers:
            at = 0.0
            for vertex in layer:
                x[vertex] = at + self.sizes[vertex][0] / 2
                at += self.sizes[vertex][0] + gap
            for vertex in layer:
                x[vertex] -= (at - gap) / 2
        if all(len(layer) == 1 for layer in self.layers) and not any(line[2] or line[3] for line in self.lines):
            return x  # a chain is straight already
        rounds = 8 if len(self.sizes) < _MANY else 4
        for turn in range(rounds):
            sides = [(self.above,), (self.below,)][turn % 2] if turn < rounds - 1 else (self.above, self.below)
            for layer in self.layers if turn % 2 == 0 else reversed(self.layers):
                self._align(layer, sides, x, gap)
        return x

    def _align(
        self,
        layer: list[int],
        sides: Sequence[defaultdict[int, list[tuple[int, float, float]]]],
        x: list[float],
        gap: float,
    ) -> None:
        """Move a layer's vertices to where their neighbours want them, as far as the gaps allow."""
        wanted, weights, shifts = [], [], []
        shift = 0.0
        for at, vertex in enumerate(layer):
            if at:
                before = layer[at - 1]
                shift += (self.sizes[before][0] + self.sizes[vertex][0]) / 2 + gap
            near = [x[n] + theirs - own for side in sides for n, own, theirs in side[vertex]]
            wanted.append(_median(near, x[vertex]) - shift)
            weights.append((4.0 if vertex >= self.real else 1.0 + len(near)) if near else 0.05)
            shifts.append(shift)
        for vertex, place, offset in zip(layer, _isotonic(wanted, weights), shifts, strict=True):
            x[vertex] = place + offset

    def _down(self, x: list[float], gap: float) -> tuple[list[float], list[float]]:
        """Top and bottom of each layer; more room where lines go far to the side."""
        tops, bottoms, at = [], [], 0.0
        for layer in self.layers:
            tops.append(at)
            at += max(self.sizes[vertex][1] for vertex in layer)
            bottoms.append(at)
            far = max((abs(x[v] + a - x[n] - b) for v in layer for n, a, b in self.below[v]), default=0.0)
            at += gap * (1 + min(far / 500, 1.5))
        return tops, bottoms

    def _route(
        self, line: Line, way: list[int], places: list[Point], tops: list[float], bottoms: list[float]
    ) -> list[Point]:
        start, end = (
            (places[line.start][0] + line.start_offset, places[line.start][1] + self.sizes[line.start][1] / 2),
            (places[line.end][0] + line.end_offset, places[line.end][1] - self.sizes[line.end][1] / 2),
        )
        bends = [(places[bend][0], side) for bend in way for side in (tops[self.rank[bend]], bottoms[self.rank[bend]])]
        return [start, *(bends if line.start < line.end else reversed(bends)), end]


def _ranks(count: int, ends: Sequence[tuple[int, int]], top: set[int], bottom: set[int]) -> list[int]:
    """The longest way to each vertex from above; then what reads less than it is read by moves down to its readers."""
    rank = [0] * count
    outgoing: list[list[int]] = [[] for _ in range(count)]
    incoming = [0] * count
    for start, end in ends:
        outgoing[start].append(end)
        incoming[end] += 1
    for vertex in range(count):
        for reader in outgoing[vertex]:
            rank[reader] = max(rank[reader], rank[vertex] + 1)
    for vertex in reversed(range(count)):
        if outgoing[vertex] and incoming[vertex] <= len(outgoing[vertex]) and vertex not in top:
            rank[vertex] = min(rank[reader] for reader in outgoing[vertex]) - 1
    last = max(rank, default=0)
    for vertex in bottom:
        rank[vertex] = last
    first = min(rank, default=0)
    return [at - first for at in rank]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _median(values: list[float], otherwise: float) -> float:
    """The middle of the middle two, or of the only middle one."""
    if not values:
        return otherwise
    values.sort()
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def _isotonic(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The ascending numbers that are nearest to those wanted, by weighted squares."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for value, weight in zip(wanted, weights, strict=True):
        mean, total, count = value, weight, 1
        while blocks and blocks[-1][0] >= mean:
            before, more, members = blocks.pop()
            mean = (mean * total + before * more) / (total + more)
            total, count = total + more, count + members
        blocks.append((mean, total, count))
    return [mean for mean, _, count in blocks for _ in range(count)]
