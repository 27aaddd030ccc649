"""What only teachers see of 03b."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises.ex03b import pairs
from tvmlab.course.typing_rules import Question, tells_types

SOLUTION = """
from tvm import tirx

def type_rule(a, b):
    if a.dtype != b.dtype:
        raise ValueError(f"{a.dtype} and {b.dtype}")
    if a.ndim < 0 or b.ndim < 0:
        return TensorType(dtype=a.dtype, ndim=-1)
    rank = max(a.ndim, b.ndim)
    if a.shape is None or b.shape is None:
        return TensorType(dtype=a.dtype, ndim=rank)
    shape = []
    for axis in range(-rank, 0):
        p, q = (t.shape[t.ndim + axis] if t.ndim >= -axis else 1 for t in (a, b))
        if is_one(p):
            shape.append(q)
        elif is_one(q) or rules.equal(p, q):
            shape.append(p)
        elif is_number(p) and is_number(q):
            raise ValueError(f"{p} against {q}")
        else:
            return TensorType(dtype=a.dtype, ndim=rank)
    return TensorType(shape, a.dtype)

def is_number(d):
    return isinstance(d, int | tirx.IntImm)

def is_one(d):
    return is_number(d) and int(d) == 1
"""

_RANKS = "    if a.ndim < 0 or b.ndim < 0:\n        return TensorType(dtype=a.dtype, ndim=-1)\n"

_NUMBERS = """
def type_rule(a, b):
    shape = np.broadcast(*(np.empty([int(d) for d in t.shape]) for t in (a, b))).shape
    return TensorType(list(shape), a.dtype)
"""

WRONG = (
    ("def type_rule(a, b):\n    return a\n", "500 random pairs are as NumPy says"),
    (_NUMBERS, "it is right where sizes are symbols"),
    ("def type_rule(a, b):\n    return rules.broadcast(a, b)\n", "the cell uses rules.broadcast"),
    (SOLUTION.replace("        elif is_number(p) and is_number(q):", "        elif False:"), "and should refuse"),
    (SOLUTION.replace("is_number(p) and is_number(q)", "True"), "[n], float32[m] the rule refuses"),
    (SOLUTION.replace(_RANKS, ""), "float32[…], float32[2, 3] the rule says"),
    (SOLUTION.replace("a.dtype != b.dtype", "False"), "float32[2, 3], float16[2, 3] the rule says float32[2, 3]"),
    (SOLUTION.replace("t.shape[t.ndim + axis]", "t.shape[axis + rank]"), "500 random pairs"),
)


def more(random: np.random.Generator) -> Iterator[Question]:
    """Other pairs, and symbols among them."""
    yield from pairs(random, 200)
    yield Question(("float16[k, 1, m]", "float16[n, m]"), {}, "float16[k, n, m]")
    yield Question(("float16[1]", "float16[]"), {}, "float16[1]")


HIDDEN = (tells_types(more, "it is right for other pairs"),)
