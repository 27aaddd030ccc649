"""The picture of a timing."""

from __future__ import annotations

import base64

import pytest

from tvmlab.records import Side, Timing
from tvmlab.show.timings import ratio

PNG = b"\x89PNG\r\n\x1a\n"


def timing(*sides, **rest):
    return Timing("block", sides, sides[0].name if sides else "", **{"threads": 2, **rest})


UNFUSED = Side("unfused", (4.0, 4.4, 4.2))
SCHEDULED = Side("scheduled", (1.0, 1.1, 1.05))
PEER = Side("onnxruntime", (0.1, 0.11, 0.105), "3 calls a repeat")


def test_ratios_medians_and_notes(draw):
    page, plain = draw(timing(UNFUSED, SCHEDULED, PEER, notes=("a note",), machine={"cpu": "EPYC"}))
    assert page.text.startswith(
        "block: scheduled is 4.00 × as fast as unfused and 0.100 × as fast as onnxruntime (2 threads"
    )
    for cell in ("4.20 s", "1.05 s", "105 ms", "4.00 ×", "40.0 ×", "3 calls a repeat", "a note", "cpu EPYC"):
        assert cell in page.text
        assert cell in plain


def test_the_plot_is_a_png_with_words_for_those_who_do_not_see_it(draw):
    record = timing(UNFUSED, SCHEDULED, PEER)
    page, _ = draw(record)
    (image,) = page.images
    assert image["src"] == f"data:image/png;base64,{record._repr_mimebundle_()['image/png']}"
    assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")).startswith(PNG)
    assert "unfused median 4.20 s" in image["alt"]
    assert "onnxruntime median 105 ms" in image["alt"]


@pytest.mark.parametrize("seconds", [(1.0,), (1e-6, 1e-6, 1e-6), (1e-7, 100.0)])
def test_any_spread_can_be_drawn(draw, seconds):
    page, _ = draw(timing(Side("unfused", seconds), Side("scheduled", seconds)))
    assert len(page.images) == 1


def test_sides_alone(draw):
    page, _ = draw(timing(UNFUSED))
    assert page.text.startswith("block: unfused 4.20 s")
    page, _ = draw(timing())
    assert "nothing timed" in page.text


@pytest.mark.parametrize(
    ("value", "text"), [(1.014, "1.01"), (4.5, "4.50"), (57.66, "57.7"), (123.4, "123"), (5678, "5,678")]
)
def test_ratios_have_three_digits(value, text):
    assert ratio(value) == text


def test_repeats_beyond_the_fences_are_counted_and_kept(draw):
    side = Side("fused", (1.0, 1.0, 1.1, 1.1, 1.05, 9.0, 0.1))
    assert side.outliers == (5, 6)
    page, plain = draw(timing(Side("unfused", (4.0,) * 7), side))
    assert "are circles: fused 2" in page.text
    assert "which are kept: fused 2" in plain
    assert UNFUSED.outliers == Side("one", (1.0,)).outliers == ()


def test_a_reference_is_a_peer(draw):
    page, _ = draw(timing(Side("numpy", (2.0,) * 3), Side("composed", (1.0,) * 3), Side("kernel", (0.5,) * 3)))
    assert page.text.startswith("block: kernel is 4.00 × as fast as numpy")
    both = timing(UNFUSED, SCHEDULED, Side("onnxruntime-off", (0.4,) * 3), PEER)
    page, _ = draw(both)
    assert "0.381 × as fast as onnxruntime-off and 0.100 × as fast as onnxruntime" in page.text
