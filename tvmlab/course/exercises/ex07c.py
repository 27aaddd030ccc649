"""Exercise 07c: the groups of six graphs, foretold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tvmlab.course.grouping import compared
from tvmlab.fusion import Graph, Kind
from tvmlab.records import Exercise, Mismatch, Property

GRAPHS: dict[str, tuple[tuple[int | None, ...], list[list[int]], list[int]]] = {
    "after": ((4, None), [[-1], [0]], [1]),
    "before": ((None, 3), [[-1], [0]], [1]),
    "diamond": ((4, 0, None, 0), [[-1], [0], [0], [1, 2]], [3]),
    "between": ((2, None, 0), [[-1], [0], [1]], [2]),
    "two products": ((4, 4, None), [[-1], [-1], [0, 1]], [2]),
    "two outputs": ((0, None, 0), [[-1], [0], [1]], [1, 2]),
}
"""Kinds, inputs and outputs of each; None is the kind that is given."""


def graph_called(name: str, kind: Kind | int) -> Graph:
    """One of the six graphs, with a kind for the node that has none."""
    kinds, inputs, outputs = GRAPHS[name]
    given = [Kind(kind if each is None else each) for each in kinds]
    labels = [f"{node}?" if each is None else str(node) for node, each in enumerate(kinds)]
    return Graph.from_kinds(given, inputs, outputs, labels=labels)


Cases = Callable[[np.random.Generator], Iterable[tuple[str, Kind]]]


def foretold(cases: Cases, name: str) -> Property:
    """A property: ``answer(name, kind)`` gives the groups that FuseOps makes."""

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        from tvmlab.pipeline.abstract import groups_by_tvm

        for which, kind in cases(random):
            graph = graph_called(which, kind)
            found = compared(graph, answer(which, int(kind)), groups_by_tvm(graph), f"{which!r} with {kind.name}: ")
            if found is not None:
                return found
        return None

    return Property(name, check)


def with_kinds(*kinds: Kind) -> Cases:
    """Every graph with each of some kinds."""
    return lambda _random: ((name, kind) for name in GRAPHS for kind in kinds)


EXERCISE = Exercise(
    id="07c",
    title="six graphs, foretold",
    grade=2,
    statement=(
        "Six graphs have one node each whose kind is open, marked with a question mark. predict(name, kind) returns "
        "the groups that FuseOps makes of that graph, as lists of nodes, if the open node has that kind. You are asked "
        "for all kinds."
    ),
    starter='''\
from tvmlab.fusion import Kind

def predict(name, kind):
    """The groups of one of the six graphs, whose open node has this kind: a list of lists of nodes."""
    if name == "after":  # 0: OEF, then 1?
        return [[0, 1]] if kind == Kind.ELEM else [[0], [1]]
    if name == "before":  # 0?, then 1: REDUCE
        return ...
    if name == "diamond":  # 0: OEF is read by 1: ELEM and by 2?; 3: ELEM reads 1 and 2
        return ...
    if name == "between":  # 0: INJ, then 1?, then 2: ELEM
        return ...
    if name == "two products":  # 0: OEF and 1: OEF are read by 2?
        return ...
    # "two outputs": 0: ELEM, then 1?, then 2: ELEM; 1 and 2 are outputs
    return ...
''',
    asks="predict",
    properties=(
        foretold(with_kinds(Kind.ELEM), "the groups are right if the open node is ELEM"),
        foretold(with_kinds(Kind.INJ), "the groups are right if it is INJ"),
        foretold(with_kinds(Kind.OEF, Kind.OPAQUE), "the groups are right if it is OEF or OPAQUE"),
    ),
    hints=(
        (
            "Take one node after the other, and ask: which is the first node that all made from its value flows "
            "through? Only with that one, and all on the way to it, may it be put together."
        ),
        (
            "OEF wants nothing but ELEM on the way. ELEM and BCAST may go in front of anything up to REDUCE; INJ wants "
            "nothing above INJ on the way. REDUCE and OPAQUE begin nothing, but others may join a REDUCE."
        ),
        (
            "Outline of the diamond: node 0 needs both ways to be ELEM, so it joins only then, and takes all along. If "
            "it does not, 1 still joins 3; and 2 joins 3 if its own kind may go in front of an ELEM, which even OEF "
            "may. Of the two products the first is served, if at all."
        ),
    ),
    lesson="07_pattern_kinds",
)
