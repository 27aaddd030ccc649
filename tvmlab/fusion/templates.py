"""Patterns of one's own: small graphs that become one group wherever they occur.

A list of operators in a row cannot say that a value is read twice, that an order of operands does not matter, or that a
node may be missing.  So a template is a small graph itself, written from its last step backwards::

    x, weight = value("x"), value("weight", constant=True)
    conv = op("Conv", x, weight, value("bias", optional=True), role="conv")
    mine = template("conv_relu", op("Relu", conv))

`match_templates` finds where it occurs, and `impose` partitions a graph around what was found.  What only looks like
the pattern is no match: operator, domain, number and roles of operands, attributes and shapes must fit, a value of the
same role must be the same value, and no value that would vanish into the group may be needed anywhere else.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tvmlab.errors import GraphError
from tvmlab.fusion.graph import Graph, Kind
from tvmlab.fusion.grouping import MAX_DEPTH, Grouping
from tvmlab.fusion.kinds import STANDARD, Shape, Use
from tvmlab.fusion.onnx_graph import reads
from tvmlab.fusion.partition import partition
from tvmlab.fusion.reasons import Change
from tvmlab.records import Partition

if TYPE_CHECKING:
    from tvmlab.fusion.onnx_reader import OnnxReading

__all__ = [
    "LIVE_DOMAIN",
    "Either",
    "Match",
    "Pattern",
    "Pick",
    "Step",
    "Template",
    "TemplateGrouping",
    "Value",
    "either",
    "impose",
    "match_templates",
    "maybe",
    "op",
    "operand_orders",
    "parts",
    "template",
    "value",
]

LIVE_DOMAIN = "tvmlab"
"""The ONNX domain of live operators."""

_COMMUTATIVE = frozenset(
    {"Add", "Mul", "Max", "Min", "Sum", "Mean", "And", "Or", "Xor", "Equal", "BitwiseAnd", "BitwiseOr", "BitwiseXor"}
)
_MOST_STEPS = 200
_TOLERANCE = 1e-3  # of constants such as the root of two, which half precision knows to three digits


# What a template is made of


@dataclass(frozen=True, eq=False)
class Value:
    """A value from outside: see `value`."""

    role: str = ""
    constant: bool = False
    equals: float | None = None
    optional: bool = False
    shape: Callable[[Shape], bool] | None = None


@dataclass(frozen=True, eq=False)
class Step:
    """A node of the pattern: see `op`.  ``step[1]`` is its second output."""

    names: tuple[str, ...]
    operands: tuple[Pattern, ...]
    domain: str = ""
    role: str = ""
    where: Callable[[Use], bool] | None = None
    commutative: bool = False
    more: bool = False

    def __getitem__(self, output: int) -> Pick:
        return Pick(self, output)

    def __iter__(self) -> Iterator[Pick]:
        raise GraphError("a step has no known number of outputs", mend="name them one by one: step[0], step[1]")


@dataclass(frozen=True, eq=False)
class Pick:
    """An output of a step that has several."""

    step: Step
    output: int


@dataclass(frozen=True, eq=False)
class Either:
    """One of several patterns: see `either`."""

    choices: tuple[Pattern, ...]


Pattern = Value | Step | Pick | Either


@dataclass(frozen=True, eq=False)
class Template:
    """A pattern with a name: see `template`."""

    name: str
    root: Pattern = field(repr=False)
    where: Callable[[Match], bool] | None = field(default=None, repr=False)


def value(
    role: str = "",
    *,
    constant: bool = False,
    equals: float | None = None,
    optional: bool = False,
    shape: Callable[[Shape], bool] | None = None,
) -> Value:
    """A value that comes from outside of the pattern.

    Written once and used in several places, it must be the same value in all of them.

    Parameters
    ----------
    role : str
        What to call it.
    constant : bool
        Whether it must be known before the model runs.
    equals : float, optional
        The one number that it must consist of, within a thousandth; it is a constant then.
    optional : bool
        Whether the operand may be absent.
    shape : callable, optional
        From its shape to whether that fits; where the shape is not known, nothing fits.
    """
    return Value(role, constant or equals is not None, equals, optional, shape)


def op(
    names: str | Sequence[str],
    *operands: Pattern,
    domain: str | None = None,
    role: str = "",
    where: Callable[[Use], bool] | None = None,
    commutative: bool | None = None,
    more: bool = False,
) -> Step:
    """A node.  Written once and used in several places, it must be the same node in all of them.

    Parameters
    ----------
    names : str or sequence of str
        Operator types, any of which will do.  One with a dot, such as ``lab.leaky_clamp``, is a live operator.
    *operands : Pattern
        What it reads.
    domain : str, optional
        Of the operator.
    role : str
        What to call it.
    where : callable, optional
        From a `tvmlab.fusion.kinds.Use`, with attributes and shapes, to whether that fits.
    commutative : bool, optional
        Whether the operands may come in any order; default: where the operator says so.
    more : bool
        Whether it may read further values, whatever they are.
    """
    known = (names,) if isinstance(names, str) else tuple(names)
    if domain is None:
        domain = LIVE_DOMAIN if any("." in name for name in known) else ""
    if commutative is None:
        commutative = domain in STANDARD and all(name in _COMMUTATIVE for name in known)
    return Step(known, operands, "" if domain in STANDARD else domain, role, where, commutative, more)


def either(*choices: Pattern) -> Either:
    """The first of several patterns that fits."""
    return Either(choices)


def maybe(step: Step) -> Either:
    """A step that may be missing: then its first operand is in its place."""
    return Either((step, step.operands[0]))


def template(name: str, root: Pattern, *, where: Callable[[Match], bool] | None = None) -> Template:
    """A pattern with a name.

    Parameters
    ----------
    name : str
        Its matches are called after it.
    root : Pattern
        The last step.
    where : callable, optional
        From a `Match` to whether it is one: for what no step alone can tell.

    Raises
    ------
    GraphError
        It begins with no step, has too many steps, or two different parts have one role.
    """
    found = list(parts(root))
    steps = [part for part in found if isinstance(part, Step)]
    if not steps or isinstance(root, Value):
        raise GraphError(f"template {name!r} has no step at its end", mend='begin with op("Relu", …)')
    if len(steps) > _MOST_STEPS:
        raise GraphError(f"template {name!r} has {len(steps)} steps", mend=f"at most {_MOST_STEPS} are matched")
    for role, count in Counter(part.role for part in found if isinstance(part, Value | Step)).items():
        if role and count > 1:
            raise GraphError(
                f"template {name!r} has {count} parts of the role {role!r}",
                mend="write the part once, and use it in all of these places",
            )
    return Template(name, root, where)


def parts(pattern: Pattern) -> Iterator[Pattern]:
    """Every part of a pattern once."""
    seen: set[int] = set()
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        match part:
            case Step():
                waiting += part.operands
            case Pick():
                waiting.append(part.step)
            case Either():
                waiting += part.choices


def operand_orders(step: Step) -> Iterator[tuple[Pattern, ...]]:
    """The orders in which the operands of a step may come."""
    if step.commutative:
        yield from itertools.permutations(step.operands)
    else:
        yield step.operands


# Finding it


@dataclass(frozen=True)
class Match:
    """Where a template occurs.

    Parameters
    ----------
    template : str
        Its name.
    nodes : tuple of int
        The nodes that make it up, ascending; the last one alone is read from outside.
    roles : mapping of str to str
        From a role to the name of the value, or the label of the node, that plays it; optional parts may be missing.
    shapes : mapping of str to Shape or None
        From the role of a value to its shape, as far as it is known.
    uses : mapping of str to Use
        From the role of a step to what its node does.
    """

    template: str
    nodes: tuple[int, ...]
    roles: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, Shape | None] = field(default_factory=dict, repr=False)
    uses: Mapping[str, Use] = field(default_factory=dict, repr=False)


def match_templates(reading: OnnxReading, templates: Iterable[Template | str]) -> list[Match]:
    """Find templates in a model.

    Templates are tried in their order, each from the model's last node to its first, and a node is in one match alone:
    what comes first has it.  Of several ways to match at one node the first that fits is taken, which for an optional
    step is the way with it.

    Parameters
    ----------
    reading : OnnxReading
        See `tvmlab.fusion.read_onnx`.
    templates : iterable of Template or str
        A name is that of one that is shipped: see `tvmlab.fusion.template_gallery`.  One alone needs no list.

    Returns
    -------
    list of Match
        By their last nodes.  The numbers are those of the reading's graph.

    Raises
    ------
    GraphError
        No template of that name is shipped.
    """
    if isinstance(templates, str | Template):
        templates = [templates]
    if not isinstance(templates, Iterable):
        raise GraphError(f"templates={templates!r} is no list of templates", mend='such as templates=["conv_bn_relu"]')
    finder = _Finder(reading)
    for given in templates:
        pattern = template_named(given)
        for root in reversed(range(len(reading.nodes))):
            finder.take(pattern, root)
    return sorted(finder.matches, key=lambda match: match.nodes[-1])


def template_named(given: Template | str) -> Template:
    """A template as it is; of a name, the one that is shipped.

    Raises
    ------
    GraphError
        None of that name is shipped.
    """
    if isinstance(given, Template):
        return given
    from tvmlab.fusion.template_gallery import shipped

    known = shipped()
    if given in known:
        return known[given]
    raise GraphError(f"no template {given!r} is shipped", mend=f"there are {', '.join(known)}; or make one")


Bound = dict[Pattern, Any]  # from a Value to the name of a value, from a Step to the number of a node


class _Finder:
    """Matches templates, and remembers which nodes are taken."""

    def __init__(self, reading: OnnxReading) -> None:
        self.reading = reading
        self.makers = {
            name: (at, output)
            for at, node in enumerate(reading.nodes)
            for output, name in enumerate(node.output)
            if name
        }
        self.read_how_often = reading.view.readers()
        self.taken: set[int] = set()
        self.matches: list[Match] = []
        self.uses: dict[int, Use] = {}

    def use(self, node: int) -> Use:
        if node not in self.uses:
            self.uses[node] = self.reading.use(node)
        return self.uses[node]

    def take(self, template: Template, root: int) -> None:
        """Take the first match, if there is one, whose last step is this node."""
        for output, name in enumerate(self.reading.nodes[root].output):
            if (name and output == 0) or (name and isinstance(template.root, Pick)):
                for bound in self._at(template.root, name, None, {}):
                    found = self._accepted(template, bound, root)
                    if found is not None:
                        self.matches.append(found)
                        self.taken.update(found.nodes)
                        return

    def _at(self, pattern: Pattern, name: str, reader: tuple[int, int] | None, bound: Bound) -> Iterator[Bound]:
        """The ways in which a pattern fits the value of a name, which a reader has as its operand of a number."""
        match pattern:
            case Value():
                if self._fits(pattern, name, reader, bound):
                    yield {**bound, pattern: name}
            case Either():
                for choice in pattern.choices:
                    yield from self._at(choice, name, reader, bound)
            case Step():
                yield from self._step(pattern, 0, name, bound)
            case Pick():
                yield from self._step(pattern.step, pattern.output, name, bound)

    def _fits(self, pattern: Value, name: str, reader: tuple[int, int] | None, bound: Bound) -> bool:
        if pattern in bound:
            return bool(bound[pattern] == name)
        if not name:
            return pattern.optional
        if reader is None:
            return False
        use, position = self.use(reader[0]), reader[1]
        shape = use.inputs[position]
        if pattern.shape is not None and (shape is None or not pattern.shape(shape)):
            return False
        if pattern.constant and not use.constant[position]:
            return False
        return pattern.equals is None or _all_equal(use.values(position), pattern.equals)

    def _step(self, step: Step, output: int, name: str, bound: Bound) -> Iterator[Bound]:
        if name not in self.makers:
            return
        node, place = self.makers[name]
        if place != output:
            return
        if step in bound:
            if bound[step] == node:
                yield bound
            return
        if node in self.taken or node in (n for part, n in bound.items() if isinstance(part, Step)):
            return
        use = self.use(node)
        domain = "" if use.domain in STANDARD else use.domain
        if use.op not in step.names or domain != step.domain or not (step.where is None or step.where(use)):
            return
        for operands in operand_orders(step):
            yield from self._operands(step, node, operands, {**bound, step: node})

    def _operands(self, step: Step, node: int, operands: tuple[Pattern, ...], bound: Bound) -> Iterator[Bound]:
        given = list(self.reading.nodes[node].input)
        if len(given) > len(operands) and not step.more:
            return
        given += [""] * (len(operands) - len(given))
        ways = [bound]
        for position, operand in enumerate(operands):
            ways = [further for way in ways for further in self._at(operand, given[position], (node, position), way)]
        yield from ways

    def _accepted(self, template: Template, bound: Bound, root: int) -> Match | None:
        steps = {part: node for part, node in bound.items() if isinstance(part, Step)}
        inside = set(steps.values())
        if any(name in self.makers and self.makers[name][0] in inside for name in self._outside(bound)):
            return None  # a value that is said to come from outside is made inside
        nodes = self.reading.nodes
        read = Counter(name for node in inside for name in reads(nodes[node]))
        inner = (name for node in inside if node != root for name in nodes[node].output if name)
        if any(self.read_how_often[name] > read[name] for name in inner):
            return None  # somebody else needs it
        found = self._described(template, bound, tuple(sorted(inside)))
        return found if template.where is None or template.where(found) else None

    @staticmethod
    def _outside(bound: Bound) -> Iterator[str]:
        return (name for part, name in bound.items() if isinstance(part, Value) and name)

    def _described(self, template: Template, bound: Bound, nodes: tuple[int, ...]) -> Match:
        roles: dict[str, str] = {}
        shapes: dict[str, Shape | None] = {}
        uses: dict[str, Use] = {}
        for part, found in bound.items():
            if isinstance(part, Step) and part.role:
                roles[part.role] = self.reading.graph.label(found)
                uses[part.role] = self.use(found)
            elif isinstance(part, Value) and part.role and found:
                roles[part.role] = found
                shapes[part.role] = self.reading.shapes.get(found)
        return Match(template.name, nodes, roles, shapes, uses)


def _all_equal(values: list[float] | None, wanted: float) -> bool:
    return bool(values) and all(math.isclose(v, wanted, rel_tol=_TOLERANCE, abs_tol=1e-12) for v in values or ())


# Imposing it on a partition


@dataclass(frozen=True, eq=False, repr=False)
class TemplateGrouping(Grouping):
    """Groups of which some are what templates matched; see `impose`.

    Parameters
    ----------
    origin : Graph
        The graph with the kinds that its nodes have by themselves; in `graph`, matched ones are opaque.
    matches : tuple of Match
    """

    origin: Graph = field(default_factory=lambda: Graph.from_kinds([], []), repr=False)
    matches: tuple[Match, ...] = ()

    def match_of(self, node: int | str) -> Match | None:
        """The match that a node, by number or label, is in."""
        index = self.graph.index(node)
        return next((match for match in self.matches if index in match.nodes), None)

    def why(self, a: int | str, b: int | str) -> str:
        """Why two nodes are or are not in one group; that of a match is told from its template."""
        names = [self.graph.label(self.graph.index(node)) for node in (a, b)]
        found = [self.match_of(node) for node in (a, b)]
        if found[0] is None and found[1] is None:
            return super().why(a, b)
        if found[0] == found[1]:
            return (
                f"{names[0]} and {names[1]} are in one group: template {found[0] and found[0].template} matched both."
            )
        inside, match = next((name, match) for name, match in zip(names, found, strict=True) if match is not None)
        return (
            f"{names[0]} and {names[1]} stay apart: {inside} is in a match of template {match.template}, "
            "and nothing is fused into or behind a match. Without the template, the rules would decide."
        )

    def record(self, model: str, engine: str, level: str) -> Partition:
        """The partition as a record, with the nodes' own kinds; a matched group is called after its template."""
        plain = dataclasses.replace(self, graph=self.origin)
        record = super(TemplateGrouping, plain).record(model, engine, level)
        names = {self.graph.label(match.nodes[-1]): f"fused_{match.template}" for match in self.matches}
        groups = tuple(dataclasses.replace(g, kernel=names.get(g.nodes[-1], g.kernel)) for g in record.groups)
        return dataclasses.replace(record, groups=groups, grouping=self)

    def changed(self, change: Change, *, without: Iterable[str] = ()) -> Grouping:
        """The groups after a change; the matches stay."""
        plain = dataclasses.replace(self, graph=self.origin)
        after = super(TemplateGrouping, plain).changed(change, without=without)
        return impose(after.graph, self.matches, after.max_depth, without=after.without)


def impose(
    graph: Graph, matches: Iterable[Match], max_depth: int = MAX_DEPTH, *, without: Iterable[str] = ()
) -> TemplateGrouping:
    """Partition a graph around matches: each is a group, and the rules decide about all other nodes.

    To the rules, a match is one opaque node: nothing is fused into it, behind it, or across it.  That is what TVM does,
    where FuseOpsByPattern makes functions first that FuseOps leaves alone.  Since of a match only the last node is read
    outside, the groups have no hole.

    Parameters
    ----------
    graph : Graph
        That of the reading in which the matches were found.
    matches : iterable of Match
        Disjoint, as `match_templates` returns them.
    max_depth : int
        Of the other groups.
    without : iterable of str
        Phases to leave out: see `Grouping.what_if`.

    Raises
    ------
    GraphError
        A node is in two matches.
    """
    found = tuple(matches)
    counted = Counter(node for match in found for node in match.nodes)
    twice = next((node for node, count in counted.items() if count > 1), None)
    if twice is not None:
        raise GraphError(f"node {graph.label(twice)!r} is in two matches", mend="leave one of them out")
    kinds = bytearray(graph.kinds)
    for node in counted:
        kinds[node] = Kind.OPAQUE
    grouping = partition(graph.with_kinds(bytes(kinds)), max_depth)
    if without:
        grouping = grouping.what_if(without=without)
    sinks = grouping.sinks.copy()
    for match in found:
        sinks[list(match.nodes)] = match.nodes[-1]
    given = {f.name: getattr(grouping, f.name) for f in dataclasses.fields(Grouping)}
    return TemplateGrouping(**{**given, "sinks": sinks}, origin=graph, matches=found)
