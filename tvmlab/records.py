"""The records that everything passes on: frozen facts, no formatting.

A record draws itself through one registry of pictures, filled by `tvmlab.show`; looking it up when a record
is displayed is the package's only dynamic import.  `Record.to_dict` gives plain JSON data: what the picture
shows, a script can read.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tvmlab.errors import CallError
from tvmlab.matching import match_lines, without_boilerplate

Bundle = dict[str, Any]

_PICTURES: dict[str, Callable[[Any], Bundle]] = {}
_EXPLORERS: dict[str, Callable[[Any], Any]] = {}
_Draw = TypeVar("_Draw", bound=Callable[..., Bundle])
_Make = TypeVar("_Make", bound=Callable[..., Any])


def picture(kind: type[Record] | str) -> Callable[[_Draw], _Draw]:
    """Register how records of a class look: a function from the record to a bundle of MIME types.

    The class may be given by its name, so that a picture needs no import of a room that imports TVM.
    """
    key = kind if isinstance(kind, str) else kind.__name__

    def register(draw: _Draw) -> _Draw:
        _PICTURES[key] = draw
        return draw

    return register


def explorer(kind: type[Explorable] | str) -> Callable[[_Make], _Make]:
    """Register how records of a class are explored: a function from the record to a widget."""
    key = kind if isinstance(kind, str) else kind.__name__

    def register(make: _Make) -> _Make:
        _EXPLORERS[key] = make
        return make

    return register


def plain(value: Any) -> Any:
    """Turn a value into plain JSON data: dicts, lists, strings, finite numbers, booleans and None."""
    if isinstance(value, Record):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no NaN and no infinity; float() reads these back
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    if isinstance(value, Sequence | set | frozenset):
        return [plain(v) for v in value]
    return plain(value.tolist()) if hasattr(value, "tolist") else str(value)


class Record:
    """Base of all records.  A subclass is a frozen dataclass and gives a one-line `headline`."""

    @property
    def headline(self) -> str:
        """One line that says what the record found."""
        return type(self).__name__

    def to_dict(self) -> dict[str, Any]:
        """The record as plain JSON data."""
        return {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self) if f.repr}  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline}>"

    def _repr_mimebundle_(self, **_filters: Any) -> Bundle:
        importlib.import_module("tvmlab.show")
        for kind in type(self).__mro__:
            if kind.__name__ in _PICTURES:
                return {"text/plain": self.headline, **_PICTURES[kind.__name__](self)}
        return {"text/plain": self.headline}


class Explorable(Record):
    """Base of the records that have an explorer, which `tvmlab.show` registers."""

    def explore(self) -> Any:
        """A widget to look around in with mouse and keys; it needs a running kernel.

        Raises
        ------
        CallError
            anywidget is not installed.
        """
        importlib.import_module("tvmlab.show")
        make = next(_EXPLORERS[kind.__name__] for kind in type(self).__mro__ if kind.__name__ in _EXPLORERS)
        return make(self)


@dataclass(frozen=True, repr=False)
class Reason(Record):
    """Why something is as it is, in a sentence or two."""

    sentence: str

    @property
    def headline(self) -> str:
        return self.sentence


@dataclass(frozen=True, repr=False)
class Written(Record):
    """What was written into files.

    Parameters
    ----------
    what : str
        What is in them.
    folder : str
    files : mapping of str to int
        By its path within the folder, the bytes of each.
    notes : tuple of str
    seconds : float
        How long it took.
    """

    what: str
    folder: str
    files: Mapping[str, int]
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def headline(self) -> str:
        return f"{self.what}: {', '.join(self.files)} in {self.folder}"


@dataclass(frozen=True, repr=False)
class TensorInfo:
    """Name, shape and dtype of a model's input or output; symbolic dimensions are strings."""

    name: str
    shape: tuple[int | str, ...] | None
    dtype: str

    def __str__(self) -> str:
        shape = "?" if self.shape is None else ", ".join(map(str, self.shape))
        return f"{self.name}: {self.dtype}[{shape}]"


@dataclass(frozen=True)
class Group:
    """One fused group of a partition.

    Parameters
    ----------
    kernel : str
        Name of the kernel that the group becomes.
    nodes : tuple of str
        Labels of its nodes, in topological order.
    kinds : tuple of str
        Pattern kind of each node, by TVM's names (``kElemWise`` …).
    operations : tuple of str
        What each node does; empty where the labels say that.
    """

    kernel: str
    nodes: tuple[str, ...]
    kinds: tuple[str, ...]
    operations: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, repr=False)
class Partition(Explorable):
    """Which nodes share a kernel.

    Parameters
    ----------
    model : str
        Name of the model.
    engine : str
        ``"python"`` (tvmlab's own fuser), ``"tvm"`` (TVM's FuseOps) or ``"none"``.
    level : str
        ``"relax"``: nodes are the kernels after legalization; ``"onnx"``: nodes are those of the ONNX model.
    groups : tuple of Group
        In the order of their last node.
    kernels_before, kernels_after : int
        Nodes that compute; groups.
    grouping : tvmlab.fusion.Grouping or None
        The reasons.
    bytes_saved : int or None
        Size of the values that are no longer written; None where shapes are not known.
    """

    model: str
    engine: str
    level: str
    groups: tuple[Group, ...]
    kernels_before: int
    kernels_after: int
    grouping: Any = field(default=None, repr=False, compare=False)
    bytes_saved: int | None = field(default=None, compare=False)

    @property
    def headline(self) -> str:
        return f"{self.model}: {self.kernels_before} → {self.kernels_after} kernels ({self.engine})"

    def why(self, a: str, b: str) -> str:
        """Why two nodes do or do not share a kernel, in one or two sentences, and what would change it.

        Parameters
        ----------
        a, b : str
            Labels of nodes; on the level of Relax also names of variables, or of ONNX nodes for their last kernel.

        Raises
        ------
        GraphError
            There is no such node.
        """
        return str(self.grouping.why(a, b))

    def what_if(self, **changes: Any) -> Partition:
        """The partition if something were different.

        Parameters
        ----------
        **changes
            ``kinds={"relu1": "opaque"}``, ``max_depth=8``, ``without=["phase1"]``.

        Raises
        ------
        GraphError
            There is no such node, kind or phase.
        """
        changed: Partition = self.grouping.what_if(**changes).record(self.model, "python", self.level)
        return changed

    def diff(self, other: Partition) -> PartitionDiff:
        """What another partition does differently.

        Raises
        ------
        CallError
            `other` is none.
        """
        if not isinstance(other, Partition):
            raise CallError(f"a {type(other).__name__} is no partition", mend="give another result of tl.fuse")
        names = _told_apart(self, other)
        old, new = (dict.fromkeys(group.nodes for group in part.groups) for part in (self, other))
        return PartitionDiff(
            model=self.model,
            before=names[0],
            after=names[1],
            only_before=tuple(group for group in old if group not in new),
            only_after=tuple(group for group in new if group not in old),
            same=sum(group in new for group in old),
            edges_apart=tuple(_edges_apart(self, other)),
            kernels_before=self.kernels_after,
            kernels_after=other.kernels_after,
        )

    def to_dict(self) -> dict[str, Any]:
        kinds = {node: kind for group in self.groups for node, kind in zip(group.nodes, group.kinds, strict=True)}
        return {
            "model": self.model,
            "engine": self.engine,
            "level": self.level,
            "groups": [list(group.nodes) for group in self.groups],
            "kernels": [group.kernel for group in self.groups],
            "kernels_before": self.kernels_before,
            "kernels_after": self.kernels_after,
            "bytes_saved": self.bytes_saved,
            "kinds": {node: SHORT_KINDS.get(kind, kind) for node, kind in kinds.items()},
        }


def _told_apart(part: Partition, other: Partition) -> tuple[str, str]:
    """What to call two partitions: by what is different in how they were made."""
    for name in ("model", "level", "engine"):
        if getattr(part, name) != getattr(other, name):
            return getattr(part, name), getattr(other, name)
    if part.grouping is None or other.grouping is None:
        return "the first", "the second"
    facts = [dict(_how(each.grouping)) for each in (part, other)]
    graphs = part.grouping.graph, other.grouping.graph
    if len(graphs[0]) == len(graphs[1]):
        changed = [
            node for node, kinds in enumerate(zip(*(graph.kinds for graph in graphs), strict=True)) if len({*kinds}) > 1
        ]
        for fact, graph in zip(facts, graphs, strict=True):
            fact |= {graph.label(node): graph.kind(node).name.lower() for node in changed[:_NAMED]}
    apart = [name for name in {**facts[0], **facts[1]} if facts[0].get(name) != facts[1].get(name)]
    if not apart:
        return "the first", "the second"
    said = [[f"{name}={fact[name]}" for name in apart[:_NAMED] if name in fact] for fact in facts]
    first, second = (", ".join(words) or "without" for words in said)
    return first, second


def _how(grouping: Any) -> Iterator[tuple[str, object]]:
    yield "max_depth", grouping.max_depth
    yield from ((phase, "off") for phase in grouping.without)
    yield from ((match.template, "matched") for match in getattr(grouping, "matches", ()))


_NAMED = 3


def _edges_apart(part: Partition, other: Partition) -> Iterator[tuple[str, str]]:
    """Edges that lie inside of a group in one partition only."""
    places = [{node: at for at, group in enumerate(some.groups) for node in group.nodes} for some in (part, other)]
    for edge in part.grouping.graph.edges() if part.grouping is not None else ():
        ends = tuple(part.grouping.graph.label(node) for node in (edge.producer, edge.consumer))
        inside = {place[ends[0]] == place[ends[1]] for place in places if ends[0] in place and ends[1] in place}
        if len(inside) > 1:
            yield ends


SHORT_KINDS = {
    "kElemWise": "elem",
    "kBroadcast": "bcast",
    "kInjective": "inj",
    "kCommReduce": "reduce",
    "kOutEWiseFusable": "oef",
    "kTuple": "tuple",
    "kOpaque": "opaque",
}


@dataclass(frozen=True, repr=False)
class PartitionDiff(Record):
    """Groups, by the labels of their nodes, that only one of two partitions has; and edges inside of such a group."""

    model: str
    before: str
    after: str
    only_before: tuple[tuple[str, ...], ...]
    only_after: tuple[tuple[str, ...], ...]
    same: int
    edges_apart: tuple[tuple[str, str], ...]
    kernels_before: int
    kernels_after: int

    @property
    def ok(self) -> bool:
        """Whether the two partitions are equal."""
        return not self.only_before and not self.only_after

    @property
    def headline(self) -> str:
        sides = f"{self.before} and {self.after}"
        if self.ok:
            return f"{self.model}: {sides} agree on {'all ' * (self.same != 1)}{_groups(self.same)}"
        apart = " against ".join(_groups(len(only)) for only in (self.only_before, self.only_after))
        return f"{self.model}: {sides} agree on {_groups(self.same)}, and have {apart} where they differ"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok}


def _groups(number: int) -> str:
    return f"{number:,} group{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class NodeOnLevels:
    """One node of an ONNX model, and what it is in TVM.

    Parameters
    ----------
    node, operation : str
        Its label and operator.
    became : str
        What became of it, as the end of a sentence that begins with its label.
    kernels : tuple of str
        Its own kernels; none if it is folded into another node, evaluated before the run or handed on.
    """

    node: str
    operation: str
    became: str
    kernels: tuple[str, ...]


@dataclass(frozen=True)
class LevelDifference:
    """One place where the groups of ONNX nodes and those of kernels differ.

    Parameters
    ----------
    how : str
        ``"joined"``: the groups of the two nodes are one in TVM.  ``"split"``: one group there, and two in TVM.
        ``"inside"``: one node whose kernels are in several groups.  ``"gone"``: one of the two needs no kernel.
    nodes, operations : tuple of str
        Labels and operators of two nodes of which the second reads the first; twice the same for ``"inside"``.
    reason : str
    """

    how: str
    nodes: tuple[str, str]
    operations: tuple[str, str]
    reason: str


@dataclass(frozen=True, repr=False)
class LevelsDiff(Record):
    """Why the nodes of an ONNX model are grouped otherwise than its kernels in TVM.

    Parameters
    ----------
    nodes : tuple of NodeOnLevels
        Every node of the model, in topological order.
    differences : tuple of LevelDifference
    onnx, relax : tuple of int
        Nodes or kernels that compute, and groups of them.
    """

    model: str
    nodes: tuple[NodeOnLevels, ...]
    differences: tuple[LevelDifference, ...]
    onnx: tuple[int, int]
    relax: tuple[int, int]

    @property
    def headline(self) -> str:
        sides = f"ONNX's nodes {self.onnx[0]:,} → {self.onnx[1]:,}, kernels {self.relax[0]:,} → {self.relax[1]:,}"
        several = len(self.differences)
        return f"{self.model}: {sides}; {several:,} difference{'' if several == 1 else 's'}"


@dataclass(frozen=True)
class FunctionDiff:
    """How one function changed between two stages; ``before`` or ``after`` is empty if it is not there.

    Lines that differ only in the names of variables, each always renamed to the same, count as unchanged; boilerplate
    is not counted.
    """

    name: str
    before: str
    after: str
    added: int
    removed: int

    @classmethod
    def of(cls, name: str, before: str, after: str) -> FunctionDiff:
        """The difference of two texts."""
        matching = match_lines(without_boilerplate(before), without_boilerplate(after))
        return cls(name, before, after, matching.added, matching.removed)

    @property
    def state(self) -> str:
        """``"changed"``, ``"new"`` or ``"gone"``."""
        return "changed" if self.before and self.after else "new" if self.after else "gone"


@dataclass(frozen=True, repr=False)
class StageDiff(Explorable):
    """Difference of two stages, function by function; unchanged functions are only counted.

    Parameters
    ----------
    trace : tvmlab.pipeline.Trace or None
        Whose stages they are.
    """

    model: str
    before: str
    after: str
    functions: tuple[FunctionDiff, ...]
    unchanged: int
    trace: Any = field(default=None, repr=False, compare=False)

    @property
    def headline(self) -> str:
        plus = sum(f.added for f in self.functions)
        minus = sum(f.removed for f in self.functions)
        changed = f"{len(self.functions)} functions changed, +{plus} −{minus} lines"
        return f"{self.model}: {self.before} → {self.after}: {changed}"


@dataclass(frozen=True)
class OutputError:
    """How far one output is from its oracle.

    Parameters
    ----------
    max_abs : float
        Largest absolute difference.
    peak : float
        Largest absolute value of the oracle's output; ``max_abs / peak`` is what the tolerance bounds.
    max_ulp : float
        Largest difference in units in the last place of the oracle's value.
    index : tuple of int
        Where `max_abs` is; the first element that differs in NaN or infinity, if there is one.
    expected, got : float
        The two values there.
    non_finite : int
        Elements where just one side is NaN or infinite, or the infinities differ.
    tolerance : float, optional
        Bound on `relative` for this output alone, where the verification's own does not fit its dtype.
    both_nan : int
        Elements that are NaN on both sides: equal, and nothing was learnt of them.
    unit : float
        One unit in the last place of `peak`; 0 if it is not known.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    max_abs: float
    peak: float
    max_ulp: float
    index: tuple[int, ...]
    expected: float
    got: float
    non_finite: int
    tolerance: float | None = None
    both_nan: int = 0
    unit: float = 0.0

    @property
    def relative(self) -> float:
        """``max_abs / peak``; 0 where both are 0."""
        return self.max_abs / self.peak if self.peak else self.max_abs

    @property
    def ulp_of_peak(self) -> float:
        """``max_abs`` in units in the last place of the largest value; NaN if that unit is not known."""
        return self.max_abs / self.unit if self.unit else math.nan

    def within(self, tolerance: float) -> bool:
        """Whether it is within its own tolerance, else within this one, and equal in its NaNs and infinities."""
        return self.non_finite == 0 and self.relative <= (tolerance if self.tolerance is None else self.tolerance)


@dataclass(frozen=True, repr=False)
class Verification(Record):
    """A model's outputs against an oracle that does not share its code.

    Parameters
    ----------
    doubts : tuple of str
        Why the comparison says little: outputs that are NaN, alike or empty on both sides.
    proves_nothing : bool
        Whether that is so of all outputs: a kernel that does nothing of use would have passed as well.
    """

    model: str
    oracle: str
    tolerance: float
    outputs: tuple[OutputError, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    proves_nothing: bool = False

    @property
    def ok(self) -> bool:
        """Whether every output is within the tolerance and equal in its NaNs and infinities."""
        return all(self.within(output) for output in self.outputs)

    @property
    def verdict(self) -> str:
        """In a word or two."""
        if not self.outputs:
            return "nothing to compare"
        if not self.ok:
            return "WRONG"
        return "right, but proves nothing" if self.proves_nothing else "right"

    def within(self, output: OutputError) -> bool:
        """Whether one output is within its tolerance."""
        return output.within(self.tolerance)

    @property
    def headline(self) -> str:
        worst = max(self.outputs, key=lambda o: o.relative, default=None)
        if worst is None:
            return f"{self.model}: {self.verdict}"
        against = f"{worst.relative:.1e} of the largest value against {self.oracle}"
        if self.ok and self.proves_nothing:
            return f"{self.model}: {self.verdict}: {'; '.join(self.doubts)} ({against})"
        return f"{self.model}: {'; '.join([f'{self.verdict}, {against}', *self.doubts])}"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok}


@dataclass(frozen=True)
class KernelCheck:
    """One kernel's outputs against what they should be for the same inputs.

    Parameters
    ----------
    kernel : str
    nodes : tuple of str
        Labels of the nodes that it computes.
    outputs : tuple of OutputError
        Each with its own tolerance; none if the kernel was not run.
    note : str
        What else is known of it: that it is the same as before, or where its fault lies.
    """

    kernel: str
    nodes: tuple[str, ...]
    outputs: tuple[OutputError, ...]
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether every output is within its tolerance."""
        return all(output.within(0.0) for output in self.outputs)

    @property
    def worst(self) -> OutputError | None:
        """The output that is furthest from its oracle, measured by its tolerance."""
        return max(self.outputs, key=_badness, default=None)


def _badness(error: OutputError) -> tuple[bool, bool, float]:
    return not error.within(0.0), error.non_finite > 0, error.relative / (error.tolerance or 1e-300)


def worst_of(checks: Sequence[KernelCheck]) -> KernelCheck | None:
    """The kernel whose worst output is furthest from its oracle; None if none was run."""
    run = [check for check in checks if check.outputs]
    return max(run, key=lambda check: _badness(check.worst), default=None)  # type: ignore[arg-type]


@dataclass(frozen=True)
class StageCheck:
    """All kernels of one stage, fed with the values that they should get.

    Parameters
    ----------
    name : str
        The stage.
    kernels : tuple of KernelCheck
        In the order in which they run.
    seconds : float
    note : str
        What was compared with what.
    """

    name: str
    kernels: tuple[KernelCheck, ...]
    seconds: float
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether every kernel is within its tolerance."""
        return all(check.ok for check in self.kernels)


@dataclass(frozen=True, repr=False)
class Bisection(Record):
    """The first stage of a model's trace, and the first kernel in it, whose values leave the tolerance.

    Parameters
    ----------
    model : str
    oracle : str
        Who says what is right before the first stage.
    stages : tuple of StageCheck
        Those that were gone through; the last one is wrong, if any is.
    left : tuple of str
        Stages after the wrong one, which were not looked at.
    seconds : float
    notes : tuple of str
    """

    model: str
    oracle: str
    stages: tuple[StageCheck, ...]
    left: tuple[str, ...]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every kernel of every stage is within its tolerance."""
        return all(stage.ok for stage in self.stages)

    @property
    def stage(self) -> str | None:
        """Name of the first wrong stage; None if all are right."""
        return next((stage.name for stage in self.stages if not stage.ok), None)

    @property
    def kernel(self) -> KernelCheck | None:
        """The first wrong kernel of that stage; None if all are right."""
        return next((check for stage in self.stages for check in stage.kernels if not check.ok), None)

    @property
    def headline(self) -> str:
        check = self.kernel
        if check is None:
            most = worst_of([check for stage in self.stages for check in stage.kernels])
            return f"{self.model}: right in {len(self.stages)} stages{_at_worst(most)}"
        return (
            f"{self.model}: {self.stage} is the first stage where values leave the tolerance: "
            f"kernel {check.kernel} at {_element(check.worst)}"
        )

    def to_dict(self) -> dict[str, Any]:
        check = self.kernel
        return {**super().to_dict(), "ok": self.ok, "stage": self.stage, "kernel": check and check.kernel}


@dataclass(frozen=True, repr=False)
class GroupComparison(Record):
    """Each kernel of a fused module against the unfused kernels of its nodes, on the same inputs.

    Parameters
    ----------
    model : str
    stage : str
        Whose kernels were run.
    groups : tuple of KernelCheck
        In the order in which they run.
    seconds : float
    notes : tuple of str
    """

    model: str
    stage: str
    groups: tuple[KernelCheck, ...]
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every group is within its tolerance."""
        return all(group.ok for group in self.groups)

    @property
    def headline(self) -> str:
        wrong = [group for group in self.groups if not group.ok]
        if wrong:
            first = wrong[0]
            many = f"{len(wrong)} of {len(self.groups)} kernels differ" if len(wrong) > 1 else "a kernel differs"
            return (
                f"{self.model} after {self.stage}: {many} from the unfused ones: "
                f"{first.kernel} at {_element(first.worst)}"
            )
        many = f"{len(self.groups)} kernels are" if len(self.groups) != 1 else "1 kernel is"
        return f"{self.model} after {self.stage}: {many} as the unfused ones{_at_worst(worst_of(self.groups))}"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok}


def _at_worst(check: KernelCheck | None) -> str:
    """How far the furthest kernel is."""
    error = None if check is None else check.worst
    if check is None or error is None:
        return ""
    if error.max_abs == 0:
        return "; all values are equal"
    return f"; at worst {error.ulp_of_peak:.3g} ULP of the largest value, in {check.kernel}"


def _element(error: OutputError | None) -> str:
    """The worst element of an output, in words."""
    if error is None:
        return "an output that cannot be compared"
    index = ", ".join(map(str, error.index))
    return f"{error.name} [{index}]: expected {error.expected:.7g}, got {error.got:.7g}"


@dataclass(frozen=True)
class Side:
    """One contender of a timing: every repeat in seconds, in the order of measurement."""

    name: str
    seconds: tuple[float, ...]
    note: str = ""

    @property
    def outliers(self) -> tuple[int, ...]:
        """Which repeats lie beyond Tukey's fences, 1.5 times the distance of the quartiles from them.

        They are flagged and never removed.
        """
        ordered = sorted(self.seconds)
        low, high = quantile(ordered, 0.25), quantile(ordered, 0.75)
        reach = 1.5 * (high - low)
        return tuple(i for i, s in enumerate(self.seconds) if not low - reach <= s <= high + reach)


@dataclass(frozen=True)
class KernelTime:
    """One kernel of a compiled model: what it took, and what it had to do, in one run of the model.

    Parameters
    ----------
    name : str
    calls : int
        In one run.
    seconds : tuple of float
        All its calls in one run together; one number a repeat.
    read, written : int or None
        Bytes of inputs and outputs, each element once.  None, as all that follows, if it cannot be counted.
    around : int or None
        Bytes of buffers within it that go out to memory and come back.
    operations : int or None
        With `functions` weighed.
    functions : int or None
        Calls of ``exp``, ``tanh``, ``erf`` and their kin.
    working_set : int or None
        Bytes that one call touches.
    bandwidth : float or None
        Bytes a second that this machine moves at that working set.
    roof : float or None
        Seconds that its bytes take at `bandwidth`, or its operations at the machine's peak, whichever is more.
    bound : str
        ``"memory"`` or ``"compute"``: which of the two that is; empty if it is not known.
    """

    name: str
    calls: int
    seconds: tuple[float, ...]
    read: int | None = None
    written: int | None = None
    around: int | None = None
    operations: int | None = None
    functions: int | None = None
    working_set: int | None = None
    bandwidth: float | None = None
    roof: float | None = None
    bound: str = ""

    @property
    def median(self) -> float:
        """Seconds of all its calls in one run."""
        return quantile(sorted(self.seconds), 0.5)

    @property
    def moved(self) -> int | None:
        """Bytes, all in all."""
        if self.read is None or self.written is None or self.around is None:
            return None
        return self.read + self.written + self.around

    @property
    def lost(self) -> float:
        """Seconds beyond the roof; 0 where that is not known."""
        return 0.0 if self.roof is None else max(self.median - self.roof, 0.0)


@dataclass(frozen=True, repr=False)
class KernelProfile(Record):
    """The kernels of a compiled model, timed within its runs, against what the machine can do.

    Parameters
    ----------
    kernels : tuple of KernelTime
        Those that take longest first.
    peak : float
        Operations a second: multiply-and-add on registers in float32.
    bandwidths : mapping of int to float
        Bytes a second, by the size of the working set in bytes.
    function_weight : int
        Operations that a call of ``exp`` and its kin counts as.
    runs : tuple of float
        Seconds of whole runs, one number a repeat.
    """

    model: str
    kernels: tuple[KernelTime, ...]
    peak: float
    bandwidths: Mapping[int, float]
    function_weight: int
    threads: int
    runs: tuple[float, ...]

    @property
    def run(self) -> float:
        """Seconds of a whole run whose kernels are timed: the median."""
        return quantile(sorted(self.runs), 0.5)

    @property
    def seconds(self) -> float:
        """Of all kernels in one run."""
        return sum(kernel.median for kernel in self.kernels)

    @property
    def counted(self) -> str:
        """``28 kernels in 41 calls``."""
        kernels, calls = len(self.kernels), sum(kernel.calls for kernel in self.kernels)
        more = f" in {calls:,} calls" if calls != kernels else ""
        return f"{kernels:,} kernel{'s' * (kernels != 1)}{more}"

    def share(self, kernel: KernelTime) -> float:
        """A kernel's part of the time of all."""
        return kernel.median / self.seconds if self.seconds else 0.0

    @property
    def worst(self) -> KernelTime | None:
        """The kernel that loses most time to its roof; None if no roof is known."""
        known = [kernel for kernel in self.kernels if kernel.roof is not None]
        return max(known, key=lambda kernel: kernel.lost, default=None)

    @property
    def headline(self) -> str:
        said = f"{self.model}: {self.counted}"
        worst = self.worst
        if worst is None or worst.roof is None or not worst.median:
            return said
        return f"{said}; worst: {worst.name}, at {worst.roof / worst.median:.0%} of its {worst.bound} roof"

    def to_dict(self) -> dict[str, Any]:
        worst = self.worst
        return {**super().to_dict(), "worst": None if worst is None else worst.name}


@dataclass(frozen=True, repr=False)
class Timing(Record):
    """Sides timed interleaved in one run; repeat i of every side is from the same round.

    Parameters
    ----------
    baseline : str
        The side that ratios are taken against.
    threads : int
        Threads of every side.
    kernels : KernelProfile or None
        Of the side ``full``, if it was asked for.
    """

    model: str
    sides: tuple[Side, ...]
    baseline: str
    threads: int
    machine: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    kernels: KernelProfile | None = None

    def side(self, name: str) -> Side:
        """The side of that name, or of another name for the same; KeyError if there is none."""
        for side in self.sides:
            if _SIDES_ALIKE.get(side.name, side.name) == _SIDES_ALIKE.get(name, name):
                return side
        raise KeyError(f"no side {name!r}; there are {', '.join(s.name for s in self.sides)}")

    def ratio(self, slow: str, fast: str) -> tuple[float, float, float]:
        """Lower quartile, median and upper quartile of ``slow / fast``, paired round by round."""
        pairs = sorted(s / f for s, f in zip(self.side(slow).seconds, self.side(fast).seconds, strict=True))
        return quantile(pairs, 0.25), quantile(pairs, 0.5), quantile(pairs, 0.75)

    @property
    def headline(self) -> str:
        medians = [(side.name, quantile(sorted(side.seconds), 0.5) * 1e3) for side in self.sides]
        parts = [f"{name} {ms:,.0f} ms" if ms >= 100 else f"{name} {ms:.3g} ms" for name, ms in medians]
        return f"{self.model}, {self.threads} thread{'s' * (self.threads > 1)}: {', '.join(parts)}"


_SIDES_ALIKE = {"unfused": "none", "fused": "fuse", "scheduled": "full", "onnxruntime-all": "onnxruntime"}


def quantile(ordered: Sequence[float], q: float) -> float:
    """Quantile of values in ascending order, with linear interpolation."""
    at = (len(ordered) - 1) * q
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


@dataclass(frozen=True)
class Finding:
    """One line of the doctor: ``ok``, ``note`` or ``problem``; a problem has a mend."""

    name: str
    status: str
    detail: str
    mend: str = ""


@dataclass(frozen=True, repr=False)
class DoctorReport(Record):
    """What is installed, and whether it works together."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether no finding is a problem."""
        return all(f.status != "problem" for f in self.findings)

    @property
    def headline(self) -> str:
        bad = [f.name for f in self.findings if f.status == "problem"]
        return "all is well" if not bad else f"{len(bad)} problem{'s' * (len(bad) > 1)}: {', '.join(bad)}"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok}


@dataclass(frozen=True)
class CheckResult:
    """One check of an operator.

    Parameters
    ----------
    code : str
        ``C01`` to ``C20``.
    title : str
        What is checked.
    status : str
        ``ok``, ``failed``, ``warning`` or ``skipped``.
    why : str
        One sentence: what was found, or why it was skipped.
    mend : str
        What to write instead.
    where : str
        The line of the cell that is at fault.
    repro : str
        A cell that shows the failure when it is run.
    lesson : str
        The tutorial that explains the check.
    notes : tuple of str
        What else was seen.
    seconds : float
        How long it took.
    reads : Reads or None
        Which elements are read, where one does not exist.
    """

    code: str
    title: str
    status: str
    why: str
    mend: str = ""
    where: str = ""
    repro: str = ""
    lesson: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    reads: Reads | None = field(default=None, compare=False)


@dataclass(frozen=True)
class MatrixCell:
    """One combination of dtype, target and kind of shape, and how far the operator came.

    Parameters
    ----------
    dtype, target, shape : str
        ``float16``, ``llvm``, ``symbolic``.
    status : str
        ``right`` (values compared), ``runs`` (nothing to compare with), ``compiles`` (no device to run on),
        ``refused`` (in words), ``no code`` (TVM cannot write any) or ``wrong``.
    detail : str
        Why.
    """

    dtype: str
    target: str
    shape: str
    status: str
    detail: str = ""


@dataclass(frozen=True, repr=False)
class CheckReport(Record):
    """The health certificate of an operator.

    Parameters
    ----------
    op : str
        Name of the operator.
    results : tuple of CheckResult
        In the order of their codes.
    matrix : tuple of MatrixCell
        What works in which dtype, for which target and kind of shape; empty if that was not asked.
    quick : bool
        Whether only the checks that take milliseconds were made.
    seconds : float
        How long all took.
    """

    op: str
    results: tuple[CheckResult, ...]
    matrix: tuple[MatrixCell, ...] = ()
    quick: bool = False
    seconds: float = field(default=0.0, compare=False)

    @property
    def ok(self) -> bool:
        """Whether no check failed; warnings and skipped checks do not count."""
        return not self.failed

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """The checks that failed."""
        return self.of_status("failed")

    def of_status(self, status: str) -> tuple[CheckResult, ...]:
        """The checks that ended that way."""
        return tuple(r for r in self.results if r.status == status)

    def __getitem__(self, code: str) -> CheckResult:
        """The result of one check, by its code; KeyError if it was not made."""
        for result in self.results:
            if result.code == code:
                return result
        raise KeyError(f"no check {code!r}; there are {', '.join(r.code for r in self.results)}")

    @property
    def headline(self) -> str:
        counts = [(status, len(self.of_status(status))) for status in ("ok", "failed", "warning", "skipped")]
        words = {"ok": "ok", "failed": "failed", "warning": "warnings", "skipped": "skipped"}
        shown = ", ".join(f"{n} {words[s] if n != 1 else s}" for s, n in counts if n)
        failures = f": {', '.join(r.code for r in self.failed)}" if self.failed else ""
        return f"{self.op}: {shown or 'nothing was checked'}{failures}"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok}


@dataclass(frozen=True)
class Property:
    """What an answer to an exercise must be like.

    Parameters
    ----------
    name : str
        As a sentence that is true of a right answer.
    check : callable
        From the answer and a ``numpy.random.Generator``, from which all random inputs must come, to the first
        `Mismatch`; None if there is none.  It calls the answer with plain values alone (numbers, texts, arrays, graphs,
        lists and dicts of these), and finds out the rest by ``tvmlab.sandbox.beside(answer, probe, …)``: in grading the
        answer is in another process.
    """

    name: str
    check: Callable[[Any, Any], Mismatch | None] = field(repr=False)


@dataclass(frozen=True)
class Mismatch:
    """Where an answer first goes wrong.

    Parameters
    ----------
    what : str
        In a sentence.
    where : str
        The line of the answer, if one is at fault.
    mend : str
        What to do about it, as far as that does not give the answer away.
    """

    what: str
    where: str = ""
    mend: str = ""


@dataclass(frozen=True)
class ElementMismatch(Mismatch):
    """The first element of an array that is wrong.

    Parameters
    ----------
    case : str
        The inputs, in words.
    index : tuple of int
        Of the element.
    got, expected : ndarray
        Of equal shapes.
    wrong : ndarray of bool
        Which elements are wrong.
    names : tuple of str
        Of the rows, and of the columns too; empty if they are numbers.
    """

    case: str = ""
    index: tuple[int, ...] = ()
    got: Any = None
    expected: Any = None
    wrong: Any = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class GroupMismatch(Mismatch):
    """The first graph whose nodes are grouped otherwise.

    Parameters
    ----------
    graph : tvmlab.fusion.Graph
    got, expected : tuple of tuple of int
        The groups; those of the answer may leave nodes out, or name them twice.
    edge : tuple of int or None
        Two nodes of which the second reads the first, and that are together on one side only.
    heads : pair of str
        Whose groups these are.
    """

    graph: Any = None
    got: tuple[tuple[int, ...], ...] = ()
    expected: tuple[tuple[int, ...], ...] = ()
    edge: tuple[int, int] | None = None
    heads: tuple[str, str] = ("your groups", "TVM's groups")


@dataclass(frozen=True)
class ParentMismatch(Mismatch):
    """The first node whose parent in a tree over a graph is another.

    Parameters
    ----------
    graph : tvmlab.fusion.Graph
    node : int
    got, expected : int or None
        The parents; that of the answer may be no node at all.
    """

    graph: Any = None
    node: int = 0
    got: Any = None
    expected: int | None = None


@dataclass(frozen=True)
class EdgeMismatch(Mismatch):
    """Edges of a graph that are missing, or that are too many.

    Parameters
    ----------
    graph : tvmlab.fusion.Graph
        The right one.
    missing, extra : tuple of pairs of int
        Producer and consumer of each; one that is too many may lead backwards.
    code : str
        The nodes as they are written.
    """

    graph: Any = None
    missing: tuple[tuple[int, int], ...] = ()
    extra: tuple[tuple[int, int], ...] = ()
    code: str = ""


@dataclass(frozen=True)
class KindMismatch(Mismatch):
    """A kernel that is of another kind; `code` is what the kind is read off."""

    code: str = ""


@dataclass(frozen=True)
class ShownMismatch(Mismatch):
    """An answer that goes wrong as a whole, and a record whose picture shows how."""

    record: Any = None


@dataclass(frozen=True)
class BufferLoads:
    """How often a kernel loads an element of one buffer.

    Parameters
    ----------
    buffer : str
    role : str
        ``input``; ``between``, for one of the kernel's own; or ``result``, of which a sum loads its running total.
    loads : int
    elements : int
        Of the buffer.
    """

    buffer: str
    role: str
    loads: int
    elements: int


@dataclass(frozen=True, repr=False)
class Loads(Record):
    """What the kernels of an operator load from memory, on their loops as they are written, before any schedule.

    Parameters
    ----------
    op : str
    buffers : tuple of BufferLoads
        Those that are loaded from, in the order of the first load.
    elements : int
        Of the result.
    """

    op: str
    buffers: tuple[BufferLoads, ...]
    elements: int

    @property
    def total(self) -> int:
        """All loads."""
        return sum(each.loads for each in self.buffers)

    @property
    def per_element(self) -> float:
        """Loads for each element of the result; NaN if it has none."""
        return self.total / self.elements if self.elements else math.nan

    @property
    def headline(self) -> str:
        return f"{self.op}: {self.total:,} loads for {self.elements:,} elements, {self.per_element:.3g} each"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "total": self.total}


@dataclass(frozen=True)
class MutantResult:
    """One slip on purpose, and which calls of a test notice it.

    Parameters
    ----------
    mutant : str
    slip : str
        What was changed, in words.
    killed_by : tuple of int
        Places of the calls at which it gives something else.
    """

    mutant: str
    slip: str
    killed_by: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class MutationScore(Record):
    """How many slips the inputs of a test would notice.

    Parameters
    ----------
    op : str
        What is tested.
    calls : tuple of str
        The calls, in words.
    results : tuple of MutantResult
        Those too that no input can tell from what is tested: which these are, somebody has to prove.
    """

    op: str
    calls: tuple[str, ...]
    results: tuple[MutantResult, ...]

    @property
    def killed(self) -> tuple[MutantResult, ...]:
        """Mutants that are noticed."""
        return tuple(result for result in self.results if result.killed_by)

    @property
    def alive(self) -> tuple[MutantResult, ...]:
        """Mutants that are not."""
        return tuple(result for result in self.results if not result.killed_by)

    @property
    def headline(self) -> str:
        calls = "1 call kills" if len(self.calls) == 1 else f"{len(self.calls)} calls kill"
        return f"{self.op}: {calls} {len(self.killed)} of {len(self.results)} mutants"


@dataclass(frozen=True, repr=False)
class Exercise(Record):
    """Something to be solved in one cell.

    Parameters
    ----------
    id : str
        Number of the lesson and a letter: ``04a``.
    title : str
    grade : int
        1 (fill one line), 2 (write it) or 3 (design it).
    statement : str
        What is to be done.
    starter : str
        The cell to begin with; ``...`` stands where something is to be written.
    asks : str
        What the cell defines: an operator if there is a dot in it, ``lab.leaky_clamp``, else a function, ``fuse``.
    properties : tuple of Property
        What is checked while the student works.
    hints : tuple of str
        Three, each saying more; the last is an outline, never the solution.
    lesson : str
        The notebook that it belongs to, without its ending.
    """

    id: str
    title: str
    grade: int
    statement: str
    starter: str
    asks: str
    properties: tuple[Property, ...] = field(repr=False)
    hints: tuple[str, str, str] = field(repr=False)
    lesson: str

    @property
    def stars(self) -> str:
        """The grade as it is shown."""
        return "★" * self.grade

    @property
    def headline(self) -> str:
        return f"{self.id} {self.stars} {self.title}"


@dataclass(frozen=True)
class PropertyResult:
    """Whether an answer has a property: ``state`` is ``"holds"``, ``"fails"`` or ``"untried"``."""

    name: str
    state: str
    mismatch: Mismatch | None = None


@dataclass(frozen=True, repr=False)
class Verdict(Record):
    """What an answer to an exercise is worth.

    Parameters
    ----------
    exercise, title : str
    results : tuple of PropertyResult
        In the order of the exercise.
    unwritten : str
        The line at which nothing is written yet; empty if there is none.
    notes : tuple of str
        What else the student must know.
    answer : Op, function or None
        What the cell defined.
    """

    exercise: str
    title: str
    results: tuple[PropertyResult, ...]
    unwritten: str = ""
    notes: tuple[str, ...] = ()
    answer: Any = field(default=None, repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether the answer has every property."""
        return bool(self.results) and all(result.state == "holds" for result in self.results)

    @property
    def mismatch(self) -> Mismatch | None:
        """The first thing that is wrong."""
        return next((result.mismatch for result in self.results if result.mismatch is not None), None)

    @property
    def headline(self) -> str:
        held = sum(result.state == "holds" for result in self.results)
        if self.unwritten:
            return f"{self.exercise} {self.title}: not written yet, at {self.unwritten}"
        found = f"{held} of {len(self.results)} properties hold"
        if self.ok:
            return f"{self.exercise} {self.title}: solved, {found}"
        return f"{self.exercise} {self.title}: not yet, {found}" + (f": {self.mismatch.what}" if self.mismatch else "")

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok}


@dataclass(frozen=True, repr=False)
class Hints(Record):
    """The hints to an exercise that were asked for; `left` more are to come."""

    exercise: str
    title: str
    shown: tuple[str, ...]
    left: int

    @property
    def headline(self) -> str:
        said = f"hint {len(self.shown)} of {len(self.shown) + self.left}"
        return f"{self.exercise} {self.title}, {said}: {self.shown[-1]}"


@dataclass(frozen=True)
class Standing:
    """How far a student is with one exercise: ``state`` is ``"solved"``, ``"tried"`` or ``"new"``."""

    exercise: str
    title: str
    grade: int
    lesson: str
    state: str
    attempts: int
    hints: int


@dataclass(frozen=True, repr=False)
class CourseProgress(Record):
    """How far a student is.

    Parameters
    ----------
    standings : tuple of Standing
        In the order of the course.
    file : str
        Where it is kept.
    """

    standings: tuple[Standing, ...]
    file: str

    @property
    def headline(self) -> str:
        solved = sum(standing.state == "solved" for standing in self.standings)
        upcoming = next((s for s in self.standings if s.state != "solved"), None)
        then = f"; next: {upcoming.exercise} {upcoming.title}" if upcoming else ""
        return f"{solved} of {len(self.standings)} exercises solved{then}"


@dataclass(frozen=True, repr=False)
class Report(Record):
    """A file with all records of one model.

    Parameters
    ----------
    model : str
    file : str
        The HTML file.
    bytes : int
        Its size.
    facts : mapping of str to str
        What it says first: kernels, whether it is right, how fast.
    seconds : mapping of str to float
        What each part took, by its title.
    ok : bool
        Whether every part could be made, and what was verified is right.
    """

    model: str
    file: str
    bytes: int
    facts: Mapping[str, str]
    seconds: Mapping[str, float]
    ok: bool

    @property
    def headline(self) -> str:
        return f"{self.model}: report in {self.file} ({self.bytes / 1000:,.0f} kB; open it in a browser)"


@dataclass(frozen=True)
class TensorReads:
    """What is read of one tensor to make one element of a result.

    Parameters
    ----------
    name : str
    shape : tuple of int
    role : str
        ``"input"``, ``"between"`` or ``"output"``; of the latter it is the element that is made.
    inside : mapping of tuple of int to int
        How often each element is read.
    outside : tuple of tuple of int
        Indices that are read, and do not exist.
    by_data : bool
        Whether data say which elements are read; any may be.
    """

    name: str
    shape: tuple[int, ...]
    role: str
    inside: Mapping[tuple[int, ...], int]
    outside: tuple[tuple[int, ...], ...] = ()
    by_data: bool = False

    @property
    def times(self) -> int:
        """Reads of elements that exist, each as often as it is read."""
        return sum(self.inside.values())


@dataclass(frozen=True, repr=False)
class Reads(Record):
    """Which elements one element of a te.compute is made of.

    Parameters
    ----------
    subject : str
        Name of the operator or function.
    at : tuple of int
        The element of the result.
    tensors : tuple of TensorReads
        Inputs, what is computed in between, and the output.
    """

    subject: str
    at: tuple[int, ...]
    tensors: tuple[TensorReads, ...]

    @property
    def ok(self) -> bool:
        """Whether every element that is read exists."""
        return not any(tensor.outside for tensor in self.tensors)

    @property
    def headline(self) -> str:
        made = f"{self.subject}: {self.tensors[-1].name}[{', '.join(map(str, self.at))}]"
        read = [f"{t.times:,} of {t.name}" for t in self.tensors if t.role == "input" and (t.inside or t.outside)]
        wrong = [f"{len(t.outside):,} outside of {t.name}" for t in self.tensors if t.outside]
        data = [f"of {t.name} what its data say" for t in self.tensors if t.by_data]
        return f"{made} reads {', '.join([*read, *data]) or 'nothing'}" + (f"; {', '.join(wrong)}" if wrong else "")

    def to_dict(self) -> dict[str, Any]:
        tensors = [
            {
                "name": tensor.name,
                "shape": list(tensor.shape),
                "role": tensor.role,
                "inside": [[list(index), times] for index, times in tensor.inside.items()],
                "outside": [list(index) for index in tensor.outside],
                "by_data": tensor.by_data,
            }
            for tensor in self.tensors
        ]
        return {"subject": self.subject, "at": list(self.at), "tensors": tensors, "ok": self.ok}


@dataclass(frozen=True)
class ExerciseMark:
    """What a student gets for one exercise: a point for each property that holds.

    Parameters
    ----------
    exercise, title : str
    results : tuple of PropertyResult
        Of all properties, the hidden ones last; those that were not tried are worth nothing.
    hidden : int
        How many of them are hidden.
    finding : str
        Why nothing was tried, or the first thing that is wrong; for the teacher, since it may tell secret inputs.
    trouble : str
        What is wrong with the exercise itself; empty if nothing is.
    """

    exercise: str
    title: str
    results: tuple[PropertyResult, ...]
    hidden: int = 0
    finding: str = ""
    trouble: str = ""

    @property
    def points(self) -> int:
        """One for each property that holds."""
        return sum(result.state == "holds" for result in self.results)

    @property
    def of(self) -> int:
        """How many there are."""
        return len(self.results)


@dataclass(frozen=True, repr=False)
class StudentMarks(Record):
    """What a student gets for the exercises of a submission.

    Parameters
    ----------
    student : str
    exercises : tuple of ExerciseMark
    findings : tuple of str
        What is wrong with the files.
    """

    student: str
    exercises: tuple[ExerciseMark, ...]
    findings: tuple[str, ...] = ()

    @property
    def points(self) -> int:
        """Those of all exercises."""
        return sum(mark.points for mark in self.exercises)

    @property
    def of(self) -> int:
        """As many as there are."""
        return sum(mark.of for mark in self.exercises)

    @property
    def headline(self) -> str:
        return f"{self.student}: {self.points} of {self.of} points"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "points": self.points, "of": self.of}


@dataclass(frozen=True, repr=False)
class ClassMarks(Record):
    """What a class gets.

    Parameters
    ----------
    students : tuple of StudentMarks
    folder : str
        Where the results are.
    judged : int
        How many submissions were judged in this run; the others were judged before.
    """

    students: tuple[StudentMarks, ...]
    folder: str
    judged: int = 0

    @property
    def ok(self) -> bool:
        """Whether every exercise could be judged."""
        return not any(mark.trouble for student in self.students for mark in student.exercises)

    @property
    def headline(self) -> str:
        of = sum(student.of for student in self.students)
        share = f", {sum(student.points for student in self.students) / of:.0%} of the points" if of else ""
        before = len(self.students) - self.judged
        kept = f" ({before} judged before)" if before else ""
        return f"{len(self.students)} submissions{kept}{share}; results in {self.folder}"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok}


@dataclass(frozen=True, repr=False)
class NotebookCheck(Record):
    """What was found in a notebook.

    Parameters
    ----------
    file : str
    mended : tuple of str
        What was wrong and is right now; with ``mend=False`` what would be mended.
    left : tuple of str
        What only the student can mend.
    backup : str
        The notebook as it was; empty if nothing was written.
    """

    file: str
    mended: tuple[str, ...]
    left: tuple[str, ...]
    backup: str = ""

    @property
    def ok(self) -> bool:
        """Whether it can be graded as it is now."""
        return not self.left and (bool(self.backup) or not self.mended)

    @property
    def headline(self) -> str:
        if not self.mended and not self.left:
            return f"{self.file}: nothing is wrong"
        done = "mended" if self.backup else "to be mended"
        parts = [f"{len(self.mended)} {done}"] if self.mended else []
        parts += [f"{len(self.left)} for you"] if self.left else []
        kept = f"; as it was: {self.backup}" if self.backup else ""
        return f"{self.file}: {', '.join(parts)}{kept}"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok}
