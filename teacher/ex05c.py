"""What only teachers see of 05c."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tvmlab.course.exercises import ex05c
from tvmlab.course.orders import PASSES, Task, fuses_into_one, runs_right

RIGHT = ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR", "CallTIRRewrite")
"""The five whose order matters; FoldConstant may stand anywhere but at the end."""


def cell(order: Sequence[str]) -> str:
    """The answer with an order."""
    return f'def order():\n    """The names of the six passes, the first one first."""\n    return {list(order)!r}\n'


def moved(name: str, place: int) -> list[str]:
    """A right order in which one pass has been moved."""
    others = [each for each in (RIGHT[0], "FoldConstant", *RIGHT[1:]) if each != name]
    return [*others[:place], name, *others[place:]]


SOLUTION = cell(moved("FoldConstant", 1))

WRONG = (
    (cell(PASSES), "it does not compile"),
    (cell(moved("FuseTIR", 5)), "FuseTIR fails after"),
    (cell(moved("AnnotateTIROpPattern", 3)), "main calls 3 kernels, and one is enough"),
    (cell(moved("FuseTIR", 2)), "main calls the Relax function"),
    (cell(moved("FoldConstant", 5)), "main calls 2 kernels, and one is enough"),
    (cell(RIGHT), "FoldConstant is missing"),
    (cell([*RIGHT, "Fuse"]), "'Fuse' is none of the passes"),
    (cell([*RIGHT, "FuseOps", "FoldConstant"]), "FuseOps is there twice"),
    ("def order():\n    return 6\n", "which is no list of names"),
)


def longer(random: np.random.Generator) -> Iterator[Task]:
    """With more functions after the product."""
    yield ex05c.network(random, 3)


HIDDEN = (
    runs_right(longer, "a longer network is right too"),
    fuses_into_one(longer, "and one kernel"),
)
