"""The graph that is partitioned: nodes with a kind each, and who reads whose value.

Nodes are numbered in topological order, so that an edge always leads from a smaller number to a larger one.
Parameters, weights and other constants are leaves: no kernel computes them, so they are no nodes.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvmlab.errors import GraphError, nearest
from tvmlab.records import Explorable

__all__ = ["Edge", "Graph", "Kind"]

Indices = NDArray[np.int32]


class Kind(enum.IntEnum):
    """How an operator computes an element of its output from its inputs; the numbers are TVM's, and are compared."""

    ELEM = 0
    """From the elements at the same place: ``relu``, ``a + b`` of equal shapes."""
    BCAST = 1
    """From elements whose place is the output's with axes left out: adding a row to a matrix."""
    INJ = 2
    """From one element at some other place: ``transpose``, ``reshape``, ``concat``."""
    REDUCE = 3
    """From a whole range of elements: ``sum``, ``max``."""
    OEF = 4
    """Too complex to be put into another kernel, but its *output* may be changed element by element: ``conv2d``."""
    TUPLE = 7
    """Several values as one."""
    OPAQUE = 8
    """Unknown: stays alone."""

    @property
    def title(self) -> str:
        """TVM's name of it."""
        return _TITLES[self]

    @classmethod
    def of(cls, given: Kind | int | str) -> Kind:
        """The kind with a number, a short name (``"elem"``) or TVM's name (``"kElemWise"``).

        Raises
        ------
        GraphError
            There is none.
        """
        if isinstance(given, str):
            known = {**{kind.name.lower(): kind for kind in cls}, **{title: kind for kind, title in _TITLES.items()}}
            if given in known:
                return known[given]
        elif given in cls.__members__.values():
            return cls(given)
        names = ", ".join(f"{kind.name.lower()} ({kind.value})" for kind in cls)
        raise GraphError(f"{given!r} is no kind of operator", mend=f"the kinds are {names}")


_TITLES = {
    Kind.ELEM: "kElemWise",
    Kind.BCAST: "kBroadcast",
    Kind.INJ: "kInjective",
    Kind.REDUCE: "kCommReduce",
    Kind.OEF: "kOutEWiseFusable",
    Kind.TUPLE: "kTuple",
    Kind.OPAQUE: "kOpaque",
}


class Edge(NamedTuple):
    """One use of a value: output `output` of node `producer` is operand `input` of node `consumer`."""

    producer: int
    output: int
    consumer: int
    input: int


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Explorable):
    """Nodes and edges; make one with `Graph.from_kinds` or with a reader.

    Parameters
    ----------
    kinds : bytes
        The `Kind` of each node.
    producers, outputs, consumers, inputs : ndarray of int32, shape (edges,)
        The edges, by consumer and then by operand.  An operand that is given twice is two edges.
    external : bytes
        1 for each node whose value is also needed outside of the graph, else 0.
    labels : tuple of str
        What people call the nodes, each name once; empty if they have no names but their numbers.
    computes : bytes
        0 for nodes that only rename or select a value, and so are no kernel of their own; empty: all compute.
    aliases : mapping of str to int
        Other names of nodes.
    operations : tuple of str
        What each node does, such as ``Conv``; empty if that is not known.
    notes : mapping of int to str
        Why nodes are external, and why others are opaque, as the end of a sentence.
    sizes : tuple of int or None
        How many bytes each node writes, None where that is not known; empty if it is known of none.
    describe : callable or None
        From a node to its type and attributes, in words; asked for only when they are shown.
    """

    kinds: bytes
    producers: Indices = field(repr=False)
    outputs: Indices = field(repr=False)
    consumers: Indices = field(repr=False)
    inputs: Indices = field(repr=False)
    external: bytes = field(repr=False)
    labels: tuple[str, ...] = field(default=(), repr=False)
    computes: bytes = field(default=b"", repr=False)
    aliases: Mapping[str, int] = field(default_factory=dict, repr=False)
    operations: tuple[str, ...] = field(default=(), repr=False)
    sizes: tuple[int | None, ...] = field(default=(), repr=False)
    notes: Mapping[int, str] = field(default_factory=dict, repr=False)
    describe: Callable[[int], str] | None = field(default=None, repr=False)

    @classmethod
    def from_kinds(
        cls,
        kinds: Iterable[Kind | int | str],
        inputs: Iterable[Sequence[int]],
        external: Iterable[int] = (),
        *,
        labels: Iterable[str] = (),
    ) -> Graph:
        """Make a graph of nodes with one output each.

        Parameters
        ----------
        kinds : iterable of Kind, int or str
            Kind of each node, in topological order.
        inputs : iterable of sequence of int
            For each node, the nodes whose values it reads, in the order of its operands; a negative number is a
            parameter or constant.
        external : iterable of int
            Nodes whose value escapes: outputs of the graph.
        labels : iterable of str
            Names of the nodes; default: their numbers.

        Raises
        ------
        GraphError
            A number is no kind, an input is not a node that comes before, or two nodes have one label.
        """
        for what, several in {"kinds": kinds, "inputs": inputs, "labels": labels}.items():
            if not isinstance(several, Iterable):
                raise GraphError(f"{what}={several!r} is no list", mend=f"give {what} as a list, one for each node")
        given = list(kinds)
        codes = _codes(given)
        operands, names = list(inputs), tuple(labels)
        _check_operands(operands)
        _check_labels(names)
        counts = np.fromiter(map(len, operands), np.int32, len(operands))
        try:
            producers = np.fromiter(itertools.chain.from_iterable(operands), np.int32, int(counts.sum()))
        except OverflowError as error:
            raise GraphError(f"there is no such node: {error}", mend="inputs are numbers of nodes before") from error
        consumers = np.repeat(np.arange(len(operands), dtype=np.int32), counts)
        starts = np.repeat(np.cumsum(counts, dtype=np.int32) - counts, counts)
        positions = np.arange(len(producers), dtype=np.int32) - starts
        real = producers >= 0
        if not real.all():
            producers, consumers, positions = producers[real], consumers[real], positions[real]
        outputs = np.zeros_like(producers)
        return cls.of_edges(codes, producers, outputs, consumers, positions, external, names, nodes=len(operands))

    @classmethod
    def of_edges(
        cls,
        kinds: bytes,
        producers: Indices,
        outputs: Indices,
        consumers: Indices,
        inputs: Indices,
        external: Iterable[int],
        labels: tuple[str, ...] = (),
        computes: bytes = b"",
        *,
        nodes: int | None = None,
    ) -> Graph:
        """Make a graph of edges, checked.

        Raises
        ------
        GraphError
            The parts do not fit together, or an edge does not lead from a node to a later one.
        """
        count = len(kinds)
        if count != (count if nodes is None else nodes) or (labels and len(labels) != count):
            raise GraphError(f"{count} kinds, {nodes} lists of inputs, {len(labels)} labels", mend="one for each node")
        backwards = np.flatnonzero(producers >= consumers)
        if len(backwards):
            at = int(backwards[0])
            raise GraphError(
                f"node {consumers[at]} reads node {producers[at]}, which does not come before it",
                where=f"operand {inputs[at]} of node {consumers[at]}",
                mend="give the nodes in topological order; a graph with a cycle has none",
            )
        flags = bytearray(count)
        if not isinstance(external, Iterable):
            raise GraphError(f"external={external!r} is no list of nodes", mend="such as external=[2]")
        for node in external:
            if not _is_number(node) or not 0 <= node < count:
                raise GraphError(f"there is no node {node!r} whose value could escape", mend=f"there are {count} nodes")
            flags[node] = 1
        return cls(kinds, producers, outputs, consumers, inputs, bytes(flags), labels, computes)

    def with_kinds(self, kinds: bytes) -> Graph:
        """The same graph with other kinds."""
        return dataclasses.replace(self, kinds=kinds)

    def without_outputs(self, nodes: Iterable[int]) -> Graph:
        """The graph in which nobody outside needs some values, and nobody at all those that nobody reads then.

        Such a node stays, and reads nothing.
        """
        external, dead = bytearray(self.external), bytearray(len(self))
        for node in nodes:
            external[node] = 0
            dead[node] = not self.readers(node)
        operands: list[list[int]] = [[] for _ in self.kinds]
        waits = np.diff(self.reader_starts).tolist()
        for producer, consumer in zip(self.producers.tolist(), self.consumers.tolist(), strict=True):
            operands[consumer].append(producer)
        for node in reversed(range(len(self))):
            if dead[node]:
                for producer in operands[node]:
                    waits[producer] -= 1
                    dead[producer] |= not waits[producer] and not external[producer]
        kept = np.frombuffer(bytes(dead), np.uint8)[self.consumers] == 0
        return dataclasses.replace(
            self,
            producers=self.producers[kept],
            outputs=self.outputs[kept],
            consumers=self.consumers[kept],
            inputs=self.inputs[kept],
            external=bytes(external),
        )

    def piece(self, nodes: Iterable[int]) -> tuple[Graph, dict[int, int]]:
        """Some nodes with the edges between them, and their numbers in it by those in the whole.

        Their labels stay, so that people can tell them.
        """
        kept = sorted(set(nodes))
        place = {node: at for at, node in enumerate(kept)}
        inputs: list[list[int]] = [[] for _ in kept]
        escapes = {node for node in kept if self.external[node] or any(r not in place for r in self.readers(node))}
        for edge in self.edges():
            if edge.consumer in place and edge.producer in place:
                inputs[place[edge.consumer]].append(place[edge.producer])
        labels = [self.label(node) for node in kept]
        made = Graph.from_kinds([self.kinds[n] for n in kept], inputs, sorted(place[n] for n in escapes), labels=labels)
        operations = tuple(self.operations[node] for node in kept) if self.operations else ()
        return dataclasses.replace(made, operations=operations), place

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def headline(self) -> str:
        return f"{len(self)} nodes, {len(self.producers)} edges"

    def to_dict(self) -> dict[str, Any]:
        return {
            "labels": [self.label(node) for node in range(len(self))],
            "kinds": [self.kind(node).name.lower() for node in range(len(self))],
            "edges": [list(edge) for edge in self.edges()],
            "external": [node for node, escapes in enumerate(self.external) if escapes],
        }

    def edges(self) -> Iterator[Edge]:
        """Every edge, by consumer and then by operand."""
        columns = (self.producers, self.outputs, self.consumers, self.inputs)
        return map(Edge, *(column.tolist() for column in columns))

    @functools.cached_property
    def reader_starts(self) -> Indices:
        """Where the readers of each node start in `reader_list`, and at the end its length; shape (nodes + 1,)."""
        starts = np.zeros(len(self) + 1, np.int32)
        np.cumsum(np.bincount(self.producers, minlength=len(self)), out=starts[1:])
        return starts

    @functools.cached_property
    def reader_list(self) -> Indices:
        """Readers of node 0, then of node 1 …; who reads a value twice is there twice."""
        keys = self.producers.astype(np.int64) << 32 | self.consumers  # sorted ten times as fast as by argsort
        keys.sort()
        return keys.astype(np.int32)

    def distinct_readers(self) -> tuple[array[int], array[int]]:
        """`reader_starts` and `reader_list`, with everybody only once who reads a value several times."""
        starts, readers = self.reader_starts, self.reader_list
        new = np.ones(len(readers) + 1, bool)
        if len(readers):
            new[1:-1] = readers[1:] != readers[:-1]
            new[starts[:-1]] = True
        if not new.all():
            counts = np.zeros(len(new), np.int32)
            np.cumsum(new[:-1], out=counts[1:])
            starts, readers = counts[starts], readers[new[:-1]]
        return array("i", starts.tobytes()), array("i", readers.tobytes())

    def readers(self, node: int) -> list[int]:
        """Who reads a node's value, in topological order; who reads it twice is there twice."""
        start, end = self.reader_starts[node : node + 2]
        found: list[int] = self.reader_list[start:end].tolist()
        return found

    def kind(self, node: int) -> Kind:
        """Kind of a node."""
        return Kind(self.kinds[node])

    def label(self, node: int) -> str:
        """What people call a node."""
        return self.labels[node] if self.labels else str(node)

    def index(self, node: int | str) -> int:
        """The node with a number or a label.

        Raises
        ------
        GraphError
            There is none.
        """
        if isinstance(node, str):
            if node in self._numbers:
                return self._numbers[node]
        elif _is_number(node) and 0 <= node < len(self):
            return int(node)
        close = nearest(node, self._numbers)
        raise GraphError(
            f"there is no node {node!r}", mend=f"did you mean {close!r}?" if close else self._some_labels()
        )

    def _some_labels(self) -> str:
        if not len(self):
            return "the graph is empty"
        shown = [self.label(node) for node in range(min(len(self), 8))]
        return f"nodes are called {', '.join(shown)}{' …' if len(self) > len(shown) else ''}"

    @functools.cached_property
    def _numbers(self) -> dict[str, int]:
        own = {label: node for node, label in enumerate(self.labels or map(str, range(len(self))))}
        return {**self.aliases, **own}

    def kernels(self) -> int:
        """How many nodes compute."""
        return sum(self.computes) if self.computes else len(self)


def _is_number(given: object) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool)


def _check_operands(operands: Sequence[Sequence[int]]) -> None:
    """Refuse what is no list of numbers; the quick way is for a million of them."""
    listed = all(issubclass(sort, Sequence | np.ndarray) for sort in set(map(type, operands)))
    if listed:
        sorts = set(map(type, itertools.chain.from_iterable(operands)))
        if all(issubclass(sort, int | np.integer) and sort is not bool for sort in sorts):
            return
    odd = next(at for at, given in enumerate(operands) if not _is_list_of_numbers(given))
    raise GraphError(
        f"the inputs of node {odd} are {operands[odd]!r}, no list of numbers of nodes",
        mend="give for each node the nodes that it reads, such as inputs=[[], [0], [0, 1]]",
    )


def _is_list_of_numbers(given: object) -> bool:
    return isinstance(given, Sequence | np.ndarray) and all(map(_is_number, given))


def _check_labels(labels: Sequence[object]) -> None:
    odd = next((label for label in labels if not isinstance(label, str)), None)
    if odd is not None:
        raise GraphError(f"{odd!r} is no label", mend="labels are strings; without labels, nodes are called by numbers")
    if len(set(labels)) < len(labels):
        twice = Counter(labels).most_common(1)[0][0]
        raise GraphError(f"two nodes are called {twice!r}", mend="give each node a name of its own")


def _codes(given: list[Kind | int | str]) -> bytes:
    numbers = [kind for kind in given if type(kind) is int]
    if len(numbers) == len(given) and set(numbers) <= set(Kind.__members__.values()):
        return bytes(numbers)  # the quick way for a million of them
    return bytes(Kind.of(kind) for kind in given)
