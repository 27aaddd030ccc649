"""What a partition of a graph is: who is in which group, and by which rule each merge was made or refused."""

from __future__ import annotations

import contextlib
import enum
import functools
import gc
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tvmlab.fusion.graph import Graph, Kind
from tvmlab.fusion.postdom import PostDominators

__all__ = ["MAX_DEPTH", "Grouping", "Rule"]

MAX_DEPTH = 256  # TVM's default


class Rule(enum.IntEnum):
    """What happened when it was a node's turn to merge into its post-dominator, in one phase."""

    NOT_ITS_TURN = 0
    """Nodes of its group's kind start no merge in this phase, or it has no post-dominator."""
    MERGED = 1
    ALREADY = 2
    """It was in one group with its post-dominator already."""
    PATH_KIND = 3
    """Its path kind is too large."""
    ON_THE_WAY = 4
    """The group of an inner node has too large a kind."""
    INTO = 5
    """The group of the post-dominator has too large a kind."""
    TOO_LARGE = 6
    """The group would be too large."""
    TUPLE_WAITS = 7
    """Nothing is put into a tuple before its reader has taken the tuple in."""


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
class Grouping:
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
    """

    graph: Graph
    max_depth: int
    tree: PostDominators = field(repr=False)
    sinks: NDArray[np.int32] = field(repr=False)
    group_kinds: bytes = field(repr=False)
    rules: tuple[bytearray, ...] = field(repr=False)
    culprits: tuple[dict[int, int], ...] = field(repr=False)

    @functools.cached_property
    def groups(self) -> list[list[int]]:
        """The nodes of each group, ascending; the groups by their last node."""
        order = np.argsort(self.sinks, kind="stable")
        ends = np.cumsum(np.bincount(self.sinks, minlength=1))
        ends = ends[np.flatnonzero(np.diff(ends, prepend=0))].tolist() if len(order) else []
        nodes = order.tolist()
        with _no_collection():
            return [nodes[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def together(self, a: int, b: int) -> bool:
        """Whether two nodes are in one group."""
        return bool(self.sinks[a] == self.sinks[b])

    def __len__(self) -> int:
        return len(np.unique(self.sinks))

    def __repr__(self) -> str:
        return f"<Grouping: {len(self.graph)} nodes in {len(self)} groups>"

    def kind(self, node: int) -> Kind:
        """The kind of a node's group in the end."""
        return Kind(self.group_kinds[self.sinks[node]])
