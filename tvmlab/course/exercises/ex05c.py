"""Exercise 05c: six passes in an order that works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tvmlab.course import mutants
from tvmlab.course.orders import PASSES, Task, fuses_into_one, is_permutation, runs_right
from tvmlab.records import Exercise

FUNCTIONS: dict[str, Callable[[Any], Any]] = {"exp": np.exp, "tanh": np.tanh, "negative": np.negative, "abs": np.abs}


def network(random: np.random.Generator, functions: int = 1) -> Task:
    """A product with weights that are scaled, a leaky_clamp, and some functions of its elements."""
    from tvm import relax

    from tvmlab.course.lowerings import operator_of_the_course

    op = operator_of_the_course(mutants.cell(), "leaky_clamp")
    x, w = (random.normal(size=shape).astype("float32") for shape in ((4, 8), (8, 8)))
    chosen = random.choice(list(FUNCTIONS), functions)
    variable = relax.Var("x", relax.TensorType(x.shape, "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [variable]):
        with builder.dataflow():
            scaled = builder.emit(relax.op.multiply(relax.const(w), relax.const(0.5, "float32")))
            value = builder.emit(op.bind(builder.emit(relax.op.matmul(variable, scaled)), lower=-0.5))
            for name in chosen:
                value = builder.emit(getattr(relax.op, name)(value))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    product = x @ (w * np.float32(0.5))
    expected = np.clip(product, -0.5, 1) + np.float32(0.01) * np.minimum(product + np.float32(0.5), 0)
    for name in chosen:
        expected = FUNCTIONS[name](expected)
    return Task(builder.get(), (x,), expected)


def one(random: np.random.Generator) -> Iterator[Task]:
    """One network."""
    yield network(random)


_LISTED = "\n".join(f"    #   {name}" for name in PASSES)

EXERCISE = Exercise(
    id="05c",
    title="six passes in order",
    grade=1,
    statement=(
        "A network: weights that are scaled by a constant, a matrix product with them, leaky_clamp, exp. Put these six "
        "passes into an order so that it compiles, and so that one kernel is left. What comes after them is fixed, and "
        "lowers no operator. More than one order is right: yours is judged by running it."
    ),
    starter=f'''\
def order():
    """The names of the six passes, the first one first."""
    # In alphabetical order, which does not work, they are
{_LISTED}
    return ...
''',
    asks="order",
    properties=(
        is_permutation("each pass is there once"),
        runs_right(one, "the network compiles, and computes what it should"),
        fuses_into_one(one, "one kernel is left"),
    ),
    hints=(
        "What does each pass need to find? FuseOps looks at pattern kinds: which pass writes them, and on what?",
        (
            "LegalizeOps makes call_tir of operators. CallTIRRewrite makes memory and plain calls of call_tir, and "
            "nothing can be fused after that. FuseOps makes groups, FuseTIR makes a kernel of each group."
        ),
        (
            "Outline: kernels first; then their kinds; then groups; then one kernel a group; then memory. The "
            "sixth pass evaluates what depends on constants alone, and may stand almost anywhere."
        ),
    ),
    lesson="05_wiring",
)
