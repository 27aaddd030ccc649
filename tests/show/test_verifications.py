"""The picture of a verification."""

from __future__ import annotations

import dataclasses
import math

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
    assert "Every element must be equal" in page.text


def test_an_output_with_a_tolerance_of_its_own(draw):
    page, _ = draw(verification(dataclasses.replace(RIGHT, tolerance=1e-9)))
    assert "WRONG y" in page.text
    assert "1e-9" in page.text


def test_no_outputs(draw):
    page, _ = draw(verification())
    assert "nothing to compare" in page.text
