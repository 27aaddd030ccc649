"""Exercise 08b: the tree of post-dominators."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tvmlab.course.grouping import random_graphs
from tvmlab.course.trees import parents_are_nearest
from tvmlab.fusion import Graph
from tvmlab.records import Exercise


def small(_random: np.random.Generator) -> Iterable[Graph]:
    """A chain, a diamond, a diamond in a diamond, two ends, and a value that is also an output."""
    chosen = (
        ([[-1], [0], [1]], [2]),
        ([[-1], [0], [0], [1, 2]], [3]),
        ([[-1], [0], [0], [1], [1], [3, 4], [2, 5]], [6]),
        ([[-1], [0], [0]], [1, 2]),
        ([[-1], [0], [1]], [0, 2]),
        ([[-1], [0, 0], [0, 1]], [2]),
    )
    return (Graph.from_kinds([0] * len(inputs), inputs, outputs) for inputs, outputs in chosen)


def many(random: np.random.Generator) -> Iterable[Graph]:
    """Up to 14 nodes."""
    return random_graphs(random, 200, 14)


EXERCISE = Exercise(
    id="08b",
    title="the tree of post-dominators",
    grade=2,
    statement=(
        "The post-dominator of a node is the first node that everything made from its value flows through. Write "
        "post_dominators(graph): a list with it for each node, and None where there is none but the end of the graph. "
        "graph.readers(n) lists who reads node n, and graph.external[n] is 1 if its value is an output. Nodes are "
        "numbers in topological order."
    ),
    starter='''\
def post_dominators(graph):
    """For each node its post-dominator, or None."""
    ...
''',
    asks="post_dominators",
    properties=(
        parents_are_nearest(small, "chains, diamonds and nodes with two ends are right"),
        parents_are_nearest(many, "200 random graphs are as found by leaving nodes out"),
    ),
    hints=(
        "A node with one reader is post-dominated by that. With two, follow both of their ways until they meet.",
        (
            "Go through the nodes from the last to the first: the readers of a node then have theirs already. "
            "An output has a way to the end of its own."
        ),
        (
            "Outline: keep a depth for each node. The two that are to meet climb, always the deeper one, to its own "
            "parent, until they are equal or one of them has none. With more readers, go on with the meeting place and "
            "the next reader. The depth is one more than that of the parent."
        ),
    ),
    lesson="08_own_fuser",
)
