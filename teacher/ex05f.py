"""What only teachers see of 05f."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex05f
from tvmlab.course.values import Case, has_values_of

_DOC = '"""Move x towards zero by threshold; what is nearer becomes zero."""'

SOLUTION = '''
"""Move x towards zero by threshold; what is nearer becomes zero."""

class Attrs:
    threshold: float = 0.5

    def validate(self):
        if self.threshold < 0:
            raise ValueError(f"threshold ({self.threshold}) is negative")

type_rule = rules.same

def compute(x, threshold):
    t, zero = const_like(threshold, x), const_like(0, x)

    def shrink(*i):
        v = x(*i)
        return tirx.max(zero, v - t) + tirx.min(zero, v + t)

    return te.compute(x.shape, shrink, name="soft_shrink")

def reference(x, threshold):
    return np.maximum(x - threshold, 0) + np.minimum(x + threshold, 0)

def gradient(dy, x, threshold):
    t, zero = const_like(threshold, x), const_like(0, x)
    return relax.op.multiply(dy, relax.op.where(relax.op.greater(relax.op.abs(x), t), const_like(1, x), zero))
'''

WRONG = (
    (
        SOLUTION.replace("tirx.max(zero, v - t) + tirx.min(zero, v + t)", "tirx.max(zero, v - t)"),
        "element [0, 0] is 0 and should be -1.5, where x is -2",
    ),
    (
        SOLUTION.replace(
            "tirx.max(zero, v - t) + tirx.min(zero, v + t)", "tirx.max(v - t, zero) + tirx.min(v + t, zero)"
        ),
        "compute turns a NaN into 0 where the reference keeps it",
    ),
    (SOLUTION.partition("def gradient")[0], "C16"),
    (SOLUTION.replace(_DOC, ""), "C01"),
    (SOLUTION.replace("self.threshold < 0", "self.threshold < -9"), "is taken, and is illegal"),
    (SOLUTION.replace("self.threshold < 0", "self.threshold <= 0"), "threshold=0.0 is refused, and is legal"),
)


def more(random: np.random.Generator) -> Iterator[Case]:
    """Float16, another rank, and no threshold."""
    yield Case((random.uniform(-3, 3, (2, 5)).astype("float16"),), {"threshold": 0.25})
    yield Case((random.uniform(-3, 3, (2, 1, 3)).astype("float32"),), {"threshold": 0.0})


HIDDEN = (has_values_of(ex05f.soft_shrink, more, "it is right in float16, and with no threshold"),)
