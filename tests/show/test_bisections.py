"""The pictures of a bisection and of a comparison of groups."""

from __future__ import annotations

import dataclasses

import pytest

from tvmlab.records import Bisection, GroupComparison, KernelCheck, OutputError, StageCheck
from tvmlab.show import palette

ERROR = OutputError("output", (4, 8), "float32", 2**-22, 1.0, 9.0, (3, 7), 0.5, 0.5, 0, 1e-4, unit=2**-23)
FAR = dataclasses.replace(ERROR, max_abs=0.25, got=0.75)
RIGHT = KernelCheck("fused_a", ("x: a", "y: b"), (ERROR,))
SAME = KernelCheck("c", ("z: c",), (), "the same as before")
WRONG = KernelCheck("fused_d", ("u: d",), (FAR,), "its argument 1 is not the module's")


def bisection(*stages, left=()):
    return Bisection("net", "an oracle", stages, left, 1.5, ("a note",))


def test_right_in_every_stage(draw):
    page, plain = draw(bisection(StageCheck("fuse", (RIGHT, SAME), 0.5, "fused against unfused")))
    assert page.text.startswith("net right against an oracle, 1.50 s")
    assert "right in 1 stages; at worst 2 ULP of the largest value, in fused_a" in page.text
    assert "WRONG" not in page.text
    for text in (page.text, plain):
        assert "1 of 2" in text
        assert "fused against unfused" in text
        assert "839 ULP of it; reached: 2 ULP" in text
        assert "a note" in text
    assert page.styles[0]["border-left"].endswith(palette.GOOD)


def test_the_first_wrong_stage_and_kernel_in_words(draw):
    record = bisection(StageCheck("fuse", (RIGHT,), 0.5), StageCheck("schedule", (SAME, WRONG), 0.1), left=("build",))
    assert (record.stage, record.kernel, record.ok) == ("schedule", WRONG, False)
    page, plain = draw(record)
    words = (
        "schedule is the first stage where values leave the tolerance: kernel fused_d at output [3, 7]: "
        "expected 0.5, got 0.75"
    )
    for text in (page.text, plain):
        assert words in text
        assert "It computes u: d." in text
        assert "Its argument 1 is not the module's." in text
        assert "not looked at" in text
    assert page.styles[0]["border-left"].endswith(palette.BAD)


def test_nan_is_told(draw):
    nan = dataclasses.replace(FAR, non_finite=12)
    _, plain = draw(bisection(StageCheck("fuse", (dataclasses.replace(WRONG, outputs=(nan,)),), 0.5)))
    assert "12 × NaN or infinity" in plain


def test_groups(draw):
    page, plain = draw(GroupComparison("net", "build", (RIGHT, SAME), 1.5))
    assert "net after build: 2 kernels are as the unfused ones; at worst 2 ULP of the largest value" in plain
    assert "x: a · y: b" in page.text


def test_many_groups_are_folded_and_the_furthest_shown(draw):
    many = tuple(dataclasses.replace(RIGHT, kernel=f"k{i}") for i in range(40))
    record = GroupComparison("net", "build", (*many, WRONG), 1.5)
    assert "a kernel differs from the unfused ones: fused_d at output [3, 7]" in record.headline
    page, plain = draw(record)
    assert "all 41 kernels, in order" in page.text
    assert "WRONG fused_d" in page.text
    assert plain.count("\n") < 25
    assert "… 29 more kernels" in plain


@pytest.mark.parametrize("record", [bisection(), GroupComparison("net", "build", (), 0.0)])
def test_nothing_to_show(draw, record):
    _, plain = draw(record)
    assert plain.startswith("net")
