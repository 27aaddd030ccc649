"""The magics on the real rooms: from a cell to a timed kernel, and back to the cell's line when something is wrong."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from tvmlab.magics.commands import Tvmlab
from tvmlab.magics.errors import TvmlabUsageError

OP = '''%%tvm_op lab.magics_leaky
"""Leaky."""

class Attrs:
    slope: float = 0.5

def compute(x, slope):
    s = const_like(slope, x)
    return te.compute(x.shape, lambda *i: tirx.max(x(*i), x(*i) * s), name="leaky")

def reference(x, slope):
    return np.maximum(x, x * np.asarray(slope, x.dtype))
'''
GRAPH = """%%tvm_graph block
import tvmlab as tl

def block(x: "float32[2, 64]", w: "float32[64, 8]"):
    return tl.ops.lab.magics_leaky(relax.op.matmul(x, w), slope=0.25)
"""


def value(name: str, *shape: int):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


@pytest.fixture
def net(notebook):
    """A notebook with the model `net` of two elementwise nodes, read from a file."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Neg", ["r"], ["y"])]
    graph = helper.make_graph(nodes, "net", [value("x", 2, 3)], [value("y", 2, 3)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), "net.onnx")
    assert notebook("%tvm_load net.onnx -q").error is None
    return notebook


def test_an_operator_from_a_cell(notebook):
    ran = notebook(OP)
    assert (ran.error, ran.err) == (None, "")
    assert ran.value.name == "lab.magics_leaky"
    used = notebook("import numpy as np, tvmlab as tl\ntl.ops.lab.magics_leaky(np.array([-2.0, 2.0])).tolist()")
    assert used.value == [-1.0, 2.0]


@pytest.mark.parametrize(
    ("old", "new", "line", "error"),
    [
        ("x(*i) * s", "x(*i) * slop", 9, "ComputeError"),
        ("tirx.max", "tirx.maxx", 9, "ComputeError"),
        ("def compute(x, slope):", "def compute(x, slop):", 7, "CellError"),
        ("def compute", "def comput", 7, "CellError"),
        ("class Attrs:", "class Attrs", 4, "CellError"),
        ("slope: float = 0.5", "slope: float = nothing", 5, "CellError"),
    ],
)
@pytest.mark.parametrize("blank", [0, 2], ids=["first line", "below blank lines"])
def test_a_slip_is_at_the_cell_s_own_line(notebook, old, new, line, error, blank):
    ran = notebook("\n" * blank + OP.replace(old, new))
    assert ran.lines[1].startswith(f"at Cell In[2], line {line + blank}: ")
    assert ran.lines[2].startswith("mend: ")
    assert (len(ran.lines), ran.err) == (3, "")


def test_a_slip_leaves_the_operator_live(notebook):
    notebook(OP)
    assert notebook(OP.replace("x(*i) * s", "x(*i) * slop")).error is not None
    used = notebook("import numpy as np, tvmlab as tl\ntl.ops.lab.magics_leaky(np.array([-2.0])).tolist()")
    assert used.value == [-1.0]


def test_a_refused_name_is_shown_in_the_cell(notebook):
    ran = notebook(OP.replace("lab.magics_leaky", "nn.relu"))
    assert ran.lines[0].startswith("NameRefused: ")
    assert ran.lines[1] == "at Cell In[2], line 1: %%tvm_op ▸nn.relu"


def test_an_error_of_an_operator_used_in_another_cell_is_at_its_own(notebook):
    notebook(OP.replace("lambda *i: tirx.max(x(*i), x(*i) * s)", "lambda i, j: x(i, j) * s"))
    ran = notebook("import numpy as np, tvmlab as tl\ntl.ops.lab.magics_leaky(np.ones(3))")
    assert ran.error is not None
    assert "Cell In[2], line " in ran.out


def test_the_help_names_every_part_of_a_cell():
    from tvmlab.ops.cell import LOWERING, PARTS

    told = Tvmlab.tvm_op.__doc__
    assert [part for part in (*PARTS, LOWERING) if part not in told] == []


def test_nothing_leaks_into_the_notebook(notebook):
    before = set(notebook.shell.user_ns)
    notebook(OP)
    new = {name for name in set(notebook.shell.user_ns) - before if not name.startswith("_")}
    assert new == set()


def test_a_graph_from_a_cell(notebook):
    notebook(OP)
    ran = notebook(GRAPH)
    assert (ran.error, ran.err) == (None, "")
    assert ran.value is notebook["block"]
    assert ran.value.ops == ("lab.magics_leaky",)


def test_a_slip_in_a_graph(notebook):
    ran = notebook(GRAPH.replace("(x, w)", "(x, v)"))
    assert ran.lines[1].startswith("at Cell In[2], line 5: ")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("%tvm_load net.onnx", "Model"),
        ("%tvm_fuse net", "Partition"),
        ("%tvm_fuse net.onnx --engine none", "Partition"),
        ("%tvm_diff net", "StageDiff"),
        ("%tvm_diff net fuse schedule", "StageDiff"),
        ("%tvm_verify net --seed 1", "Verification"),
        ("%tvm_verify net --stage fuse", "Verification"),
        ("%tvm_time net --repeats 3 --sides unfused fused", "Timing"),
        ("%tvm_time net --repeats 3 --sides full --kernels", "Timing"),
        ("%tvm_doctor", "DoctorReport"),
    ],
)
def test_a_line(net, line, kind):
    ran = net(line)
    assert (ran.error, ran.err) == (None, "")
    assert type(ran.value).__name__ == kind
    assert ran.out.startswith("Out[3]: ")


def test_a_live_operator_from_the_cell_to_a_verified_kernel(notebook):
    notebook(OP)
    notebook(GRAPH)
    assert notebook("%tvm_fuse block").value.kernels_after == 1
    assert notebook("%tvm_verify block").value.ok


def test_a_stage_that_is_none(net):
    ran = net("%tvm_diff net legalise fuse")
    assert isinstance(ran.error, TvmlabUsageError)
    assert ran.lines[2].startswith("mend: did you mean legalize? ")


def test_the_topi_name_goes_and_comes_with_the_extension(notebook):
    import tvm

    def topi():
        return tvm.get_global_func("topi.lab.magics_leaky", allow_missing=True)

    notebook(OP)
    assert topi() is not None
    notebook("%unload_ext tvmlab")
    assert topi() is None
    notebook("%load_ext tvmlab")
    assert topi() is not None
