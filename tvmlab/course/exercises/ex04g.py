"""Exercise 04g: a depthwise convolution that reads nothing twice without need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.operators import reads_at_most
from tvmlab.course.values import Case, has_values_of
from tvmlab.records import Exercise


def depthwise(x: Any, w: Any, padding: int = 1) -> Any:
    """Each channel with a filter of its own, with zeros around."""
    padded = np.pad(x.astype("float64"), ((0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[1:], axis=(1, 2))
    return np.einsum("cyzij,cij->cyz", windows, w).astype(x.dtype)


def par(x: Any, w: Any, padding: int = 1) -> int:
    """Two loads, of an element and of its weight, for each tap that is inside of the image."""

    def inside(size: int, taps: int) -> int:
        return sum(0 <= at + tap - padding < size for tap in range(taps) for at in range(size + 2 * padding - taps + 1))

    return int(2 * x.shape[0] * inside(x.shape[1], w.shape[1]) * inside(x.shape[2], w.shape[2]))


def small(_random: np.random.Generator) -> Iterator[Case]:
    """Ones, so that the result counts the taps."""
    yield Case((np.ones((1, 4, 4), "float32"), np.ones((1, 3, 3), "float32")), {})


def others(random: np.random.Generator) -> Iterator[Case]:
    """Other sizes, filters that are not square, and other paddings."""
    for shape, taps, padding in (((2, 5, 6), (3, 3), 1), ((3, 4, 5), (1, 3), 0), ((1, 4, 4), (3, 2), 2)):
        x, w = random.normal(size=shape), random.normal(size=(shape[0], *taps))
        yield Case((x.astype("float32"), w.astype("float32")), {"padding": padding})


def scored(_random: np.random.Generator) -> Iterator[Case]:
    """A small image and a larger one."""
    for size in (4, 12):
        yield Case((np.zeros((2, size, size), "float32"), np.zeros((2, 3, 3), "float32")), {})


EXERCISE = Exercise(
    id="04g",
    title="a depthwise convolution under par",
    grade=3,
    statement=(
        "Convolve each channel of x, float32[channels, height, width], with a filter of its own, w, float32[channels, "
        "rows, columns]: element [c, y, z] is the sum of x[c, y + i - padding, z + j - padding] · w[c, i, j], and what "
        "is outside of the image is zero. The score is the number of loads, as tl.loads counts them. Par is two for "
        "each tap that is inside: one of x, one of w, and none of anything else."
    ),
    starter='''\
class Attrs:
    padding: int = 1

def compute(x, w, padding):
    """x: [channels, height, width], w: [channels, rows, columns], whose size is known: int(w.shape[1])."""
    channels, height, width = x.shape
    rows, columns = int(w.shape[1]), int(w.shape[2])

    def element(c, y, z):
        return ...

    size = (channels, height + 2 * padding - rows + 1, width + 2 * padding - columns + 1)
    return te.compute(size, element, name="depthwise")
''',
    asks="lab.depthwise",
    properties=(
        has_values_of(depthwise, small, "it is right on an image of ones"),
        has_values_of(depthwise, others, "it is right for other sizes, filters and paddings"),
        reads_at_most(par, scored, "it loads no more than par"),
    ),
    hints=(
        (
            "First make it right: a padded copy of x in a te.compute of its own, and a te.sum over two axes. Look at "
            "tl.loads of it: which buffers are loaded, and what are they for?"
        ),
        (
            "The padded copy costs loads, and so does the running total of a te.sum, which is in memory. The taps are "
            "few, and their number is known in Python: a loop in Python writes a sum out, term by term."
        ),
        (
            "Outline: in element, start from a zero of x's dtype. For each i and j of two Python loops add an "
            "if_then_else: where the place is inside of the image, the product, else the zero. Put the load of the "
            "weight under the condition too."
        ),
    ),
    lesson="04_construction_crew",
)
