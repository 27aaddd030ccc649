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

Bundle = dict[str, Any]

_PICTURES: dict[str, Callable[[Any], Bundle]] = {}
_Draw = TypeVar("_Draw", bound=Callable[..., Bundle])


def picture(kind: type[Record] | str) -> Callable[[_Draw], _Draw]:
    """Register how records of a class look: a function from the record to a bundle of MIME types.

    The class may be given by its name, so that a picture needs no import of a room that imports TVM.
    """
    key = kind if isinstance(kind, str) else kind.__name__

    def register(draw: _Draw) -> _Draw:
        _PICTURES[key] = draw
        return draw

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
class Partition(Record):
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
        """What another partition does differently."""
        old, new = (dict.fromkeys(group.nodes for group in part.groups) for part in (self, other))
        return PartitionDiff(
            model=self.model,
            before=self.engine,
            after=other.engine,
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
            return f"{self.model}: {sides} agree on all {self.same} groups"
        apart = f"{len(self.only_before)} groups against {len(self.only_after)}"
        return f"{self.model}: {sides} agree on {self.same} groups, and have {apart} where they differ"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "ok": self.ok}


@dataclass(frozen=True)
class FunctionDiff:
    """How one function changed between two stages; ``before`` or ``after`` is empty if it is not there."""

    name: str
    before: str
    after: str
    added: int
    removed: int


@dataclass(frozen=True, repr=False)
class StageDiff(Record):
    """Difference of two stages, function by function; unchanged functions are only counted."""

    model: str
    before: str
    after: str
    functions: tuple[FunctionDiff, ...]
    unchanged: int

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

    @property
    def relative(self) -> float:
        """``max_abs / peak``; 0 where both are 0."""
        return self.max_abs / self.peak if self.peak else self.max_abs


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
        bound = self.tolerance if output.tolerance is None else output.tolerance
        return output.non_finite == 0 and output.relative <= bound

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
class Side:
    """One contender of a timing: every repeat in seconds, in the order of measurement."""

    name: str
    seconds: tuple[float, ...]
    note: str = ""


@dataclass(frozen=True, repr=False)
class Timing(Record):
    """Sides timed interleaved in one run; repeat i of every side is from the same round.

    Parameters
    ----------
    baseline : str
        The side that ratios are taken against.
    threads : int
        Threads of every side.
    """

    model: str
    sides: tuple[Side, ...]
    baseline: str
    threads: int
    machine: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def side(self, name: str) -> Side:
        """The side of that name; KeyError if there is none."""
        for side in self.sides:
            if side.name == name:
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
