"""Exercise 07b: a tag may say what it likes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tvmlab.course.kernels import tir_of
from tvmlab.fusion import Kind
from tvmlab.records import Exercise, KindMismatch, Mismatch, Property
from tvmlab.sandbox import beside

TAGS = ("elemwise", "broadcast", "injective", "comm_reduce", "opaque", "")
KINDS = (Kind.ELEM, Kind.INJ, Kind.REDUCE)

Pairs = Callable[[np.random.Generator], Iterable[tuple[str, Kind, int]]]


def every_pair(_random: np.random.Generator) -> Iterable[tuple[str, Kind, int]]:
    """Each tag with each kind."""
    return ((tag, kind, 4) for tag in TAGS for kind in KINDS)


def can_be_made(pairs: Pairs, name: str) -> Property:
    """A property: the answer is a tensor with the tag that is asked for, whose kernel has the kind that is."""

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        for tag, kind, size in pairs(random):
            made, worn, got, tir = beside(answer, made_of, tag, int(kind), size)
            if made != "Tensor":
                return Mismatch(f"the answer is a {made}, and should be what te.compute gives")
            if worn != tag:
                return Mismatch(
                    f"the tensor has the tag {worn!r}, and should have {tag!r}", mend="te.compute(…, tag=tag)"
                )
            if got != kind:
                what = f"for the tag {tag!r} and {kind.name} the kernel is {Kind(got).name}"
                return KindMismatch(what, mend="change what is computed; the tag may stay", code=tir)
        return None

    return Property(name, check)


def made_of(answer: Callable[..., Any], tag: str, kind: int, size: int) -> tuple[str, str, int, str]:
    """What the answer makes of a square placeholder: its class, its tag, its kernel's kind, and the loops."""
    import tvm
    from tvm import relax, te

    x = te.placeholder((size, size), "float32", name="x")
    made = answer(x, tag, kind)
    if not isinstance(made, te.Tensor):
        return type(made).__name__, "", -1, ""
    function = te.create_prim_func([x, made])
    annotated = relax.transform.AnnotateTIROpPattern()(tvm.IRModule({made.op.name: function}))
    found = int(annotated[made.op.name].attrs["op_pattern"])
    return "Tensor", str(made.op.tag), found, tir_of(function, made.op.name)


EXERCISE = Exercise(
    id="07b",
    title="a tag may say what it likes",
    grade=2,
    statement=(
        "An article says that the tag of te.compute decides how an operator fuses. Prove that it decides nothing: "
        "write liar(x, tag, kind), which gives a te tensor made from the square matrix x that carries the tag, and "
        "whose kernel is of the kind. You will be asked for every tag with each of ELEM, INJ and REDUCE."
    ),
    starter='''\
from tvmlab.fusion import Kind

def liar(x, tag, kind):
    """A te tensor with this tag whose kernel is of this kind, whatever the tag says."""
    n = x.shape[0]
    if kind == Kind.ELEM:
        return te.compute((n, n), lambda i, j: x[i, j] + x[i, j], name="double", tag=tag)
    return ...
''',
    asks="liar",
    properties=(can_be_made(every_pair, "every tag goes with every kind"),),
    hints=(
        "The kind comes from the indices alone. Which place of x does an element of a transpose come from?",
        (
            "For INJ read x at a place that is not the output's, with all the same variables. For REDUCE you need an "
            "axis that is not the output's: te.reduce_axis((0, n))."
        ),
        (
            "Outline: two more returns of te.compute, each with the same tag. One swaps i and j. The other gives a "
            "vector: te.sum over the reduce axis, alone in the lambda."
        ),
    ),
    lesson="07_pattern_kinds",
)
