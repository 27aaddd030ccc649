"""Exercise 01b: leaky_clamp without a new operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.compositions import calls_at_most, composes
from tvmlab.course.values import Case
from tvmlab.records import Exercise


def leaky_clamp(x: Any) -> Any:
    """With lower -0.5, upper 1 and slope 0.1."""
    return np.clip(x, np.float32(-0.5), np.float32(1)) + np.float32(0.1) * np.minimum(x + np.float32(0.5), 0)


def inputs(random: np.random.Generator) -> Iterator[Case]:
    """Every branch and both borders, and one that changes."""
    yield Case((np.array([[-3, -1, -0.5], [0, 1, 4]], "float32"),), {})
    yield Case((random.uniform(-3, 3, (3, 4)).astype("float32"),), {})


EXERCISE = Exercise(
    id="01b",
    title="leaky_clamp, composed",
    grade=1,
    statement=(
        "Compose leaky_clamp of operators that TVM has: clamp x to [-0.5, 1], and where x is below -0.5 add "
        "0.1 · (x + 0.5), which is negative there: -3 becomes -0.75. At most six calls of relax.op, and no operator of "
        "your own. Most operators take no Python numbers; relax.const(0.1, 'float32') makes a constant of one."
    ),
    starter='''\
def leaky_clamp(x):
    """x is a Relax expression of float32."""
    return ...
''',
    asks="leaky_clamp",
    properties=(
        composes(leaky_clamp, inputs, "its values are those of leaky_clamp"),
        calls_at_most(6, ["float32[3, 4]"], "it is at most six calls of TVM's own operators"),
    ),
    hints=(
        "Write it in NumPy first: np.clip and one more term. Then look for each function in relax.op.",
        (
            "relax.op.clip(x, low, high) takes numbers. relax.op.minimum, add, multiply … take two expressions. "
            "A number has to be made one with relax.const."
        ),
        (
            "Outline: a clip, plus a constant times the minimum of zero and the distance of x to the lower limit. The "
            "distance is negative below the limit, and that is what you want."
        ),
    ),
    lesson="01_first_contact",
)
