"""Properties of drawings in Mermaid's language: each node in the box of its group, and every use an arrow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tvmlab.fusion import Graph, partition
from tvmlab.records import Mismatch, Property

__all__ = ["draws"]

_BOX = re.compile(r"subgraph\s+\w+(\s*\[.*\])?$")
_NODE = re.compile(r"n(\d+)(\s*[\[({].*[\])}])?$")
_ARROW = re.compile(r"n(\d+)\s*-->\s*n(\d+)$")


def draws(graphs: Callable[[np.random.Generator], Iterable[Graph]], name: str) -> Property:
    """A property: ``answer(graph, groups)`` is a flowchart: node 3 is ``n3``, and each group a subgraph."""

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        for graph in graphs(random):
            groups = partition(graph).groups
            found = _compare(graph, groups, answer(graph, groups))
            if found is not None:
                return found
        return None

    return Property(name, check)


def _compare(graph: Graph, groups: list[list[int]], text: Any) -> Mismatch | None:
    if not isinstance(text, str):
        return Mismatch(f"the answer is a {type(text).__name__}, and should be a text")
    lines = [line.strip().rstrip(";") for line in text.splitlines() if line.strip()]
    if not lines or not re.match(r"(flowchart|graph)\s+(TD|TB|LR)$", lines[0]):
        return Mismatch("the first line is not flowchart TD", _quoted(1, lines[0] if lines else ""))
    boxes: list[list[int]] = []
    arrows: list[tuple[int, int]] = []
    inside = False
    for number, line in enumerate(lines[1:], 2):
        where = _quoted(number, line)
        if _BOX.match(line):
            if inside:
                return Mismatch("a box begins within a box", where, "write end after the nodes of a group")
            boxes.append([])
            inside = True
        elif line == "end" and inside:
            inside = False
        elif arrow := _ARROW.match(line):
            arrows.append((int(arrow[1]), int(arrow[2])))
        elif (node := _NODE.match(line)) and inside:
            boxes[-1].append(int(node[1]))
        else:
            return Mismatch("this line is none of a box, its end, a node in a box, and an arrow", where)
    return _same(graph, groups, boxes, arrows)


def _quoted(number: int, line: str) -> str:
    return f"line {number} of the drawing: {line}"


def _same(
    graph: Graph, groups: list[list[int]], boxes: list[list[int]], arrows: list[tuple[int, int]]
) -> Mismatch | None:
    case = f"for {len(graph)} nodes in the groups {groups}"
    for node in range(len(graph)):
        times = sum(box.count(node) for box in boxes)
        if times != 1:
            return Mismatch(f"node {node} is in {times} boxes, {case}", mend="each node stands in the box of its group")
    wrong = next((sorted(box) for box in boxes if sorted(box) not in groups), None)
    if wrong is not None:
        return Mismatch(f"a box holds {wrong}, which is no group, {case}")
    wanted = {(edge.producer, edge.consumer) for edge in graph.edges()}
    counted = Counter(arrows)
    for a, b in sorted(wanted | set(arrows)):
        times = counted[a, b]
        if times != ((a, b) in wanted):
            mend = "one arrow from a node to each reader, however often that reads it"
            return Mismatch(f"there are {times} arrows from {a} to {b}, {case}", mend=mend)
    return None
