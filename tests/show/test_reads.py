"""The picture of which elements an element is made of."""

from __future__ import annotations

import base64
import re
from xml.etree import ElementTree as ET

import pytest

from tvmlab.records import Reads, TensorReads
from tvmlab.show import reads

OUT = TensorReads("y", (2, 3), "output", {(0, 1): 1})


def drawn(*tensors):
    return reads.drawing(Reads("f", (0, 1), (*tensors, OUT)))[0].decode()


def cells(svg, state):
    return len(re.findall(rf'<rect class="{state}"', svg))


def test_every_element_is_a_cell_and_what_does_not_exist_stands_beside(draw):
    x = TensorReads("x", (4, 5), "input", {(0, 0): 1, (0, 1): 3}, ((-1, 0), (-1, 1)))
    svg = drawn(x)
    assert (cells(svg, "b"), cells(svg, "r"), cells(svg, "m"), cells(svg, "o")) == (20 - 2 + 6 - 1, 2, 1, 2)
    assert svg.count("✗") == 2
    assert re.search(r'<text class="c"[^>]*>3</text>', svg)  # read three times
    assert re.search(r'<text class="e"[^>]*>-1</text>', svg)  # a row before the first
    page, plain = draw(Reads("f", (0, 1), (x, OUT)))
    for text in ("x [4, 5]: 2 elements, 4 reads: [0, 0] [0, 1]; 2 that do not exist: [-1, 0] [-1, 1]", "reads outside"):
        assert text in page.text
    assert "f: y[0, 1] reads 4 of x; 2 outside of x" in plain
    assert "2 that do not exist: [-1, 0] [-1, 1]" in page.images[0]["alt"]


@pytest.mark.parametrize("shape", [(), (7,), (2, 3), (2, 2, 3), (2, 1, 2, 3)])
def test_any_number_of_axes(shape):
    point = tuple(size - 1 for size in shape)
    svg = drawn(TensorReads("x", shape, "input", {point: 1}))
    assert cells(svg, "r") == 1
    assert (f"[{', '.join(map(str, point[:-2]))}, :, :]" in svg) == (len(shape) > 2)


def test_of_a_large_tensor_there_is_a_window_around_what_is_read():
    svg = drawn(TensorReads("x", (1000, 1000), "input", {(500, 700): 1}))
    assert cells(svg, "r") == 1
    assert cells(svg, "b") < 300
    assert ">500</text>" in svg
    many = TensorReads("x", (50, 2, 2), "input", {(i, 0, 0): 1 for i in range(50)})
    assert "44 more planes" in drawn(many)


def test_a_plane_that_does_not_exist_has_no_cells_but_those_that_are_read():
    svg = drawn(TensorReads("x", (4, 2, 2), "input", {}, ((4, 0, 1),)))
    assert (cells(svg, "o"), cells(svg, "b")) == (1, 5)


def test_where_data_say_every_element_is_marked(draw):
    x = TensorReads("x", (3,), "input", {}, (), by_data=True)
    assert cells(drawn(x), "p") == 3
    page, _ = draw(Reads("f", (0, 1), (x, OUT)))
    assert "any may be read" in page.text


def test_names_of_all_sorts(draw):
    for name in ("<script>alert(1)</script>", "\"'&<b>", "n" * 10_000, "مرحبا\u202e", "卷積", "\x00"):
        record = Reads(name, (0, 1), (TensorReads(name, (2,), "input", {(0,): 1}), OUT))
        page, _ = draw(record)
        svg = base64.b64decode(page.images[0]["src"].partition(",")[2]).decode()
        assert "<script" not in svg
        assert len(svg) < 10_000
        ET.fromstring(svg)
