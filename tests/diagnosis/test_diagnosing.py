"""Each error of the table is brought about in a cell with the extension loaded, and explained there."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import traceback

import pytest

import tvmlab as tl
from tvmlab import diagnosis, doctoring
from tvmlab.errors import BackendError, CallError, ComputeError, TvmlabError

HEAD = """
import numpy as np
import tvm
import tvmlab as tl
from tvm.ir import Op
from tvm.relax.dpl import is_op, wildcard
from tvm_ffi.dataclasses import py_class
from tvmlab.prelude import *

Attrs = tvm.ir.attrs.Attrs
register = tvm.ir._ffi_api.RegisterOp
built = lambda module: relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
f32 = lambda *shape: relax.TensorType(shape, "float32")
tensor = lambda *shape, dtype="float32": tvm.runtime.tensor(np.ones(shape, dtype))
same = lambda call, bb: call.args[0].ty
x, w, h = relax.Var("x", f32(2, 3)), relax.Var("w", f32(2, 4)), relax.Var("h", relax.TensorType((2, 3), "float16"))
t = te.placeholder((4,), "int32", name="t")

def raw(name, infer=None, legalize=None, pure=True):
    full = "relax." + name
    if full not in Op.list_op_names():
        register(full, "")
        hooks = {"FInferType": infer, "FLegalize": legalize, "FPurity": pure}
        for key, value in hooks.items():
            if value is not None:
                Op.get(full).set_attr(key, value)
    return Op.get(full)

def graph(*steps):
    bb, value = relax.BlockBuilder(), x
    with bb.function("main", [x]):
        with bb.dataflow():
            for step in steps:
                value = bb.emit(relax.Call(step, [value]) if isinstance(step, Op) else step(value))
            value = bb.emit_output(value)
        bb.emit_func_output(value)
    return bb.get()

def emit(*arguments, scope=True):
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_te(*arguments)
"""


def op(name: str, body: str) -> str:
    return f"%%tvm_op told.{name}\n{body}"


PROVOKED = [  # key, cell, what the top line says
    ("E01", 'Op.get("relax.nn.rellu")', "no operator relax.nn.rellu"),
    ("E02", 'register("relax.nn.relu", "")', "relax.nn.relu is registered already"),
    ("E03", 'graph(raw("told.no_rule"))', "relax.told.no_rule has no type rule"),
    (
        "E04",
        'relax.analysis.contains_impure_call(graph(raw("told.no_purity", same, pure=None))["main"])',
        "whether the operator relax.told.no_purity has side effects",
    ),
    (
        "E05",
        'relax.analysis.well_formed(graph(raw("told.impure", same, pure=False)))',
        "a pure function calls an operator with side effects",
    ),
    ("E06", 'built(graph(raw("told.no_kernel", same)))', "told.no_kernel has no kernel"),
    ("E06", 'tl.run(tl.load(graph(raw("told.no_kernel", same))), np.ones((2, 3), "float32"))', "has no kernel"),
    ("E08", "emit(lambda x: None, x)", "returned something that is not a te tensor"),
    ("E08", op("body", "def compute(x):\n    def body(*i): return x(*i)\n    return body"), "not a te tensor"),
    ("E09", "emit(lambda x, factor: x, x)", "without 'factor'"),
    (
        "E09",
        op("names", "class Attrs:\n    a: float = 1\ndef compute(x): return x"),
        "'a' is not a parameter of compute(x)",
    ),
    ("E10", op("rank", "def compute(x): return te.compute(x.shape, lambda i, j: x[i])"), "2 axes, but is read with 1"),
    ("E10", "te.compute((4,), lambda i: t[i, i])", "1 axes, but is read with 2"),
    (
        "E11",
        op("larger", "def compute(x): return te.compute(x.shape, lambda *i: max(x(*i), const_like(0, x)))"),
        "a Python if, and, or, not, max or min",
    ),
    ("E11", "te.compute((4,), lambda i: t[i] if t[i] > 0 else 0)", "a Python if, and, or, not, max or min"),
    ("E12", op("numpy", "def compute(x): return te.compute(x.shape, lambda *i: np.exp(x(*i)))"), "a NumPy function"),
    ("E13", op("whole", "def compute(x): return te.compute(x.shape, lambda *i: te.exp(x))"), "a whole tensor"),
    ("E14", "topi.nn.relu(x)", "a Relax variable was given where a te tensor is needed"),
    ("E15", 'relax.Call(raw("told.same", same), [np.ones((2, 3))])', "a NumPy array was given"),
    ("E16", 'graph(raw("told.no_return", lambda call, bb: None))', "the type rule returned no type"),
    ("E16", 'graph(raw("told.numbers", lambda call, bb: (2, 3)))', "the type rule returned no type"),
    ("E16", op("nothing", "def type_rule(x): pass\ndef compute(x): return te.compute(x.shape, x)"), "returns nothing"),
    ("E17", 'graph(raw("told.one_argument", lambda call: call.args[0].ty))', "gives 2 arguments to a function that"),
    ("E18", 'raw("told.keyless", same).set_attrs_type_key("told.Nowhere")', "no class of attributes told.Nowhere"),
    (
        "E19",
        'for _ in range(2):\n    py_class("told.Twice")(type(Attrs)("Twice", (Attrs,), {}))',
        "told.Twice exists already",
    ),
    ("E20", '@py_class("told.Needs")\nclass Needs(Attrs):\n    a: float\nNeeds()', "attribute a has no default"),
    (
        "E20",
        '@py_class("told.Typed")\nclass Typed(Attrs):\n    a: float\nTyped(a="x")',
        "is a float, and was given a str",
    ),
    ("E20", '@py_class("told.Odd")\nclass Odd(Attrs):\n    a: complex', "a type that TVM cannot store"),
    (
        "E20",
        op("odd", "class Attrs:\n    a: complex = 1\ndef compute(x, a): return x"),
        "'a' has the type complex, which TVM cannot store",
    ),
    ("E21", 'graph(raw("told.bare", lambda call, bb: f32(call.attrs.size)))', "made without its attributes"),
    ("E22", 'Op.get("relax.nn.relu").set_attr("FPurity", True)', "FPurity of relax.nn.relu is set already"),
    ("E23", 'for _ in range(2): tvm.register_global_func("told.twice", lambda: 0)', "told.twice exists already"),
    ("E23", 'tvm.get_global_func("runtime.NumThread")', "no global function runtime.NumThread"),
    (
        "E23",
        'built(graph(lambda x: relax.call_dps_packed("told.absent", [x], f32(2, 3))))',
        "calls a function told.abs",
    ),
    ("E24", "relax.BlockBuilder().emit(x)", "emitted outside of a function"),
    (
        "E24",
        'bb = relax.BlockBuilder()\nwith bb.function("main", [x]):\n    bb.emit_output(x)',
        "outside of a dataflow block",
    ),
    (
        "E24",
        (
            'bb = relax.BlockBuilder()\nwith bb.function("main", [x]):\n    with bb.dataflow():\n'
            "        y = bb.emit(relax.op.exp(x))\n        bb.emit_output(y)\n    bb.emit_func_output(y)\nbb.get()\n"
            "relax.analysis.well_formed(bb.get())"
        ),
        "lv lives inside of its dataflow block only",
    ),
    ("E25", "relax.Function([x], relax.op.nn.relu(relax.op.exp(x)))", "nested calls"),
    ("E26", "graph(lambda x: relax.op.add(x, h))", "different dtypes: left float32, right float16"),
    ("E26", "graph(lambda x: relax.op.add(x, w))", "axis 1 of the first is 3, axis 1 of the second is 4"),
    ("E26", "graph(lambda x: relax.op.matmul(x, w))", "inner sizes of the matrix product differ: left [2, 3]"),
    ("E27", 'built(graph(relax.op.exp))["main"](tensor(2, 4))', "the input x is not what its annotation says"),
    ("E27", 'built(graph(relax.op.exp))["main"](tensor(2, 3, dtype="float16"))', "the input x is not what its"),
    (
        "E27",
        'tl.run(tl.load(graph(relax.op.exp)), np.ones((2, 4), "float32"))',
        "expected float32[2, 3], got float32[2, 4]",
    ),
    (
        "E28",
        'relax.transform.Gradient("main")(graph(raw("told.flat", same), relax.op.sum))',
        "relax.told.flat does not say how it is differentiated",
    ),
    ("E28", 'relax.transform.Gradient("main")(graph(relax.op.exp))', "only a single number can be differentiated"),
    (
        "E28",
        (
            'two = raw("told.two", same)\ntwo.set_attr("FPrimalGradient", lambda orig, call, grad, bb: [grad, grad])\n'
            'relax.transform.Gradient("main")(graph(two, relax.op.sum))'
        ),
        "one expression for each input",
    ),
    (
        "E29",
        'tvm.compile(te.create_prim_func([t, te.compute((4,), lambda i: te.exp(t[i]))]), "llvm")',
        "exp exists for floating-point numbers only",
    ),
    (
        "E29",
        op(
            "whole_exp",
            "def compute(x): return te.compute(x.shape, lambda *i: te.exp(x(*i).astype('int32')))",
        ),
        "exp is applied to int32",
    ),
    (
        "E30",
        (
            'relu = [("nowhere.relu", is_op("relax.nn.relu")(wildcard()))]\n'
            "groups = relax.transform.FuseOpsByPattern(relu, annotate_codegen=True)(graph(relax.op.nn.relu))\n"
            "relax.transform.RunCodegen()(groups)"
        ),
        "a code generator nowhere",
    ),
    ("E31", 'tvm.transform.PassContext(config={"relay.FuseOps.max_depth": 3})', "no pass option FuseOps.max_depth"),
    (
        "E32",
        (
            "import onnx\nfrom onnx import helper\n"
            'ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]\n'
            'nodes = [helper.make_node("Told", ["x"], ["y"])]\n'
            'tl.load(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:])))'
        ),
        "importer does not know Told",
    ),
    ("E33", "tvm.relay", "tvm.relay is a name of an older TVM"),
    ("E33", "tvm.nd.array([1])", "tvm.runtime.tensor"),
    ("E33", "tvm.tir.const(1)", "tvm.tir is tvm.tirx"),
    ("E33", 'tvm.register_func("told.f")', "register_global_func"),
    ("E33", "tvm.lower(None)", "tvm.lower is a name of an older TVM"),
    ("E33", "from tvm import relay", "Relay gave way to Relax"),
    ("E33", "import tvm.relay", "Relay gave way to Relax"),
    ("E33", "from tvm.script import tir as T", "tvm.script.tirx"),
    ("E33", "from tvm import autotvm", "MetaSchedule"),
    ("E33", "from tvm import auto_scheduler", "MetaSchedule"),
    ("E33", "tvm.meta_schedule", "tvm.s_tir.meta_schedule"),
    ("E33", "tvm.dlight", "tvm.s_tir.dlight"),
    ("E33", "tvm._ffi.register_object", "tvm_ffi"),
    ("E33", "te.create_schedule([])", "tvm.te.create_schedule is a name of an older TVM"),
    ("E33", "from tvm.contrib import graph_executor", "a virtual machine"),
    ("E33", "tvm.topi.generic.schedule_injective(None)", "no schedules now"),
    ("E33", "tvm.ir.structural_equal(1, 1)", "tvm_ffi"),
    ("E33", "tvm.tirx.Schedule", "tvm.s_tir.Schedule"),
    ("E33", 'from tvm.script import tirx as T\nT.block("b")', "T.sblock"),
    ("E33", "relax.TensorStructInfo", "types now"),
    ("E33", "x.struct_info", "types now"),
    ("E33", "x.checked_type", "ty"),
    ("E33", 'relax.Var("x", struct_info=f32(2))', "struct_info is a name of an older TVM"),
    ("E33", 'relax.call_tir(relax.GlobalVar("f"), [], out_sinfo=f32(2))', "it is out_ty"),
    ("E33", 'relax.Call(relax.ExternFunc("f"), [], sinfo_args=[])', "it is ty_args"),
    ("E33", "relax.vm.build", "relax.build"),
    ("E33", "relax.transform.InferType()", "types from the start"),
    ("E33", 'tvm.s_tir.Schedule(te.create_prim_func([t])).get_block("b")', "get_block is a name of an older TVM"),
    ("E34", 'built(graph(lambda x: relax.Tuple([x, x])))["main"](tensor(2, 3)).numpy()', "gives a tuple"),
    ("E41", 'relax.Call(Op.get("relax.matmul"), [x, w])', "called without its attributes"),
    (
        "E42",
        (
            'cuda = tvm.target.Target({"kind": "cuda", "arch": "sm_80"}, host={"kind": "llvm"})\n'
            'kernel = te.create_prim_func([t, te.compute((4,), lambda i: t[i] * t[i], name="square")])\n'
            "module = tirx.transform.BindTarget(cuda)(tvm.IRModule({'main': kernel}))\n"
            "module = tvm.s_tir.transform.LowerOpaqueBlock()(tvm.s_tir.transform.ConvertBlocksToOpaque()(module))\n"
            "tirx.transform.VerifyMemory()(module)"
        ),
        "loops that are bound to no threads",
    ),
    (
        "E44",
        (
            "store = lambda i, o: tirx.BufferStore(o[0], tirx.const(1, 'float32'), [tirx.const(0, 'int64')] * 2)\n"
            "by_hand = lambda x: te.extern(x.shape, [x], store, name='by_hand', dtype='float32')\n"
            "raw('told.by_hand', same, lambda bb, call: bb.call_te(by_hand, call.args[0]))\n"
            "module = graph(relax.op.exp, Op.get('relax.told.by_hand'))\n"
            "for name in 'LegalizeOps AnnotateTIROpPattern FuseOps FuseTIR'.split():\n"
            "    module = getattr(relax.transform, name)()(module)"
        ),
        "describe one value in two ways",
    ),
    ("E43", 'emit(topi.nn.relu, relax.Var("s", relax.TensorType(ndim=2, dtype="float32")))', "shape is not known"),
    ("E45", "te.compute((4,), lambda i: t[i] // 0)", "divided by zero"),
    ("E46", 'tvm.target.Target("llvm -mcpu=skylake")', "a dictionary now"),
    ("E47", 'built(graph(relax.op.exp))["main"]()', "main takes 1 inputs (x), and was given 0"),
]


@pytest.fixture
def told(notebook):
    assert notebook(HEAD).error is None
    return notebook


@pytest.mark.parametrize(("key", "cell", "top"), PROVOKED, ids=[f"{p[0]}-{i}" for i, p in enumerate(PROVOKED)])
def test_an_error_is_explained_where_it_happens(told, key, cell, top):
    ran = told(cell)
    assert ran.error is not None, ran.out
    assert top in ran.lines[0], ran.out
    found = tl.diagnose()
    assert (found.rule, found.known) == (key, True)
    assert all([found.stage, found.cause, found.mend, found.error, found.traceback])
    assert "In[" in found.where or isinstance(ran.error, TvmlabError)
    assert str(ran.error.__class__.__name__) in found.error


def test_every_key_from_e01_to_e35_has_a_row():
    keys = {rule.key[:3] for rule in diagnosis.TABLE}
    assert {f"E{n:02}" for n in range(1, 36)} <= keys
    assert {f"E{n:02}" for n in range(1, 36)} - {p[0] for p in PROVOKED} == {
        "E07",
        "E35",
    }  # told below, and by isolation


def test_what_tvm_only_logs_is_explained_from_its_text(told):
    cell = (
        "from tvmlab import runtime\nwith runtime.quiet() as said:\n"
        '    relax.transform.LegalizeOps(enable_warning=True)(graph(raw("told.no_kernel", same)))\n'
        "tl.diagnose(said.text)"
    )
    found = told(cell).value
    assert (found.rule, found.stage) == ("E07", "legalize")
    assert "relax.told.no_kernel has no FLegalize" in found.cause


def test_a_name_that_is_nearly_right(told):
    told('Op.get("relax.nn.rellu")')
    found = tl.diagnose()
    assert (found.meant, found.mend, found.code) == (
        "relax.nn.relu",
        "did you mean relax.nn.relu?",
        'Op.get("relax.nn.relu")',
    )


def test_the_line_is_the_user_s_own_in_a_helper(told):
    told("def helper(y):\n    return topi.nn.relu(y)")
    ran = told("1 + 1\nhelper(x)")
    assert ran.lines[1].endswith("line 2: return topi.nn.relu(y)")
    assert "Traceback" not in ran.out


def test_tb_shows_the_whole_traceback(told):
    told("topi.nn.relu(x)")
    assert "Traceback (most recent call last)" in told("%tb").out


def test_under_the_three_lines_comes_what_to_write(told):
    lines = told(op("py", "def compute(x): return te.compute(x.shape, lambda *i: np.exp(x(*i)))")).lines
    assert [line.split(":")[0] for line in lines[:4]] == ["ComputeError", "at Cell In[3], line 2", "mend", "write"]
    assert lines[4] == "te.compute(x.shape, lambda *i: te.exp(x(*i)))"


def test_an_error_that_has_nothing_to_do_with_tvm_is_left_alone(told):
    ran = told("def f(a): return a\nf()")
    assert "missing 1 required positional argument" in ran.lines[-1]
    assert "Traceback" in ran.out


def test_tvm_why_alone_explains_the_last_error(told):
    told("topi.nn.relu(x)")
    assert told("%tvm_why").value.rule == "E14"


def test_tvm_why_with_nodes_asks_the_partition(told):
    told("net = tl.load(graph(relax.op.exp, relax.op.nn.relu))")
    ran = told("%tvm_why net lv gv")
    assert ran.value.sentence == told("tl.fuse(net).why('lv', 'gv')").value


def test_tvm_why_with_half_a_question(told):
    told("net = tl.load(graph(relax.op.exp))")
    assert told("%tvm_why net exp").error.mend == "write %tvm_why MODEL A B"


def test_unloading_gives_ipython_its_own_traceback_back(told):
    told("%unload_ext tvmlab")
    assert "Traceback" in told("topi.nn.relu(x)").out


UNKNOWN = [
    *(kind("seven is odd") for kind in (ValueError, TypeError, KeyError, RuntimeError, IndexError, OSError)),
    *(kind() for kind in (ValueError, AssertionError, NotImplementedError, StopIteration, EOFError, TimeoutError)),
    *(FloatingPointError(t) for t in ("overflow", "underflow")),
    *(AttributeError(t) for t in ("module 'numpy' has no attribute 'relay'", "'list' object has no attribute 'ty'")),
    *(ImportError(t) for t in ("No module named 'torch'", "cannot import name 'relay' from 'numpy'")),
    *(
        TypeError(t)
        for t in ("f() missing 1 required positional argument: 'a'", "f() takes 1 positional argument but 2 were given")
    ),
    *(
        AttributeError(t)
        for t in ("'NoneType' object has no attribute 'shape'", "'int' object has no attribute 'numpy'")
    ),
    *(NameError(t) for t in ("name 'x' is not defined", "name 'tvn' is not defined")),
    *(ValueError(t) for t in ("Target kind nonsense is not defined", "no such stage", "operator is registered")),
    *(
        RuntimeError(t)
        for t in ("InternalError: Check failed: (false) is false", "Variable n has no value", "CUDA: no device")
    ),
    *(KeyError(t) for t in ("conv", "main")),
    *(ZeroDivisionError(t) for t in ("division by zero", "float division")),
    *(UnicodeDecodeError("utf-8", b"\xff", 0, 1, t) for t in ("invalid start byte", "unexpected end")),
    RecursionError("too deep"),
    OverflowError("too large"),
    SyntaxError("invalid syntax"),
    PermissionError("not allowed"),
    ConnectionError("refused"),
]


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except type(error) as caught:
        return caught


@pytest.mark.parametrize("error", UNKNOWN, ids=[f"{type(e).__name__}-{i}" for i, e in enumerate(UNKNOWN)])
def test_an_unknown_error_is_said_to_be_unknown(error):
    found = tl.diagnose(raised(error))
    assert (found.rule, found.known, found.mend, found.code) == ("", False, "", "")
    assert found.cause.startswith("no rule knows this error: " + type(error).__name__)
    assert (
        found.where == f"test_diagnosing.py, line {traceback.extract_tb(error.__traceback__)[-1].lineno}: raise error"
    )
    assert found.traceback[0].endswith("in raised")
    assert type(error).__name__ in found.traceback[2]


def test_there_are_forty_unknown_errors():
    assert len(UNKNOWN) >= 40


def test_an_error_of_ours_without_a_rule_says_what_it_says():
    error = CallError("there are no seconds", where="a call", mend="give some")
    found = tl.diagnose(error)
    assert (found.rule, found.cause, found.where, found.mend, found.known) == (
        "",
        error.what,
        error.where,
        error.mend,
        True,
    )


def test_the_cause_of_an_error_is_looked_at_too():
    outer = RuntimeError("outer")
    outer.__cause__ = ValueError("Type key 'a.B' is already registered")
    assert tl.diagnose(outer).rule == "E19"


@pytest.mark.parametrize("wrong", [3, ["x"]])
def test_what_is_no_error_is_refused(wrong):
    with pytest.raises(CallError, match="is no error"):
        tl.diagnose(wrong)


def test_no_error_at_all(monkeypatch):
    monkeypatch.delattr("sys.last_value", raising=False)
    with pytest.raises(CallError, match="no error to explain"):
        tl.diagnose()


def test_an_error_in_a_circle_comes_to_an_end():
    a, b = ValueError("a"), ValueError("b")
    a.__cause__, b.__cause__ = b, a
    assert tl.diagnose(a).rule == ""


@pytest.mark.parametrize(
    "said",
    [
        "The kernel appears to have died. It will restart automatically.",
        "Kernel Restarting: The kernel for lab.ipynb appears to have died. It will restart automatically.",
        "nbclient.exceptions.DeadKernelError: Kernel died",
    ],
)
def test_a_dead_kernel_is_explained_from_what_the_notebook_says(said):
    found = tl.diagnose(said)
    assert (found.rule, found.stage) == ("E35", "the notebook's kernel")
    assert "%tvm_doctor" in found.code
    assert "safe = True" in found.code


def test_the_release_that_ends_python_is_explained(monkeypatch):
    real = importlib.metadata.version
    deadly = {"apache-tvm-ffi": "0.1.15.post2"}
    monkeypatch.setattr(importlib.metadata, "version", lambda name: deadly.get(name) or real(name))
    monkeypatch.delitem(sys.modules, "tvm", raising=False)
    with pytest.raises(BackendError) as refused:
        doctoring.require_tvm()
    found = tl.diagnose(refused.value)
    assert (found.rule, found.stage) == ("E51", "the installation")
    assert "0.1.15.post2" in found.cause
    assert "<0.1.15" in found.code


def test_a_hostile_text_takes_no_time_and_no_markup():
    found = tl.diagnose("<script>alert(1)</script> " * 10_000)
    html = found._repr_mimebundle_()["text/html"]
    assert "<script" not in html


def test_the_picture_shows_cause_place_and_code():
    found = tl.diagnose(
        ComputeError("c: compute returns nothing (a return is missing), not a te tensor", "line 3", "m")
    )
    bundle = found._repr_mimebundle_()
    for text in (found.cause, "line 3", "te.compute"):
        assert text in bundle["text/plain"]
        assert text.split("(")[0] in re.sub("<.*?>", "", bundle["text/html"])
