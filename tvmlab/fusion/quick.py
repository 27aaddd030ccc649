"""The groups of `tvmlab.fusion.partition.literally`, for graphs of a million nodes.

Read `tvmlab.fusion.partition` first: rules, names and order are explained there.  What makes it quick:

* Post-dominators are found with jumps, not steps (`tvmlab.fusion.postdom`).
* Only sinks may start a merge.  A node that is no longer the sink of its group got there in one merge with its
  post-dominator, so it is in that one's group already.
* Where a node has one reader, that is the post-dominator, and there are no inner nodes.
* In phase 1 only inj and tuple nodes are tried, since an elem or bcast node that was refused in phase 0 would be
  refused again: sizes only grow, and a reduce, oef or opaque node that refused starts no merge in between; a tuple
  does, but its turn comes later.
* How many inner nodes there are at least is known from the sweep.  Where that is too many already, they are not looked
  at; and else they are looked at only until one refuses or there are too many.
* A group has an anchor just when its kind is oef: what an anchor's group is merged into is elem or bcast.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.errors import GraphError
from tvmlab.fusion.graph import Graph, Kind
from tvmlab.fusion.grouping import Grouping
from tvmlab.fusion.postdom import post_dominators
from tvmlab.fusion.rule import Rule

__all__ = ["PHASES", "group_quickly"]

PHASES = ("phase0", "phase1", "phase2")

BCAST, INJ, REDUCE, OEF, TUPLE = (int(k) for k in (Kind.BCAST, Kind.INJ, Kind.REDUCE, Kind.OEF, Kind.TUPLE))
MERGED, ALREADY, PATH_KIND = int(Rule.MERGED), int(Rule.ALREADY), int(Rule.PATH_KIND)
ON_THE_WAY, INTO, TOO_LARGE, TUPLE_WAITS = (
    int(r) for r in (Rule.ON_THE_WAY, Rule.INTO, Rule.TOO_LARGE, Rule.TUPLE_WAITS)
)


def group_quickly(graph: Graph, max_depth: int, without: tuple[str, ...] = ()) -> Grouping:
    """Groups of a graph, and by which rule each node was merged or refused in each phase.

    Parameters
    ----------
    graph : Graph
    max_depth : int
    without : tuple of str
        Phases to leave out.

    Raises
    ------
    GraphError
        There is no such phase.
    """
    unknown = sorted({*without} - {*PHASES})
    if unknown:
        raise GraphError(f"without={unknown[0]!r} is not known", mend=f"what can be left out is {', '.join(PHASES)}")
    end = len(graph)
    starts, readers = graph.distinct_readers()
    tree = post_dominators(graph, (starts, readers))
    parent, path_kind, weight = tree.parent, tree.path_kind, tree.weight
    up = list(range(end))  # into which group a group was merged; itself: into none
    kind = bytearray(graph.kinds)
    size = [1] * end
    seen = [-1] * end  # by which search a node was last seen
    rules = (bytearray(end), bytearray(end), bytearray(end))
    culprits: tuple[dict[int, int], ...] = ({}, {}, {})
    inner: list[int] = []
    search = 0
    for phase, starters in _starters(graph, parent, without):
        rule = rules[phase]
        for node in starters:
            into = parent[node]
            own = kind[node]
            if own <= BCAST and phase < 2:
                if path_kind[node] > REDUCE:
                    rule[node] = PATH_KIND
                    continue
                way_limit, sink_limit = INJ, OEF
            elif own == OEF:
                if phase:
                    continue  # an elem node that has taken an anchor in
                if path_kind[node]:
                    rule[node] = PATH_KIND
                    continue
                way_limit = sink_limit = BCAST
            else:
                way_limit = sink_limit = INJ
            if up[node] != node:
                rule[node] = ALREADY
                continue
            sink = into
            while up[sink] != sink:
                up[sink] = sink = up[up[sink]]
            if sink == node:
                rule[node] = ALREADY
                continue
            if phase < 2 and kind[into] == TUPLE:
                rule[node] = TUPLE_WAITS
                continue
            if kind[sink] > sink_limit:
                rule[node] = INTO
                continue
            total = size[sink] + size[node]
            if starts[node + 1] - starts[node] == 1:
                if total > max_depth:
                    rule[node] = TOO_LARGE
                    continue
            else:
                if size[sink] + weight[node] - weight[into] > max_depth:
                    rule[node] = TOO_LARGE
                    continue
                search += 1
                inner = [node]
                for at in inner:  # grows while it is gone through
                    for place in range(starts[at], starts[at + 1]):  # no slice: it might be long, and soon left
                        reader = readers[place]
                        if seen[reader] == search or reader == into:
                            continue
                        seen[reader] = search
                        group = reader
                        while up[group] != group:
                            up[group] = group = up[up[group]]
                        if kind[group] > way_limit:
                            rule[node] = ON_THE_WAY
                            culprits[phase][node] = reader
                            break
                        total += size[reader]
                        if total > max_depth:
                            rule[node] = TOO_LARGE
                            break
                        inner.append(reader)
                    else:
                        continue
                    break
                else:
                    for member in inner[1:]:
                        child = member
                        while up[child] != child:
                            up[child] = child = up[up[child]]
                        if child != sink:
                            up[child] = sink
                            size[sink] += size[child]
                if rule[node]:
                    continue
            rule[node] = MERGED
            up[node] = sink
            size[sink] += size[node]
            if own == OEF:
                kind[sink] = OEF
    return Grouping(graph, max_depth, tree, _sinks(up), bytes(kind), rules, culprits, without)


def _starters(graph: Graph, parent: list[int], without: tuple[str, ...]) -> Iterator[tuple[int, list[int]]]:
    """Each phase, and the nodes that may start a merge in it and have a post-dominator."""
    kinds = np.frombuffer(graph.kinds, np.uint8)
    parents = np.array(parent, np.int32)
    inside = parents < len(kinds)
    if "phase0" not in without:
        yield 0, np.flatnonzero(inside & ((kinds <= BCAST) | (kinds == OEF))).tolist()
    if "phase1" not in without:
        second = (kinds == INJ) | (kinds == TUPLE)
        if "phase0" in without:
            second |= kinds <= BCAST
        yield 1, np.flatnonzero(inside & second).tolist()
    if "phase2" not in without:
        into_tuple = inside & (kinds <= INJ)
        into_tuple[into_tuple] = kinds[parents[into_tuple]] == TUPLE
        yield 2, np.flatnonzero(into_tuple).tolist()


def _sinks(up: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """The sink of each node's group, from the group that each was merged into: twice as far at each step."""
    sinks = np.array(up, np.int32)
    while True:
        further = sinks[sinks]
        if np.array_equal(further, sinks):
            return sinks
        sinks = further
