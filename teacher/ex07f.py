"""What only teachers see of 07f."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex07f
from tvmlab.course.values import Case, has_values_of

SOLUTION = '''
"""The norm of each row, squared or not."""

class Attrs:
    root: bool = False

def compute(x, root):
    rows, columns = x.shape
    k = te.reduce_axis((0, columns), name="k")
    total = te.compute((rows,), lambda i: te.sum(x[i, k] * x[i, k], axis=k), name="total")
    if not root:
        return total
    return te.compute((rows,), lambda i: tirx.sqrt(total[i]), name="norm")
'''

WRONG = (
    (SOLUTION.replace("tirx.sqrt(total[i])", "total[i]"), "element [0] is 25 and should be 5"),
    (
        SOLUTION.replace("return total\n", 'return te.compute((rows,), lambda i: total[i], name="same")\n'),
        "with root=False the kernel is OEF, and should be REDUCE",
    ),
    (SOLUTION.replace("\ndef compute", "\npattern = 4\n\ndef compute"), "the cell sets pattern itself"),
    (SOLUTION.replace("x[i, k] * x[i, k]", "x[i, k]"), "element [0] is -1 and should be 25"),
    (SOLUTION.replace("if not root", "if True"), "element [0] is 25 and should be 5"),
)


def others(random: np.random.Generator) -> Iterator[Case]:
    """Long rows, one row, one column."""
    for shape in ((2, 65), (1, 9), (5, 1)):
        yield Case((random.normal(size=shape).astype("float32"),), {"root": bool(random.integers(2))})


HIDDEN = (has_values_of(ex07f.row_norm, others, "it is right for other shapes"),)
