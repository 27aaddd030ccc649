"""Properties of trees of post-dominators: each parent as found by leaving nodes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tvmlab.fusion import Graph
from tvmlab.records import Mismatch, ParentMismatch, Property

__all__ = ["by_brute_force", "parents_are_nearest"]


def parents_are_nearest(graphs: Callable[[np.random.Generator], Iterable[Graph]], name: str) -> Property:
    """A property: for every graph the answer gives each node its nearest post-dominator, and None for the end."""

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        for graph in graphs(random):
            found = _compare(graph, answer(graph), by_brute_force(graph))
            if found is not None:
                return found
        return None

    return Property(name, check)


def by_brute_force(graph: Graph) -> list[int | None]:
    """The nearest post-dominator of each node, by its definition: without it, no way leads to the end.

    Takes a time that grows with the cube of the number of nodes.
    """
    return [
        next((p for p in range(node + 1, len(graph)) if not _reaches_end(graph, node, p)), None)
        for node in range(len(graph))
    ]


def _reaches_end(graph: Graph, start: int, without: int) -> bool:
    """Whether a way leads from a node to outside of the graph that avoids another."""
    waiting, seen = [start], {start, without}
    while waiting:
        node = waiting.pop()
        readers = graph.readers(node)
        if graph.external[node] or not readers:
            return True
        new = [reader for reader in dict.fromkeys(readers) if reader not in seen]
        seen.update(new)
        waiting += new
    return False


def _compare(graph: Graph, answer: Any, right: list[int | None]) -> Mismatch | None:
    if not isinstance(answer, list) or len(answer) != len(graph):
        what = f"the answer is {answer!r:.80}, which is no list of {len(graph)} parents"
        return Mismatch(what, mend="return a list with a node or None for each node")
    for node in reversed(range(len(graph))):
        got, expected = answer[node], right[node]
        if got != expected:
            said = f"the post-dominator of node {node} is {_name(expected)}, and you say {_name(got)}"
            return ParentMismatch(said, "", _reason(graph, node, got, expected), graph, node, got, expected)
    return None


def _name(node: int | None) -> str:
    return "the end" if node is None else str(node)


def _reason(graph: Graph, node: int, got: Any, expected: int | None) -> str:
    """What speaks against the answer."""
    if got is None:
        return f"every way from {node} leads through {expected}"
    if got not in range(node + 1, len(graph)):
        return f"it has to be a node after {node}"
    if _reaches_end(graph, node, got):
        return f"a way leads from {node} to the end that avoids {got}"
    return f"every way from {node} leads through {got} too, but {expected} is nearer"
