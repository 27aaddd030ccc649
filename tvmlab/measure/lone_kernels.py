"""One kernel by itself: its arguments, its machine code, its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.measure.ulp import compare

__all__ = ["DIFFERENT", "arguments_of", "as_arrays", "build", "module_text", "worst_difference"]

Array = NDArray[Any]

DIFFERENT = 1e-3
"""Of an output's largest value: what a schedule may change by adding in another order is far less."""


def module_text(function: Any) -> str:
    """A PrimFunc as JSON, as the function ``main`` of a module."""
    import tvm

    text: str = tvm.ir.save_json(tvm.IRModule({"main": function.with_attr("global_symbol", "main")}))
    return text


def build(module: str, target: Any) -> Any:
    """Machine code of a module from `module_text`."""
    import tvm

    with target:
        return tvm.compile(tvm.ir.load_json(module), target).mod


def arguments_of(module: str, seed: int, device: Any = None) -> list[Any]:
    """A tensor for each parameter of ``main``: random, and 1 to 3 where it is an integer."""
    import tvm

    function = tvm.ir.load_json(module)["main"]
    random = np.random.default_rng(seed)
    made = []
    for parameter in function.params:
        shape, dtype = [int(d) for d in parameter.shape], np.dtype(str(parameter.dtype))
        if dtype.kind == "f":
            array = random.standard_normal(shape).astype(dtype)
        else:
            array = random.integers(1, 2 if dtype.kind == "b" else 4, shape).astype(dtype)
        made.append(tvm.runtime.tensor(array, device or tvm.cpu()))
    return made


def as_arrays(tensors: Sequence[Any]) -> list[Array]:
    """Copies of tensors, as arrays."""
    return [tensor.numpy().copy() for tensor in tensors]


def worst_difference(expected: Sequence[Array], got: Sequence[Array]) -> float:
    """The largest difference, over the largest value of its tensor; infinite where a NaN or an infinity differs."""
    errors = [compare(want, have) for want, have in zip(expected, got, strict=True)]
    return max((float("inf") if e.non_finite else e.relative for e in errors), default=0.0)
