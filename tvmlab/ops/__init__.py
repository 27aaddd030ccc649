"""What an operator is: attributes, type rules, the live registry, calling one.

``tl.ops.<namespace>.<name>(…)`` calls a live operator: NumPy arrays in, NumPy arrays out; a Relax expression in, a
Relax call out.
"""

from __future__ import annotations

import pkgutil
from typing import Any

from tvmlab.errors import NoSuchOperator
from tvmlab.ops.attributes import REQUIRED, Attribute, Schema
from tvmlab.ops.card import ChainPart, OpCard
from tvmlab.ops.cell import Parts, read_cell, read_class, read_function
from tvmlab.ops.crossing import original
from tvmlab.ops.naming import did_you_mean
from tvmlab.ops.op import Op
from tvmlab.ops.registry import (
    Namespace,
    annotate,
    attributes_of,
    define,
    find,
    live_names,
    namespaces,
    republish,
    reserve,
    spec_of,
    withdraw,
)
from tvmlab.ops.source import caller
from tvmlab.ops.spec import OpSpec

__all__ = [
    "REQUIRED",
    "Attribute",
    "ChainPart",
    "Namespace",
    "Op",
    "OpCard",
    "OpSpec",
    "Parts",
    "Schema",
    "annotate",
    "attributes_of",
    "define",
    "find",
    "live_names",
    "original",
    "read_cell",
    "read_class",
    "read_function",
    "republish",
    "spec_of",
    "withdraw",
]


def __getattr__(name: str) -> Any:
    if name in namespaces():
        return Namespace(name)
    if name.startswith("_"):
        raise AttributeError(name)
    raise NoSuchOperator(
        f"tl.ops has no namespace {name!r}",
        where=caller(),
        mend=f"{did_you_mean(name, namespaces()) or 'no operator is live yet'} Else run the cell that defines it",
    )


def __dir__() -> list[str]:
    return sorted(namespaces())


reserve({*globals(), *(module.name for module in pkgutil.iter_modules(__path__))})
