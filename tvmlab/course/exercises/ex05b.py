"""Exercise 05b: lower to TVM's own operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.lowerings import calls_operators_alone, lowers_to
from tvmlab.course.values import Case
from tvmlab.records import Exercise

OPERATOR = '''"""Logarithm of the sum of exponentials along an axis."""

class Attrs:
    axis: int = -1

def compute(x, axis):
    return topi.log(topi.sum(topi.exp(x), axis=axis))
'''


def logsumexp(x: Any, axis: int = -1) -> Any:
    """In float64."""
    wide = x.astype("float64")
    top = wide.max(axis, keepdims=True)
    return (np.log(np.exp(wide - top).sum(axis)) + top.squeeze(axis)).astype(x.dtype)


def last(random: np.random.Generator) -> Iterator[Case]:
    """Along the last axis."""
    yield Case((np.array([[0, 0, 0, 0], [1, 2, 3, 4]], "float32"),), {})
    yield Case((random.normal(size=(3, 5)).astype("float32"),), {})


def axes(random: np.random.Generator) -> Iterator[Case]:
    """Along any axis of three."""
    for axis in (0, 1, -2):
        yield Case((random.normal(size=(2, 3, 4)).astype("float32"),), {"axis": axis})


def large(random: np.random.Generator) -> Iterator[Case]:
    """Where exp overflows."""
    yield Case(((random.normal(size=(3, 5)) + 300).astype("float32"),), {})


EXERCISE = Exercise(
    id="05b",
    title="lowered to what is there",
    grade=2,
    statement=(
        "logsumexp(x, axis) is the logarithm of the sum of exp(x) along an axis, which is dropped. Lower it to TVM's "
        "own operators, relax.op, and write no kernel: each of them works along any axis. exp(300) is no float32, so "
        "take the largest element out first, and add it at the end."
    ),
    starter='''\
def legalize(bb, call):
    """The expression that replaces the call; call.attrs.axis is the axis."""
    x, axis = call.args[0], call.attrs.axis
    ...
''',
    asks="legalize",
    properties=(
        lowers_to(OPERATOR, logsumexp, last, "along the last axis its values are right"),
        lowers_to(OPERATOR, logsumexp, axes, "and along any other"),
        lowers_to(OPERATOR, logsumexp, large, "large numbers do not overflow"),
        calls_operators_alone(
            OPERATOR, Case((np.zeros((2, 3), "float32"),), {}), "it writes no kernel of its own: call_te is not needed"
        ),
    ),
    hints=(
        "Write it in NumPy first. Which of its functions exist in relax.op, under which names?",
        (
            "relax.op.max and relax.op.sum take axis= and keepdims=. A column, kept by keepdims=True, is broadcast "
            "over its rows. relax.op.squeeze(column, axis) drops the axis. Nested calls are fine."
        ),
        (
            "Outline: the largest along the axis, kept; exp of the difference; the logarithm of their sum, kept; "
            "plus the largest, of the same shape. relax.op.squeeze takes a list of axes."
        ),
    ),
    lesson="05_wiring",
)
