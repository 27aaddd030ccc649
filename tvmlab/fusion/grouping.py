"""What a partition of a graph is: who is in which group, and by which rule each merge was made or refused."""

from __future__ import annotations

import bisect
import contextlib
import functools
import gc
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.errors import GraphError
from tvmlab.fusion.graph import Graph, Kind
from tvmlab.fusion.postdom import PostDominators
from tvmlab.fusion.reasons import Change, Decision, decision_for, decision_of, explain
from tvmlab.fusion.rule import Rule
from tvmlab.records import Explorable, Group, Partition

__all__ = ["MAX_DEPTH", "Grouping", "Rule", "checked_depth"]

MAX_DEPTH = 256  # TVM's default


def checked_depth(max_depth: object) -> int:
    """A limit of the group size, if it is a whole number.

    Raises
    ------
    GraphError
        It is none.
    """
    if isinstance(max_depth, bool) or not isinstance(max_depth, int | np.integer):
        raise GraphError(f"max_depth={max_depth!r} is no whole number", mend=f"TVM's default is {MAX_DEPTH}")
    return int(max_depth)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Don't look for garbage while a million lists are made that are none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(frozen=True, eq=False, repr=False)
class Grouping(Explorable):
    """A graph's groups.

    Parameters
    ----------
    graph : Graph
    max_depth : int
    tree : PostDominators
    sinks : ndarray of int32, shape (nodes,)
        For each node the last node of its group.
    group_kinds : bytes
        At each sink the kind that its group has in the end.
    rules : tuple of bytearray
        For each phase and node the `Rule`.
    culprits : tuple of dict
        For each phase, from a node refused by `Rule.ON_THE_WAY` to the inner node that refused.
    without : tuple of str
        Phases that were left out.
    """

    graph: Graph
    max_depth: int
    tree: PostDominators = field(repr=False)
    sinks: NDArray[np.int32] = field(repr=False)
    group_kinds: bytes = field(repr=False)
    rules: tuple[bytearray, ...] = field(repr=False)
    culprits: tuple[dict[int, int], ...] = field(repr=False)
    without: tuple[str, ...] = ()

    @functools.cached_property
    def groups(self) -> list[list[int]]:
        """The nodes of each group, ascending; the groups by their last node."""
        keys = self.sinks.astype(np.int64) << 32 | np.arange(len(self.sinks))  # sorted ten times as fast as by argsort
        keys.sort()
        starts = np.flatnonzero(np.diff(keys >> 32, prepend=-1)).tolist()
        nodes = keys.astype(np.int32).tolist()
        with _no_collection():
            return [nodes[start:end] for start, end in zip(starts, [*starts[1:], len(nodes)], strict=False)]

    def together(self, a: int | str, b: int | str) -> bool:
        """Whether two nodes, by number or label, are in one group."""
        return bool(self.sinks[self.graph.index(a)] == self.sinks[self.graph.index(b)])

    def __len__(self) -> int:
        return len(np.unique(self.sinks))

    @property
    def headline(self) -> str:
        counted = {"node": len(self.graph), "group": len(self)}
        return " in ".join(f"{number} {what}{'' if number == 1 else 's'}" for what, number in counted.items())

    def to_dict(self) -> dict[str, Any]:
        return {**self.graph.to_dict(), "groups": self.groups}

    def kind(self, node: int | str) -> Kind:
        """The kind of a node's group in the end."""
        return Kind(self.group_kinds[self.sinks[self.graph.index(node)]])

    def group_of(self, node: int | str) -> list[int]:
        """All nodes of a node's group, ascending."""
        sink = self.sinks[self.graph.index(node)]
        return self.groups[bisect.bisect_left(self.groups, sink, key=lambda group: group[-1])]

    def why(self, a: int | str, b: int | str) -> str:
        """Why two nodes, by number or label, are or are not in one group, and what would change it."""
        return explain(self, self.graph.index(a), self.graph.index(b))

    def decision(self, a: int | str, b: int | str | None = None) -> Decision:
        """The decision that put two nodes together or kept them apart; of one node, that about its post-dominator."""
        first = self.graph.index(a)
        return decision_of(self, first) if b is None else decision_for(self, first, self.graph.index(b))

    def decisions(self) -> Iterator[Decision]:
        """The decision about every node, in topological order."""
        return (decision_of(self, node) for node in range(len(self.graph)))

    def what_if(
        self,
        *,
        kinds: Mapping[int | str, Kind | int | str] | None = None,
        max_depth: int | None = None,
        without: Iterable[str] = (),
    ) -> Grouping:
        """The groups if something were different.

        Parameters
        ----------
        kinds : mapping, optional
            Other kinds of nodes, by number or label.
        max_depth : int, optional
            Another limit of the group size.
        without : iterable of str
            Phases to leave out: ``"phase0"``, ``"phase1"``, ``"phase2"``.

        Raises
        ------
        GraphError
            There is no such node, kind or phase; `kinds` is no mapping, or `max_depth` no number.
        """
        if not isinstance(kinds, Mapping | None):
            raise GraphError(f"kinds={kinds!r} is no mapping", mend='give the kind of each node: {"relu1": "opaque"}')
        if not isinstance(without, Iterable):
            raise GraphError(f"without={without!r} is no list of phases", mend='such as without=["phase2"]')
        changed = {self.graph.index(node): Kind.of(kind) for node, kind in (kinds or {}).items()}
        depth = None if max_depth is None else checked_depth(max_depth)
        phases = [without] if isinstance(without, str) else without
        return self.changed(Change(changed, depth), without=(*self.without, *phases))

    def record(self, model: str, engine: str, level: str) -> Partition:
        """The partition as a record; nodes that compute nothing are left out, and so are groups of such nodes alone.

        Parameters
        ----------
        model, engine, level : str
            See `tvmlab.records.Partition`.
        """
        graph = self.graph
        groups = []
        for nodes in self.groups:
            members = [node for node in nodes if not graph.computes or graph.computes[node]]
            if members:
                names = [graph.operations[node] if graph.operations else graph.label(node) for node in members]
                kernel = "fused_" + "_".join(names) if len(names) > 1 else names[0]
                labels = tuple(graph.label(node) for node in members)
                groups.append(Group(kernel, labels, tuple(graph.kind(node).title for node in members), tuple(names)))
        return Partition(model, engine, level, tuple(groups), graph.kernels(), len(groups), self, self.bytes_saved())

    def bytes_saved(self) -> int | None:
        """Size of the values that stay inside of groups; None if one of them is not known."""
        graph = self.graph
        inner = [node for node, sink in enumerate(self.sinks.tolist()) if node != sink]
        sizes = [
            graph.sizes[node] if graph.sizes else None for node in inner if not graph.computes or graph.computes[node]
        ]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def changed(self, change: Change, *, without: Iterable[str] = ()) -> Grouping:
        """The groups after a change."""
        from tvmlab.fusion.quick import group_quickly

        graph = self.graph
        if change.kinds:
            kinds = bytearray(graph.kinds)
            for node, kind in change.kinds.items():
                kinds[node] = kind
            graph = graph.with_kinds(bytes(kinds))
        if change.unneeded:
            graph = graph.without_outputs(change.unneeded)
        depth = self.max_depth if change.max_depth is None else change.max_depth
        return group_quickly(graph, depth, tuple(without) or self.without)
