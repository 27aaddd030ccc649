"""``from tvmlab.prelude import *``: in a script, the names that an operator cell has without importing them."""

from tvmlab.ops.prelude import TensorType, const_like, np, relax, rules, te, tirx, topi

__all__ = ["TensorType", "const_like", "np", "relax", "rules", "te", "tirx", "topi"]
