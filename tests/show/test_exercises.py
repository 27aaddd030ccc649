"""The pictures of the course."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from tvmlab.fusion import Graph
from tvmlab.records import (
    CourseProgress,
    EdgeMismatch,
    ElementMismatch,
    Exercise,
    GroupMismatch,
    Hints,
    KindMismatch,
    Mismatch,
    ParentMismatch,
    Property,
    PropertyResult,
    Standing,
    Verdict,
)
from tvmlab.show.palette import BAD


def verdict(mismatch, **more):
    results = (PropertyResult("it is <b>right", "fails", mismatch), PropertyResult("it is fast", "holds"))
    return Verdict("04a", "clamp", results, **more)


def svg(page):
    (image,) = page.images
    return base64.b64decode(image["src"].partition(",")[2]).decode()


def elements(shape, index):
    expected = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    got = expected.copy()
    got[index] = 1234
    return ElementMismatch(
        "it differs", case="x: float32", index=index, got=got, expected=expected, wrong=got != expected
    )


def test_an_exercise_shows_what_is_asked_and_the_cell_to_begin_with(draw):
    properties = (Property("it is <b>right", lambda answer, random: None),)
    asked = Exercise(
        "04a", "clamp", 2, "Clamp <i>it.", "def compute(x):\n    ...\n", "lab.c", properties, ("1", "2", "3"), "04_x"
    )
    page, plain = draw(asked)
    for text in ("04a ★★ clamp", "Clamp <i>it.", "it is <b>right", "%%tvm_exercise 04a\ndef compute(x):"):
        assert text in page.text
        assert text in plain
    assert "3" not in page.text.replace("%%tvm_exercise 04a", "")


@pytest.mark.parametrize(
    ("shape", "index"), [((2, 3), (1, 2)), ((5,), (3,)), ((), ()), ((2, 3, 40, 50), (1, 2, 30, 45))]
)
def test_the_first_wrong_element_is_framed_beside_what_should_be_there(draw, shape, index):
    mismatch = elements(shape, index)
    page, plain = draw(verdict(mismatch))
    drawn = svg(page)
    assert drawn.count('stroke-width="2.5"') == 2
    assert ">1234<" in drawn
    assert f">{mismatch.expected[index]:.5g}<" in drawn
    assert drawn.count("<rect") <= 128
    assert "it differs" in plain
    assert f"1 of {mismatch.got.size:,} elements are wrong, for x: float32" in page.text


def test_two_groupings_stand_side_by_side_and_the_wrong_edge_is_marked(draw):
    graph = Graph.from_kinds([0, 0, 3], [[-1], [0], [1]], [2])
    mismatch = GroupMismatch("apart", "", "a reason", graph, ((0,), (1, 2)), ((0, 1, 2),), (0, 1))
    page, plain = draw(verdict(mismatch))
    drawn = svg(page)
    assert "your groups" in drawn
    assert "TVM&#x27;s groups" in drawn
    assert drawn.count('class="refused"') == 2
    assert BAD in drawn
    for text in ("your groups: {0} {1, 2}", "TVM's groups: {0, 1, 2}"):
        assert text in plain
        assert text in page.images[0]["alt"]
    assert "a reason" in page.text


def test_groups_that_leave_nodes_out_or_name_them_twice_are_drawn_all_the_same(draw):
    graph = Graph.from_kinds([0, 0, 0], [[-1], [0], [1]], [2])
    page, _ = draw(verdict(GroupMismatch("x", graph=graph, got=((0, 1), (1, 7)), expected=((0, 1, 2),))))
    assert "your groups: {0, 1} {1, 7}" in page.images[0]["alt"]


def test_edges_that_are_missing_or_too_many_are_drawn_into_the_right_graph(draw):
    graph = Graph.from_kinds([8, 8, 8], [[-1], [0], [1]], [2])
    page, plain = draw(verdict(EdgeMismatch("it differs", "", "", graph, ((0, 1),), ((2, 0),), "node 0: <a>")))
    drawn = svg(page)
    assert 'class="merged"' in drawn
    assert 'class="refused"' in drawn
    assert "node 0: <a>" in page.text
    assert "node 0: <a>" in plain


def test_a_kernel_of_another_kind_is_shown_with_its_loops(draw):
    page, plain = draw(verdict(KindMismatch("mean is OEF", code="for i in range(4):\n    pass")))
    for text in (page.text, plain):
        assert "mean is OEF" in text
        assert "for i in range(4):" in text


def test_rows_and_columns_of_a_table_bear_their_names(draw):
    wrong = np.array([[True, False], [False, False]])
    words = np.array([["fuse", "apart"], ["apart", "apart"]])
    page, _ = draw(verdict(ElementMismatch("it differs", "", "", "c", (0, 0), words, words, wrong, ("ELEM", "<OEF"))))
    drawn = svg(page)
    assert drawn.count(">ELEM<") == 4
    assert "&lt;OEF" in drawn


def test_a_verdict_shows_each_property_and_the_place(draw):
    page, plain = draw(verdict(Mismatch("it is 1", "Cell In[3], line 2: <x>", "write 2"), notes=("kept nowhere",)))
    for text in (
        "✗ fails",
        "✓ holds",
        "it is <b>right",
        "it is 1",
        "Cell In[3], line 2: <x>",
        "write 2",
        "kept nowhere",
    ):
        assert text in page.text
        assert text in plain
    assert "not yet" in page.text
    page, plain = draw(Verdict("04a", "clamp", (PropertyResult("it is right", "holds"),)))
    assert "solved" in page.text
    assert "solved" in plain
    assert "hint" not in page.text


def test_a_starter_is_not_wrong(draw):
    page, plain = draw(
        Verdict("04a", "clamp", (PropertyResult("it is right", "untried"),), unwritten="Cell In[1], line 4")
    )
    for text in ("not written yet", "Cell In[1], line 4"):
        assert text in page.text
        assert text in plain
    assert "fails" not in page.text


def test_hints_stand_one_under_the_other(draw):
    page, plain = draw(Hints("04a", "clamp", ("look", "think <b>"), 1))
    for text in ("look", "think <b>", "1 more hint"):
        assert text in page.text
        assert text in plain


def test_the_map_has_every_lesson_and_state(draw):
    rows = (
        Standing("04a", "clamp", 1, "04_x", "solved", 2, 1),
        Standing("04b", "softmax <b>", 2, "04_x", "tried", 3, 0),
        Standing("08f", "fuser", 3, "08_y", "new", 0, 0),
    )
    page, plain = draw(CourseProgress(rows, "/home/me/.tvmlab_progress.jsonl"))
    for text in ("1 of 3 exercises solved; next: 04b softmax <b>", "✓ solved", "tried", "new", "★★★"):
        assert text in page.text
        assert text in plain
    assert "04_x: 1 of 2" in page.text
    assert "/home/me/.tvmlab_progress.jsonl" in page.text


def test_the_map_folds_lessons_that_are_not_begun_unless_none_is():
    def opened(*states):
        rows = tuple(Standing(f"0{at}a", "it", 1, f"0{at}_x", state, 0, 0) for at, state in enumerate(states))
        return CourseProgress(rows, "f")._repr_mimebundle_()["text/html"].count("<details open")

    assert opened("new", "tried", "solved") == 2
    assert opened("new", "new") == 2


@pytest.mark.parametrize(
    ("got", "expected", "arrows"), [(1, 3, (1, 1)), (None, 3, (0, 1)), ("x", None, (0, 0)), (7, 3, (0, 1))]
)
def test_the_wrong_parent_and_the_right_one_are_drawn(draw, got, expected, arrows):
    graph = Graph.from_kinds([0] * 4, [[-1], [0], [0], [1, 2]], [3])
    page, plain = draw(verdict(ParentMismatch("it is 3", "", "a way avoids 1", graph, 0, got, expected)))
    drawn = svg(page)
    assert (drawn.count('class="refused"'), drawn.count('class="merged"')) == arrows
    assert "a way avoids 1" in plain
    assert "A graph of 4 nodes. it is 3." in page.images[0]["alt"]
