"""Properties of rules for two nodes: the table of their answers, and the groups that come of it on chains."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tvmlab.course.grouping import compared
from tvmlab.fusion import Graph, Kind
from tvmlab.records import ElementMismatch, Mismatch, Property

__all__ = ["decides_as_tvm", "fuses_chains", "random_chains"]

KINDS = (Kind.ELEM, Kind.BCAST, Kind.INJ, Kind.REDUCE, Kind.OEF, Kind.OPAQUE)
NAMES = tuple(kind.name for kind in KINDS)


def decides_as_tvm(name: str, *, taken: bool) -> Property:
    """A property: ``answer(first, second, group)`` says of each pair of kinds whether FuseOps fuses the two.

    Parameters
    ----------
    name : str
    taken : bool
        Whether an OEF has joined the second node before; then it is ELEM itself.
    """

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        expected = np.array([[_together(a, b, taken=taken) for b in _columns(taken)] for a in KINDS])
        got = np.array(
            [[answer(int(a), int(b), int(Kind.OEF if taken else b)) for b in _columns(taken)] for a in KINDS], object
        )
        for a, row in zip(KINDS, got, strict=True):
            for b, said in zip(_columns(taken), row, strict=True):
                if not isinstance(said, bool | np.bool_):
                    return Mismatch(f"for {a.name} before {b.name} the answer is {said!r}, and should be True or False")
        wrong = got.astype(bool) != expected
        if not wrong.any():
            return None
        row, column = (int(at) for at in np.argwhere(wrong)[0])
        return _of_pair(KINDS[row], _columns(taken)[column], (row, column), got, expected, taken=taken)

    return Property(name, check)


def _columns(taken: bool) -> tuple[Kind, ...]:
    return (Kind.ELEM,) if taken else KINDS


def _of_pair(a: Kind, b: Kind, index: tuple[int, int], got: Any, expected: Any, *, taken: bool) -> ElementMismatch:
    does = "fuses" if expected[index] else "keeps apart"
    what = f"TVM {does} {a.name} and a reader that is {b.name}{', in a group that is OEF by now' if taken else ''}"
    words = np.array(["apart", "fuse"])
    return ElementMismatch(
        f"{what}, and you say {bool(got[index])}",
        case="rows: the first node, columns: its reader",
        index=index,
        got=words[got.astype(int)],
        expected=words[expected.astype(int)],
        wrong=got.astype(bool) != expected,
        names=NAMES,
    )


def _together(a: Kind, b: Kind, *, taken: bool) -> bool:
    """Whether FuseOps puts a node and its only reader together."""
    from tvmlab.pipeline.abstract import groups_by_tvm

    if taken:
        graph = Graph.from_kinds([Kind.OEF, a, b], [[-1], [-1], [0, 1]], [2])
        return any(1 in group and 2 in group for group in groups_by_tvm(graph))
    return len(groups_by_tvm(Graph.from_kinds([a, b], [[-1], [0]], [1]))) == 1


def fuses_chains(graphs: Callable[[np.random.Generator], Iterable[Graph]], name: str) -> Property:
    """A property: asked about each node and its reader, first OEF, ELEM and BCAST, then INJ, it gives TVM's groups."""

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        from tvmlab.pipeline.abstract import groups_by_tvm

        for graph in graphs(random):
            found = compared(graph, _groups(graph, answer), groups_by_tvm(graph))
            if found is not None:
                return found
        return None

    return Property(name, check)


def _groups(graph: Graph, may_fuse: Callable[..., bool]) -> list[list[int]]:
    """The groups of a chain, by a rule for two."""
    group, kinds = list(range(len(graph))), [graph.kind(node) for node in range(len(graph))]
    for turn in ((Kind.ELEM, Kind.BCAST, Kind.OEF), (Kind.INJ,)):
        for node in range(len(graph) - 1):
            if kinds[node] in turn and group[node] == node:
                into = group[node + 1]
                if may_fuse(int(kinds[node]), graph.kinds[node + 1], int(kinds[into])):
                    group = [into if each == node else each for each in group]
                    kinds[into] = Kind.OEF if kinds[node] is Kind.OEF else kinds[into]
    return [[node for node in range(len(graph)) if group[node] == each] for each in sorted(set(group))]


def random_chains(random: np.random.Generator, count: int, longest: int) -> Iterable[Graph]:
    """Chains of any kinds, of which the last node alone is an output."""
    for at in range(count):
        nodes = 2 + at * (longest - 1) // count
        kinds = [KINDS[int(random.integers(len(KINDS)))] for _ in range(nodes)]
        yield Graph.from_kinds(kinds, [[node - 1] for node in range(nodes)], [nodes - 1])
