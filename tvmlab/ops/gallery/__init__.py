"""The gallery: operator cells to read, to run and to copy.

Each file here is the body of a ``%%tvm_op`` cell, and uses the prelude without importing it.
"""

from __future__ import annotations

from importlib import resources

from tvmlab.errors import NameRefused
from tvmlab.ops.naming import did_you_mean

__all__ = ["names", "text"]


def names() -> tuple[str, ...]:
    """Names of the gallery's operators, without a namespace."""
    files = (f.name for f in resources.files(__name__).iterdir())
    return tuple(sorted(f.removesuffix(".py") for f in files if f.endswith(".py") and f != "__init__.py"))


def text(name: str) -> str:
    """The body of an operator's cell.

    Raises
    ------
    NameRefused
        If the gallery has no such operator.
    """
    if name not in names():
        raise NameRefused(f"the gallery has no operator {name!r}", mend=did_you_mean(name, names()))
    return resources.files(__name__).joinpath(f"{name}.py").read_text(encoding="utf-8")
