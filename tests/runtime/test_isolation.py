"""Kernels in child processes: their values, and every way in which they end a process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tvm
from tvm import relax, te, tirx, topi
from tvm.script import ir as I  # noqa: N812
from tvm.script import relax as R  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

import tvmlab as tl
from tvmlab.errors import CallError, PipelineError
from tvmlab.runtime import POLICY, Isolated, compile_module, is_proved_safe, isolate, isolation
from tvmlab.runtime.isolated import Server
from tvmlab.runtime.proofs import doubts


def module(compute, *types):
    builder = relax.BlockBuilder()
    inputs = [relax.Var(f"x{i}", relax.TensorType(shape, dtype)) for i, (shape, dtype) in enumerate(types)]
    with builder.function("main", inputs):
        with builder.dataflow():
            result = builder.emit_output(builder.emit_te(compute, *inputs))
        builder.emit_func_output(result)
    return builder.get()


WHOLE = ((4,), "int32")
DIVIDE = module(lambda x, y: te.compute(x.shape, lambda *i: x(*i) // y(*i)), WHOLE, WHOLE)
TRUNCATE = module(lambda x, y: te.compute(x.shape, lambda *i: tirx.truncdiv(x(*i), y(*i))), WHOLE, WHOLE)
GATHER = module(lambda x, y: te.compute(y.shape, lambda i: x[y[i]]), WHOLE, WHOLE)
FAR = module(lambda x: te.compute(x.shape, lambda i: x[i * 500_000_000 + 400_000_000]), WHOLE)


@I.ir_module
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
            R.output(y)
        return y

    @R.function
    def spin(x: R.Tensor((4,), "float32")):
        cls = ByHand
        with R.dataflow():
            y = R.call_tir(cls.endless, (x,), out_ty=R.Tensor((4,), "float32"))
            R.output(y)
        return y


ONES, ZEROS = np.ones(4, "int32"), np.zeros(4, "int32")
SMALLEST = np.full(4, -(2**31), "int32")

DEATHS = [
    ("divide by zero", DIVIDE, (ONES, ZEROS), "SIGFPE", "divisor"),
    ("truncate by zero", TRUNCATE, (ONES, ZEROS), "SIGFPE", "divisor"),
    ("smallest by -1", TRUNCATE, (SMALLEST, -ONES), "SIGFPE", "divisor"),
    ("index from data", GATHER, (ONES, np.full(4, 2**30, "int32")), "SIGSEGV", "clamp"),
    ("index far outside", FAR, (ONES,), "SIGSEGV", "clamp"),
    ("hand-written store outside", ByHand, (np.ones(4, "float32"),), "SIGSEGV", "clamp"),
]


@pytest.fixture(autouse=True, scope="module")
def no_child_is_left():
    yield
    isolation.end_child()


@pytest.fixture
def policy(monkeypatch):
    for name in ("safe", "seconds", "gigabytes"):
        monkeypatch.setattr(POLICY, name, getattr(POLICY, name))
    return POLICY


@pytest.mark.parametrize(("called", "dead", "inputs", "how", "mend"), DEATHS, ids=[d[0] for d in DEATHS])
def test_a_kernel_that_ends_its_process_is_an_error(called, dead, inputs, how, mend):
    with pytest.raises(PipelineError, match=f"ended its process: {how}") as caught:
        isolate(dead).run(*inputs)
    assert mend in caught.value.mend
    assert tl.diagnose(caught.value).rule == "E35"
    np.testing.assert_array_equal(isolate(DIVIDE).run(ONES * 7, ONES * 2), ONES * 3)


def test_an_endless_loop_comes_to_an_end(policy):
    policy.seconds = 0.3
    with pytest.raises(PipelineError, match=r"ended its process after 0\.3 s") as caught:
        Isolated(ByHand).run(np.ones(4, "float32"), function="spin")
    assert "more time" in caught.value.mend
    assert Isolated(ByHand).run(-np.ones(4, "float32"), function="spin").shape == (4,)


def test_instructions_that_the_processor_lacks():
    half = ((64,), "float16")
    sums = module(lambda x: te.compute(x.shape, lambda *i: x(*i) + x(*i)), half)
    target = tvm.target.Target({"kind": "llvm", "mcpu": "sapphirerapids", "mtriple": "x86_64-linux-gnu"})
    has_them = "avx512_fp16" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    x = np.ones(64, "float16")
    if has_them:
        np.testing.assert_array_equal(Isolated(sums, target).run(x), x + x)
        return
    with pytest.raises(PipelineError, match="ended its process: SIGILL") as caught:
        Isolated(sums, target).run(x)
    assert "processor" in caught.value.mend


def test_memory_has_a_limit(policy):
    policy.gigabytes = 0.25
    large = module(lambda x: te.compute((1 << 28,), lambda i: x[i % 4]), ((4,), "float32"))
    with pytest.raises(PipelineError, match="not enough memory"):
        isolate(large).run(np.ones(4, "float32"))


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "uint8", "int64", "bool", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 3)])
def test_values_are_those_of_this_process(dtype, shape):
    there = module(topi.identity, (shape, dtype))
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(getattr(ml_dtypes, dtype, dtype))
    result = Isolated(there).run(array)
    assert (result.dtype, result.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(result, array)


def test_several_results_and_any_layout():
    two = module(lambda x: topi.split(x, 2, axis=0), ((4, 3), "float32"))
    array = np.arange(24, dtype=">f4").reshape(3, 8)[:, ::2].T
    first, second = isolate(two).run(array)
    np.testing.assert_array_equal(np.concatenate([first, second]), array)
    assert first.flags.writeable


def test_a_parallel_kernel_runs_in_a_child():
    softmax = module(topi.nn.softmax, ((512, 64), "float32"))
    schedule = tvm.s_tir.Schedule(softmax)
    name = next(v.name_hint for v, f in softmax.functions.items() if isinstance(f, tirx.PrimFunc))
    block = schedule.get_sblock("T_softmax_norm", func_name=name)
    schedule.parallel(schedule.get_loops(block)[0])
    x = np.random.default_rng(0).standard_normal((512, 64)).astype("float32")
    expected = compile_module(softmax).run(x)
    for _ in range(2):
        np.testing.assert_array_equal(Isolated(schedule.mod).run(x), expected)


def test_wrong_arguments_are_refused_as_ever():
    with pytest.raises(CallError, match=r"expected int32\[4\], got int32\[5\]"):
        isolate(DIVIDE).run(ONES, np.ones(5, "int32"))
    with pytest.raises(CallError, match="takes 2 arguments, got 1"):
        isolate(DIVIDE).run(ONES)
    with pytest.raises(CallError, match="no function 'other'"):
        isolate(DIVIDE).run(ONES, ONES, function="other")


def test_what_cannot_be_compiled_is_told_as_ever():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    with builder.function("main", [x]):
        absent = relax.call_dps_packed("isolation.absent", [x], relax.TensorType((4,), "float32"))
        builder.emit_func_output(builder.emit(absent))
    with pytest.raises(PipelineError, match="could not compile"):
        Isolated(builder.get()).run(np.ones(4, "float32"))


def test_an_interrupt_ends_what_runs_in_the_child(monkeypatch):
    isolate(DIVIDE).run(ONES, ONES)
    child = isolation._kept[0]._child

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(child, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        isolate(DIVIDE).run(ONES, ONES)
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
    np.testing.assert_array_equal(isolate(DIVIDE).run(ONES, ONES), ONES)


def test_the_death_of_the_warm_process_is_an_error_and_another_is_started():
    isolate(DIVIDE).run(ONES, ONES)
    os.kill(isolation._kept[0]._child.pid, signal.SIGKILL)
    with pytest.raises(PipelineError, match="ended its process"):
        isolate(DIVIDE).run(ONES, ONES)
    np.testing.assert_array_equal(isolate(DIVIDE).run(ONES, ONES), ONES)


def test_without_fork_the_warm_process_runs_the_call_itself(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "fork")
    from tvmlab.runtime import wire

    server = Server()
    (tmp_path / "module").write_text(tvm.ir.save_json({"module": DIVIDE}))
    given = [str(tmp_path / "given"), wire.write(tmp_path / "given", (ONES * 7, ONES * 2))]
    call = {"key": "k", "function": "main", "given": given, "made": str(tmp_path / "made"), "seconds": 1, "bytes": 1}
    assert server.answer(call) == {"unknown": True}
    assert server.answer({"key": "k", "module": str(tmp_path / "module")}) == {"compiled": True}
    server.prepare()
    answer = server.answer(call)
    np.testing.assert_array_equal(wire.read(tmp_path / "made", answer["result"]), ONES * 3)


PROVED = [
    module(lambda x: te.compute(x.shape, lambda *i: x(*i) + 1), WHOLE),
    module(lambda x: te.compute(x.shape, lambda *i: x(*i) // 2), WHOLE),
    module(topi.nn.softmax, ((8, 8), "float32")),
    module(lambda x: topi.nn.pad(x, (1, 1), (1, 1)), ((8, 8), "float32")),
    module(lambda x, w: topi.nn.conv2d(x, w, 1, 1, 1), ((1, 4, 8, 8), "float32"), ((4, 4, 3, 3), "float32")),
    module(topi.exp, ((tirx.Var("n", "int64"), 4), "float32")),
    module(lambda x: topi.reshape(x, (6, 4)), ((2, 3, 4), "float32")),
]


@pytest.mark.parametrize("innocent", PROVED, ids=range(len(PROVED)))
def test_what_cannot_go_wrong_is_proved_safe(innocent):
    assert is_proved_safe(innocent)


@pytest.mark.parametrize("dead", [DIVIDE, TRUNCATE, GATHER, FAR, ByHand])
def test_what_can_go_wrong_is_not(dead):
    assert not is_proved_safe(dead)


def test_doubts_are_told():
    kernels = [f for f in ByHand.functions.values() if isinstance(f, tirx.PrimFunc)]
    said = " ".join(text for kernel in kernels for text in doubts(kernel))
    assert "may be outside" in said
    assert "a While is in it" in said


def test_safe_mode_runs_a_model_in_a_child_only_if_it_has_to(policy, monkeypatch):
    ran = []
    monkeypatch.setattr(isolation.Isolated, "run", lambda *_: ran.append("child"))
    model = tl.load(PROVED[0])
    policy.safe = True
    tl.run(model, ONES)
    assert ran == []
    tl.run(tl.load(DIVIDE), ONES, ONES)
    tl.run(model, ONES, isolate=True)
    assert ran == ["child", "child"]
    policy.safe = False
    np.testing.assert_array_equal(tl.run(tl.load(DIVIDE), ONES, ONES), ONES)


CELLS = [
    (
        "%%tvm_op -q safe.div\ndef compute(x, y): return te.compute(x.shape, lambda *i: x(*i) // y(*i))",
        "tl.ops.safe.div(np.ones(3, 'int32'), np.zeros(3, 'int32'))",
        "divided an integer by zero",
    ),
    (
        "%%tvm_op -q safe.take\ndef compute(x, i): return te.compute(i.shape, lambda k: x[i[k].astype('int32')])",
        "tl.ops.safe.take(np.ones(3, 'float32'), np.full(3, 2e9, 'float32'))",
        "memory that is not its own",
    ),
]


@pytest.mark.parametrize(("define", "call", "top"), CELLS, ids=["div", "take"])
def test_safe_mode_in_a_notebook(notebook, policy, define, call, top):
    notebook("%config Tvmlab.safe = True")
    assert policy.safe
    assert notebook("import numpy as np\nimport tvmlab as tl").error is None
    assert notebook(define).error is None
    ran = notebook(call)
    assert top in ran.lines[0]
    assert ran.lines[1].startswith("at Cell In[")
    assert ran.err == ""
    notebook("%unload_ext tvmlab")
    assert not policy.safe


def test_what_tvm_dies_of_before_a_kernel_runs_is_refused(notebook):
    notebook("import numpy as np\nimport tvm\nimport tvmlab as tl\nfrom tvmlab.prelude import *\nfrom tvm.ir import Op")
    nested = "def deep(x: 'float32[2]'):\n    for _ in range(20_000): x = relax.op.exp(x)\n    return x\ntl.graph(deep)"
    assert "nested more than" in notebook(nested).lines[0]
    assert "would end the process" in notebook('Op.get("relax.nn.relu").reset_attr("NeverSeen")').out
    own = "%%tvm_op safe.itself\ndef lower_for_llvm(x): return tl.ops.safe.itself(x)\ndef compute(x): return x"
    assert notebook(own).error is not None
    added = "    def f(*i):\n        v = x(*i)\n        for _ in range(20_000): v = v + 1.0\n        return v"
    terms = f"%%tvm_op safe.terms\ndef compute(x):\n{added}\n    return te.compute(x.shape, f)"
    assert "too deep" in notebook(terms).lines[0]


def test_a_loop_that_makes_a_round_has_sizes_to_divide_by():
    """The scheduler makes one loop of many, and finds the indices again by division."""

    symbolic = module(topi.exp, ((tirx.Var("n", "int64"), tirx.Var("m", "int64")), "float32"))
    scheduled = tl.trace(tl.load(symbolic))["schedule"].module
    kernels = [f for f in scheduled.functions.values() if isinstance(f, tirx.PrimFunc)]
    assert any("//" in kernel.script() for kernel in kernels)
    assert [text for kernel in kernels for text in doubts(kernel)] == []


def test_a_loop_over_another_size_says_nothing_of_a_divisor():
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
    x = te.placeholder((n,), "int64", name="x")
    sizes = te.placeholder((m,), "int64", name="sizes")
    divided = te.compute((n,), lambda i: x[i] // m, name="divided")
    assert "divided by m" in " ".join(doubts(te.create_prim_func([x, sizes, divided])))
