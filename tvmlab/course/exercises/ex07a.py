"""Exercise 07a: twenty kernels, and of which kind each is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.kernels import KernelCase, classifies
from tvmlab.records import Exercise

Sizes = tuple[int, int, int]

ONE_KERNEL = ["relu", "exp", "where", "astype", "broadcast_to", "expand_dims", "permute_dims", "reshape", "concat"]
REDUCING = ["sum", "max", "mean", "softmax", "matmul", "conv2d", "max_pool2d", "take"]


def case(op: str, sizes: Sizes) -> KernelCase:
    """A call of an operator, on shapes made of three sizes that differ."""
    from tvm import relax

    a, b, c = sizes
    of = relax.op
    calls: dict[str, tuple[tuple[tuple[int, ...], ...], Any, tuple[str, ...]]] = {
        "relu": (((a, b),), of.nn.relu, ()),
        "exp": (((a, b),), of.exp, ()),
        "where": (((a, b), (a, b), (a, b)), of.where, ("bool",)),
        "astype": (((a, b),), lambda x: of.astype(x, "float16"), ()),
        "broadcast_to": (((1, b),), lambda x: of.broadcast_to(x, (a, b)), ()),
        "expand_dims": (((a, b),), lambda x: of.expand_dims(x, [1]), ()),
        "permute_dims": (((a, b),), of.permute_dims, ()),
        "reshape": (((a, b),), lambda x: of.reshape(x, (a * b,)), ()),
        "concat": (((a, b), (a, c)), lambda x, y: of.concat([x, y], 1), ()),
        "sum": (((a, b),), lambda x: of.sum(x, [1]), ()),
        "max": (((a, b),), lambda x: of.max(x, [1]), ()),
        "mean": (((a, b),), lambda x: of.mean(x, [1]), ()),
        "softmax": (((a, b),), lambda x: of.nn.softmax(x, -1), ()),
        "matmul": (((a, b), (b, c)), of.matmul, ()),
        "conv2d": (((1, c, 2 * a, 2 * b), (a, c, 3, 3)), of.nn.conv2d, ()),
        "max_pool2d": (((1, c, 2 * a, 2 * b),), lambda x: of.nn.max_pool2d(x, (2, 2), (2, 2)), ()),
        "take": (((a, b), (c,)), lambda x, i: of.take(x, i, 0), ("float32", "int64")),
    }
    shapes, call, dtypes = calls[op]
    return KernelCase(op, shapes, call, dtypes)


def add(first: tuple[int, ...], second: tuple[int, ...]) -> KernelCase:
    """A sum of two shapes."""
    from tvm import relax

    return KernelCase("add", (first, second), relax.op.add)


def alike(_random: np.random.Generator) -> Iterator[KernelCase]:
    """What computes an element from single elements."""
    return (case(op, (6, 8, 3)) for op in ONE_KERNEL)


def ranges(_random: np.random.Generator) -> Iterator[KernelCase]:
    """What needs a range of elements, or looks up where to read."""
    return (case(op, (6, 8, 3)) for op in REDUCING)


def sums(_random: np.random.Generator) -> Iterator[KernelCase]:
    """Three additions, of three kinds of shapes."""
    yield add((6, 8), (6, 8))
    yield add((6, 8), (8,))
    yield add((6, 1), (1, 8))


EXERCISE = Exercise(
    id="07a",
    title="twenty kernels",
    grade=1,
    statement=(
        "Of which kind is the kernel of each of these operators? Put every name into the list of its kind. For add it "
        "depends on the shapes: write the rule. kind(op, inputs, output) gets the name, the shapes of the operands, "
        "and the shape of the result, as tuples. TVM's AnnotateTIROpPattern decides who is right."
    ),
    starter='''\
from tvmlab.fusion import Kind

def kind(op, inputs, output):
    """op: "relu"; inputs: [(6, 8)]; output: (6, 8)."""
    if op == "add":
        return ...
    known = {
        Kind.ELEM: ["relu", "exp"],
        Kind.BCAST: [],
        Kind.INJ: ["reshape"],
        Kind.REDUCE: [],
        Kind.OEF: ["matmul"],
        Kind.OPAQUE: [],
    }
    # where, astype, broadcast_to, expand_dims, permute_dims, concat,
    # sum, max, mean, softmax, conv2d, max_pool2d, take
    return next((kind for kind, names in known.items() if op in names), None)
''',
    asks="kind",
    properties=(
        classifies(alike, "nine kernels that read single elements have the right kind"),
        classifies(ranges, "eight kernels that read ranges, or look up where to read, have the right kind"),
        classifies(sums, "three additions have the right kind"),
    ),
    hints=(
        "Read the loops in the verdict: which element of each input is read for element (i, j) of the output?",
        (
            "The same place: ELEM. The place with axes left out: BCAST. Some other single place: INJ. A whole range: "
            "REDUCE, if that is all. If a reduction is followed by more in the same kernel, or multiplies what it "
            "reads again and again, it is OEF. If the place is itself read from an input, nothing is known: OPAQUE."
        ),
        (
            "Outline for add: one operand whose shape is that of the output is enough for ELEM; without one it is "
            "BCAST. For the others: mean divides after it sums, softmax does four things, and max_pool2d reads "
            "overlapping windows, so these are not plain reductions. A new axis of size 1 is an axis left out."
        ),
    ),
    lesson="07_pattern_kinds",
)
