"""Exercise 07f: one formula, of kind 3 and of kind 4."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.compositions import model_of
from tvmlab.course.kernels import lowered
from tvmlab.course.values import Case, has_values_of
from tvmlab.fusion import Kind
from tvmlab.records import Exercise, KindMismatch, Mismatch, Property
from tvmlab.sandbox import beside

SMALL = np.array([[3, -4, 0], [-1, 2, -2]], "float32")


def row_norm(x: Any, root: bool = False) -> Any:
    """The sum of squares of each row, or its root."""
    total = (x.astype("float64") ** 2).sum(-1)
    return (np.sqrt(total) if root else total).astype(x.dtype)


def both(random: np.random.Generator) -> Iterator[Case]:
    """One to look at, and one that changes, with and without the root."""
    for root in (False, True):
        yield Case((SMALL,), {"root": root})
        yield Case((random.uniform(-3, 3, (4, 7)).astype("float32"),), {"root": root})


def has_kind(root: bool, kind: Kind, name: str) -> Property:
    """A property: the operator's kernel is of a kind, read off its loops."""

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        forced, found, tir = beside(answer, kind_of, root)
        if forced:
            return Mismatch("the cell sets pattern itself", mend="leave it out: the loops have to say it")
        if found == kind:
            return None
        return KindMismatch(f"with root={root} the kernel is {Kind(found).name}, and should be {kind.name}", code=tir)

    return Property(name, check)


def kind_of(answer: Any, root: bool) -> tuple[bool, int, str]:
    """Whether the kind is forced, that of the last kernel that a live operator is lowered to, and its loops."""
    _, kernels = lowered(((4, 7),), (), lambda x: answer(x, root=root))
    _, kind, tir = kernels[-1]
    return answer.spec.pattern is not None, kind, tir


def takes_in(answer: Any, _random: np.random.Generator) -> Mismatch | None:
    """Whether a relu behind it shares its kernel with the root, and with it alone."""
    for root, wanted in ((False, 2), (True, 1)):
        made = beside(answer, kernels_with_relu, root)
        if made != wanted:
            return Mismatch(f"with root={root} FuseOps makes {made} kernels of it and a relu, and should make {wanted}")
    return None


def kernels_with_relu(answer: Any, root: bool) -> int:
    """How many kernels FuseOps leaves of the operator and a relu behind it."""
    from tvm import relax

    from tvmlab import pipeline

    model = model_of(lambda x: relax.op.nn.relu(answer(x, root=root)), ["float32[4, 7]"])
    return pipeline.fuse(model, engine="tvm").kernels_after


EXERCISE = Exercise(
    id="07f",
    title="exactly 3, then exactly 4",
    grade=3,
    statement=(
        "Write one operator whose kernel is of kind 3 (kCommReduce) for root=False, and of kind 4 (kOutEWiseFusable) "
        "for root=True. It gives for each row of a matrix the sum of its squares; with root=True the square root of "
        "that. Do not set pattern: TVM has to read the kind off your loops."
    ),
    starter='''\
"""The norm of each row, squared or not."""

class Attrs:
    root: bool = False

def compute(x, root):
    rows, columns = x.shape
    k = te.reduce_axis((0, columns), name="k")
    return ...
''',
    asks="lab.row_norm",
    properties=(
        has_values_of(row_norm, both, "its values are right"),
        has_kind(False, Kind.REDUCE, "without the root its kind is exactly 3"),
        has_kind(True, Kind.OEF, "with the root its kind is exactly 4"),
        Property("a relu behind it shares its kernel only if there is a root", takes_in),
    ),
    hints=(
        "A plain reduction is one block with a reduce axis. What did mean have, in exercise 07a, that sum does not?",
        (
            "te.sum has to stand alone in its te.compute. What happens to its result goes into a second te.compute of "
            "the same shape, which reads the first: one kernel with two blocks."
        ),
        (
            "Outline: the first te.compute sums the products of an element with itself over k. If root is not set, "
            "return it. Else return a te.compute over the rows that takes tirx.sqrt of the first."
        ),
    ),
    lesson="07_pattern_kinds",
)
