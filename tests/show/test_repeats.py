"""Blocks that come again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tvmlab.show.repeats import blocks


def residual(times):
    """A stem, and blocks of three vertices of which the last reads the first's input too."""
    names, edges = ["stem"], []
    for _ in range(times):
        at = len(names)
        names += ["a", "b", "sum"]
        edges += [(at - 1, at), (at, at + 1), (at + 1, at + 2), (at - 1, at + 2)]
    return names, edges


def test_a_block_is_shown_once_and_the_rest_is_counted():
    names, edges = residual(5)
    found = blocks(names, edges, [len(names) - 1])
    assert [(b.name, b.times, b.folded, len(b.vertices)) for b in found] == [
        ("", 1, False, 1),
        ("A", 1, False, 3),
        ("A", 4, True, 12),
    ]


def test_a_block_that_comes_back_later_is_known():
    names, edges = residual(2)
    names += ["pool", "a", "b", "sum"]
    edges += [(6, 7), (7, 8), (8, 9), (9, 10), (7, 10)]
    assert [(b.name, b.times, b.folded) for b in blocks(names, edges, [10])] == [
        ("", 1, False),
        ("A", 1, False),
        ("A", 1, True),
        ("", 1, False),
        ("A", 1, True),
    ]


def test_small_parts_make_a_block_together():
    names = ["conv", "relu", "pool"] * 4
    found = blocks(names, [(at, at + 1) for at in range(11)], [11])
    assert [(b.name, b.times, len(b.vertices)) for b in found] == [("A", 1, 3), ("A", 3, 9)]


def test_what_looks_alike_but_is_wired_otherwise_is_no_repetition():
    names, edges = residual(2)
    edges.remove((3, 6))
    assert not any(block.folded for block in blocks(names, edges, [6]))


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 25), st.data())
def test_every_vertex_is_in_one_block_whatever_the_graph(count, data):
    names = data.draw(st.lists(st.sampled_from("ab"), min_size=count, max_size=count))
    some = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    edges = sorted(data.draw(st.sets(some, max_size=40)))
    edges = [(a, b) for a, b in edges if a != b]
    found = blocks(names, edges, data.draw(st.sets(st.integers(0, count - 1), max_size=2)))
    assert sorted(v for block in found for v in block.vertices) == list(range(count))
    first = {}
    for block in found:
        if block.name and not block.folded:
            first[block.name] = [names[v] for v in block.vertices]
        elif block.folded:
            assert [names[v] for v in block.vertices] == first[block.name] * block.times
