"""What only teachers see of 07c."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tvmlab.course.exercises.ex07c import GRAPHS, foretold
from tvmlab.fusion import Kind

SOLUTION = '''
from tvmlab.fusion import Kind

def predict(name, kind):
    """The groups of one of the six graphs, whose open node has this kind: a list of lists of nodes."""
    if name == "after":
        return [[0, 1]] if kind == Kind.ELEM else [[0], [1]]
    if name == "before":
        return [[0, 1]] if kind <= Kind.BCAST else [[0], [1]]
    if name == "diamond":
        if kind == Kind.ELEM:
            return [[0, 1, 2, 3]]
        joins = kind in (Kind.BCAST, Kind.INJ, Kind.OEF)
        return [[0], [1, 2, 3]] if joins else [[0], [2], [1, 3]]
    if name == "between":
        if kind <= Kind.INJ:
            return [[0, 1, 2]]
        return [[0], [1, 2]] if kind == Kind.OEF else [[0], [1], [2]]
    if name == "two products":
        return [[0, 2], [1]] if kind == Kind.ELEM else [[0], [1], [2]]
    if name == "two outputs":
        return [[0, 1], [2]] if kind <= Kind.REDUCE else [[0], [1], [2]]
'''

WRONG = (
    (
        SOLUTION.replace("return [[0], [1, 2, 3]] if joins", "return [[0], [2], [1, 3]] if joins"),
        "'diamond' with INJ: you have nodes 2? and 3 apart, and TVM fuses them",
    ),
    (
        SOLUTION.replace("        if kind == Kind.ELEM:\n            return [[0, 1, 2, 3]]\n", "", 1),
        "'diamond' with ELEM: you have nodes 0 and 1 apart, and TVM fuses them",
    ),
    (
        SOLUTION.replace("[[0, 2], [1]]", "[[0, 1, 2]]"),
        "'two products' with ELEM: you have nodes 1 and 2? in one group, and TVM keeps them apart",
    ),
    (
        SOLUTION.replace("if kind <= Kind.REDUCE else", "if kind == Kind.OPAQUE else"),
        "'two outputs' with ELEM: you have nodes 0 and 1? apart",
    ),
    (
        SOLUTION.replace("kind <= Kind.BCAST else [[0], [1]]", "kind <= Kind.INJ else [[0], [1]]"),
        "'before' with INJ: you have nodes 0? and 1 in one group",
    ),
)


def the_others(random: np.random.Generator) -> Iterable[tuple[str, Kind]]:
    """All graphs and kinds, in another order."""
    every = [(name, kind) for name in GRAPHS for kind in Kind if kind is not Kind.TUPLE]
    return (every[at] for at in random.permutation(len(every)))


HIDDEN = (foretold(the_others, "the groups are right for every kind"),)
