"""What only teachers see of 07a."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.exercises.ex07a import ONE_KERNEL, REDUCING, add, case
from tvmlab.course.kernels import KernelCase, classifies

SOLUTION = '''
from tvmlab.fusion import Kind

def kind(op, inputs, output):
    """op: "relu"; inputs: [(6, 8)]; output: (6, 8)."""
    if op == "add":
        return Kind.ELEM if output in inputs else Kind.BCAST
    known = {
        Kind.ELEM: ["relu", "exp", "where", "astype"],
        Kind.BCAST: ["broadcast_to", "expand_dims"],
        Kind.INJ: ["reshape", "permute_dims", "concat"],
        Kind.REDUCE: ["sum", "max"],
        Kind.OEF: ["matmul", "mean", "softmax", "conv2d", "max_pool2d"],
        Kind.OPAQUE: ["take"],
    }
    return next((kind for kind, names in known.items() if op in names), None)
'''

WRONG = (
    (
        SOLUTION.replace('["sum", "max"]', '["sum", "max", "mean"]').replace('"mean", "softmax"', '"softmax"'),
        "mean of (6, 8): you say REDUCE, and TVM reads OEF off its loops",
    ),
    (
        SOLUTION.replace("Kind.ELEM if output in inputs else Kind.BCAST", "Kind.BCAST"),
        "add of (6, 8), (6, 8): you say BCAST, and TVM reads ELEM off its loops",
    ),
    (
        SOLUTION.replace("Kind.ELEM if output in inputs else Kind.BCAST", "Kind.ELEM"),
        "add of (6, 1), (1, 8): you say ELEM, and TVM reads BCAST off its loops",
    ),
    (
        SOLUTION.replace("output in inputs", "inputs[0] == inputs[1]"),
        "add of (6, 8), (8,): you say BCAST, and TVM reads ELEM off its loops",
    ),
    (SOLUTION.replace('"take"', ""), "the answer is None, which is no kind"),
    (
        SOLUTION.replace('"permute_dims", "concat"]', '"concat"]').replace('"astype"]', '"astype", "permute_dims"]'),
        "permute_dims of (6, 8): you say ELEM",
    ),
)


def sizes(random: np.random.Generator) -> tuple[int, int, int]:
    """Three that differ."""
    a, b, c = (int(size) for size in random.choice(np.arange(3, 12), 3, replace=False))
    return a, b, c


def others(random: np.random.Generator) -> Iterator[KernelCase]:
    """All of them, on other shapes and in another order."""
    return (case(str(op), sizes(random)) for op in random.permutation([*ONE_KERNEL, *REDUCING]))


def sums(random: np.random.Generator) -> Iterator[KernelCase]:
    """Additions of shapes of up to three axes."""
    for _ in range(10):
        a, b, c = sizes(random)
        yield add((a, b, c), (b, c))
        yield add((c,), (a, b, c))
        yield add((a, 1, c), (b, 1))
        yield add((a, b), ())


HIDDEN = (
    classifies(others, "they are right on other shapes"),
    classifies(sums, "additions of other shapes are right"),
)
