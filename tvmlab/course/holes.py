"""Properties of counterexamples: graphs for which a rule that looks at two ends alone makes a group with a hole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tvmlab.course.naive_groups import naive_groups
from tvmlab.errors import TvmlabError
from tvmlab.fusion import Graph, partition
from tvmlab.records import GroupMismatch, Mismatch, Property

__all__ = ["has_hole", "leaves_and_returns"]


def leaves_and_returns(graph: Graph, groups: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """The shortest way that leaves a group and comes back into it; empty if there is none.

    Two groups that wait for each other in a circle cannot be run in any order.
    """
    best: tuple[int, ...] = ()
    for group in groups:
        members = set(group)
        for start in sorted(members):
            outside = ([reader] for reader in dict.fromkeys(graph.readers(start)) if reader not in members)
            waiting, seen = list(outside), set[int]()
            while waiting:
                way = waiting.pop(0)
                for reader in dict.fromkeys(graph.readers(way[-1])):
                    if reader in members and (not best or len(way) + 2 < len(best)):
                        best = (start, *way, reader)
                    elif reader not in members and reader not in seen:
                        seen.add(reader)
                        waiting.append([*way, reader])
    return best


def has_hole(lengths: Iterable[int], name: str) -> Property:
    """A property: ``answer(length)`` is a graph whose group is left and entered again over so many nodes."""

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        for length in random.permutation(list(lengths)):
            found = _wrong(answer(int(length)), int(length))
            if found is not None:
                return found
        return None

    return Property(name, check)


def _wrong(answer: Any, length: int) -> Mismatch | None:
    if not isinstance(answer, tuple) or len(answer) != 3:
        mend = "such as return [Kind.OEF, Kind.ELEM], [[-1], [0]], [1]"
        return Mismatch(f"the answer is {answer!r:.80}, and should be kinds, inputs and outputs", mend=mend)
    try:
        graph = Graph.from_kinds(*answer)
    except TvmlabError as error:
        return Mismatch(f"for length {length}: {error.what}", mend=error.mend)
    got = [sorted(group) for group in naive_groups(graph)]
    right = partition(graph).groups
    way = leaves_and_returns(graph, got)
    if len(way) == length + 2:
        return None
    told = f"it leaves a group and comes back over {len(way) - 2}" if way else "every group can run at once"
    what = f"for length {length}: {told}"
    heads = ("the naive fuser's groups", "TVM's groups")
    mend = f"so many nodes outside of it are wanted: {length}"
    return GroupMismatch(what, "", mend, graph, tuple(map(tuple, got)), tuple(map(tuple, right)), None, heads)
