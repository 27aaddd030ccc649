"""The names that an operator cell may use without importing them.

``from tvmlab.prelude import *`` gives a script or a module the same names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax, te, tirx, topi
from tvm.relax import TensorType

from tvmlab.ops import rules

NAMES = ("TensorType", "const_like", "np", "relax", "rules", "te", "tirx", "topi")

__all__ = ["NAMES", "TensorType", "const_like", "np", "relax", "rules", "te", "tirx", "topi"]


def const_like(value: float, like: Any) -> Any:
    """A constant with the dtype of a te tensor or an expression.

    A bare ``0.0`` is a float32, and silently widens a float16 result.

    Parameters
    ----------
    value : float or int
        The number.
    like : te.Tensor, tirx expression or Relax tensor
        Whose dtype it takes.

    Returns
    -------
    tirx.Expr, or relax.Constant if `like` is a Relax tensor, as in a gradient

    Raises
    ------
    TypeError
        If `value` is no number: an attribute that is not declared in ``class Attrs`` is a tensor.
    ValueError
        If `like` holds integers and `value` is none: TVM would cut it off without a word.
    """
    if isinstance(value, te.Tensor):
        raise TypeError(f"const_like({value.op.name}, …): {value.op.name} is a tensor, not a number")
    dtype = getattr(like, "dtype", None)
    if dtype is None:
        dtype = like.ty.dtype if hasattr(like.ty, "dtype") else like.ty
    if "int" in str(dtype) and value != int(value):
        raise ValueError(f"{value} is no {dtype}")
    if isinstance(getattr(like, "ty", None), TensorType):
        return relax.const(value, str(dtype))
    return tirx.const(value, str(dtype))
