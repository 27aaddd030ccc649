"""Exercise 03b: the rule of broadcasting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.typing_rules import Question, mentions_none_of, tells_types
from tvmlab.records import Exercise


def pairs(random: np.random.Generator, count: int = 500) -> Iterator[Question]:
    """Pairs of shapes that nearly or really broadcast, as NumPy says."""
    for _ in range(count):
        longer = random.choice([1, 2, 3, 5], random.integers(0, 5)).tolist()
        shorter = longer[len(longer) - int(random.integers(0, len(longer) + 1)) :]
        other = [int(d) if random.random() < 0.6 else int(random.choice([1, 1, 2, 3])) for d in shorter]
        a, b = (longer, other) if random.random() < 0.5 else (other, longer)
        try:
            said = f"float32{list(np.broadcast_shapes(tuple(a), tuple(b)))}"
        except ValueError:
            said = ""
        yield Question((f"float32{a}", f"float32{b}"), {}, said)


def symbolic(_random: np.random.Generator) -> Iterator[Question]:
    """Symbols against themselves, against ones, against others."""
    yield Question(("float32[n, 4]", "float32[n, 4]"), {}, "float32[n, 4]")
    yield Question(("float32[n, 4]", "float32[4]"), {}, "float32[n, 4]")
    yield Question(("float32[1, 4]", "float32[n, 1]"), {}, "float32[n, 4]")
    yield Question(("float32[n, 1]", "float32[1, m]"), {}, "float32[n, m]")
    yield Question(("float32[n, 2]", "float32[n, 3]"), {}, "")
    yield Question(("float32[n]", "float32[m]"), {}, "float32[?]")
    yield Question(("float32[3, n]", "float32[4]"), {}, "float32[?, ?]")


def unknown(_random: np.random.Generator) -> Iterator[Question]:
    """Where a shape or a rank is not known, and where dtypes differ."""
    yield Question(("float32[?, ?]", "float32[4]"), {}, "float32[?, ?]")
    yield Question(("float32[2]", "float32[?, ?, ?]"), {}, "float32[?, ?, ?]")
    yield Question(("float32[…]", "float32[2, 3]"), {}, "float32[…]")
    yield Question(("float32[2, 3]", "float16[2, 3]"), {}, "")


EXERCISE = Exercise(
    id="03b",
    title="broadcasting",
    grade=2,
    statement=(
        "Write the type rule of an operator that broadcasts two tensors as NumPy does: align the shapes at the right; "
        "two sizes have to be equal, or one of them is 1. Raise ValueError where they are not, and for two dtypes. "
        "Where a symbol meets a size that it is not provably equal to and that is not 1, another symbol or a number "
        "such as 4, say only the rank, as TVM does: TensorType(dtype=…, ndim=…). So it is where a shape is not known, "
        "and without a rank it is ndim=-1. Write it by hand, not with rules.broadcast. rules.equal(a, b) says whether "
        "two sizes are provably equal, isinstance(d, tirx.IntImm) whether one is a number."
    ),
    starter='''\
from tvm import tirx

def type_rule(a, b):
    """a and b are TensorTypes."""
    rank = ...
    shape = []
    for axis in range(-rank, 0):
        # the sizes that a and b have there, counted from the right
        ...
    return TensorType(shape, a.dtype)
''',
    asks="type_rule",
    properties=(
        tells_types(pairs, "500 random pairs are as NumPy says"),
        tells_types(symbolic, "it is right where sizes are symbols"),
        tells_types(unknown, "it is right where a shape is not known, and for two dtypes"),
        mentions_none_of(("rules.broadcast", "broadcast_shapes"), "it is written by hand"),
    ),
    hints=(
        (
            "Begin with numbers alone. From the right, a pair of sizes is one of four cases: equal, the left one is 1, "
            "the right one is 1, or none of these. An axis that the shorter shape lacks counts as 1."
        ),
        (
            "isinstance(d, tirx.IntImm) says that a size is a number, and int(d) which. A size of 1 gives way to the "
            "other one, whatever that is. Two numbers that differ are an error; with a symbol you just do not know."
        ),
        (
            "Outline: dtypes first. Then the ranks: -1 if one is -1; else the larger one, without a shape if one has "
            "none. Then a loop from the right over the sizes that are there: one is 1, the other stands; provably "
            "equal, either; two numbers, ValueError; else give up the shape and keep the rank."
        ),
    ),
    lesson="03_type_rules",
)
