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
* What the path kind alone refuses is refused for all nodes at once; numbers that are looked up in no order are in
  arrays: a list's are objects all over the memory.
* A group has an anchor just when its kind is oef: what an anchor's group is merged into is elem or bcast.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tvmlab.errors import GraphError
from tvmlab.fusion.graph import Graph, Kind
from tvmlab.fusion.grouping import Grouping
from tvmlab.fusion.postdom import PostDominators, post_dominators
from tvmlab.fusion.rule import Rule

__all__ = ["PHASES", "group_quickly"]

PHASES = ("phase0", "phase1", "phase2")

BCAST, INJ, REDUCE, OEF, TUPLE = (int(k) for k in (Kind.BCAST, Kind.INJ, Kind.REDUCE, Kind.OEF, Kind.TUPLE))
MERGED, ALREADY, PATH_KIND = int(Rule.MERGED), int(Rule.ALREADY), int(Rule.PATH_KIND)
ON_THE_WAY, INTO, TOO_LARGE, TUPLE_WAITS = (
    int(r) for r in (Rule.ON_THE_WAY, Rule.INTO, Rule.TOO_LARGE, Rule.TUPLE_WAITS)
)


def group_quickly(graph: Graph, max_depth: int, without: tuple[str, ...] = ()) -> Grouping:
    """Groups of a graph, and by which rule each node was merged or refused in each phase: a byte each, and the culprit.

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
    unknown = [phase for phase in without if phase not in PHASES]
    if unknown:
        raise GraphError(f"without={unknown[0]!r} is not known", mend=f"what can be left out is {', '.join(PHASES)}")
    end = len(graph)
    starts, readers = graph.distinct_readers()
    tree = post_dominators(graph, (starts, readers))
    parent, path_kind, weight = tree.parent, tree.path_kind, tree.weight
    alone = (np.diff(np.frombuffer(starts, np.int32)) == 1).tobytes()
    merged = bytearray(end)  # 1 for groups that were merged into another one …
    up = array("i", bytes(4 * end))  # … and into which
    kind = bytearray(graph.kinds)
    size = [1] * end
    seen = [-1] * end  # by which search a node was last seen
    rules = (bytearray(end), bytearray(end), bytearray(end))
    culprits: tuple[dict[int, int], ...] = ({}, {}, {})
    inner: list[int] = []
    search = 0
    for phase, starters in _starters(graph, tree, rules, without):
        rule = rules[phase]
        for node in starters:
            into = parent[node]
            own = kind[node]
            if own <= BCAST and phase < 2:
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
            if merged[node]:
                rule[node] = ALREADY
                continue
            sink = into
            while merged[sink]:
                above = up[sink]
                if merged[above]:
                    up[sink] = above = up[above]
                sink = above
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
            if alone[node]:
                if total > max_depth:
                    rule[node] = TOO_LARGE
                    continue
            else:
                if size[sink] + weight[node] - weight[into] > max_depth:
                    rule[node] = TOO_LARGE
                    continue
                search += 1
                inner = [node]
                complete = False
                for at in inner:  # grows while it is gone through
                    for place in range(starts[at], starts[at + 1]):  # no slice: it might be long, and soon left
                        reader = readers[place]
                        if seen[reader] == search or reader == into:
                            continue
                        seen[reader] = search
                        group = reader
                        while merged[group]:
                            above = up[group]
                            if merged[above]:
                                up[group] = above = up[above]
                            group = above
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
                    complete = True
                    for member in inner[1:]:
                        child = member
                        while merged[child]:
                            above = up[child]
                            if merged[above]:
                                up[child] = above = up[above]
                            child = above
                        if child != sink:
                            merged[child] = 1
                            up[child] = sink
                            size[sink] += size[child]
                if not complete:
                    continue
            rule[node] = MERGED
            merged[node] = 1
            up[node] = sink
            size[sink] += size[node]
            if own == OEF:
                kind[sink] = OEF
    return Grouping(graph, max_depth, tree, _sinks(merged, up), bytes(kind), rules, culprits, without)


def _starters(
    graph: Graph, tree: PostDominators, rules: tuple[bytearray, ...], without: tuple[str, ...]
) -> Iterator[tuple[int, list[int]]]:
    """Each phase, and the nodes that may start a merge in it; where the path kind alone refuses, that is recorded."""
    kinds, path_kinds = (np.frombuffer(graph.kinds, np.uint8), np.frombuffer(tree.path_kind, np.uint8))
    parents = np.frombuffer(tree.parent, np.int32)
    inside = parents < len(kinds)
    first = inside & ((kinds <= BCAST) | (kinds == OEF))
    second = inside & ((kinds == INJ) | (kinds == TUPLE))
    if "phase0" in without:
        second |= inside & (kinds <= BCAST)
    too_large = (kinds <= BCAST) & (path_kinds > REDUCE)
    for phase, starters in enumerate((first, second)):
        if PHASES[phase] not in without:
            refused = starters & too_large
            np.frombuffer(rules[phase], np.uint8)[refused] = PATH_KIND
            yield phase, np.flatnonzero(starters & ~refused).tolist()
    if "phase2" not in without:
        into_tuple = inside & (kinds <= INJ)
        into_tuple[into_tuple] = kinds[parents[into_tuple]] == TUPLE
        yield 2, np.flatnonzero(into_tuple).tolist()


def _sinks(merged: bytearray, up: array[int]) -> NDArray[np.int32]:
    """The sink of each node's group, from the group that each was merged into: twice as far at each step."""
    sinks = np.where(np.frombuffer(merged, bool), np.frombuffer(up, np.int32), np.arange(len(up), dtype=np.int32))
    while True:
        further = sinks[sinks]
        if np.array_equal(further, sinks):
            return sinks
        sinks = further
