"""What only teachers see of 01e."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvmlab.course.exercises.ex01e import CASES
from tvmlab.records import Mismatch, Property
from tvmlab.sandbox import beside

_CELL = """
def decide():
    def running_total(x):
        return {total}

    def squareplus(x):
        root = relax.op.sqrt(relax.op.add(relax.op.multiply(x, x), relax.const(4.0, "float32")))
        return relax.op.multiply(relax.op.add(x, root), relax.const(0.5, "float32"))

    def with_logits(q, k, v):
        weights = relax.op.nn.softmax(relax.op.matmul(q, relax.op.permute_dims(k)), axis=-1)
        return relax.op.matmul(weights, v)

    def with_powers(x):
        powers = relax.const(0.5 ** np.arange(512, dtype="float32"))
        return relax.op.multiply(relax.op.cumsum(relax.op.divide(x, powers), axis=0), powers)

    def with_matrix(x):
        i = np.arange(512)
        matrix = np.tril(0.5 ** np.maximum(i[:, None] - i, 0)).astype("float32")
        return relax.op.matmul(relax.const(matrix), x)

    return {{
        "running_total": {running_total},
        "squareplus": {squareplus},
        "attention": {attention},
        "echo": {echo},
        "clamp_of_a_file": {clamp},
    }}
"""

_RIGHT = {
    "total": "relax.op.cumsum(x, axis=1, exclusive=True)",
    "running_total": "running_total",
    "squareplus": "squareplus",
    "attention": '"memory"',
    "echo": '"order"',
    "clamp": '"name"',
}


def _cell(**changes: str) -> str:
    return _CELL.format(**{**_RIGHT, **changes})


SOLUTION = _cell()

WRONG = (
    (_cell(total="relax.op.cumsum(x, axis=1)"), "running_total: your composition is wrong"),
    (_cell(total="relax.op.subtract(relax.op.cumsum(x, axis=1), x)"), "2 calls, and the library has it in one"),
    (_cell(running_total='"order"'), "running_total: the library has it, with an option"),
    (_cell(squareplus='"memory"'), "squareplus: a few operators of TVM's give it"),
    (_cell(attention="with_logits"), "256 KiB stand between the kernels, and the largest input or output has 8"),
    (_cell(echo="with_powers"), "echo: your composition is wrong"),
    (_cell(echo="with_matrix"), "1024 KiB stand between the kernels"),
    (_cell(echo='"memory"'), "echo: an operator it is, but"),
    (_cell(clamp="lambda x: relax.op.clip(x, -1, 1)"), "after import no node is called Clamp any more"),
    (_cell(clamp='"clip"'), "'clip' is no answer"),
)


def every_case_is_there(answer: Any, _random: np.random.Generator) -> Mismatch | None:
    """And nothing else."""
    given = beside(answer, decided)
    return None if given == sorted(CASES) else Mismatch(f"the cases decided are {', '.join(given)}")


def decided(answer: Any) -> list[str]:
    """The names of the cases in an answer."""
    return sorted(answer())


HIDDEN = (Property("it decides these cases and no others", every_case_is_there),)
