"""Why two nodes share a kernel or do not, in words, and what would change it.

`decision_for` finds the one decision that kept two nodes apart, or that put them together; `explain` tells it.  For a
refusal, `removal` says what has to be different so that the same rule no longer refuses: `Grouping.changed` shows what
comes of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tvmlab.fusion.graph import Graph, Kind
from tvmlab.fusion.rule import Rule

if TYPE_CHECKING:
    from tvmlab.fusion.grouping import Grouping

__all__ = [
    "Change",
    "Decision",
    "because",
    "decision_at",
    "decision_for",
    "decision_of",
    "explain",
    "inner_nodes",
    "removal",
    "verdict",
]

_UNLIMITED = 1 << 30


@dataclass(frozen=True)
class Change:
    """What could be different in a graph.

    Parameters
    ----------
    kinds : mapping of int to Kind
        Other kinds of nodes.
    max_depth : int or None
        Another limit of the group size.
    unneeded : tuple of int
        Nodes whose values are not needed outside; those that nobody reads then are as good as gone.
    """

    kinds: Mapping[int, Kind] = field(default_factory=dict)
    max_depth: int | None = None
    unneeded: tuple[int, ...] = ()


@dataclass(frozen=True)
class Decision:
    """One merge or refusal.

    Parameters
    ----------
    rule : Rule
        Why.
    phase : int or None
        In which phase; None for rules that hold in all.
    node : int
        The node whose turn it was.
    into : int or None
        Its post-dominator.
    culprits : tuple of int
        The nodes that decided: the first is told.
    path : tuple of int
        A way from `node` over the first culprit to `into`.
    """

    rule: Rule
    phase: int | None
    node: int
    into: int | None
    culprits: tuple[int, ...] = ()
    path: tuple[int, ...] = ()

    @property
    def merged(self) -> bool:
        """Whether it was a merge."""
        return self.rule is Rule.MERGED


def decision_of(grouping: Grouping, node: int) -> Decision:
    """The decision about a node and its post-dominator: a merge, or the last refusal.

    For an inner node of another one's merge it is that merge.
    """
    into = grouping.tree.of(node)
    if into is None:
        return _without_meeting_point(grouping.graph, node)
    if grouping.together(node, into):
        return _merge_of(grouping, node, into)
    refusals = [
        (phase, Rule(rules[node])) for phase, rules in enumerate(grouping.rules) if rules[node] >= Rule.PATH_KIND
    ]
    if not refusals:
        return Decision(Rule.OWN_KIND, None, node, into, (node,), _path(grouping.graph, node, into, ()))
    phase, rule = refusals[-1]
    culprits = _culprits(grouping, rule, phase, node, into)
    return Decision(rule, phase, node, into, culprits, _path(grouping.graph, node, into, culprits))


def decision_at(grouping: Grouping, phase: int, node: int) -> Decision:
    """What was decided about a node in one phase; in all, if it has no post-dominator, or may start no merge."""
    into = grouping.tree.of(node)
    if into is None:
        return _without_meeting_point(grouping.graph, node)
    rule = Rule(grouping.rules[phase][node])
    if rule is Rule.NOT_ITS_TURN:
        return Decision(Rule.OWN_KIND, None, node, into, (node,), _path(grouping.graph, node, into, ()))
    culprits = _culprits(grouping, rule, phase, node, into) if rule >= Rule.PATH_KIND else ()
    return Decision(rule, phase, node, into, culprits, _path(grouping.graph, node, into, culprits))


def verdict(grouping: Grouping, decision: Decision) -> str:
    """A decision in words, and for a refusal what would change it."""
    if decision.merged:
        return f"Merged: {_merge_sentence(grouping, decision, {decision.node, decision.into or 0})}."
    return f"Not merged: {_reason(grouping, decision)}. {_remedy(grouping, decision)}"


def decision_for(grouping: Grouping, a: int, b: int) -> Decision:
    """The decision that put two nodes into one group, or the first one that kept them apart."""
    a, b = min(a, b), max(a, b)
    if grouping.together(a, b):
        return decision_of(grouping, a)
    meet = _meeting_point(grouping, a, b)
    sink = int(grouping.sinks[a])
    if meet is None:
        last = [sink, *grouping.tree.chain(sink)][-1]
        return decision_of(grouping, last)
    if grouping.together(a, meet):
        sink = int(grouping.sinks[b])
    return decision_of(grouping, sink)


def explain(grouping: Grouping, a: int, b: int) -> str:
    """One or two sentences."""
    a, b = min(a, b), max(a, b)
    graph, decision = grouping.graph, decision_for(grouping, a, b)
    first, second = graph.label(a), graph.label(b)
    if a == b:
        return f"{first} is one node: it is in the group {_listed(graph, grouping.group_of(a))}."
    if decision.merged:
        return f"{first} and {second} share a kernel: {because(grouping, a, b)}."
    return f"{first} and {second} stay apart: {because(grouping, a, b)}. {_remedy(grouping, decision)}"


def because(grouping: Grouping, a: int, b: int) -> str:
    """The reason alone why two different nodes share a kernel or stay apart, as the end of a sentence."""
    a, b = min(a, b), max(a, b)
    decision = decision_for(grouping, a, b)
    if decision.merged:
        return _merge_sentence(grouping, decision, {a, b})
    at = decision.node
    prefix = ""
    if at not in (a, b):
        graph = grouping.graph
        member = a if grouping.together(a, at) else b if grouping.together(b, at) else None
        prefix = f"the group of {graph.label(member)} ends with {graph.label(at)}; " if member is not None else ""
    return f"{prefix}{_reason(grouping, decision)}"


def removal(grouping: Grouping, decision: Decision) -> Change:
    """What has to be different so that the rule no longer refuses: the culprit, and others if they would be next.

    Raises
    ------
    ValueError
        The decision is a merge.
    """
    if decision.merged:
        raise ValueError("a merge has no obstacle")
    change = _removed(Change(), decision)
    for _ in range(len(grouping.graph)):
        again = decision_of(grouping.changed(change), decision.node)
        if again.rule is not decision.rule:
            return change
        change = _removed(change, again)
    return change


def _removed(change: Change, decision: Decision) -> Change:
    if decision.rule is Rule.TOO_LARGE:
        return Change(change.kinds, _UNLIMITED, change.unneeded)
    if decision.rule in (Rule.EXTERNAL, Rule.NO_MEETING):
        return Change(change.kinds, change.max_depth, (*change.unneeded, *decision.culprits))
    return Change({**change.kinds, **dict.fromkeys(decision.culprits, Kind.ELEM)}, change.max_depth, change.unneeded)


# Finding


def _meeting_point(grouping: Grouping, a: int, b: int) -> int | None:
    """The first node that everything made from either of two nodes flows through."""
    above = {a, *grouping.tree.chain(a)}
    return next((node for node in (b, *grouping.tree.chain(b)) if node in above), None)


def _without_meeting_point(graph: Graph, node: int) -> Decision:
    if graph.external[node]:
        return Decision(Rule.EXTERNAL, None, node, None, (node,))
    if not graph.readers(node):
        return Decision(Rule.UNREAD, None, node, None, (node,))
    escapes = _escapes(graph, node)
    return Decision(Rule.NO_MEETING, None, node, None, escapes[:-1], ())


def _escapes(graph: Graph, node: int) -> tuple[int, ...]:
    """Where the values made from a node leave the graph, or end."""
    seen, waiting, found = {node}, [node], []
    while waiting:
        at = waiting.pop()
        readers = graph.readers(at)
        if graph.external[at] or not readers:
            found.append(at)
        new = [reader for reader in dict.fromkeys(readers) if reader not in seen]
        seen.update(new)
        waiting += new
    return tuple(sorted(found))


def _merge_of(grouping: Grouping, node: int, into: int) -> Decision:
    """The merge that put a node and its post-dominator together: its own, or one that it was an inner node of."""
    for phase, rules in enumerate(grouping.rules):
        if rules[node] == Rule.MERGED:
            return Decision(Rule.MERGED, phase, node, into, (), _path(grouping.graph, node, into, ()))
    for phase, rules in enumerate(grouping.rules):
        for starter in grouping.group_of(node):
            target = grouping.tree.of(starter) if rules[starter] == Rule.MERGED else None
            if target is not None and starter < node < target and node in inner_nodes(grouping.graph, starter, target):
                path = _path(grouping.graph, starter, target, (node,))
                return Decision(Rule.MERGED, phase, starter, target, (node,), path)
    raise AssertionError(f"nothing merged node {node}")


def inner_nodes(graph: Graph, node: int, into: int) -> set[int]:
    """The nodes on all ways from a node to its post-dominator, without the two."""
    found: set[int] = set()
    waiting = graph.readers(node)
    while waiting:
        at = waiting.pop()
        if at != into and at not in found:
            found.add(at)
            waiting += graph.readers(at)
    return found


def _culprits(grouping: Grouping, rule: Rule, phase: int, node: int, into: int) -> tuple[int, ...]:
    """The nodes by which a rule refused, the one that did first."""
    kinds, own = grouping.graph.kinds, grouping.group_kinds[node]
    if rule is Rule.TOO_LARGE:
        return ()
    if rule is Rule.TUPLE_WAITS:
        return (into,)
    if rule is Rule.INTO:
        return (_source_of_kind(grouping, into, _limits(phase, own)[1]),)
    inner = sorted(inner_nodes(grouping.graph, node, into))
    if rule is Rule.PATH_KIND:
        allowed = Kind.ELEM if own == Kind.OEF else Kind.REDUCE
        return tuple(at for at in (*inner, into) if kinds[at] > allowed)
    limit = _limits(phase, own)[0]
    refusing = [grouping.culprits[phase][node], *(at for at in inner if grouping.kind(at) > limit)]
    return tuple(dict.fromkeys(_source_of_kind(grouping, at, limit) for at in refusing))


def _limits(phase: int, own: int) -> tuple[Kind, Kind]:
    """The largest kinds of inner nodes and of the post-dominator's group."""
    if phase > 0 or own not in (Kind.ELEM, Kind.BCAST, Kind.OEF):
        return Kind.INJ, Kind.INJ
    return (Kind.BCAST, Kind.BCAST) if own == Kind.OEF else (Kind.INJ, Kind.OEF)


def _source_of_kind(grouping: Grouping, node: int, limit: int) -> int:
    """The node by which a node's group has too large a kind: itself, the group's sink, or an anchor."""
    kinds = grouping.graph.kinds
    if kinds[node] > limit:
        return node
    sink = int(grouping.sinks[node])
    if kinds[sink] > limit:
        return sink
    return next((member for member in grouping.group_of(node) if kinds[member] == Kind.OEF), sink)


def _path(graph: Graph, node: int, into: int, culprits: Iterable[int]) -> tuple[int, ...]:
    """A way from a node to its post-dominator, over the first culprit if that is on one."""
    over = next(iter(culprits), into)
    first, second = _way(graph, node, over, into), _way(graph, over, into, into)
    return (*first, *second[1:]) if first and second else _way(graph, node, into, into)


def _way(graph: Graph, start: int, to: int, last: int) -> tuple[int, ...]:
    """A shortest way between two nodes that does not go beyond the last one; empty if there is none."""
    came_from: dict[int, int] = {start: start}
    waiting = [start]
    for at in waiting:
        if at == to:
            break
        for reader in graph.readers(at) if at < last else ():
            if reader not in came_from and reader <= last:
                came_from[reader] = at
                waiting.append(reader)
    if to not in came_from:
        return ()
    way = [to]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))


# Telling


def _merge_sentence(grouping: Grouping, decision: Decision, asked: set[int]) -> str:
    graph = grouping.graph
    node, into = graph.label(decision.node), graph.label(decision.into or 0)
    own = graph.kind(decision.node).name.lower()
    text = f"everything made from {node} ({own}) flows into {into}, and phase {decision.phase} merged the two"
    between = [at for at in decision.path[1:-1] if at in asked] or list(decision.path[1:-1])
    if between:
        text += f" with what is between them ({_listed(graph, between)})"
    if not asked <= {*decision.path}:
        text += f"; later merges made that the group of {_listed(graph, grouping.group_of(decision.node))}"
    return text


def _reason(grouping: Grouping, decision: Decision) -> str:
    graph, node = grouping.graph, grouping.graph.label(decision.node)
    own = Kind(grouping.group_kinds[decision.node])
    culprit = decision.culprits[0] if decision.culprits else decision.node
    name, kind = graph.label(culprit), graph.kind(culprit).name.lower()
    path = " → ".join(graph.label(at) for at in decision.path)
    match decision.rule:
        case Rule.EXTERNAL:
            note = graph.notes.get(decision.node, "is needed outside of the graph")
            return f"{node} {note}, so that its value has to be written anyway"
        case Rule.UNREAD:
            return f"nobody reads {node}"
        case Rule.NO_MEETING:
            escapes = _listed(graph, _escapes(graph, decision.node))
            return f"what is made from {node} meets in no single node: it leaves the graph at {escapes}"
        case Rule.OWN_KIND:
            if own is Kind.REDUCE:
                return f"{node} is reduce, and reductions are not fused into what follows"
            return f"{node} is opaque, {graph.notes.get(decision.node, 'and nothing is known of it')}"
        case Rule.PATH_KIND if own is Kind.OEF and graph.kind(culprit) <= Kind.INJ:
            anchor = _anchor(grouping, decision.node)
            return f"{name} on the path {path} is {kind}, and {anchor} (oef) lets only elem follow"
        case Rule.PATH_KIND if culprit == decision.into and graph.kind(culprit) > Kind.REDUCE:
            return f"{name} is {kind}{_note(graph, culprit)}, and nothing is fused in front of that"
        case Rule.PATH_KIND | Rule.ON_THE_WAY if graph.kind(culprit) > Kind.REDUCE or culprit in decision.path:
            return f"{name} on the path {path} is {kind}{_note(graph, culprit)}"
        case Rule.ON_THE_WAY:
            return f"a node on the path {path} is in one group with {name}, which is {kind}"
        case Rule.INTO if culprit == decision.into:
            return f"{name} is {kind}{_note(graph, culprit)}, and {node} ({own.name.lower()}) is not fused into that"
        case Rule.INTO:
            into = graph.label(decision.into or 0)
            taken = f"{into} is in one group with {name} already, which is {kind}"
            return f"{taken}, and {node} ({own.name.lower()}) is not fused into that"
        case Rule.TOO_LARGE:
            into = graph.label(decision.into or 0)
            return (
                f"with {node} and what is between, the group of {into} would have more than {grouping.max_depth} nodes"
            )
        case _:
            return f"{name} is a tuple that its reader has not taken in"


def _note(graph: Graph, node: int) -> str:
    """Why a node is opaque, where that is known."""
    told = node in graph.notes and graph.kind(node) is Kind.OPAQUE and not graph.external[node]
    return f", {graph.notes[node]}" if told else ""


def _anchor(grouping: Grouping, node: int) -> str:
    return next(grouping.graph.label(at) for at in grouping.group_of(node) if grouping.graph.kind(at) is Kind.OEF)


def _remedy(grouping: Grouping, decision: Decision) -> str:
    graph = grouping.graph
    names = _listed(graph, decision.culprits)
    were = "were" if len(decision.culprits) > 1 else "was"
    match decision.rule:
        case Rule.EXTERNAL:
            return f"If {names} was no output, this would not stand in the way."
        case Rule.UNREAD:
            return "It would have to be read by someone."
        case Rule.NO_MEETING:
            return f"If {names} {were} not needed outside, there would be such a node."
        case Rule.TOO_LARGE:
            return "A larger max_depth allows it."
        case _:
            return f"If {names} {were} elem, this would not stand in the way."


def _listed(graph: Graph, nodes: Iterable[int]) -> str:
    names = [graph.label(node) for node in nodes]
    if len(names) > 6:
        names = [*names[:5], f"{len(names) - 5} more"]
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else "nothing"
