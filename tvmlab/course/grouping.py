"""Properties of fusers: the groups of random graphs are those of TVM's FuseOps."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tvmlab import fusion
from tvmlab.fusion import Graph
from tvmlab.records import GroupMismatch, Mismatch, Property

__all__ = ["compared", "groups_as_tvm", "random_graphs"]

_WHOLE = 40  # nodes: larger graphs are cut down to what is wrong

_KINDS = (0, 0, 0, 1, 1, 2, 2, 3, 4, 8)


def groups_as_tvm(graphs: Callable[[np.random.Generator], Iterable[Graph]], name: str) -> Property:
    """A property: for every graph the answer gives the groups that ``relax.transform.FuseOps`` makes.

    Parameters
    ----------
    graphs : callable
        From a generator to graphs without nodes that nobody needs, and without tuples.
    name : str
        Of the property.
    """

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        from tvmlab.pipeline.abstract import groups_by_tvm

        for graph in graphs(random):
            found = compared(graph, answer(graph), groups_by_tvm(graph))
            if found is not None:
                return found
        return None

    return Property(name, check)


def random_graphs(random: np.random.Generator, count: int, largest: int) -> Iterator[Graph]:
    """Graphs of 2 to `largest` nodes of any kind but tuple, small ones first.

    Each node reads up to three that come before, mostly near ones; what nobody reads is an output, and so are a few
    others.
    """
    for at in range(count):
        nodes = 2 + at * (largest - 1) // count
        kinds = [int(kind) for kind in random.choice(_KINDS, nodes)]
        inputs = [[_before(random, node) for _ in range(random.integers(1, 4))] for node in range(nodes)]
        read = {operand for operands in inputs for operand in operands}
        outputs = {node for node in range(nodes) if node not in read or random.random() < 0.05}
        yield Graph.from_kinds(kinds, inputs, sorted(outputs))


def _before(random: np.random.Generator, node: int) -> int:
    """A node before, or -1 for a parameter."""
    far = min(node, 3) if random.random() < 0.7 else node
    return int(node - 1 - random.integers(0, far + 1)) if node else -1


def compared(graph: Graph, answer: Any, right: list[list[int]], prefix: str = "") -> Mismatch | None:
    """What is wrong with the groups of an answer, beginning with a prefix; None if they are right."""
    expected = tuple(map(tuple, right))
    try:
        got = tuple(sorted((tuple(sorted(int(node) for node in group)) for group in answer), key=_last))
    except (TypeError, ValueError):
        mend = "return lists of nodes: [[0, 1], [2]]"
        return Mismatch(f"{prefix}the answer is {answer!r:.80}, which is no list of groups", mend=mend)
    if got == expected:
        return None
    counted = Counter(node for group in got for node in group)
    for node in range(len(graph)):
        if counted[node] != 1:
            where = "in no group" if node not in counted else "in more than one group"
            what = f"{prefix}node {graph.label(node)} is {where}"
            return _cut(GroupMismatch(what, graph=graph, got=got, expected=expected), [node])
    extra = next((node for node in counted if not 0 <= node < len(graph)), None)
    if extra is not None:
        what = f"{prefix}there is no node {extra}: the graph has {len(graph)}"
        return Mismatch(what, mend="nodes count from 0")
    return _different(graph, got, expected, prefix)


def _different(
    graph: Graph, got: tuple[tuple[int, ...], ...], expected: tuple[tuple[int, ...], ...], prefix: str
) -> GroupMismatch:
    mine, right = (_numbers(groups) for groups in (got, expected))
    for edge in graph.edges():
        a, b = edge.producer, edge.consumer
        together = mine[a] == mine[b]
        if together != (right[a] == right[b]):
            how = "in one group, and TVM keeps them apart" if together else "apart, and TVM fuses them"
            what = f"{prefix}you have nodes {graph.label(a)} and {graph.label(b)} {how}"
            why = fusion.partition(graph).why(a, b)
            return _cut(GroupMismatch(what, "", why, graph, got, expected, (a, b)), [a, b])
    group = next(each for each in got if each not in expected)
    what = f"{prefix}you have a group of nodes {', '.join(map(graph.label, group))}, and TVM does not"
    return _cut(GroupMismatch(what, graph=graph, got=got, expected=expected), group)


def _cut(mismatch: GroupMismatch, at: Iterable[int]) -> GroupMismatch:
    """In a large graph only the groups of some nodes on either side, and what they read."""
    graph: Graph = mismatch.graph
    if len(graph) <= _WHOLE:
        return mismatch
    kept = {node for groups in (mismatch.got, mismatch.expected) for g in groups if set(at) & set(g) for node in g}
    kept = set(sorted(kept & set(range(len(graph))))[-_WHOLE // 2 :]) | set(at)
    kept |= {edge.producer for edge in graph.edges() if edge.consumer in kept}
    piece, place = graph.piece(kept)

    def inside(groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        cut = (tuple(place[node] for node in group if node in place) for group in groups)
        return tuple(sorted(filter(None, cut), key=_last))

    edge = mismatch.edge and (place[mismatch.edge[0]], place[mismatch.edge[1]])
    got, expected = inside(mismatch.got), inside(mismatch.expected)
    return dataclasses.replace(mismatch, graph=piece, got=got, expected=expected, edge=edge)


def _numbers(groups: Iterable[tuple[int, ...]]) -> dict[int, int]:
    return {node: at for at, group in enumerate(groups) for node in group}


def _last(group: tuple[int, ...]) -> int:
    return group[-1] if group else -1
