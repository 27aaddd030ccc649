"""The magics of the course in a shell."""

from __future__ import annotations

import numpy as np

SPLIT = "def fuse(graph):\n    return [[n] for n in range(len(graph))]\n"


def test_an_answer_is_judged_and_its_function_can_be_used(notebook):
    ran = notebook(f"%%tvm_exercise 08f\n{SPLIT}")
    assert (ran.error, ran.err) == (None, "")
    assert not ran.value.ok
    assert notebook("fuse([1, 2])").value == [[0], [1]]
    standings = {each.exercise: each.state for each in notebook("%tvm_progress").value.standings}
    assert standings["08f"] == "tried"


def test_an_operator_of_an_answer_is_live(notebook):
    cell = "%%tvm_exercise 04a\ndef compute(x):\n    return te.compute(x.shape, lambda *i: x(*i), name='c')\n"
    assert notebook(cell).error is None
    ran = notebook("import numpy, tvmlab as tl\ntl.ops.lab.leaky_clamp(numpy.ones(3, 'float32'))")
    assert ran.value.tolist() == np.ones(3).tolist()


def test_hints_climb(notebook):
    assert [len(notebook("%tvm_hint 04a").value.shown) for _ in range(4)] == [1, 2, 3, 3]


def test_the_lines_of_the_cell_are_named(notebook):
    ran = notebook("%%tvm_exercise 08f\n\ndef fuse(graph):\n    return graph.nodes\n")
    assert ran.value.mismatch.where.startswith("Cell In[2], line 4: ")
    ran = notebook("%%tvm_exercise 08f\ndef fuse(graph):\n    ...\n")
    assert ran.value.unwritten.startswith("Cell In[3], line 3: ")


def test_an_exercise_that_is_not_there_is_told_at_its_line(notebook):
    ran = notebook("%tvm_hint 4a")
    assert ran.lines[0] == "CallError: there is no exercise '4a'"
    assert ran.lines[1] == "at Cell In[2], line 1: %tvm_hint 4a"
    assert "did you mean 04a?" in ran.lines[2]
