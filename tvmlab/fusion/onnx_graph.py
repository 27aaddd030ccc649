"""A view of an ONNX graph that can be rewritten without copying its weights or changing its model."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from tvmlab.errors import LoadError

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

__all__ = [
    "OnnxGraph",
    "attributes",
    "captures",
    "fresh_names",
    "is_standard",
    "label",
    "reads",
    "subgraphs",
    "value_names",
]

Array = NDArray[Any]

_STANDARD_DOMAINS = ("", "ai.onnx")
_OVERRIDABLE_SINCE_IR = 4


@dataclass(frozen=True)
class OnnxGraph:
    """Nodes, constants, inputs and outputs of an ONNX model.

    Parameters
    ----------
    nodes : tuple of NodeProto
        In topological order.  Never changed: a rewrite puts others in their place.
    constants : mapping of str to TensorProto or ndarray
        Initializers, and what rewrites made of them.
    overridable : frozenset of str
        Constants that are only defaults: since IR version 4, an initializer that is also an input.
    inputs, outputs : tuple of ValueInfoProto
        Inputs without initializers.
    opset : int
        Version of the standard operator set.
    reserved : frozenset of str
        Names of values around it, if it is a graph inside of a node.
    versions : mapping of str to int
        Of the operator sets of all domains; ``""`` is the standard one.
    """

    nodes: tuple[NodeProto, ...]
    constants: Mapping[str, TensorProto | Array] = field(repr=False)
    overridable: frozenset[str]
    inputs: tuple[ValueInfoProto, ...]
    outputs: tuple[ValueInfoProto, ...]
    opset: int
    reserved: frozenset[str] = field(default=frozenset(), repr=False)
    versions: Mapping[str, int] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, model: ModelProto) -> OnnxGraph:
        """View a model.

        Raises
        ------
        LoadError
            The nodes form a cycle, or read a value that nothing makes.
        """
        graph = model.graph
        constants = {t.name: t for t in graph.initializer}
        given = {i.name for i in graph.input}
        overridable = given & constants.keys() if model.ir_version >= _OVERRIDABLE_SINCE_IR else set()
        opsets = {o.domain: o.version for o in model.opset_import}
        nodes = _sorted(graph)
        made = given | constants.keys() | {name for node in nodes for name in node.output}
        made |= {t.values.name for t in graph.sparse_initializer}
        for output in graph.output:
            if output.name not in made:
                raise LoadError(
                    f"the graph's output {output.name!r} is made by no node",
                    mend="correct the name, or the node that should make it",
                )
        return cls(
            nodes=nodes,
            constants=constants,
            overridable=frozenset(overridable),
            inputs=tuple(i for i in graph.input if i.name not in constants),
            outputs=tuple(graph.output),
            opset=next((opsets[d] for d in _STANDARD_DOMAINS if d in opsets), 1),
            versions={"" if domain in _STANDARD_DOMAINS else domain: version for domain, version in opsets.items()},
        )

    @classmethod
    def of_inner(cls, graph: GraphProto, opset: int) -> OnnxGraph:
        """View a graph inside of a node; what it reads from outside counts as given."""
        return cls(
            nodes=_sorted(graph, inner=True),
            constants={t.name: t for t in graph.initializer},
            overridable=frozenset(),
            inputs=tuple(graph.input),
            outputs=tuple(graph.output),
            opset=opset,
        )

    def with_(self, nodes: Iterable[NodeProto], constants: Mapping[str, TensorProto | Array]) -> OnnxGraph:
        """The graph with other nodes and constants; constants that nothing reads any more are dropped."""
        kept = tuple(nodes)
        used = {name for node in kept for name in reads(node)} | self.output_names
        return replace(self, nodes=kept, constants={n: c for n, c in constants.items() if n in used})

    @property
    def output_names(self) -> set[str]:
        return {o.name for o in self.outputs}

    def constant(self, name: str) -> Array | None:
        """The value of a constant that nobody can override; None if there is none of that name."""
        if name in self.overridable or name not in self.constants:
            return None
        value = self.constants[name]
        return value if isinstance(value, np.ndarray) else numpy_helper.to_array(value)

    def readers(self) -> Counter[str]:
        """How often each value is read: by nodes, from inside their subgraphs too, and as a graph output."""
        counted = Counter(name for node in self.nodes for name in reads(node))
        counted.update(o.name for o in self.outputs)
        return counted


def fresh_names(graph: OnnxGraph) -> Callable[[str], str]:
    """A function that makes value names, from a stem each, that nothing uses: no graph inside or around either."""
    taken = value_names(graph)

    def fresh(stem: str) -> str:
        name = next(n for n in itertools.chain([stem], (f"{stem}_{i}" for i in itertools.count(1))) if n not in taken)
        taken.add(name)
        return name

    return fresh


def value_names(graph: OnnxGraph) -> set[str]:
    """Every name of a value in the graph, in the graphs inside of its nodes at any depth, and around it."""
    names = {name for node in graph.nodes for name in [*node.input, *node.output]} | graph.constants.keys()
    names |= {info.name for info in [*graph.inputs, *graph.outputs]} | graph.reserved
    waiting = [inner for node in graph.nodes for inner in subgraphs(node)]
    while waiting:
        inner = waiting.pop()
        names.update(info.name for info in [*inner.input, *inner.output, *inner.initializer])
        for node in inner.node:
            names.update([*node.input, *node.output])
            waiting += subgraphs(node)
    return names


def is_standard(node: NodeProto) -> bool:
    """Whether a node is of ONNX's own operator set."""
    return node.domain in _STANDARD_DOMAINS


def attributes(node: NodeProto) -> dict[str, Any]:
    """A node's attributes as Python values."""
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def label(node: NodeProto) -> str:
    """What a person can call a node: its name, else its first output (unique, while names need not be)."""
    return node.name or next((o for o in node.output if o), node.op_type)


def reads(node: NodeProto) -> Iterator[str]:
    """Names of the values that a node reads, from inside its subgraphs too."""
    yield from (name for name in node.input if name)
    yield from captures(node)


def captures(node: NodeProto) -> Iterator[str]:
    """Names that the subgraphs of a node take from outside of it, at any depth."""
    waiting: list[tuple[GraphProto, Any]] = [(graph, None) for graph in subgraphs(node)]
    while waiting:
        graph, around = waiting.pop()
        own = {i.name for i in graph.input} | {t.name for t in graph.initializer}
        own |= {name for inner in graph.node for name in inner.output}
        scope = (own, around)  # what has a name here, and further out
        read = [name for inner in graph.node for name in inner.input if name]
        yield from (name for name in [*read, *(o.name for o in graph.output)] if not _bound(name, scope))
        waiting += [(inner, scope) for node in graph.node for inner in subgraphs(node)]


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs that are attributes of a node; not those inside of these."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _bound(name: str, scope: Any) -> bool:
    while scope is not None:
        names, scope = scope
        if name in names:
            return True
    return False


def _sorted(graph: GraphProto, *, inner: bool = False) -> tuple[NodeProto, ...]:
    """The nodes in topological order; as they stand where that is one already."""
    given = {i.name for i in graph.input} | {t.name for t in graph.initializer}
    given |= {t.values.name for t in graph.sparse_initializer}
    makers: dict[str, int] = {}
    for position, node in enumerate(graph.node):
        for name in filter(None, node.output):
            if name in makers or name in given:
                other = f"node {label(graph.node[makers[name]])!r}" if name in makers else "an input or initializer"
                raise LoadError(
                    f"node {label(node)!r} ({node.op_type}) makes {name!r}, and so does {other}",
                    where=f"node {position} of the graph",
                    mend="give each value a name of its own",
                )
            makers[name] = position
    waits: list[int] = []
    next_nodes: list[list[int]] = [[] for _ in graph.node]
    for position, node in enumerate(graph.node):
        needed = set()
        for name in reads(node):
            if name in makers:
                needed.add(makers[name])
            elif name not in given and not inner:
                raise LoadError(
                    f"node {label(node)!r} ({node.op_type}) reads {name!r}, which nothing makes",
                    where=f"node {position} of the graph",
                    mend="make it an input or an initializer of the graph, or correct the name",
                )
        waits.append(len(needed))
        for maker in needed:
            next_nodes[maker].append(position)
    ready = [position for position, count in enumerate(waits) if count == 0]
    order: list[int] = []
    while ready:
        position = heapq.heappop(ready)
        order.append(position)
        for after in next_nodes[position]:
            waits[after] -= 1
            if waits[after] == 0:
                heapq.heappush(ready, after)
    if len(order) < len(graph.node):
        stuck = next(node for position, node in enumerate(graph.node) if waits[position] > 0)
        raise LoadError(
            f"the graph has a cycle through or before node {label(stuck)!r} ({stuck.op_type})",
            mend="no node may read a value that depends on its own output",
        )
    return tuple(_without_absent(graph.node[position]) for position in order)


def _without_absent(node: NodeProto) -> NodeProto:
    """The node without the optional outputs at its end that are absent."""
    if not node.output or node.output[-1]:
        return node
    trimmed = onnx.NodeProto()
    trimmed.CopyFrom(node)
    while trimmed.output and not trimmed.output[-1]:
        del trimmed.output[-1]
    return trimmed
