"""Why the nodes of an ONNX model are grouped otherwise than its kernels in TVM.

Every node is followed through the clean-up, TVM's import and legalization to its kernels.  Then each edge between two
nodes is looked at on both levels; where the ends share a kernel on one of them alone, the decisions of the fuser there
say why, together with what has become of the nodes that decided.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tvmlab.errors import CallError
from tvmlab.fusion import Grouping, partition, read_onnx
from tvmlab.fusion.fates import Fate, fates
from tvmlab.fusion.onnx_reader import OnnxReading, labels_of
from tvmlab.fusion.reasons import because
from tvmlab.records import LevelDifference, LevelsDiff, NodeOnLevels

if TYPE_CHECKING:
    from onnx import NodeProto

    from tvmlab.pipeline.model import Model
    from tvmlab.pipeline.relax_reader import RelaxReading

__all__ = ["levels_diff"]


def levels_diff(
    model: Model, cleanup: str, relax: RelaxReading, grouping: Grouping, table: Mapping[str, Any]
) -> LevelsDiff:
    """Compare the groups of a model's own nodes with those of its kernels.

    Parameters
    ----------
    model : Model
        From ONNX.
    cleanup : str
        That which `relax` was made with.
    relax, grouping
        Of its kernels.
    table : mapping of str to Kind
        Kinds of its live operators.

    Raises
    ------
    CallError
        It does not come from ONNX.
    """
    if model.onnx is None:
        raise CallError(
            f"{model.name} does not come from ONNX, so that it has one level", mend="take a model from a .onnx file"
        )
    reading = read_onnx(model.onnx, kinds=table)
    nodes = _Nodes(reading, cleanup, relax)
    found = _Comparison(nodes, partition(reading.graph), grouping)
    return LevelsDiff(
        model=model.name,
        nodes=tuple(nodes.told(at) for at in range(len(nodes.fates))),
        differences=tuple(found.differences()),
        onnx=(reading.graph.kernels(), len(found.onnx)),
        relax=(grouping.graph.kernels(), sum(any(grouping.graph.computes[n] for n in g) for g in grouping.groups)),
    )


class _Nodes:
    """All nodes of a model, leaves too, in topological order, and the kernels that compute their values."""

    def __init__(self, reading: OnnxReading, cleanup: str, relax: RelaxReading) -> None:
        view = reading.view
        self.reading, self.relax = reading, relax
        self.fates = fates(view) if cleanup == "tvmlab" else [Fate(node, node) for node in view.nodes]
        self.number = {name: at for at, node in enumerate(view.nodes) for name in node.output if name}
        inside = {id(node): label for node, label in zip(reading.nodes, reading.graph.labels, strict=True)}
        self.labels = [inside.get(id(n), own) for n, own in zip(view.nodes, labels_of(view.nodes), strict=True)]
        self.leaves = {at for at, node in enumerate(view.nodes) if id(node) not in inside}
        owned: defaultdict[str, list[int]] = defaultdict(list)
        for kernel, owner in relax.owners.items():
            owned[owner].append(kernel)
        left = list({id(fate.now): fate.now for fate in self.fates if fate.now is not None}.values())
        self.kernels_of = {id(n): owned[name] for n, name in zip(left, labels_of(tuple(left)), strict=True)}
        self.read = {name for fate in self.fates for name in fate.node.input} | view.output_names
        self.constants: set[int] = set()
        self.carriers: list[list[int]] = []
        for at in range(len(self.fates)):
            self.carriers.append(self._carriers(at))

    def own_kernels(self, at: int) -> list[int]:
        """The kernels of a node that stands for itself."""
        fate = self.fates[at]
        return [] if fate.how in ("folded", "constant") else self.kernels_of.get(id(fate.now), [])

    def _carriers(self, at: int) -> list[int]:
        """The kernels that compute a node's value; those of what it reads where it is but another name of that."""
        fate = self.fates[at]
        kernels = self.kernels_of.get(id(fate.now), []) if fate.now is not None else []
        if kernels:
            return kernels
        sources = [self.number[name] for name in fate.node.input if name in self.number]
        given = [name for name in fate.node.input if name and not self._constant(name)]
        if at in self.leaves or fate.how == "constant" or not given or not self._another_name(at):
            self.constants.add(at)
            return []
        return next((self.carriers[source] for source in sources if source not in self.constants), [])

    def _constant(self, name: str) -> bool:
        view = self.reading.view
        return (
            self.number.get(name) in self.constants
            if name in self.number
            else name in view.constants and name not in view.overridable
        )

    def _another_name(self, at: int) -> bool:
        """Whether a node without a kernel hands on what it reads, rather than makes something known beforehand."""
        fate = self.fates[at]
        if fate.how == "handed on":
            return True
        types = self.reading.dtypes
        ends = [next((name for name in names if name), "") for names in (fate.node.input, fate.node.output)]
        return types.get(ends[0]) == types.get(ends[1])

    def told(self, at: int) -> NodeOnLevels:
        """What became of a node."""
        kernels = self.own_kernels(at)
        names = tuple(self.relax.graph.operations[kernel] for kernel in kernels)
        return NodeOnLevels(self.labels[at], self.fates[at].node.op_type, self.sentence(at), names)

    def sentence(self, at: int) -> str:
        """What became of a node, as the end of a sentence that begins with its name."""
        fate, kernels = self.fates[at], self.own_kernels(at)
        by = f"by the clean-up ({fate.rewrite})"
        match fate.how:
            case "constant" if at in self.leaves:
                return "is a constant, and no node on either level"
            case "constant":
                return f"is evaluated before the run {by}, since all that it reads is constant"
            case "handed on":
                return f"hands on what it reads, and is left out {by}"
            case "folded":
                return f"is folded into {self._standing_for(fate.now)} {by}"
            case "rewritten" if fate.now is not None:
                return f"is written as {fate.now.op_type} {by}, and {self._as_kernels(kernels)}"
            case _:
                return self._as_kernels(kernels) if kernels else self._without_kernel(at)

    def _standing_for(self, node: NodeProto | None) -> str:
        return next(
            (self.labels[at] for at, f in enumerate(self.fates) if f.now is node and f.how != "folded"),
            node.op_type if node is not None else "",
        )

    def _as_kernels(self, kernels: Sequence[int]) -> str:
        names = [self.relax.graph.operations[kernel] for kernel in kernels]
        if len(names) == 1:
            return f"is the kernel {names[0]}"
        return f"is {len(names)} kernels: {', '.join(names)}" if names else "needs no kernel"

    def _without_kernel(self, at: int) -> str:
        if at in self.leaves:
            return "is a constant, and no node on either level"
        if not any(name in self.read for name in self.fates[at].node.output if name):
            return "is read by nobody, and has no kernel"
        if at in self.constants:
            return "needs no kernel: what it makes is known before the run"
        return "needs no kernel: it is another name of what it reads"


class _Comparison:
    """The groups on both levels."""

    def __init__(self, nodes: _Nodes, onnx: Grouping, relax: Grouping) -> None:
        self.nodes, self.onnx, self.relax = nodes, onnx, relax
        places = {id(node): at for at, node in enumerate(nodes.reading.view.nodes)}
        self.places = [places[id(node)] for node in nodes.reading.nodes]

    def differences(self) -> Iterator[LevelDifference]:
        """By the nodes of ONNX, in order; two groups that are one on the other level are told once."""
        told: set[tuple[int, int]] = set()
        edges = dict.fromkeys((edge.producer, edge.consumer) for edge in self.onnx.graph.edges())
        for a, b in edges:
            in_onnx, in_relax = self.onnx.together(a, b), self._together(a, b)
            if in_onnx and in_relax is False:
                yield self._difference("split", a, b, self._reason_of_split(a, b))
            elif in_onnx and in_relax is None:
                yield self._difference("gone", a, b, self._reason_of_absence(a, b))
            elif in_relax and not in_onnx:
                groups = (int(self.onnx.sinks[a]), int(self.onnx.sinks[b]))
                if groups not in told:
                    told.add(groups)
                    yield self._difference("joined", a, b, self._reason_of_joint(a, b))
        for a in range(len(self.onnx.graph)):
            yield from self._inside(a)

    def _difference(self, how: str, a: int, b: int, reason: str) -> LevelDifference:
        graph = self.onnx.graph
        return LevelDifference(
            how, (graph.label(a), graph.label(b)), (graph.operations[a], graph.operations[b]), reason
        )

    def _kernels(self, node: int) -> list[int]:
        return self.nodes.carriers[self.places[node]]

    def _together(self, a: int, b: int) -> bool | None:
        """Whether two nodes share a kernel in TVM; None if one of them has none."""
        sinks = [{int(self.relax.sinks[kernel]) for kernel in self._kernels(node)} for node in (a, b)]
        return bool(sinks[0] & sinks[1]) if all(sinks) else None

    def _reason_of_joint(self, a: int, b: int) -> str:
        apart = f"apart among ONNX's nodes: {because(self.onnx, a, b)}"
        concerned = [a, b, *self.onnx.decision(a, b).culprits]
        if set(self._kernels(a)) & set(self._kernels(b)):
            one = "one in TVM"
            changed = self._changes(concerned, always=True)
        else:
            first, second = self._shared(a, b)
            one = f"one kernel in TVM: {because(self.relax, first, second)}"
            changed = self._changes(concerned)
        return "; ".join([apart, one, *changed])

    def _reason_of_split(self, a: int, b: int) -> str:
        first, second = self._meeting(a, b)
        apart = f"apart in TVM: {because(self.relax, first, second)}"
        return "; ".join([apart, *self._changes([a, b])])

    def _reason_of_absence(self, a: int, b: int) -> str:
        return "; ".join(self._changes([a, b], always=True))

    def _changes(self, concerned: Sequence[int], *, always: bool = False) -> list[str]:
        """What is different about nodes on the level of Relax."""
        return [text for node in dict.fromkeys(concerned) if (text := self._change(node, always=always))]

    def _change(self, node: int, *, always: bool) -> str:
        nodes, place = self.nodes, self.places[node]
        label, kind = self.onnx.graph.label(node), self.onnx.graph.kind(node)
        kernels = nodes.own_kernels(place)
        kinds = [self.relax.graph.kind(kernel) for kernel in kernels]
        if len(kernels) == 1 and kinds == [kind] and nodes.fates[place].how == "kept":
            return ""
        if len(kernels) == 1 and nodes.fates[place].how == "kept":
            name = self.relax.graph.operations[kernels[0]]
            return f"{label} is {kind.name.lower()} there, and its kernel {name} {kinds[0].name.lower()}"
        if nodes.fates[place].how == "kept" and not always and kinds and max(kinds) == kind:
            return ""
        return f"{label} {nodes.sentence(place)}"

    def _shared(self, a: int, b: int) -> tuple[int, int]:
        """A kernel of each of two nodes, in one group."""
        return next((x, y) for x in reversed(self._kernels(a)) for y in self._kernels(b) if self.relax.together(x, y))

    def _meeting(self, a: int, b: int) -> tuple[int, int]:
        """A kernel of one node whose value a kernel of another reads."""
        theirs = self._kernels(b)
        for kernel in reversed(self._kernels(a)):
            found = next((reader for reader in self._readers(kernel) if reader in theirs), None)
            if found is not None:
                return kernel, found
        return self._kernels(a)[-1], theirs[0]

    def _inside(self, node: int) -> Iterator[LevelDifference]:
        """Kernels of one node that are apart, though one reads the other."""
        own = self.nodes.own_kernels(self.places[node])
        for kernel in own if len({int(self.relax.sinks[k]) for k in own}) > 1 else ():
            for reader in self._readers(kernel):
                if reader in own and not self.relax.together(kernel, reader):
                    what = self.nodes.sentence(self.places[node])
                    ends = " and ".join(self.relax.graph.operations[k] for k in (kernel, reader))
                    reason = f"it {what}; {ends} are apart, since {because(self.relax, kernel, reader)}"
                    yield self._difference("inside", node, node, reason)

    @functools.cached_property
    def _reader_cache(self) -> dict[int, list[int]]:
        return {}

    def _readers(self, kernel: int) -> list[int]:
        """The kernels that read a kernel's value, over what takes it out of a tuple."""
        graph = self.relax.graph
        if kernel not in self._reader_cache:
            found: dict[int, None] = {}
            waiting = graph.readers(kernel)
            while waiting:
                reader = waiting.pop(0)
                if graph.computes[reader]:
                    found[reader] = None
                else:
                    waiting += graph.readers(reader)
            self._reader_cache[kernel] = list(found)
        return self._reader_cache[kernel]
