"""Exercise 03d: the rule of a convolution over one axis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tvmlab.course.typing_rules import Question, tells_types
from tvmlab.records import Exercise


def known(random: np.random.Generator) -> Iterator[Question]:
    """Lengths, kernels, strides and paddings of all kinds."""
    for _ in range(60):
        batch, channels, outputs, kernel = (int(d) for d in random.integers(1, 7, 4))
        stride, padding = int(random.integers(1, 4)), int(random.integers(0, 4))
        length = int(random.integers(kernel, 40))
        size = len(range(0, length + 2 * padding - kernel + 1, stride))
        inputs = (f"float32[{batch}, {channels}, {length}]", f"float32[{outputs}, {channels}, {kernel}]")
        yield Question(inputs, {"stride": stride, "padding": padding}, f"float32[{batch}, {outputs}, {size}]")


def symbolic(_random: np.random.Generator) -> Iterator[Question]:
    """Symbols as the length, as the batch, and shapes that are not known."""
    w = "float32[8, 4, 3]"
    yield Question(("float32[n, 4, l]", w), {}, "float32[n, 8, l - 2]")
    yield Question(("float32[n, 4, l]", w), {"padding": 1}, "float32[n, 8, l]")
    yield Question(("float32[n, 4, l]", w), {"stride": 2, "padding": 1}, "float32[n, 8, (l - 1) // 2 + 1]")
    yield Question(("float32[2, c, 9]", "float32[8, c, 3]"), {"stride": 3}, "float32[2, 8, 3]")
    yield Question(("float32[?, ?, ?]", w), {}, "float32[?, ?, ?]")
    yield Question(("float32[…]", w), {}, "float32[?, ?, ?]")


def meaningless(_random: np.random.Generator) -> Iterator[Question]:
    """Channels that differ, a kernel that is too long, other ranks, other dtypes."""
    yield Question(("float32[2, 4, 9]", "float32[8, 5, 3]"), {}, "")
    yield Question(("float32[2, 4, 2]", "float32[8, 4, 5]"), {"padding": 1}, "")
    yield Question(("float32[4, 9]", "float32[8, 4, 3]"), {}, "")
    yield Question(("float32[2, 4, 9]", "float16[8, 4, 3]"), {}, "")


EXERCISE = Exercise(
    id="03d",
    title="stride and padding",
    grade=2,
    statement=(
        "The compute of lab.conv1d is written. x is [batch, channels, length], w is [outputs, channels, kernel]; x is "
        "padded with `padding` zeros on both sides, and w is laid on every `stride`-th place. Write its type rule: "
        "[batch, outputs, how many places]. It has to be right for symbols too, which are counted with like numbers, "
        "and // is whole-number division. Refuse with a ValueError other ranks than 3, two dtypes, numbers of channels "
        "that are different (rules.different), and a kernel longer than the padded x where both are numbers. If a "
        "shape is not known, the rank of the output still is 3."
    ),
    starter="""\
class Attrs:
    stride: int = 1
    padding: int = 0

def type_rule(x, w, stride, padding):
    # refuse first, then count
    ...

def compute(x, w, stride, padding):
    batch, channels, length = x.shape
    outputs, _, kernel = w.shape
    c, k = te.reduce_axis((0, channels), "c"), te.reduce_axis((0, kernel), "k")

    def element(b, o, i):
        at = i * stride + k - padding
        inside = tirx.all(at >= 0, at < length)
        return te.sum(tirx.if_then_else(inside, x(b, c, at), const_like(0, x)) * w(o, c, k), axis=[c, k])

    places = (length + 2 * padding - kernel) // stride + 1
    return te.compute((batch, outputs, places), element, name="conv1d")
""",
    asks="lab.conv1d",
    properties=(
        tells_types(known, "60 random sizes, strides and paddings are right"),
        tells_types(symbolic, "it is right for symbols, and where a shape is not known"),
        tells_types(meaningless, "what cannot be convolved is refused"),
    ),
    hints=(
        "Lay a kernel of 3 on a padded x of 7, at stride 2: it starts at 0, at 2, at 4. How many places are that?",
        (
            "Sizes of TVM can be added and multiplied with numbers, and // works too. rules.different(a, b) is true if "
            "two sizes are provably different; of symbols that might be equal it is not. An if on a symbol is an "
            "error: ask isinstance(size, tirx.IntImm) first."
        ),
        (
            "Outline: dtypes, then ranks (a rank of -1 is not known, and no error), then a missing shape: rank 3. The "
            "channels of both. What is left after the kernel is the padded length minus the kernel: refuse it if it is "
            "a number below zero; else divide it by the stride, and one more place is there."
        ),
    ),
    lesson="03_type_rules",
)
