"""What the clean-up makes of each node of a model, read off the graphs before and after each rewrite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tvmlab.fusion.onnx_graph import OnnxGraph
from tvmlab.fusion.rewrites import REWRITES, remove_no_ops

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["Fate", "fates"]


@dataclass(frozen=True)
class Fate:
    """What became of one node.

    Parameters
    ----------
    node : NodeProto
        As it was before.
    now : NodeProto or None
        The node that makes its value afterwards: itself, what it was written as, or what it was folded into; None if
        its value is a constant, handed on, or made by nobody.
    rewrite : str
        The function that changed it last; empty if nothing did.
    how : {"kept", "rewritten", "folded", "handed on", "constant"}
    """

    node: NodeProto = field(repr=False)
    now: NodeProto | None = field(repr=False)
    rewrite: str = ""
    how: str = "kept"


def fates(graph: OnnxGraph) -> list[Fate]:
    """Follow every node of a graph through the clean-up of `tvmlab.fusion.rewrites`, in topological order."""
    found = [Fate(node, node) for node in graph.nodes]
    for rewrite in REWRITES:
        after = rewrite(graph)
        step = _Step(graph, after, handing_on=rewrite is remove_no_ops)
        found = [_followed(fate, step, rewrite.__name__) for fate in found]
        graph = after
    return found


def _followed(fate: Fate, step: _Step, rewrite: str) -> Fate:
    if fate.now is None:
        return fate
    now, how = step.follow(fate.now)
    if how == "kept":
        return Fate(fate.node, now, fate.rewrite, fate.how)
    return Fate(fate.node, now, rewrite, "folded" if fate.how == "folded" and now is not None else how)


class _Step:
    """One rewrite."""

    def __init__(self, before: OnnxGraph, after: OnnxGraph, *, handing_on: bool) -> None:
        self.handing_on = handing_on
        self.same = {id(node) for node in after.nodes}
        self.makers = {_value(node): node for node in after.nodes}
        self.readers: defaultdict[str, list[NodeProto]] = defaultdict(list)
        for node in before.nodes:
            for name in node.input:
                self.readers[name].append(node)

    def follow(self, node: NodeProto) -> tuple[NodeProto | None, str]:
        """What makes a node's value afterwards, and how it came to that."""
        if id(node) in self.same:
            return node, "kept"
        now = self.makers.get(_value(node))
        moved = next(self._moved(node), None)
        if now is None:
            return (moved, "kept") if moved is not None else (None, "handed on" if self.handing_on else "constant")
        if now.op_type == node.op_type and now.domain == node.domain:
            return now, "kept"
        if self.handing_on:
            return (now, "rewritten") if now.op_type == "Identity" else (None, "handed on")
        return now, "rewritten" if list(now.input) == list(node.input) else "folded"

    def _moved(self, node: NodeProto) -> Iterator[NodeProto]:
        """The node itself, where it writes the value of one after it that is gone."""
        waiting, seen = list(self.readers[_value(node)]), set()
        while waiting:
            reader = waiting.pop()
            now = self.makers.get(_value(reader))
            if id(reader) in self.same or _value(reader) in seen:
                continue
            seen.add(_value(reader))
            if now is None:
                waiting += self.readers[_value(reader)]
            elif (now.op_type, now.name) == (node.op_type, node.name) and now.op_type != reader.op_type:
                yield now


def _value(node: NodeProto) -> str:
    return next((name for name in node.output if name), "")
