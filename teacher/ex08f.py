"""What only teachers see of 08f."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tvmlab.course.grouping import groups_as_tvm, random_graphs
from tvmlab.fusion import Graph

SOLUTION = '''
from tvmlab.fusion import Kind

ELEM, BCAST, INJ, REDUCE, OEF = Kind.ELEM, Kind.BCAST, Kind.INJ, Kind.REDUCE, Kind.OEF

def fuse(graph):
    """The groups of a graph: a list of lists of nodes."""
    nodes = range(len(graph))
    readers = [graph.readers(n) for n in nodes]
    parents = post_dominators(graph, readers)
    merged_into, kind = list(nodes), [graph.kind(n) for n in nodes]

    def find(n):
        while merged_into[n] != n:
            n = merged_into[n]
        return n

    def merge(n, target):
        n, target = find(n), find(target)
        if n != target:
            merged_into[n] = target
            if kind[n] == OEF:
                kind[target] = max(kind[target], OEF)

    for phase in (0, 1):
        for n in nodes:
            if parents[n] is None or find(n) == find(parents[n]):
                continue
            inner = between(n, parents[n], readers)
            if fits(phase, kind[n], [graph.kind(m) for m in (*inner, parents[n])],
                    [kind[find(m)] for m in inner], kind[find(parents[n])]):
                for m in (n, *inner):
                    merge(m, parents[n])
    groups = {}
    for n in nodes:
        groups.setdefault(find(n), []).append(n)
    return list(groups.values())

def fits(phase, own, on_the_way, inner, end):
    if own == OEF:
        return phase == 0 and max(on_the_way) == ELEM and max([end, *inner]) <= BCAST
    if own <= BCAST:
        return max(on_the_way) in (ELEM, BCAST, INJ, REDUCE) and max([ELEM, *inner]) <= INJ and end <= OEF
    return own == INJ and phase == 1 and max([end, *inner]) <= INJ

def between(start, end, readers):
    found, waiting = [], list(readers[start])
    while waiting:
        n = waiting.pop()
        if n != end and n not in found:
            found.append(n)
            waiting += readers[n]
    return found

def post_dominators(graph, readers):
    parents, depths = [None] * len(graph), [0] * len(graph)
    for n in reversed(range(len(graph))):
        meet = None if graph.external[n] else readers[n][0]
        for other in readers[n]:
            while meet is not None and other is not None and meet != other:
                if depths[meet] >= depths[other]:
                    meet = parents[meet]
                else:
                    other = parents[other]
            meet = meet if meet == other else None
        parents[n] = meet
        depths[n] = 0 if meet is None else depths[meet] + 1
    return parents
'''

_PAIRS = """
from tvmlab.fusion import Kind

def fuse(graph):
    group = list(range(len(graph)))
    for n in reversed(range(len(graph))):
        readers = set(graph.readers(n))
        if len(readers) == 1 and not graph.external[n]:
            (reader,) = readers
            if {}:
                group[n] = group[reader]
    return [[n for n in range(len(graph)) if group[n] == g] for g in sorted(set(group))]
"""

WRONG = (
    (
        "from tvmlab.course.naive_groups import naive_groups\ndef fuse(graph):\n    return naive_groups(graph)\n",
        "you have nodes 0 and 1 apart, and TVM fuses them",
    ),
    ("def fuse(graph):\n    return [[n] for n in range(len(graph))]\n", "apart, and TVM fuses them"),
    ("def fuse(graph):\n    return [list(range(len(graph)))]\n", "in one group, and TVM keeps them apart"),
    (_PAIRS.format("max(graph.kind(n), graph.kind(reader)) <= Kind.INJ"), "apart, and TVM fuses them"),
    (_PAIRS.format("graph.kind(n) <= Kind.INJ and graph.kind(reader) <= Kind.REDUCE"), "TVM keeps them apart"),
    ("def fuse(graph):\n    return [[0]]\n", "node 1 is in no group"),
    ("def fuse(graph):\n    return len(graph)\n", "which is no list of groups"),
    (SOLUTION.replace("for phase in (0, 1)", "for phase in (0,)"), "apart, and TVM fuses them"),
    (
        SOLUTION.replace("None if graph.external[n] else readers[n][0]", "readers[n][0] if readers[n] else None"),
        "apart",
    ),
    (SOLUTION.replace("for m in (n, *inner)", "for m in (n,)"), "apart, and TVM fuses them"),
)


def many(random: np.random.Generator) -> Iterable[Graph]:
    """As many as the issue asks of the reference solution, with those that are public."""
    return random_graphs(random, 400, 60)


HIDDEN = (groups_as_tvm(many, "400 random graphs of up to 60 nodes are grouped as by FuseOps"),)
