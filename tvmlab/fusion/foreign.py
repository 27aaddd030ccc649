"""Operators of other domains, and the names of the live operators that stand for them.

The table is here, and not where it is filled, so that a model can be looked at without TVM.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from tvmlab.fusion.kinds import STANDARD

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

__all__ = ["Registration", "chosen", "has_registered", "registrations", "versions_of"]

_table: dict[tuple[str, str], dict[int, Registration]] = {}


@dataclass(frozen=True, eq=False)
class Registration:
    """Which live operator stands for an ONNX operator.

    In a ``with`` it ends with the block, and what it had replaced counts again.

    Parameters
    ----------
    domain, op_type : str
        Those of the nodes; ``""`` is the standard domain.
    op : str
        ``namespace.name``: the version that is live when a model is loaded.
    since : int
        From which version of the domain on.
    attributes : mapping of str to str or None
        For attributes of the nodes, the operator's names of them; None leaves one out.
    absent : mapping of str to value or callable
        By the names of the operator's tensors: what a node that leaves an input out means.
    replaced : Registration or None
        What counted before.
    """

    domain: str
    op_type: str
    op: str
    since: int = 1
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    absent: Mapping[str, Any] = field(default_factory=dict, repr=False)
    replaced: Registration | None = field(default=None, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        versions = _table.get((self.domain, self.op_type), {})
        if versions.get(self.since) is not self:
            return
        if self.replaced is None:
            remove(self)
        else:
            enter(self.replaced)


def enter(registration: Registration) -> None:
    """Let it count."""
    _table.setdefault((registration.domain, registration.op_type), {})[registration.since] = registration


def remove(registration: Registration) -> None:
    """Let neither it nor what it replaced count."""
    key = (registration.domain, registration.op_type)
    del _table[key][registration.since]
    if not _table[key]:
        del _table[key]


def registrations() -> tuple[Registration, ...]:
    """All that count, sorted."""
    return tuple(_table[key][since] for key in sorted(_table) for since in sorted(_table[key]))


def versions_of(domain: str, op_type: str) -> dict[int, Registration]:
    """The registrations of an operator, by the version from which they count."""
    return _table.get(("" if domain in STANDARD else domain, op_type), {})


def chosen(node: NodeProto, versions: Mapping[str, int]) -> Registration | None:
    """The registration that counts for a node; None if there is none.

    Parameters
    ----------
    versions : mapping of str to int
        By domain, those that the model imports; of one that it does not name, 1.
    """
    known = versions_of(node.domain, node.op_type)
    version = versions.get("" if node.domain in STANDARD else node.domain, 1)
    newest = max((since for since in known if since <= version), default=None)
    return None if newest is None else known[newest]


def has_registered(model: ModelProto) -> bool:
    """Whether a node of the model's graph is of an operator that is registered."""
    return bool(_table) and any(versions_of(node.domain, node.op_type) for node in model.graph.node)
