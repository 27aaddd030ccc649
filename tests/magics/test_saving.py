"""%tvm_save, %tvm_load --trust and %tvm_export."""

from __future__ import annotations

import pytest

CELL = """%%tvm_op magicslab.triple
def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) * const_like(3, x), name="triple")
"""
GRAPH = """%%tvm_graph tripled
def tripled(x: "float32[4]"):
    return tl.ops.magicslab.triple(x)
"""


@pytest.mark.notebook
def test_a_model_is_saved_and_loaded_and_an_operator_exported(notebook, tmp_path):
    notebook("import numpy as np, tvmlab as tl")
    for cell in (CELL, GRAPH, "%tvm_save tripled kept"):
        ran = notebook(cell)
        assert (ran.error, ran.err) == (None, "")
    assert set(ran.value.files) == {path.name for path in (tmp_path / "kept").iterdir()}
    refused = notebook("%tvm_save tripled kept")
    assert [refused.lines[0], refused.lines[2]] == [
        "CallError: a model was saved there",
        "mend: name another folder, or say overwrite=True",
    ]
    assert "trust=True" in notebook("%tvm_load kept").lines[2]
    assert notebook("%tvm_save tripled kept --overwrite").error is None
    assert notebook("%tvm_load kept --trust --name again").error is None
    assert notebook("tl.run(again, np.ones(4, 'f4'))").value.tolist() == [3, 3, 3, 3]
    assert "is machine code" in notebook("%tvm_fuse again").lines[0]
    assert notebook("%tvm_export magicslab.triple triple.py").error is None
    assert {path.name for path in tmp_path.iterdir()} >= {"triple.py", "test_triple.py"}
