"""Magics that IPython itself refuses, and prints on stderr: with tvmlab loaded they are errors that runners see."""

from __future__ import annotations

import pytest
from IPython.core.error import UsageError

from tvmlab.magics.errors import nearest

WRONG = [  # a cell, and what is shown
    (
        "%%tvm_opp lab.x\npass",
        "there is no magic %%tvm_opp",
        "Cell In[2], line 1: ▸%%tvm_opp lab.x",
        "did you mean %%tvm_op?",
    ),
    ("%%tvm-op lab.x\npass", "there is no magic %%tvm-op", "line 1: ▸%%tvm-op lab.x", "did you mean %%tvm_op?"),
    ("%%TVM_OP lab.x\npass", "there is no magic %%TVM_OP", "line 1: ▸%%TVM_OP lab.x", "did you mean %%tvm_op?"),
    ("%%tmv_op lab.x\npass", "there is no magic %%tmv_op", "line 1: ▸%%tmv_op lab.x", "did you mean %%tvm_op?"),
    ("%tvm_doctr", "there is no magic %tvm_doctr", "line 1: ▸%tvm_doctr", "did you mean %tvm_doctor?"),
    ("y = %tvm_fuze net", "there is no magic %tvm_fuze", "line 1: y = ▸%tvm_fuze net", "did you mean %tvm_fuse?"),
    ("1\n%tvm_fuze net", "there is no magic %tvm_fuze", "line 2: ▸%tvm_fuze net", "did you mean %tvm_fuse?"),
    (
        "%tvm_zzzzzzzzz",
        "there is no magic %tvm_zzzzzzzzz",
        "line 1: ▸%tvm_zzzzzzzzz",
        "there are %tvm_check, %tvm_diff, %tvm_doctor",
    ),
    ("%%tvm_op lab.x", "the cell under %%tvm_op is empty", "line 1: ▸%%tvm_op lab.x", "def compute(x)"),
    ("\n\n%%tvm_graph g\n", "the cell under %%tvm_graph is empty", "line 3: ▸%%tvm_graph g", "def NAME(x:"),
    ("%%tvm_fuse net\npass", "%tvm_fuse works on its line, not on a cell", "line 1: ▸%%tvm_fuse net", "with one %"),
    ("%%tvm_fuse net", "%tvm_fuse works on its line, not on a cell", "line 1: ▸%%tvm_fuse net", "with one %"),
    ("1\n%%tvm_fuse net", "%tvm_fuse works on its line, not on a cell", "line 2: ▸%%tvm_fuse net", "with one %"),
    (
        "# my operator\n%%tvm_op lab.x\npass",
        "%%tvm_op is not at the top of its cell",
        "line 2: ▸%%tvm_op lab.x",
        "move it to the first line",
    ),
]


@pytest.mark.parametrize(("cell", "what", "where", "mend"), WRONG, ids=[c[0] for c in WRONG])
def test_wrong_magic(notebook, cell, what, where, mend):
    ran = notebook(cell)
    assert ran.err == ""
    assert ran.lines[0] == f"TvmlabUsageError: {what}"
    assert ran.lines[1].startswith("at Cell In[2], line ")
    assert ran.lines[1].endswith(where)
    assert ran.lines[2].startswith("mend: ")
    assert mend in ran.lines[2]
    assert len(ran.lines) == 3


@pytest.mark.parametrize("cell", ["%nosuchmagic", "%%nosuchmagic\npass", "%timit 1", "%%timeit", "%cd -nosuch"])
def test_magics_of_others_are_left_to_ipython(notebook, cell):
    shadowed = notebook(cell)
    notebook("%unload_ext tvmlab")
    plain = notebook(cell)
    assert type(shadowed.error) is type(plain.error)
    assert (shadowed.out, shadowed.err) == (plain.out, plain.err)


def test_a_usage_error_that_names_no_magic_is_left_to_ipython(notebook):
    notebook.shell.user_ns["UsageError"] = UsageError
    ran = notebook("raise UsageError('tvm_op is a word')")
    assert (ran.out, ran.err) == ("", "UsageError: tvm_op is a word\n")


def test_below_another_cell_magic(notebook):
    ran = notebook("%%time\n%%tvm_opp x\npass")
    assert ran.err == ""
    assert "TvmlabUsageError: there is no magic %%tvm_opp" in ran.lines
    assert "at Cell In[2], line 2: ▸%%tvm_opp x" in ran.lines


def test_two_uses_in_one_cell_are_told_apart(notebook, api):
    notebook("%tvm_load net.onnx -q")
    ran = notebook("\n%tvm_fuse net -q\n%tvm_fuse net --engin\n%tvm_fuse net")
    assert ran.lines[1] == "at Cell In[3], line 3: %tvm_fuse net ▸--engin"


def test_a_magic_run_by_a_program_has_no_place_in_the_cell(notebook):
    ran = notebook("get_ipython().run_line_magic('tvm_fuze', 'net')")
    assert ran.lines == ["TvmlabUsageError: there is no magic %tvm_fuze", "mend: did you mean %tvm_fuse?"]


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [("fuze", ["fuse", "diff"], "fuse"), ("FUSE", ["fuse"], "fuse"), ("x", ["fuse"], ""), ("fuse", [], "")],
)
def test_nearest(word, known, meant):
    assert nearest(word, known) == meant
