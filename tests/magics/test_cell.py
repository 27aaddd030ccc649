"""The place of things in the running cell."""

from __future__ import annotations

import inspect

import pytest

BODIES = [  # a cell, the body IPython passes on, and the line of the cell on which it begins
    ("%%tvm_op lab.x\na = 1\n", "a = 1\n", 2),
    ("%%tvm_op lab.x\n\n\na = 1", "\n\na = 1\n", 2),
    ("\n  \n%%tvm_op lab.x\na = 1\n", "a = 1\n", 4),
    ("%%time\n%%tvm_op lab.x\na = 1\n", "a = 1\n", 3),
    ("%%tvm_op lab.x\na = 1\na = 1\n", "a = 1\na = 1\n", 2),
    ("%%tvm_op lab.x\na = 1\n\n\n", "a = 1\n\n\n", 2),
    ("get_ipython().run_cell_magic('tvm_op', 'lab.x', 'a = 1')", "a = 1", 2),
]


@pytest.mark.parametrize(("cell", "body", "line"), BODIES, ids=[b[0] for b in BODIES])
def test_first_line_of_the_body(notebook, api, cell, body, line):
    ran = notebook(cell)
    assert ran.error is None
    assert api.last.args[1] == body
    assert api.last.kwargs["first_line"] == line


def test_label_counts_as_ipython_does(notebook, api):
    for number in (2, 3, 4):
        notebook("%%tvm_op lab.x\na = 1")
        assert api.last.kwargs["label"] == f"Cell In[{number}]"


def test_label_in_a_cell_that_is_not_kept(notebook, api):
    notebook.shell.run_cell("%%tvm_op lab.x\na = 1", store_history=False)
    assert api.last.kwargs["label"] == "Cell In[1]"


def test_compiled_code_has_its_source_in_tracebacks_and_inspect(notebook, api):
    def define(name, body, *, first_line, cache, **_):
        text = "\n" * (first_line - 1) + body
        namespace = {}
        exec(compile(text, cache(text), "exec"), namespace)
        return namespace["compute"]

    api.define = define
    notebook("%%tvm_op lab.x -q -v compute\n\ndef compute(x):\n    return 1 / x\n")
    assert inspect.getsource(notebook["compute"]) == "def compute(x):\n    return 1 / x\n"
    ran = notebook("compute(0)")
    assert isinstance(ran.error, ZeroDivisionError)
    assert "Cell In[2], line 4, in compute(x)" in ran.out
    assert "----> 4     return 1 / x" in ran.out


@pytest.mark.parametrize(
    ("cell", "where"),
    [
        ("%tvm_fuse net", "Cell In[2], line 1: %tvm_fuse ▸net"),
        ("\n\n1\n\n%tvm_fuse net", "Cell In[2], line 5: %tvm_fuse ▸net"),
        ("if True:\n    %tvm_fuse net", "Cell In[2], line 2: %tvm_fuse ▸net"),
        ("'%tvm_fuse net'\n%tvm_fuse net", "Cell In[2], line 2: %tvm_fuse ▸net"),
        ("%time %tvm_fuse net", "Cell In[2], line 1: %time %tvm_fuse ▸net"),
        ("%%time\n1\n%tvm_fuse net", "Cell In[2], line 3: %tvm_fuse ▸net"),
        ("%tvm_fuse \\\n  net", "Cell In[2], line 1: %tvm_fuse \\"),
    ],
)
def test_locate(notebook, api, cell, where):
    ran = notebook(cell)
    assert [line for line in ran.lines if line.startswith("at ")] == [f"at {where}"]
    assert "there is no model, variable or file 'net'" in ran.out
