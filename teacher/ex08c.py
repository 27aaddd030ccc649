"""What only teachers see of 08c."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises.ex08c import by_attributes, by_name, by_shapes, foreign
from tvmlab.course.onnx_kinds import NodeCase, classifies_nodes

SOLUTION = '''
from tvmlab.fusion import Kind

KINDS = {
    **dict.fromkeys(["Relu", "Sigmoid", "Exp"], Kind.ELEM),
    **dict.fromkeys(["Reshape", "Flatten", "Concat"], Kind.INJ),
    **dict.fromkeys(["ReduceSum", "ReduceMax"], Kind.REDUCE),
    **dict.fromkeys(["ReduceMean", "Softmax", "Conv", "MaxPool"], Kind.OEF),
}

def kind(domain, op, attributes, inputs, output):
    """Kind of one node; inputs: [(1, 4, 8, 8), (4,)], output: (1, 4, 8, 8)."""
    if domain:
        return Kind.OPAQUE
    if op in ("Add", "Mul", "Sub"):
        return Kind.ELEM if output in inputs else Kind.BCAST
    if op == "MatMul":
        return Kind.REDUCE if min(map(len, inputs)) == 1 else Kind.OEF
    if op == "Transpose":
        perm = attributes.get("perm", [1, 0])
        return Kind.ELEM if perm == sorted(perm) else Kind.INJ
    if op == "BatchNormalization":
        return Kind.OEF if attributes.get("training_mode") else Kind.ELEM
    return KINDS.get(op, Kind.OPAQUE)
'''

BY_NAME = """
from tvmlab.fusion import Kind

def kind(domain, op, attributes, inputs, output):
    table = {"Relu": 0, "Sigmoid": 0, "Exp": 0, "Add": 1, "Mul": 1, "BatchNormalization": 1, "Conv": 4, "MatMul": 4}
    return table.get(op, 8)
"""

WRONG = (
    (BY_NAME, "Reshape of (6, 8): you say OPAQUE, and it is INJ"),
    (
        SOLUTION.replace("Kind.ELEM if output in inputs else Kind.BCAST", "Kind.BCAST"),
        "Add of (6, 8), (6, 8): you say BCAST, and it is ELEM",
    ),
    (SOLUTION.replace("min(map(len, inputs)) == 1", "False"), "MatMul of (6, 8), (8,): you say OEF, and it is REDUCE"),
    (
        SOLUTION.replace("Kind.ELEM if perm == sorted(perm) else Kind.INJ", "Kind.INJ"),
        "perm=[0, 1, 2]: you say INJ, and it is ELEM",
    ),
    (
        SOLUTION.replace('Kind.OEF if attributes.get("training_mode") else Kind.ELEM', "Kind.BCAST"),
        "BatchNormalization of (6, 8, 3, 4): you say BCAST, and it is ELEM",
    ),
    (SOLUTION.replace("    if domain:\n        return Kind.OPAQUE\n", ""), "my.ops::Relu of (6, 8): you say ELEM"),
    (SOLUTION.replace('["ReduceMean", ', "[").replace('"ReduceMax"]', '"ReduceMax", "ReduceMean"]'), "ReduceMean"),
)


def others(random: np.random.Generator) -> Iterator[NodeCase]:
    """All of them, on other shapes."""
    for cases in (by_name, by_shapes, by_attributes, foreign):
        a, b, c = (int(size) for size in random.choice(np.arange(3, 10), 3, replace=False))
        yield from cases((a, b, c))


HIDDEN = (classifies_nodes(others, "they are right on other shapes"),)
