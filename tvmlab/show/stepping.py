"""What the fusion stepper shows and answers.

All that the page shows of a partition it asks for with the *changes* that it is to have: other kinds of nodes, another
``max_depth``, phases left out.  So one answer is right for ever, and Python keeps no state but what it has computed.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping
from typing import Any

from tvmlab.errors import CallError, GraphError
from tvmlab.fusion import Graph, Grouping, Kind
from tvmlab.fusion.reasons import decision_at
from tvmlab.fusion.replay import Turn, first_groups, turns
from tvmlab.show import graphs, node_words, palette, scene_svg
from tvmlab.show.explorers import widget
from tvmlab.show.text import short
from tvmlab.show.trees import tree_scene

__all__ = ["explore"]

_MOST = 3000
_TREE = 1200  # nodes: a larger tree is not drawn
_KEPT = 32


@dataclasses.dataclass(frozen=True, eq=False)
class _Case:
    """A partition with some changes."""

    grouping: Grouping
    turns: list[Turn]


def explore(record: Any, grouping: Grouping, name: str, *, at_end: bool) -> Any:
    """A widget on which one goes through the decisions of a partition, and asks what if things were different.

    Parameters
    ----------
    record : Partition or Graph
    grouping : Grouping
    name : str
        What to call the model.
    at_end : bool
        Whether all decisions are made at first, or none.

    Raises
    ------
    CallError
        The graph is empty, or too large to be drawn.
    """
    graph = grouping.graph
    if not 0 < len(graph) <= _MOST:
        raise CallError(
            f"the graph has {len(graph):,} nodes, and what can be explored has 1 to {_MOST:,}",
            mend="explore a part of the model, or look at the groups with .groups and .why(a, b)",
        )
    base = _Case(grouping, turns(grouping))

    @functools.lru_cache(maxsize=_KEPT)
    def case(changes: str) -> _Case:
        changed = _changed(grouping, json.loads(changes))
        return base if changed is grouping else _Case(changed, turns(changed))

    def answer(question: Mapping[str, Any]) -> Any:
        found = case(json.dumps(question["changes"], sort_keys=True))
        return _ANSWERS[question["what"]](found, question)

    facts = {
        "label": short(f"{name}: the decisions of the fuser", 200),
        "nodes": [_node(graph, node) for node in range(len(graph))],
        "kinds": {k.name: [scene_svg.LETTERS[k.name], scene_svg.colour_of(k.name), _ink(k.name)] for k in Kind},
        "tints": scene_svg.TINTS,
        "max_depth": grouping.max_depth,
        "without": list(grouping.without),
        "folded": len(graph) > graphs.FOLD_FROM,
    }
    return widget("stepper", record, facts, answer, len(base.turns) if at_end else 0)


def _ink(kind: str) -> str:
    return palette.ink_on(scene_svg.colour_of(kind))


def _node(graph: Graph, node: int) -> dict[str, Any]:
    return {
        "label": short(graph.label(node), 200),
        "title": node_words.title_of(graph, node),
        "kind": graph.kind(node).name,
    }


def _changed(grouping: Grouping, changes: Mapping[str, Any]) -> Grouping:
    kinds: dict[int | str, Kind | int | str] = {int(node): kind.lower() for node, kind in changes["kinds"].items()}
    depth, without = changes["max_depth"], tuple(changes["without"])
    if depth is not None and (not isinstance(depth, int) or depth < 0):
        raise GraphError(f"max_depth={depth!r} is no whole number", mend="such as 256")
    if not kinds and depth in (None, grouping.max_depth) and set(without) == set(grouping.without):
        return grouping
    changed = grouping.what_if(kinds=kinds, max_depth=depth)
    return changed if set(without) == set(grouping.without) else _with_phases(changed, without)


def _with_phases(grouping: Grouping, without: tuple[str, ...]) -> Grouping:
    """The grouping with just these phases left out, those that were left out before come back."""
    return dataclasses.replace(grouping, without=()).what_if(without=without)


def _scene(case: _Case, question: Mapping[str, Any]) -> Any:
    grouping = case.grouping
    groups = grouping.groups
    scene = graphs.nodes_scene(grouping.graph, groups, folded=bool(question["folded"]))
    hidden = {
        node: index
        for index, box in enumerate(scene.boxes)
        if box.folded
        for block in scene.blocks
        if block.folded and block.vertices[0] == box.group
        for group in block.vertices
        for node in groups[group]
    }
    numbers = graphs.numbers(grouping.graph, groups)
    return {
        "scene": scene_svg.facts(scene),
        "tree": _tree(grouping),
        "hidden": hidden,
        "numbers": [[group[-1], number] for group, number in zip(groups, numbers, strict=True)],
        "start": first_groups(grouping),
        "turns": [[t.phase, t.node, t.into, list(t.inner), t.rule.name] for t in case.turns],
        "kernels": [grouping.graph.kernels(), sum(number is not None for number in numbers)],
        "saved": grouping.bytes_saved(),
    }


def _tree(grouping: Grouping) -> Any:
    count = len(grouping.graph)
    return scene_svg.facts(tree_scene(grouping, names=count <= graphs.SMALL)) if count <= _TREE else None


def _turn(case: _Case, question: Mapping[str, Any]) -> Any:
    turn = case.turns[question["turn"]]
    decision = decision_at(case.grouping, turn.phase, turn.node)
    return {
        "text": node_words.told(case.grouping, turn),
        "path": list(decision.path),
        "culprits": [] if turn.merged else list(decision.culprits),
    }


def _why(case: _Case, question: Mapping[str, Any]) -> Any:
    return short(case.grouping.why(int(question["a"]), int(question["b"])), 1500)


_ANSWERS = {"scene": _scene, "turn": _turn, "why": _why}
