"""Kernels that can be run whatever they do: in this process if nothing in them can end it, else in a child."""

from __future__ import annotations

from typing import Any, Protocol

import tvm
from tvm import tirx

from tvmlab.errors import PipelineError
from tvmlab.runtime import Isolated, compile_module, doubts, isolate, quiet

__all__ = ["Kernel", "has_died", "runnable"]

_PYTHON = "call_packed"


class Kernel(Protocol):
    """What runs on NumPy arrays."""

    def run(self, *arrays: Any, function: str = "main") -> Any:
        """The result for arrays."""


def runnable(module: tvm.IRModule) -> Kernel:
    """A module that can be run: compiled here if no kernel of it can end this process, else in a child.

    A kernel that calls a Python function runs here, since the child does not know the function.

    Raises
    ------
    PipelineError
        TVM cannot compile it.
    """
    kernels = [function for function in module.functions.values() if isinstance(function, tirx.PrimFunc)]
    with quiet():
        found = [doubt for kernel in kernels for doubt in doubts(kernel)]
    return isolate(module) if any(_PYTHON not in doubt for doubt in found) else compile_module(module)


def has_died(kernel: Kernel, error: PipelineError) -> bool:
    """Whether an error says that a kernel ended its process."""
    return isinstance(kernel, Isolated) and "ended its process" in error.what
