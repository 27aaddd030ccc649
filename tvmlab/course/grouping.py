"""Properties of fusers: the groups of random graphs are those of TVM's FuseOps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tvmlab import fusion
from tvmlab.fusion import Graph
from tvmlab.records import GroupMismatch, Mismatch, Property

__all__ = ["groups_as_tvm", "random_graphs"]

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
            found = _compare(graph, answer(graph), groups_by_tvm(graph))
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


def _compare(graph: Graph, answer: Any, right: list[list[int]]) -> Mismatch | None:
    expected = tuple(map(tuple, right))
    try:
        got = tuple(sorted((tuple(sorted(int(node) for node in group)) for group in answer), key=_last))
    except (TypeError, ValueError):
        mend = "return lists of nodes: [[0, 1], [2]]"
        return Mismatch(f"the answer is {answer!r:.80}, which is no list of groups", mend=mend)
    if got == expected:
        return None
    counted = [node for group in got for node in group]
    for node in range(len(graph)):
        if counted.count(node) != 1:
            where = "in no group" if node not in counted else "in more than one group"
            return GroupMismatch(f"node {node} is {where}", graph=graph, got=got, expected=expected)
    if len(counted) != len(graph):
        extra = next(node for node in counted if not 0 <= node < len(graph))
        return Mismatch(f"there is no node {extra}: the graph has {len(graph)}", mend="nodes count from 0")
    return _different(graph, got, expected)


def _different(graph: Graph, got: tuple[tuple[int, ...], ...], expected: tuple[tuple[int, ...], ...]) -> GroupMismatch:
    mine, right = (_numbers(groups) for groups in (got, expected))
    for edge in graph.edges():
        a, b = edge.producer, edge.consumer
        together = mine[a] == mine[b]
        if together != (right[a] == right[b]):
            how = "in one group, and TVM keeps them apart" if together else "apart, and TVM fuses them"
            why = fusion.partition(graph).why(a, b)
            return GroupMismatch(f"you have nodes {a} and {b} {how}", "", why, graph, got, expected, (a, b))
    group = next(each for each in got if each not in expected)
    what = f"you have a group of nodes {', '.join(map(str, group))}, and TVM does not"
    return GroupMismatch(what, graph=graph, got=got, expected=expected)


def _numbers(groups: Iterable[tuple[int, ...]]) -> dict[int, int]:
    return {node: at for at, group in enumerate(groups) for node in group}


def _last(group: tuple[int, ...]) -> int:
    return group[-1] if group else -1
