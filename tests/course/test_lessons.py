"""The notebooks of the course as data."""

from __future__ import annotations

import nbformat
import pytest

from tvmlab.course.lessons import Section, exercise_in, passed, sections, solved
from tvmlab.errors import LoadError


def notebook(*cells):
    made = nbformat.v4.new_notebook()
    for cell in cells:
        kind = nbformat.v4.new_code_cell if cell.startswith(("%", "x")) else nbformat.v4.new_markdown_cell
        made.cells.append(kind(cell))
    return made


@pytest.mark.parametrize(
    ("cell", "identity"),
    [
        ("%%tvm_exercise 02c\ndef f(): ...", "02c"),
        ("\n%%tvm_exercise  08f -q", "08f"),
        ("%%tvm_op 02c", ""),
        ("# %%tvm_exercise 02c", ""),
        ("", ""),
    ],
)
def test_an_exercise_is_known_by_its_magic(cell, identity):
    assert exercise_in(cell) == identity


def test_answers_stand_in_a_copy_and_other_cells_stay():
    given = notebook("x = 1", "%%tvm_exercise 02c\n...", "%%tvm_exercise 04a\n...", "# %%tvm_exercise 02c")
    filled = solved(given, {"02c": "\ny = 2\n\n", "99z": "no"})
    assert [cell.source for cell in filled.cells] == [
        "x = 1",
        "%%tvm_exercise 02c\ny = 2\n",
        "%%tvm_exercise 04a\n...",
        "# %%tvm_exercise 02c",
    ]
    assert given.cells[1].source.endswith("...")


def test_what_passed_is_read_from_the_verdicts():
    right, wrong, open_ = (notebook(f"%%tvm_exercise 0{n}a\n...").cells[0] for n in (1, 2, 3))
    for cell, text in ((right, "01a x: solved, 2 of 2 properties hold\nmore"), (wrong, "02a x: not yet, 0 of 1 hold")):
        cell.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": text})]
    made = notebook("# text")
    made.cells += [right, wrong, open_]
    assert passed(made) == {"01a"}


def test_a_section_says_which_items_it_treats():
    made = notebook(
        "# Title\n\nText",
        "## One\n<!-- articles: A01 B43 A104 -->\n\nText\n\n### Deeper",
        "x = 1",
        "## Two\n<!-- articles: none -->",
    )
    assert list(sections(made)) == [Section("One", ("A01", "B43", "A104")), Section("Two", ())]


@pytest.mark.parametrize(
    "mark", ["", "text", "<!-- articles: -->", "<!-- articles: A1 -->", "<!-- articles: A01,A02 -->"]
)
def test_a_section_that_does_not_say_so_is_told(mark):
    with pytest.raises(LoadError, match="'One' does not say"):
        list(sections(notebook(f"## One\n{mark}\n\n<!-- articles: A01 -->")))
