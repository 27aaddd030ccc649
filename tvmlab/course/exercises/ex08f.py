"""Exercise 08f: a fuser that makes the groups of TVM's FuseOps."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tvmlab.course.grouping import groups_as_tvm, random_graphs
from tvmlab.course.networks import network_graphs
from tvmlab.fusion import Graph
from tvmlab.records import Exercise

Graphs = Iterable[Graph]


def chains(_random: np.random.Generator) -> Graphs:
    """Two and three nodes in a row, of every kind."""
    kinds = (0, 1, 2, 3, 4, 8)
    for a in kinds:
        for b in kinds:
            yield Graph.from_kinds([a, b], [[-1], [0]], [1])
    for a in kinds:
        for b in kinds:
            for c in (0, 2, 3):
                yield Graph.from_kinds([a, b, c], [[-1], [0], [1]], [2])


def diamonds(_random: np.random.Generator) -> Graphs:
    """A node that two read, whose values meet again; and one that is also an output."""
    kinds = (0, 2, 3, 4, 8)
    for a in kinds:
        for b in kinds:
            for end in (1, 3):
                yield Graph.from_kinds([a, 0, b, end], [[-1], [0], [0], [1, 2]], [3])
            yield Graph.from_kinds([a, b, 0], [[-1], [0], [1]], [0, 2])


def small(random: np.random.Generator) -> Graphs:
    """Up to eight nodes."""
    return random_graphs(random, 100, 8)


def large(random: np.random.Generator) -> Graphs:
    """Up to 30 nodes."""
    return random_graphs(random, 100, 30)


EXERCISE = Exercise(
    id="08f",
    title="a fuser equal to TVM's",
    grade=3,
    statement=(
        "Write the fuser. fuse(graph) returns the groups, each a list of nodes; every node is in one. Nodes are "
        "numbers in topological order, from 0 to len(graph) - 1. graph.kind(n) is a node's kind, and kinds compare as "
        "TVM's: Kind.ELEM < BCAST < INJ < REDUCE < OEF < OPAQUE. graph.readers(n) lists who reads a node's value, and "
        "graph.external[n] is 1 if it is an output of the graph. There are no tuples, and no group comes near TVM's "
        "limit of 256. Your groups are compared with those of relax.transform.FuseOps."
    ),
    starter='''\
from tvmlab.fusion import Kind

def fuse(graph):
    """The groups of a graph: a list of lists of nodes."""
    ...
''',
    asks="fuse",
    properties=(
        groups_as_tvm(chains, "chains of two and three nodes are grouped as by FuseOps"),
        groups_as_tvm(diamonds, "values with two readers are grouped as by FuseOps"),
        groups_as_tvm(small, "100 random graphs of up to 8 nodes are grouped as by FuseOps"),
        groups_as_tvm(large, "100 random graphs of up to 30 nodes are grouped as by FuseOps"),
        groups_as_tvm(network_graphs, "the nine networks of the onnx package are grouped as by FuseOps"),
    ),
    hints=(
        (
            "You need three parts: the post-dominator of each node, from the last node to the first; a union-find, so "
            "that groups can merge; and the rules of each phase. Test the first two before you write the third."
        ),
        (
            "A merge takes along all that is on the ways from the node to its post-dominator, and is refused if one of "
            "these does not fit. After a merge, a rule looks at the kind of the group, not at that of the node; a "
            "group's kind only ever changes when something with a kind of OEF joins it."
        ),
        (
            "Outline: two passes over the nodes, first to last. Refuse without a post-dominator, or if the two are in "
            "one group. By the node's own group: OEF only in the first pass, if all on the ways is ELEM and nothing in "
            "between or at the end is above BCAST; up to BCAST in both, if the ways are at most INJ or are REDUCE, "
            "nothing in between is above INJ, and the end is at most OEF; INJ only in the second, if nothing between "
            "or at the end is above INJ. The kind of the ways is the largest kind of any node on them after the start. "
            "REDUCE and OPAQUE never begin a merge."
        ),
    ),
    lesson="08_own_fuser",
)
