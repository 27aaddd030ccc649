"""Exercise 08c: the kind of an ONNX node, by more than its name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.onnx_kinds import NodeCase, classifies_nodes
from tvmlab.records import Exercise

Sizes = tuple[int, int, int]


def by_name(sizes: Sizes) -> Iterator[NodeCase]:
    """Operators of which the name is enough."""
    a, b, c = sizes
    for op in ("Relu", "Sigmoid", "Exp"):
        yield NodeCase(op, ((a, b),), (a, b))
    yield NodeCase("Reshape", ((a, b),), (b, a), constants=(np.array([b, a]),))
    yield NodeCase("Flatten", ((a, b, c),), (a, b * c))
    yield NodeCase("Concat", ((a, b), (a, c)), (a, b + c), {"axis": 1})
    yield NodeCase("ReduceSum", ((a, b),), (a, 1), constants=(np.array([1]),))
    yield NodeCase("ReduceMax", ((a, b),), (a, 1), {"axes": [1]})
    yield NodeCase("ReduceMean", ((a, b),), (a, 1), {"axes": [1]})
    yield NodeCase("Softmax", ((a, b),), (a, b), {"axis": -1})
    yield NodeCase("Conv", ((1, c, 8, 8), (a, c, 3, 3)), (1, a, 6, 6), {"kernel_shape": [3, 3]})
    yield NodeCase("MaxPool", ((1, c, 8, 8),), (1, c, 4, 4), {"kernel_shape": [2, 2], "strides": [2, 2]})
    yield NodeCase("Gather", ((a, b),), (2, b), constants=(np.array([1, 0]),))
    yield NodeCase("CumSum", ((a, b),), (a, b), constants=(np.array(1),))


def by_shapes(sizes: Sizes) -> Iterator[NodeCase]:
    """Operators whose kind depends on the shapes of their operands."""
    a, b, c = sizes
    for op in ("Add", "Mul", "Sub"):
        yield NodeCase(op, ((a, b), (a, b)), (a, b))
        yield NodeCase(op, ((a, b), (b,)), (a, b))
        yield NodeCase(op, ((a, 1), (1, b)), (a, b))
    yield NodeCase("MatMul", ((a, b), (b, c)), (a, c))
    yield NodeCase("MatMul", ((a, b), (b,)), (a,))


def by_attributes(sizes: Sizes) -> Iterator[NodeCase]:
    """Operators whose kind depends on an attribute."""
    a, b, c = sizes
    yield NodeCase("Transpose", ((a, b, c),), (c, a, b), {"perm": [2, 0, 1]})
    yield NodeCase("Transpose", ((a, b, c),), (a, b, c), {"perm": [0, 1, 2]})
    yield NodeCase("Transpose", ((a, b),), (b, a))
    statistics = tuple(np.full(b, value, "float32") for value in (1.5, 0.5, 0.25, 2.0))
    yield NodeCase("BatchNormalization", ((a, b, c, 4),), (a, b, c, 4), {}, statistics)
    yield NodeCase("BatchNormalization", ((a, b, c, 4),), (a, b, c, 4), {"training_mode": 1}, statistics, "", 3)


def foreign(sizes: Sizes) -> Iterator[NodeCase]:
    """Operators of other domains that bear a known name."""
    for op in ("Relu", "Add", "Conv"):
        yield NodeCase(op, (sizes[:2],), sizes[:2], domain="my.ops")


EXERCISE = Exercise(
    id="08c",
    title="kinds by more than names",
    grade=2,
    statement=(
        "kind(domain, op, attributes, inputs, output) gives the kind of one ONNX node: its domain, its operator, its "
        "attributes as a dictionary, the shapes of its operands and that of its first output. The operators are Relu "
        "Sigmoid Exp, Add Mul Sub, Reshape Flatten Concat Transpose, ReduceSum ReduceMax ReduceMean, Softmax Conv "
        "MaxPool MatMul, BatchNormalization, Gather CumSum. Where TVM makes several kernels of a node, the last one "
        "counts, since that is the one that others may join. An operator of another domain than '' is unknown, "
        "whatever its name."
    ),
    starter='''\
from tvmlab.fusion import Kind

KINDS = {
    "Relu": Kind.ELEM,
    "Conv": Kind.OEF,
}

def kind(domain, op, attributes, inputs, output):
    """Kind of one node; inputs: [(1, 4, 8, 8), (4,)], output: (1, 4, 8, 8)."""
    if op in ("Add", "Mul", "Sub"):
        return ...
    return KINDS.get(op, Kind.OPAQUE)
''',
    asks="kind",
    properties=(
        classifies_nodes(lambda _random: by_name((6, 8, 3)), "where the name is enough, the kind is right"),
        classifies_nodes(lambda _random: by_shapes((6, 8, 3)), "where shapes decide, the kind is right"),
        classifies_nodes(lambda _random: by_attributes((6, 8, 3)), "where attributes decide, the kind is right"),
        classifies_nodes(lambda _random: foreign((6, 8, 3)), "an operator of another domain is unknown"),
    ),
    hints=(
        (
            "07a has most of it, under other names. Three things are new: a domain, attributes, and a matrix that may "
            "be a vector."
        ),
        (
            "What does a Transpose do whose perm is 0, 1, 2? What is left of a MatMul if one of its operands has one "
            "axis? BatchNormalization scales and shifts with numbers that are known, unless training_mode says that it "
            "computes them itself."
        ),
        (
            "Outline: first the domain. Then Add and its like, by whether an operand has the output's shape. "
            "Transpose: ELEM if perm is sorted; without perm the axes are turned round. MatMul: REDUCE if an operand "
            "is a vector. BatchNormalization: OEF in training, or else ELEM. The rest is in the table."
        ),
    ),
    lesson="08_own_fuser",
)
