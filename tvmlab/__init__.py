"""tvmlab: a notebook laboratory for deep-learning compilers on Apache TVM.

The names of `tvmlab.api` are re-exported lazily, so that ``import tvmlab`` and ``%load_ext tvmlab`` import no TVM.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"

__all__ = [
    "advise",
    "bench",
    "check",
    "compare",
    "compare_levels",
    "course",
    "diagnose",
    "diff",
    "doctor",
    "export",
    "fuse",
    "graph",
    "load",
    "loads",
    "onnx",
    "op",
    "ops",
    "reads",
    "report",
    "run",
    "save",
    "trace",
    "tune",
    "verify",
    "why_no_match",
]


def __getattr__(name: str) -> Any:
    if name in ("course", "onnx", "ops"):
        return importlib.import_module(f"tvmlab.{name}")
    if name in __all__:
        return getattr(importlib.import_module("tvmlab.api"), name)
    raise AttributeError(f"module 'tvmlab' has no attribute {name!r}; the public names are {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", "__doc__"])


def load_ipython_extension(shell: InteractiveShell) -> None:
    """``%load_ext tvmlab``: register the magics."""
    from tvmlab.magics import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """``%unload_ext tvmlab``: remove the magics, their completions and their configuration."""
    from tvmlab.magics import unload

    unload(shell)
