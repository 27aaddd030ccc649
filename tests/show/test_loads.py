"""The picture of what a kernel loads."""

from __future__ import annotations

from tvmlab.records import BufferLoads, Loads


def test_every_buffer_has_a_row_with_its_loads_and_its_share(draw):
    buffers = (BufferLoads("x<b>", "input", 1200, 300), BufferLoads("padded", "between", 0, 0))
    page, text = draw(Loads("lab.conv", buffers, 300))
    for shown in (page.text, text):
        assert "lab.conv: 1,200 loads for 300 elements, 4 each" in shown
        assert "x<b>" in shown
        assert "made on the way" in shown
    widths = [style["width"] for style in page.styles if "height" in style]
    assert widths == ["160px", "1px"]


def test_a_kernel_that_loads_nothing_is_drawn_too(draw):
    page, _ = draw(Loads("lab.zeros", (), 0))
    assert "0 loads for 0 elements" in page.text
