"""The picture of a verification."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tvmlab.measure import compare
from tvmlab.records import OutputError, Verification
from tvmlab.show import palette

RIGHT = OutputError("y", (1, 10), "float32", 2e-6, 4.0, 31, (0, 3), 1.25, 1.250002, 0)
WRONG = dataclasses.replace(RIGHT, name="z", max_abs=0.5, max_ulp=2.1e7, expected=math.nan, non_finite=12)


def verification(*outputs, tolerance=1e-4, notes=()):
    return Verification("block", "onnxruntime with its optimiser off", tolerance, outputs, 1.5, notes)


def test_right(draw):
    page, plain = draw(verification(RIGHT, notes=("49 live operators ran as their reference",)))
    assert page.text.startswith("block right against onnxruntime with its optimiser off, 1.50 s")
    for cell in ("y float32[1, 10]", "2e-6", "5e-7", "1e-4", "31", "[0, 3]", "1.250002"):
        assert cell in page.text
        assert cell.replace("y float", "y: float") in plain
    assert "WRONG" not in page.text
    assert page.styles[0]["border-left"].endswith(palette.GOOD)
    assert "49 live operators ran as their reference" in page.text
    assert plain.endswith("49 live operators ran as their reference")


def test_wrong(draw):
    page, plain = draw(verification(RIGHT, WRONG))
    assert page.text.startswith("block WRONG")
    assert "WRONG z" in page.text
    assert "WRONG y" not in page.text
    assert "12 × NaN or infinity on one side" in page.text
    assert "12 × NaN or infinity on one side" in plain
    assert page.styles[0]["border-left"].endswith(palette.BAD)


def test_the_tolerance_is_explained(draw):
    page, _ = draw(verification(RIGHT, tolerance=1e-2))
    assert "may differ by 1e-2 of its output's largest value" in page.text
    page, _ = draw(verification(dataclasses.replace(RIGHT, max_abs=0.0), tolerance=0.0))
    assert "float32: every element must be equal, and all are." in page.text


def test_the_tolerance_and_the_error_are_told_in_units_of_the_largest_value(draw):
    error = compare(np.array([1.0, 0.25], np.float32), np.array([1.0, 0.25 + 2**-21], np.float32), "y")
    half = compare(np.array([4.0], np.float16), np.array([3.5], np.float16), "h")
    page, plain = draw(verification(error, dataclasses.replace(half, tolerance=1e-2)))
    # Above 1, float32 goes in steps of 2**-23: 1e-4 are 839 of them, and 2**-21 are 4.
    assert "float32: an element may differ by 1e-4 of its output's largest value (1), which is 839 ULP of it" in plain
    assert "reached: 4 ULP" in plain
    # Above 4, float16 goes in steps of 2**-8: 1 % of 4 are 10 of them, and a half are 128.
    assert "float16: an element may differ by 1e-2 of its output's largest value (4), which is 10 ULP of it" in plain
    assert "reached: 128 ULP" in page.text


def test_an_output_with_a_tolerance_of_its_own(draw):
    page, _ = draw(verification(dataclasses.replace(RIGHT, tolerance=1e-9)))
    assert "WRONG y" in page.text
    assert "1e-9" in page.text


def test_no_outputs(draw):
    page, _ = draw(verification())
    assert "nothing to compare" in page.text
