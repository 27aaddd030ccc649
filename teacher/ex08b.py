"""What only teachers see of 08b."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tvmlab.course.grouping import random_graphs
from tvmlab.course.trees import parents_are_nearest
from tvmlab.fusion import Graph

SOLUTION = '''
def post_dominators(graph):
    """For each node its post-dominator, or None."""
    parents, depths = [None] * len(graph), [0] * len(graph)
    for n in reversed(range(len(graph))):
        readers = graph.readers(n)
        meet = None if graph.external[n] else readers[0]
        for other in readers:
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

WRONG = (
    (
        SOLUTION.replace("None if graph.external[n] else readers[0]", "readers[0] if readers else None"),
        "the post-dominator of node 0 is the end, and you say 1",
    ),
    (
        "def post_dominators(graph):\n    return [min(graph.readers(n), default=None) for n in range(len(graph))]\n",
        "the post-dominator of node 0 is 3, and you say 1",
    ),
    (
        "def post_dominators(graph):\n    return [max(graph.readers(n), default=None) for n in range(len(graph))]\n",
        "the post-dominator of node 0 is 3, and you say 2",
    ),
    (
        "def post_dominators(graph):\n    return [len(graph) - 1] * (len(graph) - 1) + [None]\n",
        "the post-dominator of node 0 is 1, and you say 2",
    ),
    (SOLUTION.replace("depths[meet] >= depths[other]", "meet >= other"), "and you say"),
    ("def post_dominators(graph):\n    return {}\n", "which is no list of 3 parents"),
)


def large(random: np.random.Generator) -> Iterable[Graph]:
    """Up to 30 nodes."""
    return random_graphs(random, 100, 30)


HIDDEN = (parents_are_nearest(large, "100 random graphs of up to 30 nodes are right"),)
