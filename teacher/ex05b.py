"""What only teachers see of 05b."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises import ex05b
from tvmlab.course.lowerings import lowers_to
from tvmlab.course.values import Case

SOLUTION = '''
def legalize(bb, call):
    """The expression that replaces the call; call.attrs.axis is the axis."""
    x, axis = call.args[0], call.attrs.axis
    largest = relax.op.max(x, axis=[axis], keepdims=True)
    total = relax.op.sum(relax.op.exp(relax.op.subtract(x, largest)), axis=[axis], keepdims=True)
    return relax.op.squeeze(relax.op.add(relax.op.log(total), largest), [axis])
'''

WRONG = (
    (
        """
def legalize(bb, call):
    x, axis = call.args[0], call.attrs.axis
    return relax.op.log(relax.op.sum(relax.op.exp(x), axis=[axis]))
""",
        "is inf and should be",
    ),
    (SOLUTION.replace("[axis]", "[-1]"), "and along any other"),
    (
        SOLUTION.replace("relax.op.squeeze(relax.op.add(relax.op.log(total), largest), [axis])", "relax.op.log(total)"),
        "the result is float32[2, 1] and should be float32[2]",
    ),
    (SOLUTION.replace("relax.op.add(relax.op.log(total), largest)", "relax.op.log(total)"), "is 0.440"),
    (
        """
def legalize(bb, call):
    def compute(x, axis):
        largest = topi.max(x, axis=axis, keepdims=True)
        total = topi.sum(topi.exp(topi.subtract(x, largest)), axis=axis, keepdims=True)
        return topi.squeeze(topi.add(topi.log(total), largest), axis=[axis])
    return bb.call_te(compute, call.args[0], int(call.attrs.axis))
""",
        "it writes a kernel of its own, compute",
    ),
    (SOLUTION.replace("return", "answer ="), "legalize returns nothing"),
)


def vectors(random: np.random.Generator) -> Iterator[Case]:
    """Of one axis, and very small numbers."""
    yield Case((random.normal(size=7).astype("float32"),), {"axis": 0})
    yield Case(((random.normal(size=(2, 5)) - 400).astype("float32"),), {})


HIDDEN = (lowers_to(ex05b.OPERATOR, ex05b.logsumexp, vectors, "it works on a vector, and for very small numbers"),)
