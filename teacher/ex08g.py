"""What only teachers see of 08g."""

from __future__ import annotations

from tvmlab.course.flowcharts import draws
from tvmlab.course.grouping import random_graphs

SOLUTION = '''
def mermaid(graph, groups):
    """A flowchart of the graph, in which each group is a box."""
    lines = ["flowchart TD"]
    for number, group in enumerate(groups):
        lines.append(f"subgraph g{number}")
        lines += [f"n{node}[{node} {graph.kind(node).name}]" for node in group]
        lines.append("end")
    for node in range(len(graph)):
        lines += [f"n{node} --> n{reader}" for reader in dict.fromkeys(graph.readers(node))]
    return "\\n".join(lines)
'''

WRONG = (
    (SOLUTION.replace("dict.fromkeys(graph.readers(node))", "graph.readers(node)"), "there are 2 arrows from 0 to 1"),
    (SOLUTION.replace('        lines.append("end")\n', ""), "a box begins within a box"),
    (SOLUTION.replace("for node in group]", "for node in group[1:]]"), "node 0 is in 0 boxes"),
    (SOLUTION.replace("n{node} --> n{reader}", "n{reader} --> n{node}"), "there are 0 arrows from 0 to 1"),
    (SOLUTION.replace("flowchart TD", "digraph"), "the first line is not flowchart TD"),
    (SOLUTION.replace("for node in group]", "for node in range(len(graph))]"), "node 0 is in 2 boxes"),
)

HIDDEN = (draws(lambda random: random_graphs(random, 100, 30), "100 random graphs of up to 30 nodes are drawn"),)
