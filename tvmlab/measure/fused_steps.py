"""Which unfused steps each step of a later stage stands for, and so what it should give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tvmlab.measure.kernel_checks import Level, Truth
from tvmlab.measure.steps import Environment, Step, walk
from tvmlab.pipeline.grouping import labels_of_calls

if TYPE_CHECKING:
    from tvmlab.pipeline import Trace

__all__ = ["fused_truths", "labels_of_steps", "truths_in_order"]

Value = Any


def labels_of_steps(trace: Trace, steps: Sequence[Step]) -> tuple[str, ...]:
    """The label of each unfused step, as partitions give them."""
    labels, _ = labels_of_calls([s.kernel for s in steps], [s.variable.name for s in steps], trace.provenance)
    return labels


def truths_in_order(before: Level, steps: Sequence[Step]) -> list[Truth | None] | None:
    """The truths of steps that do, one by one, what those of the level before do; None if they are not as many."""
    if len(steps) != len(before.steps):
        return None
    truths = [truth for truth in before.truths if truth is not None]
    return [Truth(t.expected, t.given, t.nodes, position) for position, t in enumerate(truths)]


def fused_truths(trace: Trace, unfused: Level, module: Any) -> list[Truth | None]:
    """What each call of a fused module should give: what leaves its group.

    Parameters
    ----------
    unfused : Level
        Of the stage ``annotate``.
    module : tvm.IRModule
        Of the stage ``fuse``.
    """
    groups = _Groups(trace, unfused)
    truths: list[Truth | None] = []

    def take(step: Step, environment: Environment) -> Value:
        truths.append(groups.take(step, environment))
        truth = truths[-1]
        return np.zeros(()) if truth is None else truth.given

    walk(module, [unfused.environment.of(p) for p in unfused.module["main"].params], take)
    return truths


class _Groups:
    """The groups of a partition that no call has been found for yet."""

    def __init__(self, trace: Trace, unfused: Level) -> None:
        self.unfused = unfused
        positions = {label: i for i, label in enumerate(labels_of_steps(trace, unfused.steps))}
        self.waiting = [
            (group.kernel, group.nodes, tuple(positions[node] for node in group.nodes if node in positions))
            for group in trace.partition.groups
        ]
        self.read_by: dict[int, set[int]] = {}
        for step in unfused.steps:
            for value in _read(step, unfused.environment):
                self.read_by.setdefault(value, set()).add(step.position)
        self.results = set(_identities(unfused.result))

    def take(self, step: Step, environment: Environment) -> Truth | None:
        """What a call of a fused kernel gives; None if no group is known for it."""
        read = set(_read(step, environment))
        same_kernel = [each for each in self.waiting if each[0] == step.kernel]
        candidates = [each for each in same_kernel if self._taken_in(each[2]) == read] or same_kernel
        if not candidates:
            return None
        self.waiting.remove(candidates[0])
        _, nodes, members = candidates[0]
        leaving = [m for m in members if self._leaves(m, members)]
        truths = [self.unfused.truths[m] for m in leaving]
        before = members[0] if len(members) == 1 else None
        if len(truths) == 1 and truths[0] is not None:
            return Truth(truths[0].expected, truths[0].given, nodes, before)
        known = [truth for truth in truths if truth is not None]
        return Truth(tuple(t.expected for t in known), tuple(t.given for t in known), nodes, before) if known else None

    def _taken_in(self, members: Sequence[int]) -> set[int]:
        """What a group reads of others."""
        inside = {value for m in members for value in self._made(m)}
        return {v for m in members for v in _read(self.unfused.steps[m], self.unfused.environment)} - inside

    def _leaves(self, member: int, members: Sequence[int]) -> bool:
        made = set(self._made(member))
        readers = {reader for value in made for reader in self.read_by.get(value, ())}
        return bool(made & self.results or readers - set(members))

    def _made(self, position: int) -> Iterator[int]:
        return _identities(self.unfused.environment.values[self.unfused.steps[position].variable])


def _read(step: Step, environment: Environment) -> Iterator[int]:
    for variable in step.reads():
        yield from _identities(environment.values[variable])


def _identities(value: Value) -> Iterator[int]:
    """Which arrays a value is made of; two are the same if they are one object."""
    if isinstance(value, tuple):
        for each in value:
            yield from _identities(each)
    else:
        yield id(value)
