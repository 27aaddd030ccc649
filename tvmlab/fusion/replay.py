"""The decisions of a partition in the order in which they were made, and the groups after each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tvmlab.fusion.graph import Kind
from tvmlab.fusion.grouping import Grouping
from tvmlab.fusion.quick import PHASES
from tvmlab.fusion.reasons import inner_nodes
from tvmlab.fusion.rule import Rule

__all__ = ["Turn", "first_groups", "replayed", "turns"]


@dataclass(frozen=True)
class Turn:
    """One node's turn in one phase.

    Parameters
    ----------
    phase : int
        Nodes that can start no merge in any phase have their turn in the first.
    node : int
    into : int or None
        Its post-dominator.
    inner : tuple of int
        The nodes on the ways between the two.
    rule : Rule
    """

    phase: int
    node: int
    into: int | None
    inner: tuple[int, ...]
    rule: Rule

    @property
    def merged(self) -> bool:
        """Whether the node, the inner nodes and the post-dominator are one group from now on."""
        return self.rule is Rule.MERGED


def turns(grouping: Grouping) -> list[Turn]:
    """Every turn; left out are those of nodes that are in one group with their post-dominator already."""
    phases = [phase for phase, name in enumerate(PHASES) if name not in grouping.without]
    return [turn for phase in phases for turn in _of_phase(grouping, phase, first=phase == phases[0])]


def _of_phase(grouping: Grouping, phase: int, *, first: bool) -> Iterator[Turn]:
    graph, rules = grouping.graph, grouping.rules[phase]
    for node, into in enumerate(map(grouping.tree.of, range(len(graph)))):
        rule = Rule(rules[node])
        if into is None:
            if first:
                yield Turn(phase, node, None, (), _without_meeting_point(grouping, node))
        elif rule not in (Rule.NOT_ITS_TURN, Rule.ALREADY):
            yield Turn(phase, node, into, tuple(sorted(inner_nodes(graph, node, into))), rule)
        elif first and rule is Rule.NOT_ITS_TURN and graph.kinds[node] in (Kind.REDUCE, Kind.OPAQUE):
            yield Turn(phase, node, into, tuple(sorted(inner_nodes(graph, node, into))), Rule.OWN_KIND)


def _without_meeting_point(grouping: Grouping, node: int) -> Rule:
    if grouping.graph.external[node]:
        return Rule.EXTERNAL
    return Rule.NO_MEETING if grouping.graph.readers(node) else Rule.UNREAD


def first_groups(grouping: Grouping) -> list[list[int]]:
    """The groups before the first turn: each node alone, but for what a template has put together."""
    matched = {node: match.nodes[-1] for match in getattr(grouping, "matches", ()) for node in match.nodes}
    found: dict[int, list[int]] = {}
    for node in range(len(grouping.graph)):
        found.setdefault(matched.get(node, node), []).append(node)
    return [found[sink] for sink in sorted(found)]


def replayed(grouping: Grouping, made: Sequence[Turn]) -> list[list[int]]:
    """The groups after some turns, each ascending, by their last nodes."""
    groups = first_groups(grouping)
    group_of = {node: group for group in groups for node in group}
    for turn in made:
        if turn.merged and turn.into is not None:
            for node in (turn.node, *turn.inner):
                group, taken = group_of[turn.into], group_of[node]
                if group is not taken:
                    group += taken
                    group_of.update(dict.fromkeys(taken, group))
    return sorted((sorted(group) for group in {id(g): g for g in group_of.values()}.values()), key=lambda g: g[-1])
