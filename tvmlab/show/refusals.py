"""Why neighbours are in two kernels: the edges between groups, summed up by operators and rule."""

from __future__ import annotations

from tvmlab.fusion.reasons import decision_for
from tvmlab.records import Partition
from tvmlab.show.graphs import members, paths
from tvmlab.show.html import Html, details, mono, muted, table
from tvmlab.show.node_words import what
from tvmlab.show.text import count, operation, short

__all__ = ["refusals_of"]

_MOST = 3000  # edges: as many are asked for their reasons
_ROWS = 30


def refusals_of(record: Partition) -> Html:
    """Behind a fold: each sort of edge between two groups, how often it is there, and why for the first of them."""
    grouping = record.grouping
    graph = grouping.graph
    group_of = {node: at for at, group in enumerate(members(record)) for node in group}
    computing = [n for n in range(len(graph)) if not graph.computes or graph.computes[n]]
    apart = [
        (a, b) for a, b in paths(graph) if a in computing and b in computing and group_of[a] != group_of[b]
    ] if len(graph.producers) <= _MOST else []  # fmt: skip
    if not apart:
        return Html()
    sorts: dict[tuple[str, str, str], list[tuple[int, int]]] = {}
    for a, b in apart:
        rule = decision_for(grouping, a, b).rule
        first, second = (operation(what(graph, node)) for node in (a, b))
        sorts.setdefault((first, second, rule.name), []).append((a, b))
    frequent = sorted(sorts.items(), key=lambda item: -len(item[1]))
    rows = [
        (
            f"{len(edges):,} ×",
            mono(short(f"{names[0]} → {names[1]}")),
            _why(record, *edges[0]),
        )
        for (*names, _), edges in frequent[:_ROWS]
    ]
    more = muted(f"… {count(len(frequent) - _ROWS, 'more sort')}") if len(frequent) > _ROWS else ""
    head = f"why not one kernel: {count(len(apart), 'edge')} between groups"
    return details(head, table(("", "operators", "why, for the first"), rows, "rnl"), more)


def _why(record: Partition, a: int, b: int) -> str:
    return short(record.grouping.why(a, b), 900)
