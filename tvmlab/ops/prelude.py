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
    like : te.Tensor or tirx expression
        Whose dtype it takes.

    Returns
    -------
    tirx.Expr
    """
    dtype = getattr(like, "dtype", None)
    if dtype is None:
        dtype = like.ty.dtype if hasattr(like.ty, "dtype") else like.ty
    return tirx.const(value, str(dtype))
