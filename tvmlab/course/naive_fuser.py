"""WRONG ON PURPOSE: a fuser as a well-read article describes it, with the faults that the article's code has.

Do not use it, and do not mend it here: a lesson takes it apart.  `tvmlab.fusion` is the right one.

The idea is sound at first sight: put the nodes in an order, find for each the one that dominates it, ask a table of
kinds whether the two may be fused, and merge their groups.  Nearly every step of it is wrong, and the faults hide one
another: as published it does not get beyond its constructor.  So its first faults can be repaired, one after the other,
each to lay bare what is behind it::

    NaiveFuser(model)                           # IndexError: nobody has filled the order
    NaiveFuser(model, REPAIRS[:1]).partition()  # KeyError: nodes without producers have no dominator
    NaiveFuser(model, REPAIRS[:2]).partition()  # runs, with a tree that is upside down
    NaiveFuser(model, REPAIRS[:3]).partition()  # the right tree, and now nothing fuses
    NaiveFuser(model, REPAIRS[:4]).partition()  # fuses, and all that is left is wrong: see the tests
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["KINDS", "REPAIRS", "NaiveFuser"]

ELEMENTWISE, BROADCAST, OUT_FUSABLE, INJECTIVE, OPAQUE = range(5)  # not TVM's numbers, and two kinds are missing

KINDS = {
    "Relu": ELEMENTWISE,
    "Sigmoid": ELEMENTWISE,
    "Tanh": ELEMENTWISE,
    "Exp": ELEMENTWISE,
    "Add": BROADCAST,
    "Mul": BROADCAST,
    "BatchNormalization": BROADCAST,
    "Conv": OUT_FUSABLE,
    "MatMul": OUT_FUSABLE,
    "Gemm": OUT_FUSABLE,
}
"""Kind by operator type alone: neither domain nor attributes nor shapes count, and what only moves data is missing."""

REPAIRS = ("order", "entries", "direction", "arguments")


class NaiveFuser:
    """Groups the nodes of a model, wrongly.

    Parameters
    ----------
    model : ModelProto
    repaired : iterable of {"order", "entries", "direction", "arguments"}
        Faults to be without: that nobody fills the order of the nodes; that nodes without producers have no entry
        in the dominator tree; that the tree is made of producers, where readers are meant; that the table of pairs
        is asked with the two the wrong way round.

    Raises
    ------
    IndexError, KeyError, RecursionError
        As the original does.
    """

    def __init__(self, model: ModelProto, repaired: Iterable[str] = ()) -> None:
        self.model = model
        self.repaired = frozenset(repaired)
        self.order: list[str] = []
        self.producers: dict[str, list[str]] = {}
        self.readers: dict[str, list[str]] = {}
        self._connect()
        if "order" in self.repaired:
            self.visit_all()
        self.root = self.order[-1]
        self.dominators = self.build_dominators()
        self.groups: dict[str, list[str]] = {name: [name] for name in self.order}

    def _connect(self) -> None:
        """Who reads whom: every output of every node is compared with every input of every other."""
        for node in self.model.graph.node:
            self.producers[node.name] = []
            self.readers[node.name] = []
        for node in self.model.graph.node:
            for output in node.output:
                for other in self.model.graph.node:
                    if output in other.input:
                        self.readers[node.name].append(other.name)
                        self.producers[other.name].append(node.name)

    def visit_all(self) -> None:
        """Fill the order, producers first, beginning at the node that makes the first output of the graph."""
        output = self.model.graph.output[0].name
        last = next(node.name for node in self.model.graph.node if output in node.output)
        self._visit(last, set())

    def _visit(self, name: str, seen: set[str]) -> None:
        seen.add(name)
        for producer in self.producers[name]:
            if producer not in seen:
                self._visit(producer, seen)
        self.order.append(name)

    def kind(self, name: str) -> int:
        """Kind of a node, found by going through all of them."""
        for node in self.model.graph.node:
            if node.name == name:
                return KINDS.get(node.op_type, OPAQUE)
        return OPAQUE

    def build_dominators(self) -> dict[str, str | None]:
        """The immediate dominator of each node."""
        neighbours = self.readers if "direction" in self.repaired else self.producers
        dominators: dict[str, str | None] = {self.root: None}
        for name in reversed(self.order):
            around = neighbours[name]
            if name == self.root or not around:
                continue
            dominator: str | None = around[0]
            for other in around[1:]:
                dominator = self._common(dominator, other, dominators)
            dominators[name] = dominator
        return dominators

    def _common(self, a: str | None, b: str | None, dominators: dict[str, str | None]) -> str | None:
        """The first of the nodes above one that is also above the other."""
        above_a = list(self._above(a, dominators))
        return next((name for name in self._above(b, dominators) if name in above_a), None)

    @staticmethod
    def _above(name: str | None, dominators: dict[str, str | None]) -> Iterator[str]:
        while name is not None:
            yield name
            name = dominators.get(name)

    def can_fuse(self, upper: str, lower: str) -> bool:
        """Whether the table of pairs allows it: three pairs, and nothing about what is between the two."""
        first, second = self.kind(upper), self.kind(lower)
        if first == OUT_FUSABLE:
            return second in (ELEMENTWISE, BROADCAST)
        return first == BROADCAST and second == ELEMENTWISE

    def partition(self) -> list[list[str]]:
        """The groups: each node is fused with its dominator if the table says so."""
        for name in self.order:
            dominator = self.dominators.get(name) if "entries" in self.repaired else self.dominators[name]
            if dominator is None:
                continue
            pair = (name, dominator) if "arguments" in self.repaired else (dominator, name)
            if self.can_fuse(*pair):
                self._merge(name, dominator)
        found: list[list[str]] = []
        for group in self.groups.values():
            if group not in found:
                found.append(group)
        return found

    def _merge(self, name: str, into: str) -> None:
        """Put the group of one node into that of another; only these two are told."""
        self.groups[into].extend(self.groups[name])
        self.groups[name] = self.groups[into]


def register_custom_pattern(self: NaiveFuser, name: str, operators: list[str]) -> None:
    """Remember a row of operators, in a table that is never made, and that nobody reads."""
    self.custom_patterns[name] = operators  # type: ignore[attr-defined]
