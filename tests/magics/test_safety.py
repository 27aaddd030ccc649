"""Every way in which TVM is known to end its process, in a real kernel in safe mode: each is an error, and it lives."""

from __future__ import annotations

import re

import pytest
from nbclient import NotebookClient

from .test_kernel import notebook_of, path  # noqa: F401 - a fixture

pytestmark = pytest.mark.notebook

HEAD = """%load_ext tvmlab
%config Tvmlab.safe = True
%config Tvmlab.safe_seconds = 2
import numpy as np
import tvm
import tvmlab as tl
from tvm.ir import Op
from tvm.script import ir as I, relax as R, tirx as T
from tvmlab.prelude import *
ones, far = np.ones(4, "int32"), np.full(4, 2**30, "int32")
x = relax.Var("x", relax.TensorType([4], "float32"))

def raw(name, legalize):
    full = "relax.safety." + name
    tvm.ir._ffi_api.RegisterOp(full, "")
    hooks = {"FInferType": lambda call, bb: call.args[0].ty, "FPurity": True, "FLegalize": legalize}
    for key, value in hooks.items():
        Op.get(full).set_attr(key, value)
    return Op.get(full)

def graph(step):
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(bb.emit(step(x)))
        bb.emit_func_output(y)
    return bb.get()
"""
BY_HAND = """@I.ir_module
class ByHand:
    @T.prim_func(s_tir=True)
    def outside(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                y[v * 500000000 + 400000000] = x[v]

    @T.prim_func
    def endless(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        while x[0] > T.float32(0):
            y[0] = y[0] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = ByHand
        with R.dataflow():
            y = R.call_tir(cls.outside, (x,), out_ty=R.Tensor((4,), "float32"))
            z = R.call_tir(cls.endless, (y,), out_ty=R.Tensor((4,), "float32"))
            R.output(z)
        return z
"""
SETUP = {
    "head": HEAD,
    "divide": "%%tvm_op -q safety.div\ndef compute(x, y): return te.compute(x.shape, lambda *i: x(*i) // y(*i))",
    "truncate": "%%tvm_op -q safety.cut\n"
    "def compute(x, y): return te.compute(x.shape, lambda *i: tirx.truncdiv(x(*i), y(*i)))",
    "take": "%%tvm_op -q safety.take\n"
    "examples = [{'x': np.ones(4, 'float32'), 'at': np.zeros(4, 'int32')}]\n"
    "def compute(x, at): return te.compute(at.shape, lambda i: x[at[i]])",
    "by hand": BY_HAND,
}
DEATHS = {  # cell, what the top line says
    "index far outside": (
        "%%tvm_op safety.far\ndef compute(x): return te.compute(x.shape, lambda i: x[i * 500_000_000])",
        "reads x out of bounds",
    ),
    "index from data": ("tl.ops.safety.take(np.ones(4, 'float32'), far)", "memory that is not its own"),
    "divided by zero": ("tl.ops.safety.div(ones, ones * 0)", "divided an integer by zero"),
    "smallest by -1": ("tl.ops.safety.cut(np.full(4, -(2**31), 'int32'), -ones)", "the smallest integer by -1"),
    "FLegalize of itself": (
        (
            "own = raw('own', lambda bb, call: relax.Call(Op.get('relax.safety.own'), call.args))\n"
            "relax.transform.LegalizeOps()(graph(lambda v: relax.Call(own, [v])))"
        ),
        "FLegalize of relax.safety.own returns a call of relax.safety.own itself",
    ),
    "FLegalize of nothing": (
        (
            "none = raw('none', lambda bb, call: None)\n"
            "relax.transform.LegalizeOps()(graph(lambda v: relax.Call(none, [v])))"
        ),
        "FLegalize of relax.safety.none returns NoneType, not an expression",
    ),
    "20,000 nested terms": (
        (
            "t = te.placeholder((4,), name='t')\ndef f(i):\n    v = t[i]\n"
            "    for _ in range(20_000): v = v + tirx.const(1, 'float32')\n    return v\nte.compute((4,), f)"
        ),
        "too deep for TVM",
    ),
    "20,000 nested calls": (
        "def deep(v):\n    for _ in range(20_000): v = relax.op.exp(v)\n    return v\ngraph(deep)",
        "too deep for TVM",
    ),
    "an attribute that was never seen": ("Op.get('relax.nn.relu').reset_attr('NeverSeen')", "would end the process"),
    "a store by hand": ("tl.run(tl.load(ByHand), np.ones(4, 'float32'))", "ended its process: SIGSEGV"),
    "a call without attributes": ("relax.Call(Op.get('relax.matmul'), [x, x])", "called without its attributes"),
}
ALIVE = {
    "a checked operator": "tl.check('safety.take', only=['C09', 'C10', 'C11']).ok",
    "the kernel": "tl.ops.safety.div(ones * 7, ones * 2).tolist()",
}


@pytest.fixture(scope="module")
def outputs(path, tmp_path_factory):  # noqa: F811
    """Outputs of every cell, all run in one kernel."""
    cells = {**SETUP, **{name: cell for name, (cell, _) in DEATHS.items()}, **ALIVE}
    notebook = notebook_of(*cells.values())
    folder = {"metadata": {"path": str(tmp_path_factory.mktemp("kernel"))}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True, resources=folder).execute()
    return dict(zip(cells, (cell.outputs for cell in notebook.cells), strict=True))


@pytest.mark.parametrize("name", SETUP)
def test_what_is_prepared_is_accepted(outputs, name):
    assert outputs[name] == []


@pytest.mark.parametrize(("name", "top"), [(name, top) for name, (_, top) in DEATHS.items()], ids=DEATHS)
def test_a_death_is_an_error_with_its_cause_and_a_mend(outputs, name, top):
    error = next(o for o in outputs[name] if o.output_type == "error")
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line).strip() for line in error.traceback]
    assert top in lines[0]
    assert "mend: " in "\n".join(lines)


def test_the_kernel_is_alive_and_silent(outputs):
    assert [outputs[name][0].data["text/plain"] for name in ALIVE] == ["True", "[3, 3, 3, 3]"]
    assert [o for shown in outputs.values() for o in shown if o.get("name") == "stderr"] == []
