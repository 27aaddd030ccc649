"""Layered layouts: what every picture of a graph relies on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvmlab.show.layouts import Line, _isotonic, layered


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 20))
    sizes = draw(st.lists(st.tuples(st.floats(1, 90), st.floats(0, 60)), min_size=count, max_size=count))
    ends = draw(st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=40))
    return sizes, [Line(a, b) for a, b in sorted(ends) if a < b]


@settings(deadline=None, max_examples=50)
@given(graphs())
def test_no_two_vertices_overlap_and_lines_lead_down(given_graph):
    sizes, lines = given_graph
    layout = layered(sizes, lines, gap=(10, 20))
    boxes = [(x - w / 2, y - h / 2, x + w / 2, y + h / 2) for (x, y), (w, h) in zip(layout.places, sizes, strict=True)]
    for a, b in itertools.combinations(boxes, 2):
        assert a[2] < b[0] + 1e-6 or b[2] < a[0] + 1e-6 or a[3] <= b[1] + 1e-6 or b[3] <= a[1] + 1e-6
    assert all(left >= -1e-6 and right <= layout.width + 1e-6 for left, _, right, _ in boxes)
    assert all(top >= 0 and bottom <= layout.height + 1e-6 for _, top, _, bottom in boxes)
    for line, route in zip(lines, layout.routes, strict=True):
        assert route[0] == pytest.approx((layout.places[line.start][0], boxes[line.start][3]))
        assert route[-1] == pytest.approx((layout.places[line.end][0], boxes[line.end][1]))
        assert all(above[1] <= below[1] + 1e-6 for above, below in itertools.pairwise(route))


@settings(deadline=None, max_examples=50)
@given(graphs())
def test_crossings_are_counted_as_pairs(given_graph):
    sizes, lines = given_graph
    layout = layered(sizes, lines)
    pieces = {piece for route in layout.routes for piece in itertools.pairwise(map(_rounded, route))}
    crossing = sum((a[0][0] - b[0][0]) * (a[1][0] - b[1][0]) < 0 for a, b in itertools.combinations(pieces, 2)
                   if a[0][1] == b[0][1] and a[1][1] == b[1][1])  # fmt: skip
    if len({size[1] for size in sizes}) == 1:
        assert crossing == layout.crossings
    else:
        assert crossing <= layout.crossings


def _rounded(point):
    return round(point[0], 3), round(point[1], 3)


def test_lines_that_need_not_cross_do_not():
    tree = [Line(0, 4), Line(1, 5), Line(2, 4), Line(3, 5), Line(4, 6), Line(5, 6)]
    assert layered([(10.0, 10.0)] * 7, tree).crossings == 0
    swapped = [Line(0, 3), Line(1, 2)]
    assert layered([(10.0, 10.0)] * 4, swapped).crossings == 0


def test_a_chain_is_straight():
    layout = layered([(30.0, 10.0), (80.0, 10.0), (20.0, 10.0)], [Line(0, 1), Line(1, 2)])
    assert len({round(x, 3) for x, _ in layout.places}) == 1


def test_lines_may_lead_back_and_rows_may_be_given():
    sizes = [(10.0, 10.0)] * 3
    first = layered(sizes, [Line(0, 1), Line(2, 1)])
    assert first.routes[1][0][1] > first.routes[1][-1][1]
    moved = layered(sizes, [Line(0, 1), Line(2, 1)], rows=[(top + 5, bottom + 5) for top, bottom in first.rows])
    assert [y - 5 for _, y in moved.places] == pytest.approx([y for _, y in first.places])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 9)), min_size=1, max_size=12))
def test_pooling_gives_the_nearest_ascending_numbers(pairs):
    wanted, weights = map(np.array, zip(*pairs, strict=True))
    found = np.array(_isotonic(wanted.tolist(), weights.tolist()))
    assert np.all(np.diff(found) >= -1e-9)
    for value in np.unique(found):  # the mean of each level, and no level can be split to advantage
        level = np.flatnonzero(found == value)
        assert value == pytest.approx(np.average(wanted[level], weights=weights[level]), abs=1e-6)
        for end in range(1, len(level)):
            head = level[:end]
            assert np.average(wanted[head], weights=weights[head]) >= value - 1e-6
