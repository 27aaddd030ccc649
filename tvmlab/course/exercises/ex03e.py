"""Exercise 03e: two outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.typing_rules import Question, tells_types
from tvmlab.records import Exercise, Mismatch, Property


def known(random: np.random.Generator) -> Iterator[Question]:
    """Sizes that are numbers."""
    for rank in (1, 2, 4):
        shape = random.integers(2, 9, rank).tolist()
        out = [*shape[:-1], 2]
        yield Question((f"float32{shape}",), {}, f"(float32{out}, int64{out})")


def symbolic(_random: np.random.Generator) -> Iterator[Question]:
    """Symbols, other dtypes, shapes that are not known."""
    yield Question(("float16[n, m]",), {}, "(float16[n, 2], int64[n, 2])")
    yield Question(("int8[n, 2]",), {}, "(int8[n, 2], int64[n, 2])")
    yield Question(("float32[?, ?]",), {}, "(float32[?, ?], int64[?, ?])")
    yield Question(("float32[…]",), {}, "(float32[…], int64[…])")


def too_few(_random: np.random.Generator) -> Iterator[Question]:
    """No second largest, and no axis."""
    yield Question(("float32[3, 1]",), {}, "")
    yield Question(("float32[]",), {}, "")
    yield Question(("float32[4, 0]",), {}, "")


def runs(answer: Any, random: np.random.Generator) -> Mismatch | None:
    """The two outputs come as the rule promises."""
    x = random.permutation(12).reshape(3, 4).astype("float32")
    got = answer(x)
    order = np.argsort(-x, axis=-1)[:, :2]
    if not isinstance(got, tuple) or len(got) != 2:
        return Mismatch("the result is no pair of arrays")
    if not np.array_equal(got[0], np.take_along_axis(x, order, -1)) or not np.array_equal(got[1], order):
        return Mismatch("the two largest of a row are not right any more", mend="take compute as it was given")
    return None


EXERCISE = Exercise(
    id="03e",
    title="two outputs",
    grade=3,
    statement=(
        "The compute of lab.top2 is written: the two largest of the last axis and where they are, as int64. Write its "
        "type rule: a pair of TensorTypes. Refuse with a ValueError a last axis of which is known that it has no two "
        "elements, and a tensor without axes. Keep what is known: symbols, and the rank where only that is."
    ),
    starter="""\
def type_rule(x):
    # one type for the values, one for the places
    ...

def compute(x):
    lowest = tirx.min_value(x.dtype)
    first = topi.argmax(x, axis=-1)
    rest = te.compute(x.shape, lambda *i: tirx.if_then_else(i[-1] == first(*i[:-1]), lowest, x(*i)), name="rest")
    second = topi.argmax(rest, axis=-1)
    high, low = topi.max(x, axis=-1), topi.max(rest, axis=-1)
    shape = [*x.shape[:-1], 2]

    def pair(a, b, name):
        return te.compute(shape, lambda *i: tirx.if_then_else(i[-1] == 0, a(*i[:-1]), b(*i[:-1])), name=name)

    return pair(high, low, "values"), pair(first, second, "places")
""",
    asks="lab.top2",
    properties=(
        tells_types(known, "it is right where sizes are numbers"),
        tells_types(symbolic, "it is right for symbols, and where the shape is not known"),
        tells_types(too_few, "what has no two elements is refused"),
        Property("it still runs, and gives values and places", runs),
    ),
    hints=(
        "A rule with two outputs returns a tuple of two TensorTypes. They differ in one thing only.",
        "Refuse what is provably wrong alone: a number below 2. A symbol may be large enough.",
        (
            "Outline: an ndim of 0 is refused. Without a shape, both types with the ndim of x, which may be -1. A last "
            "size that is a number below 2 is refused. Else all sizes but the last, then 2; once with the dtype of x, "
            "once as int64."
        ),
    ),
    lesson="03_type_rules",
)
