"""What only teachers see of 07b."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tvmlab.course.exercises.ex07b import KINDS, can_be_made
from tvmlab.fusion import Kind

SOLUTION = '''
from tvmlab.fusion import Kind

def liar(x, tag, kind):
    """A te tensor with this tag whose kernel is of this kind, whatever the tag says."""
    n = x.shape[0]
    if kind == Kind.ELEM:
        return te.compute((n, n), lambda i, j: x[i, j] + x[i, j], name="double", tag=tag)
    if kind == Kind.INJ:
        return te.compute((n, n), lambda i, j: x[j, i], name="flip", tag=tag)
    k = te.reduce_axis((0, n), name="k")
    return te.compute((n,), lambda i: te.sum(x[i, k], axis=k), name="total", tag=tag)
'''

WRONG = (
    (SOLUTION.replace("x[j, i]", "x[i, j]"), "for the tag 'elemwise' and INJ the kernel is ELEM"),
    (SOLUTION.replace('"flip", tag=tag', '"flip", tag="injective"'), "the tensor has the tag 'injective'"),
    (SOLUTION.replace("te.sum(x[i, k], axis=k)", "x[i, i]"), "and REDUCE the kernel is BCAST"),
    (
        SOLUTION.replace("x[j, i]", "x[i, i]"),
        "for the tag 'elemwise' and INJ the kernel is BCAST",
    ),
    ("def liar(x, tag, kind):\n    return tag\n", "the answer is a str"),
)


def any_words(random: np.random.Generator) -> Iterable[tuple[str, Kind, int]]:
    """Tags that nobody has thought of."""
    for _ in range(20):
        tag = "".join(random.choice(list("abcdefg_"), 8))
        yield str(tag), KINDS[random.integers(len(KINDS))], int(random.integers(2, 9))


HIDDEN = (can_be_made(any_words, "any word goes with every kind"),)
