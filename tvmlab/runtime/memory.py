"""How much memory a function asks for, to say it when there is not enough."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tvmlab.runtime.signature import dtype_of
from tvmlab.runtime.silence import quiet

__all__ = ["Demand", "demand_of"]


@dataclass(frozen=True)
class Demand:
    """The types of a function's parameters, and of the values that it computes.

    Parameters
    ----------
    parameters : tuple
        Relax types, in order.
    values : tuple
        Relax types of tensors, none of them with its data.
    """

    parameters: tuple[Any, ...]
    values: tuple[Any, ...]

    def largest(self, arguments: Sequence[Any]) -> tuple[str, int] | None:
        """Text and bytes of the largest tensor that is computed for these arguments; None if no size is known."""
        with quiet():
            dimensions = dict(_dimensions(self.parameters, arguments))
            sizes = [size for kind in self.values if (size := _size(kind, dimensions)) is not None]
        return max(sizes, key=lambda size: size[1], default=None)


def demand_of(function: Any) -> Demand:
    """Read the demand of a `tvm.relax.Function`."""
    from tvm import relax

    bound = (binding.var.ty for block in getattr(function.body, "blocks", []) for binding in block.bindings)
    values = tuple(t for kind in bound for t in (kind.fields if isinstance(kind, relax.TupleType) else [kind]))
    return Demand(tuple(p.ty for p in function.params), tuple(v for v in values if isinstance(v, relax.TensorType)))


def _dimensions(parameters: Sequence[Any], arguments: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    from tvm import relax, tirx

    for kind, argument in zip(parameters, arguments, strict=True):
        if isinstance(kind, relax.TensorType) and isinstance(kind.shape, relax.ShapeExpr):
            for dimension, size in zip(kind.shape.values, argument.shape, strict=True):
                if isinstance(dimension, tirx.Var):
                    yield dimension, size


def _size(kind: Any, dimensions: dict[Any, int]) -> tuple[str, int] | None:
    from tvm import relax, tirx
    from tvm.sym import Analyzer

    dtype = dtype_of(str(kind.dtype))
    if dtype is None or not isinstance(kind.shape, relax.ShapeExpr):
        return None
    analyzer = Analyzer()
    for variable, size in dimensions.items():
        analyzer.bind(variable, tirx.const(size, "int64"))
    shape = [analyzer.simplify(dimension) for dimension in kind.shape.values]
    if not all(isinstance(dimension, tirx.IntImm) for dimension in shape):
        return None
    sizes = [int(dimension) for dimension in shape]
    return f"{dtype}[{', '.join(map(str, sizes))}]", math.prod(sizes) * dtype.itemsize
