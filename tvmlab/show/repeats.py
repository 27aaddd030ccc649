"""Blocks of a graph that come again, so that a picture shows each of them once.

Every way from the first vertex leads through its post-dominators, the *cuts*.  What lies between two cuts, with the
latter, is a segment; a block is a run of segments that follows itself or comes back later.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tvmlab.fusion.postdom import PostDominators


__all__ = ["Block", "blocks"]

_LONGEST = 12  # segments of a block
_LEAST = 3  # vertices that are worth folding away
_SOURCES = 64


@dataclass(frozen=True)
class Block:
    """A part of a graph.

    Parameters
    ----------
    name : str
        ``A``, ``B`` … for blocks that come several times, else empty.
    vertices : tuple of int
    times : int
        How often it follows itself.
    folded : bool
        Whether it is known from before, so that one need not look again.
    """

    name: str
    vertices: tuple[int, ...]
    times: int = 1
    folded: bool = False


def blocks(alike: Sequence[Hashable], edges: Sequence[tuple[int, int]], outputs: Sequence[int] = ()) -> list[Block]:
    """All vertices in blocks, from top to bottom.

    Parameters
    ----------
    alike : sequence of hashable
        Of each vertex, in topological order, what makes it the same as another.
    edges : sequence of (int, int)
    outputs : sequence of int
        Vertices whose value leaves the graph.
    """
    everything = [Block("", tuple(range(len(alike))))]
    if not edges or any(a >= b for a, b in edges):
        return everything
    cuts, tree = _cuts(len(alike), edges, outputs)
    parts, rest = _segments(len(alike), cuts, tree)
    if len(parts) < 2:
        return everything
    incoming: defaultdict[int, list[int]] = defaultdict(list)
    for a, b in edges:
        incoming[b].append(a)
    incoming[parts[0][0]] = [-1]  # the inputs of the graph stand for a cut
    numbers: dict[Hashable, int] = {}
    ids = [numbers.setdefault(_shape(part, alike, incoming), len(numbers)) for part in parts]
    small = [len(part) < _LEAST for part in parts]
    found = list(_runs(ids, small))
    counted: Counter[tuple[int, ...]] = Counter()
    for start, length, times in found:
        counted[tuple(ids[start : start + length])] += times
    return [*_named(found, ids, parts, counted), *([Block("", tuple(rest))] if rest else [])]


def _cuts(count: int, edges: Sequence[tuple[int, int]], outputs: Sequence[int]) -> tuple[list[int], PostDominators]:
    """The longest way down the tree of post-dominators from a vertex that reads none."""
    from tvmlab.fusion import Graph, Kind
    from tvmlab.fusion.postdom import post_dominators

    unique = sorted(dict.fromkeys(edges), key=lambda edge: edge[::-1])
    producers, consumers = (np.array(column, np.int32) for column in zip(*unique, strict=True))
    zeros = np.zeros_like(producers)
    graph = Graph.of_edges(bytes([Kind.ELEM]) * count, producers, zeros, consumers, zeros, outputs)
    tree = post_dominators(graph)
    readers = {b for _, b in edges}
    sources = [vertex for vertex in range(count) if vertex not in readers][:_SOURCES]
    return max(([source, *tree.chain(source)] for source in sources), key=len), tree


def _segments(count: int, cuts: list[int], tree: PostDominators) -> tuple[list[list[int]], list[int]]:
    """The vertices up to each cut, and those after the last one."""
    number = {cut: at for at, cut in enumerate(cuts)}
    owner: dict[int, int] = {}
    for vertex in reversed(range(count)):
        parent = tree.of(vertex)
        if vertex in number:
            owner[vertex] = number[vertex]
        elif parent in owner:
            owner[vertex] = owner[parent]
    parts: list[list[int]] = [[] for _ in cuts]
    for vertex in sorted(owner):
        parts[owner[vertex]].append(vertex)
    return parts, [vertex for vertex in range(count) if vertex not in owner]


def _shape(part: list[int], alike: Sequence[Hashable], incoming: defaultdict[int, list[int]]) -> Hashable:
    """What a segment has in common with those that look the same: what its vertices are, and who reads whom."""
    place = {vertex: at for at, vertex in enumerate(part)}
    return tuple((alike[v], tuple(sorted(place.get(a, -1) for a in incoming[v]))) for v in part)


def _runs(ids: list[int], small: list[bool]) -> Iterator[tuple[int, int, int]]:
    """Start, length and number of repetitions of runs that cover all.

    A segment that is worth it is a pattern of its own; small ones are put together into the pattern that covers most.
    """
    at = 0
    while at < len(ids):
        best = (1, 1)
        for length in range(1, min(_LONGEST, len(ids) - at) + 1):
            pattern = ids[at : at + length]
            if length > 1 and not all(small[at : at + length]):
                break
            times = 1
            while ids[at + times * length : at + (times + 1) * length] == pattern:
                times += 1
            if times > 1 and times * length > best[0] * best[1]:
                best = (length, times)
        yield at, *best
        at += best[0] * best[1]


def _named(
    runs: list[tuple[int, int, int]], ids: list[int], parts: list[list[int]], counted: Counter[tuple[int, ...]]
) -> Iterator[Block]:
    names: dict[tuple[int, ...], str] = {}
    for start, length, times in runs:
        pattern = tuple(ids[start : start + length])
        members = [v for part in parts[start : start + length] for v in part]
        rest = [v for part in parts[start + length : start + length * times] for v in part]
        if counted[pattern] == 1 or len(members) * (counted[pattern] - 1) < _LEAST or len(members) == times == 1:
            yield Block("", tuple(sorted([*members, *rest])))
        elif pattern in names:
            yield Block(names[pattern], tuple(sorted([*members, *rest])), times, folded=True)
        else:
            names[pattern] = _letters(len(names))
            yield Block(names[pattern], tuple(sorted(members)))
            if rest:
                yield Block(names[pattern], tuple(sorted(rest)), times - 1, folded=True)


def _letters(number: int) -> str:
    """A, B … Z, AA, AB …"""
    return (_letters(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)
