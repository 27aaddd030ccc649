"""The picture of a model's kernels."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET

import pytest

from tvmlab.records import KernelProfile, KernelTime, Side, Timing
from tvmlab.show.rooflines import HEIGHT, WIDTH, roofline

CONV = KernelTime(
    "conv<1>", 2, (9e-3, 8e-3, 1e-2), 1 << 20, 1 << 20, 1 << 18, 400_000_000, 0, 1 << 20, 2e10, 4e-3, "compute"
)
RELU = KernelTime("relu", 1, (1e-3, 1e-3, 1.1e-3), 4 << 20, 4 << 20, 0, 1 << 20, 0, 8 << 20, 1e10, 9.3e-4, "memory")
MOVE = KernelTime("transpose", 1, (5e-4, 5e-4, 5e-4), 1 << 20, 1 << 20, 0, 0, 0, 2 << 20, 2e10, 1e-4, "memory")
FOREIGN = KernelTime("sort", 1, (2e-4, 2e-4, 2e-4))


def profile(*kernels):
    return KernelProfile("net", kernels, 1e11, {1 << 20: 2e10, 1 << 23: 1e10}, 20, 1, (2e-2, 2e-2, 2.1e-2))


def test_a_row_for_each_kernel_and_the_worst_one_named(draw):
    page, plain = draw(profile(CONV, RELU, MOVE, FOREIGN))
    assert "worst: conv<1>, 5.00 ms of 20.0 ms a run beyond its compute roof (44% of it)" in page.text
    assert "net: 4 kernels in 5 calls; worst: conv<1>, at 44% of its compute roof" in plain
    for cell in ("conv<1>", "9.00 ms", "84%", "2.2 MiB", "400.0 M", "44.4 Gop/s", "8.39 GB/s", "not counted", "93%"):
        assert cell in page.text
        assert cell in plain


def test_the_roofline_is_an_svg_with_words_for_those_who_do_not_see_it(draw):
    page, _ = draw(profile(CONV, RELU))
    (image,) = page.images
    document = base64.b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")).decode()
    assert ET.fromstring(document).tag.endswith("svg")
    assert "furthest below its roof in time: conv<1>" in image["alt"]


def test_dots_lie_where_their_kernels_are():
    tree = ET.fromstring(roofline(profile(CONV, RELU, MOVE, FOREIGN)))
    dots = [e for e in tree.iter() if e.tag.endswith("circle")]
    named = {dot[0].text: dot for dot in dots}
    assert set(named) == {"conv<1>", "relu"}  # what computes nothing has no place on it
    conv, relu = named["conv<1>"], named["relu"]
    assert float(conv.get("cx")) > float(relu.get("cx"))  # more operations a byte
    assert float(conv.get("cy")) < float(relu.get("cy"))  # more operations a second
    assert float(conv.get("r")) > float(relu.get("r"))  # more time
    for dot in dots:
        assert 0 < float(dot.get("cx")) < WIDTH
        assert 0 < float(dot.get("cy")) < HEIGHT


def test_a_kernel_at_its_roof_touches_the_line():
    """Its place on the slanted roof is the one that the roof has at its intensity."""
    at = KernelTime("at", 1, (8.388608e-4,), 4 << 20, 4 << 20, 0, 1 << 20, 0, 8 << 20, 1e10, 8.388608e-4, "memory")
    tree = ET.fromstring(roofline(KernelProfile("net", (at,), 1e11, {1 << 23: 1e10}, 20, 1, (1e-3,))))
    (dot,) = (e for e in tree.iter() if e.tag.endswith("circle"))
    slanted = [e for e in tree.iter() if e.tag.endswith("line") and e.get("stroke-width") == "1.2"]
    x1, y1, x2, y2 = (float(slanted[0].get(name)) for name in ("x1", "y1", "x2", "y2"))
    x, y = float(dot.get("cx")), float(dot.get("cy"))
    assert y == pytest.approx(y1 + (x - x1) * (y2 - y1) / (x2 - x1), abs=0.5)


def test_nothing_that_computes_gives_no_plot(draw):
    page, _ = draw(profile(MOVE))
    assert page.images == []
    assert roofline(profile(FOREIGN)) == ""


def test_many_kernels_fold(draw):
    page, plain = draw(profile(*[RELU] * 30))
    assert "the other 18 kernels" in page.text
    assert "… 10 more kernels" in plain


def test_a_timing_shows_its_kernels(draw):
    timing = Timing("net", (Side("full", (0.02,) * 3),), "full", 1, kernels=profile(CONV, RELU))
    page, plain = draw(timing)
    assert len(page.images) == 2
    assert "worst: conv<1>" in page.text
    assert "worst: conv<1>" in plain
    assert timing.to_dict()["kernels"]["kernels"][0]["name"] == "conv<1>"


def test_bars_are_as_long_as_the_times(draw):
    page, _ = draw(profile(CONV, RELU))
    widths = [float(s["width"].removesuffix("em")) for s in page.styles if re.fullmatch(r".*em", s.get("width", ""))]
    assert sum(widths[:2]) == pytest.approx(6, abs=0.02)
    assert sum(widths[2:4]) == pytest.approx(6 / 9, abs=0.02)
    assert widths[0] == pytest.approx(6 * 4 / 9, abs=0.02)
