"""Matched lines: what is said to have changed, done to the one program, gives the other; renaming is no change."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvmlab.matching import match_lines, rename, without_boilerplate

PROGRAM = """\
def main(x, w):
    a = matmul(x, w)
    b = relu(a)
    c = add(b, x)
    d = exp(c)
    return d"""


def applied(matching):
    """The lines that come of the first program by the matching."""
    lines = []
    for block in matching.blocks:
        if block.same:
            lines += [rename(matching.before[i], matching.renamed) for i in block.before]
        else:
            lines += [matching.after[j] for j in block.after]
    return lines


@st.composite
def programs(draw):
    """Assignments to few variables, so that names come again and renamings may clash."""
    names = st.sampled_from("abcd")
    calls = st.tuples(st.sampled_from(["f", "g"]), names, names)
    body = draw(st.lists(st.tuples(names, calls), max_size=12))
    return "\n".join(f"{target} = {function}({x}, {y})" for target, (function, x, y) in body)


@given(programs(), programs())
def test_applied_it_gives_the_other_program(before, after):
    matching = match_lines(before, after)
    assert applied(matching) == after.splitlines()
    assert [i for block in matching.blocks for i in block.before] == list(range(len(matching.before)))
    assert [j for block in matching.blocks for j in block.after] == list(range(len(matching.after)))


@given(programs(), programs())
def test_it_never_shows_more_than_a_difference_of_lines(before, after):
    matching = match_lines(before, after)
    same = sum(
        size
        for _, _, size in difflib.SequenceMatcher(None, matching.before, matching.after, False).get_matching_blocks()
    )
    assert matching.added <= len(matching.after) - same
    assert matching.removed <= len(matching.before) - same


@given(programs(), programs())
def test_no_two_variables_become_one(before, after):
    matching = match_lines(before, after)
    kept = {
        name
        for block in matching.blocks
        if block.same
        for i in block.before
        for name in "abcd"
        if name in matching.before[i]
    }
    images = [matching.renamed.get(name, name) for name in kept]
    assert len(images) == len(set(images))


@given(programs(), st.permutations("abcd"))
def test_a_program_whose_variables_are_renamed_has_not_changed(program, order):
    bound = {line[0] for line in program.splitlines()}
    names = {old: f"v_{new}" for old, new in zip("abcd", order, strict=True) if old in bound}
    matching = match_lines(program, "\n".join(rename(line, names) for line in program.splitlines()))
    assert (matching.added, matching.removed) == (0, 0)
    assert matching.renamed == {old: new for old, new in names.items() if old in bound}


def test_variables_are_numbered_anew_after_a_line_has_gone():
    after = "def main(x, w):\n    a = matmul(x, w)\n    b = add(a, x)\n    c = exp(b)\n    return c"
    matching = match_lines(PROGRAM, after)
    assert (matching.added, matching.removed) == (1, 2)
    assert matching.renamed == {"c": "b", "d": "c"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('a = f("a")', 'b = f("b")'),  # a name in a string is none
        ("a = f(x.a)", "b = f(x.b)"),  # nor is an attribute
        ("a = f(a=1)", "b = f(b=1)"),  # nor a keyword
        ("a = f(g)", "a = f(h)"),  # nor what the program does not bind
    ],
)
def test_only_variables_are_renamed(before, after):
    assert match_lines(before, after).added == 1


def test_keywords_and_attributes_stay_when_variables_change():
    matching = match_lines("lv = f(y, data=lv0.lv)\nu = lv", "gv = f(y, data=lv0.lv)\nu = gv")
    assert (matching.added, matching.renamed) == (0, {"lv": "gv"})


def test_what_is_no_python_is_compared_line_by_line():
    matching = match_lines("a = (\nb", "c = (\nb")
    assert (matching.added, matching.removed, matching.renamed) == (1, 1, {})


def test_thousands_of_lines():
    before = "\n".join(f"v{i} = f(v{i - 1})" for i in range(1, 4000))
    after = "\n".join(f"v{i} = f(v{i - 1})" for i in range(2, 4001))
    matching = match_lines(before, after)
    assert matching.added + matching.removed <= 2
    assert applied(matching) == after.splitlines()


def test_boilerplate():
    head = "# from tvm.script import tirx as T\n# from tvm.tirx.layout import Axis\n\n"
    source = f"{head}@T.prim_func\ndef f(a):\n    T.reads(a[0])\n    b = a\n    T.writes(b[0])"
    assert without_boilerplate(source) == "@T.prim_func\ndef f(a):\n    b = a"
