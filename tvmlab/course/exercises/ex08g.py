"""Exercise 08g: the groups as a drawing."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tvmlab.course.flowcharts import draws
from tvmlab.course.grouping import random_graphs
from tvmlab.fusion import Graph
from tvmlab.records import Exercise


def small(_random: np.random.Generator) -> Iterable[Graph]:
    """A chain, two groups, a diamond, and a value that is read twice by one node."""
    yield Graph.from_kinds([4, 0, 0], [[-1], [0], [1]], [2])
    yield Graph.from_kinds([4, 0, 4, 0], [[-1], [0], [1], [2]], [3])
    yield Graph.from_kinds([4, 0, 8, 0], [[-1], [0], [0], [1, 2]], [3])
    yield Graph.from_kinds([0, 0], [[-1], [0, 0]], [1])


EXERCISE = Exercise(
    id="08g",
    title="the groups, drawn",
    grade=1,
    statement=(
        "The article's visualize_groups prints lists. Draw them: mermaid(graph, groups) returns a flowchart in "
        "Mermaid's language, which JupyterLab shows as a picture. Its first line is flowchart TD. Each group is a box: "
        "a line 'subgraph g0', a line for each node, 'end'. Node 3 is called n3. After the boxes comes a line 'n0 --> "
        "n3' for each node and each of its readers, one even if it reads the value twice."
    ),
    starter='''\
def mermaid(graph, groups):
    """A flowchart of the graph, in which each group is a box."""
    lines = ["flowchart TD"]
    for number, group in enumerate(groups):
        lines.append(f"subgraph g{number}")
        nodes = ...
        lines += nodes
        lines.append("end")
    for node in range(len(graph)):
        arrows = ...
        lines += arrows
    return "\\n".join(lines)
''',
    asks="mermaid",
    properties=(
        draws(small, "a chain, a diamond and two uses of one value are drawn"),
        draws(lambda random: random_graphs(random, 50, 12), "50 random graphs are drawn"),
    ),
    hints=(
        "Both gaps are lists of texts, one for each node of the group, and one for each reader of the node.",
        (
            "graph.readers(node) lists a reader twice if it reads the value twice. What keeps the order and drops the "
            "second?"
        ),
        (
            'Outline: f"n{node}" for the nodes of the group, perhaps with its kind in brackets behind it; and for the '
            'distinct readers of a node an f-string with "-->" in the middle. dict.fromkeys(…) drops what comes again.'
        ),
    ),
    lesson="08_own_fuser",
)
