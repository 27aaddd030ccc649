r"""How TVM decides which operators share a kernel: the whole algorithm, to be read from top to bottom.

A kernel that computes ``relu(conv(x))`` need not write ``conv(x)`` to memory and read it back.  To *fuse* is to put
operators into *groups*, each of which becomes one kernel.  This file says which, for every graph just as TVM's pass
FuseOps would.  `literally` below is the algorithm in its plainest form; `partition` gives the same groups in a fraction
of the time (`tvmlab.fusion.quick`), and the tests hold the two and TVM against each other.


The graph
---------
Nodes are operators (parameters and constants are no nodes), numbered so that a value is computed before it is read.
Each has a *kind*, and kinds are ordered by how hard they are to fuse (`tvmlab.fusion.graph.Kind`)::

    elem 0  <  bcast 1  <  inj 2  <  reduce 3  <  oef 4  <  tuple 7  <  opaque 8

If node r reads the value of node v, r is a *reader* of v; ``x + x`` is one reader of x by two edges.  A node is
*external* if its value is also needed outside of the graph: it is an output.


Where a value goes: post-dominators
-----------------------------------
Fusing v with only one of its two readers would not help: its value has to be written for the other one.  The node to
fuse v with is the first one that *everything* made from v's value flows through: v's *post-dominator* p::

        v               v has the readers a and b.
       / \
      a   b             Nodes a and b have the single reader p, so p is their post-dominator.
       \ /              All ways from v lead through p: p is v's post-dominator, too.
        p               If a were external, v would have none: its value also flows out of the graph.

The nodes between v and p (here a and b; not v, not p) are *inner* nodes.  To fuse v into p means to put v, all inner
nodes and p into one group, so a group never has a hole, and of its values only that of its last node, the *sink*, is
read outside.  Each of them brings the whole group that it is in by then.

The post-dominators make a tree: each node's parent is its post-dominator.  The tree is found by going through the nodes
backwards: v's post-dominator is where the ways from v's readers, each up the tree, first meet.  If two of these ways
never meet, v has none, whatever its other readers are.  Nor has a node that is external, or that nobody reads.

The *path kind* of v is the largest kind of the inner nodes and of p, each taken for itself, whatever group it may come
into later: it never changes.  It is noted on the way up, as the largest of the kinds of v's readers and of the path
kinds of all tree nodes that were passed before the meeting point.


Groups
------
At first each node is a group of its own.  A group has a *record*: its kind, its size, and whether it has an *anchor*,
that is, a node of kind oef in it.  When group c is merged into group g (``_Groups.merge``)

* g's size grows by c's size;
* g's kind stays what it was; but if c has an anchor, g has it from now on, and g's kind becomes the larger of the two.
  So a relu that took in a conv2d is itself oef from then on; but {reshape, relu}, with sink relu, is elem;
* c's record stays as it is, and is still read below.  This is a quirk, and it decides some cases: where the text says
  *node's own record*, that of the group that the node was the sink of is meant, though that may have been merged into
  another one long ago.  Where it says *group*, the group that the node is in now is meant.


The three phases
----------------
In each phase, every node v in turn, first to last, may start a merge into its post-dominator p.  It never does

* without a post-dominator;
* if the kind in its own record is opaque or reduce;
* if v and p are in one group already;
* in phases 0 and 1, if p's own record says tuple: phase 2 is for just these;
* if the result might be too large: the size of p's group plus the sizes in the own records of v and of every inner node
  must not exceed `max_depth`.  Own records: v's counts all that was merged into v, and nodes of inner groups may be
  counted more than once.

What else is asked depends on the kind in v's own record.  "Every node on the way" are the inner nodes and p, and the
kind of a node on the way is that of its group.  So two columns ask about kinds: "path kind" about those that nodes have
by themselves, "on the way" about those of their groups as they are now.  An elem may join a p whose group has become
oef, but not a p that is oef.

======  ============  ====================================  ===========================================================
phase   v's kind      path kind of v must be                every node on the way must be
======  ============  ====================================  ===========================================================
0       oef           elem                                  elem or bcast
0, 1    elem, bcast   elem, bcast, inj or reduce            inner nodes: elem, bcast or inj; p: anything up to oef
1       inj, tuple    (any)                                 elem, bcast or inj
2       elem … inj    (any)                                 elem, bcast or inj; moreover p's own record says tuple, but
                                                            its group no longer does: its reader has taken it in
======  ============  ====================================  ===========================================================

Phase 0 is for anchors: a conv2d gets the add behind it before an inj node, such as a reshape, can start.  Where the add
lies between such a node and its inj post-dominator, it would otherwise be drawn into an inj group, where the conv2d may
not follow (the last example).  Elem and bcast nodes may start from phase 0 on, and may go in front of nearly
everything, a reduce too.  But nothing is fused in front of a conv2d: the path kind is oef there, which is more than an
elem or bcast node may have, and an inj node asks for inj at most on the way.


Examples
--------
Each node is given as its number, its kind and, in brackets, the nodes that it reads; the last one is the output.

* ``0 oef (); 1 elem (0); 2 bcast (1)`` gives ``{0, 1} {2}``.  In phase 0, node 0 merges into 1, whose group is oef
  then.  Node 1's own record is that group's, so it now asks as an oef, for path kind elem, and 2 is bcast.
* ``0 elem (); 1 opaque (0); 2 elem (0, 1)`` gives ``{0} {1} {2}``.  Node 0's post-dominator is 2, and its path kind
  opaque, which is more than reduce.  Node 1 starts nothing.  A group of 0 and 2 would have a hole.
* ``0 oef (); 1 oef (); 2 elem (0, 1)`` gives ``{1} {0, 2}``.  Node 0 merges into 2, whose group is oef then; so 1,
  which asks for bcast at most on the way, is refused.
* ``0 inj (); 1 tuple (0); 2 elem (1)`` gives ``{0, 1, 2}``.  Nothing happens in phase 0: no node but 2 has a kind for
  it, and 2 has no post-dominator.  In phase 1, 0 waits, since 1 is a tuple; then 1 merges into 2.  In phase 2, 0
  follows.
* ``0 inj (); 1 elem (0); 2 elem (0, 1)`` with max_depth 3 gives ``{0} {1, 2}``.  In phase 0, 1 merges into 2, whose
  size is 2 then.  In phase 1, 0's count is 2 for that group, 1 for itself, and 1 for the inner node 1 once more: 4.
* ``0 inj (); 1 elem (0); 2 reduce (1); 3 elem (2); 4 elem (3)`` gives ``{0} {1, 2} {3, 4}``.  In phase 0, 1 merges into
  2.  In phase 1, 0's path kind would do, but the group of its post-dominator 1 is reduce by now.
* ``0 inj (); 1 oef (); 2 elem (0, 1); 3 inj (0); 4 inj (2, 3)`` gives ``{0} {1, 2} {3, 4}``.  In phase 0, 1 merges into
  2.  In phase 1, 0 would take 2 along to its post-dominator 4, but 2's group is oef; 3 merges into 4.


What follows from it
--------------------
* Each group has one value that is read outside, that of its sink.  Two readers of one value are never put together for
  that alone.
* At most one anchor is in a group: an anchor's path kind must be elem, and the kind of p's group at most bcast.
* The order matters: of two conv2d that are added, the first takes the add, and the add's group is oef from then on.
* The second chance that elem and bcast nodes get in phase 1 never helps: by then groups have only become larger, and
  what refused, a reduce, an oef, a tuple or an opaque node, has not moved.
"""

from __future__ import annotations

from collections.abc import Iterable

from tvmlab.errors import GraphError
from tvmlab.fusion.graph import Graph, Kind
from tvmlab.fusion.grouping import MAX_DEPTH, Grouping, checked_depth
from tvmlab.fusion.quick import group_quickly

__all__ = ["literally", "partition"]

ELEM, BCAST, INJ, REDUCE, OEF, TUPLE, OPAQUE = Kind


def partition(graph: Graph, max_depth: int = MAX_DEPTH) -> Grouping:
    """Put the nodes of a graph into groups, each to be one kernel.

    Parameters
    ----------
    graph : Graph
    max_depth : int
        No group grows beyond about so many nodes; 256 is TVM's default.

    Returns
    -------
    Grouping
        Its ``.groups`` are lists of node numbers, ascending, ordered by their last node.

    Raises
    ------
    GraphError
        `graph` is none, or `max_depth` no number.
    """
    if not isinstance(graph, Graph):
        raise GraphError(
            f"a {type(graph).__name__} is no graph", mend="make one: fusion.Graph.from_kinds(kinds, inputs, external)"
        )
    return group_quickly(graph, checked_depth(max_depth))


def literally(graph: Graph, max_depth: int = MAX_DEPTH, phases: Iterable[int] = (0, 1, 2)) -> list[list[int]]:
    """The groups as the text above says, word for word: slow on large graphs."""
    parents, path_kinds = _post_dominators(graph)
    groups = _Groups(graph)
    for phase in phases:
        for node, parent in enumerate(parents):
            if parent is None:
                continue
            inner = _inner(graph, node, parent)
            count = groups.size[groups.find(parent)] + sum(groups.size[own] for own in (node, *inner))
            if count <= max_depth and _may_merge(groups, phase, node, inner, parent, path_kinds[node]):
                for member in (node, *inner):
                    groups.merge(member, parent)
    return groups.lists()


def _may_merge(groups: _Groups, phase: int, node: int, inner: list[int], parent: int, path_kind: int) -> bool:
    """The table above."""
    own = groups.kind[node]
    inner_kinds = [groups.kind[groups.find(member)] for member in inner]
    parent_kind = groups.kind[groups.find(parent)]
    parent_was_tuple = groups.kind[parent] == TUPLE
    if phase == 2:
        taken_in = parent_was_tuple and parent_kind != TUPLE
        return own <= INJ and taken_in and all(kind <= INJ for kind in (*inner_kinds, parent_kind))
    if groups.find(node) == groups.find(parent) or parent_was_tuple:
        return False
    if own == OEF:
        return phase == 0 and path_kind == ELEM and all(kind <= BCAST for kind in (*inner_kinds, parent_kind))
    if own <= BCAST:
        path_fits = path_kind <= INJ or path_kind == REDUCE
        return path_fits and all(kind <= INJ for kind in inner_kinds) and parent_kind <= OEF
    if own in (INJ, TUPLE):
        return phase == 1 and all(kind <= INJ for kind in (*inner_kinds, parent_kind))
    return False  # reduce, opaque


def _post_dominators(graph: Graph) -> tuple[list[int | None], list[int]]:
    """Of each node the post-dominator, None if there is none, and the path kind."""
    parents: list[int | None] = [None] * len(graph)
    path_kinds = [int(OPAQUE)] * len(graph)
    depths = [1] * len(graph)
    for node in reversed(range(len(graph))):
        readers = graph.readers(node)
        if graph.external[node] or not readers:
            continue
        path_kind = max(graph.kinds[reader] for reader in readers)
        meet: int | None = readers[0]
        for reader in readers[1:]:
            other: int | None = reader
            while meet != other and meet is not None and other is not None:
                if depths[meet] >= depths[other]:
                    path_kind = max(path_kind, path_kinds[meet])
                    meet = parents[meet]
                else:
                    path_kind = max(path_kind, path_kinds[other])
                    other = parents[other]
            meet = meet if meet == other else None
        parents[node], path_kinds[node] = meet, path_kind
        depths[node] = 1 if meet is None else depths[meet] + 1
    return parents, path_kinds


def _inner(graph: Graph, node: int, parent: int) -> list[int]:
    """The nodes on the ways from a node to its post-dominator, without the two."""
    found: dict[int, None] = {}
    waiting = graph.readers(node)
    while waiting:
        reader = waiting.pop()
        if reader != parent and reader not in found:
            found[reader] = None
            waiting += graph.readers(reader)
    return list(found)


class _Groups:
    """Who belongs to whom, and the record of each group, under the number of its sink."""

    def __init__(self, graph: Graph) -> None:
        self.merged_into = list(range(len(graph)))
        self.kind = list(graph.kinds)
        self.size = [1] * len(graph)
        self.has_anchor = [kind == OEF for kind in graph.kinds]

    def find(self, node: int) -> int:
        """The group that a node is in now, by the number of its sink."""
        while self.merged_into[node] != node:
            node = self.merged_into[node]
        return node

    def merge(self, member: int, into: int) -> None:
        """Merge the whole group of a node into that of another."""
        child, group = self.find(member), self.find(into)
        if child == group:
            return
        self.merged_into[child] = group
        self.size[group] += self.size[child]
        if self.has_anchor[child]:
            self.has_anchor[group] = True
            self.kind[group] = max(self.kind[child], self.kind[group])

    def lists(self) -> list[list[int]]:
        """The members of each group, ascending; the groups by their sinks."""
        members: dict[int, list[int]] = {}
        for node in range(len(self.kind)):
            members.setdefault(self.find(node), []).append(node)
        return [members[sink] for sink in sorted(members)]
