"""Exercise 03c: the rule of a reduction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.typing_rules import Question, mentions_none_of, tells_types
from tvmlab.records import Exercise


def known(random: np.random.Generator) -> Iterator[Question]:
    """Every axis of some shapes, kept and not."""
    for shape in (*(random.integers(2, 30, rank).tolist() for rank in (1, 2, 4)), [3, 5, 3]):
        rank = len(shape)
        for axis in range(-rank, rank):
            left = [d for i, d in enumerate(shape) if i != axis % rank]
            kept = [1 if i == axis % rank else d for i, d in enumerate(shape)]
            yield Question((f"float32{shape}",), {"axis": axis}, f"float32{left}")
            yield Question((f"float32{shape}",), {"axis": axis, "keepdims": True}, f"float32{kept}")


def symbolic(_random: np.random.Generator) -> Iterator[Question]:
    """Symbols that stay and that go, and shapes that are not known."""
    yield Question(("float16[n, m, 4]",), {"axis": 1}, "float16[n, 4]")
    yield Question(("float16[n, m, 4]",), {"axis": 0, "keepdims": True}, "float16[1, m, 4]")
    yield Question(("float32[?, ?, ?]",), {"axis": 1}, "float32[?, ?]")
    yield Question(("float32[?, ?, ?]",), {"axis": 1, "keepdims": True}, "float32[?, ?, ?]")
    yield Question(("float32[…]",), {"axis": 1}, "float32[…]")


def outside(_random: np.random.Generator) -> Iterator[Question]:
    """Axes that are not there."""
    for axis in (2, -3, 7):
        yield Question(("float32[2, 3]",), {"axis": axis}, "")
        yield Question(("float32[?, ?]",), {"axis": axis}, "")


EXERCISE = Exercise(
    id="03c",
    title="a reduction",
    grade=2,
    statement=(
        "The compute of lab.total is written: it sums over one axis, which goes, or stays with size 1 if keepdims is "
        "true. Write its type rule, by hand and not with rules.reduce. An axis may count from the end. One that is not "
        "there is refused with a ValueError, and where only the rank is known, that of the output still is."
    ),
    starter="""\
class Attrs:
    axis: int = -1
    keepdims: bool = False

def type_rule(x, axis, keepdims):
    # begin with what is known least
    ...

def compute(x, axis, keepdims):
    at = axis % len(x.shape)
    k = te.reduce_axis((0, x.shape[at]), "k")
    shape = [1 if i == at else d for i, d in enumerate(x.shape) if keepdims or i != at]

    def element(*i):
        before, after = i[:at], i[at + keepdims :]
        return te.sum(x(*before, k, *after), axis=k)

    return te.compute(shape, element, name="total")
""",
    asks="lab.total",
    properties=(
        tells_types(known, "it is right for every axis where sizes are numbers"),
        tells_types(symbolic, "it is right for symbols, and where the shape is not known"),
        tells_types(outside, "an axis that is not there is refused"),
        mentions_none_of(("rules.reduce", "rules.normalize_axes"), "it is written by hand"),
    ),
    hints=(
        "Write it for a shape that is known, with a list of sizes. What happens to the one at axis?",
        "x.ndim is -1 if not even the rank is known, and x.shape is None if only the rank is. Ask in this order.",
        (
            "Outline: without a rank, a type without one. Then the axis: refuse what is outside of -ndim … ndim - 1, "
            "and add ndim to what is negative. Without a shape, a type with ndim, or one less. Else the list of sizes, "
            "in which that one is 1, or left out."
        ),
    ),
    lesson="03_type_rules",
)
