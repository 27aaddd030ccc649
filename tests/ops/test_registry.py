"""The live registry: cells run again and again, old models, failures half-way, names."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import relax as R  # noqa: N812  as TVMScript is always written

import tvmlab as tl
from tvmlab import api, ops
from tvmlab.errors import CellError, NameRefused, TvmlabError
from tvmlab.ops import registry
from tvmlab.runtime import compile_module

X = np.arange(6, dtype="float32").reshape(2, 3)
KIB_A_RUN = 40


def scale(by, name="scale"):
    return (
        f"def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) * const_like({by}, x), name='{name}')\n"
        f"def reference(x):\n    return x * {by}\n"
    )


def model_of(op, count=1, **attributes):
    """An unlegalized module of one call."""
    inputs = [relax.Var(f"x{i}", relax.TensorType([2, 3], "float32")) for i in range(count)]
    builder = relax.BlockBuilder()
    with builder.function("main", inputs):
        with builder.dataflow():
            out = builder.emit_output(builder.emit(op(*inputs, **attributes)))
        builder.emit_func_output(out)
    return builder.get()


def run(module, *arrays):
    return compile_module(relax.transform.LegalizeOps()(module)).run(*arrays)


def test_a_cell_runs_a_thousand_times_with_other_attributes_arity_and_rules(notebook, capsys):
    notebook("import tvmlab as tl, numpy as np")
    times_n = "    return te.compute(x.shape, lambda *i: x(*i) * const_like({n}, x))\n"
    times_by = times_n.replace("{n}", "by")
    attrs = "class Attrs:\n    by: float = {n}\n"
    variants = [
        f"def compute(x):\n{times_n}",
        f"type_rule = rules.same\ndef compute(x):\n{times_n}",
        f"{attrs}def compute(x, by):\n{times_by}",
        f"{attrs}    why: str = 'so'\ntype_rule = rules.broadcast\ndef compute(x, y, by, why):\n{times_by}",
    ]

    def cell(n):
        ran = notebook("%%tvm_op lab.again -q\n" + variants[n % len(variants)].replace("{n}", str(n)))
        assert ran.error is None, ran.out
        assert ran.err == ""

    for n in range(200):
        cell(n)
    gc.collect()
    before = resident_kib()
    for n in range(200, 1000):
        cell(n)
    gc.collect()
    growth = (resident_kib() - before) / 800
    with capsys.disabled():
        print(f"\n1,000 runs of one cell: resident memory grows by {growth:.1f} KiB a run")
    assert growth < KIB_A_RUN
    np.testing.assert_array_equal(tl.ops.lab.again(X, X), X * 999)


def resident_kib() -> float:
    """Resident memory of this process, in KiB."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4


def test_an_old_model_keeps_its_operator_also_when_it_is_legalized_afterwards():
    old_op = api.define("lab.kept", scale(2))
    built, legalized_late = model_of(old_op), model_of(old_op)
    early = compile_module(relax.transform.LegalizeOps()(built))
    new_op = api.define("lab.kept", "class Attrs:\n    k: int = 3\n" + scale(5).replace("(x):", "(x, k):"))
    np.testing.assert_array_equal(early.run(X), 2 * X)
    np.testing.assert_array_equal(run(legalized_late, X), 2 * X)
    np.testing.assert_array_equal(run(model_of(new_op), X), 5 * X)
    np.testing.assert_array_equal(old_op(X), 2 * X)
    assert ops.spec_of(legalized_late["main"].body.blocks[0].bindings[0].value) is old_op.spec


def test_two_versions_in_one_module_get_two_kernels():
    old_op = api.define("lab.twice", scale(2))
    v = relax.Var("x", relax.TensorType([2, 3], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [v]):
        with builder.dataflow():
            first = builder.emit(old_op(v))
            second = builder.emit(api.define("lab.twice", scale(3))(first))
            out = builder.emit_output(second)
        builder.emit_func_output(out)
    module = relax.transform.LegalizeOps()(builder.get())
    assert {g.name_hint for g in module.get_global_vars()} == {"main", "lab_twice", "lab_twice1"}
    np.testing.assert_array_equal(compile_module(module).run(X), 6 * X)


def test_two_cells_share_nothing(notebook):
    notebook("import numpy as np, tvmlab as tl")
    assert notebook("%%tvm_op lab.first -q\n" + scale(2)).error is None
    second = "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i))\n"
    assert notebook("%%tvm_op lab.second -q\n" + second).error is None
    assert ops.find("lab.second").spec.reference is None
    assert "compute" not in notebook.shell.user_ns
    assert "reference" not in notebook.shell.user_ns


def test_a_helper_that_changes_later_does_not_change_the_operator(notebook):
    notebook("def inner(v):\n    return v * 2\ndef outer(v):\n    return inner(v)")
    body = "def compute(x):\n    return te.compute(x.shape, lambda *i: outer(x(*i)))\n"
    assert notebook("%%tvm_op lab.helped -q\n" + body).error is None
    old = model_of(ops.find("lab.helped"))
    notebook("def inner(v):\n    return v * 7")
    np.testing.assert_array_equal(run(old, X), 2 * X)
    assert notebook("%%tvm_op lab.helped -q\n" + body).error is None
    np.testing.assert_array_equal(tl.ops.lab.helped(X), 7 * X)


@pytest.mark.parametrize("step", [s.__name__ for s in registry.STEPS])
@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_failure_at_any_step_leaves_the_old_operator_working(monkeypatch, step, failure):
    op = api.define("lab.steady", "class Attrs:\n    k: int = 1\n" + scale(2).replace("(x):", "(x, k):"))
    old = model_of(op)
    before = registered_state("lab.steady")

    def fail(_op):
        raise failure("injected")

    steps = tuple(fail if s.__name__ == step else s for s in registry.STEPS)
    monkeypatch.setattr(registry, "STEPS", steps)
    with pytest.raises(failure, match="injected"):
        api.define("lab.steady", scale(9))
    assert ops.find("lab.steady") is op
    assert registered_state("lab.steady") == before
    np.testing.assert_array_equal(tl.ops.lab.steady(X + 1, k=4), 2 * (X + 1))
    np.testing.assert_array_equal(run(old, X), 2 * X)
    assert R.lab.steady == op.bind


@pytest.mark.parametrize("inside", ["set_op_hook", "register_op", "make_attrs_class", "script_modules", "type_key"])
def test_a_failure_inside_a_step_of_a_first_registration_can_be_repeated(monkeypatch, inside):
    name = f"lab.fresh_{inside}"
    with monkeypatch.context() as patch:
        patch.setattr(registry.tvm_api, inside, lambda *a, **k: (_ for _ in ()).throw(RuntimeError("injected")))
        with pytest.raises(RuntimeError, match="injected"):
            api.define(name, scale(2))
        with pytest.raises(NameRefused, match="no operator"):
            ops.find(name)
    np.testing.assert_array_equal(api.define(name, scale(2))(X), 2 * X)


@pytest.mark.parametrize("fails", ["examine", "read_spec"])
def test_a_failure_before_the_first_step_leaves_the_old_operator(monkeypatch, fails):
    op = api.define("lab.steady", scale(2))
    monkeypatch.setattr(registry, fails, lambda *a: (_ for _ in ()).throw(CellError("injected")))
    with pytest.raises(CellError, match="injected"):
        api.define("lab.steady", scale(9))
    assert ops.find("lab.steady") is op


def registered_state(name):
    op = tvm.ir.Op.get(f"relax.{name}")
    return op.num_inputs, op.attrs_type_key, op.description


REFUSED = {
    "leaky_clamp": "not of the form namespace.name",
    "a.b.c": "not of the form namespace.name",
    "": "not of the form namespace.name",
    "lab.": "cannot be a part",
    "lab.class": "cannot be a part",
    "lab.2d": "cannot be a part",
    "lab._x": "cannot be a part",
    "läb.x": "cannot be a part",
    "nn.relu": "belongs to TVM",
    "nn.mine": "belongs to TVM",
    "image.mine": "belongs to TVM",
    "dist.mine": "belongs to TVM",
    "vm.mine": "belongs to TVM",
    "add.mine": "belongs to TVM",
    "find.mine": "of tvmlab.ops itself",
    "gallery.mine": "of tvmlab.ops itself",
}


@pytest.mark.parametrize(("name", "reason"), REFUSED.items(), ids=REFUSED.keys())
def test_names_that_are_refused(name, reason):
    with pytest.raises(NameRefused, match=reason) as caught:
        api.define(name, scale(2))
    assert caught.value.mend


def test_a_global_function_of_somebody_else_is_not_overwritten():
    tvm.register_global_func("topi.lab.taken", lambda: 1, override=True)
    with pytest.raises(NameRefused, match=r"topi\.lab\.taken exists"):
        api.define("lab.taken", scale(2))
    assert tvm.get_global_func("topi.lab.taken")() == 1


def test_what_is_registered_live_is_what_runs():
    op = api.define("lab.through", scale(2))
    module = model_of(op)

    def other(x):
        from tvm import te

        return te.compute(x.shape, lambda *i: x(*i) + x(*i) + x(*i))

    tvm.register_global_func("topi.lab.through", other, override=True)
    np.testing.assert_array_equal(run(module, X), 3 * X)
    api.define("lab.through", scale(2))


def test_the_global_function_takes_tensors_then_attributes_in_declared_order():
    from tvm import te

    api.define(
        "lab.ordered",
        "class Attrs:\n    b: float = 1.0\n    a: float = 2.0\n"
        "def compute(x, a, b):\n"
        "    return te.compute(x.shape, lambda *i: x(*i) * const_like(a, x) - const_like(b, x))\n",
    )
    x = te.placeholder((2, 3), "float32", name="x")
    made = tvm.get_global_func("topi.lab.ordered")(x, 10.0, 20.0)
    body = str(made.op.body[0].b)
    assert body == "T.float32(10.0)"


def test_the_script_prints_and_parses():
    api.define(
        "lab.printed",
        "class Attrs:\n    by: float = 2.0\n    axes: tuple[int, ...] = (0, 1)\n"
        "def compute(x, by, axes):\n    return te.compute(x.shape, lambda *i: x(*i) * const_like(by, x))\n",
    )
    module = model_of(tl.ops.lab.printed, by=0.5)
    text = module.script()
    assert "R.lab.printed(x0, by=0.5, axes=[0, 1])" in text
    parsed = tvm.script.from_source(text)
    import tvm_ffi

    assert tvm_ffi.structural_equal(parsed, module)


def test_json_loads_in_a_fresh_process_that_ran_the_same_cell(tmp_path):
    body = "class Attrs:\n    by: float = 2.0\n" + scale(1).replace("(x):", "(x, by):").replace("(1, x)", "(by, x)")
    for _ in range(3):
        op = api.define("lab.saved", body)
    module = model_of(op, by=4.0)
    first = api.define("lab.saved_once", body)
    file = tmp_path / "model.json"
    file.write_text(tvm.ir.save_json(model_of(first, by=4.0)), encoding="utf-8")
    code = (
        "import sys, tvm\nfrom tvmlab import api\n"
        f"api.define('lab.saved_once', {body!r})\n"
        "print(tvm.ir.load_json(open(sys.argv[1]).read()).script())\n"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, timeout=120, check=False
    )
    assert "R.lab.saved_once(x0, by=4.0)" in loaded.stdout, loaded.stderr
    assert json.loads(tvm.ir.save_json(module))


def test_unloading_takes_names_and_functions_back_and_loading_brings_them(notebook):
    op = api.define("lab.gone", scale(2))
    module = model_of(op)
    notebook("%unload_ext tvmlab")
    assert not hasattr(R, "lab")
    assert tvm.get_global_func("topi.lab.gone", allow_missing=True) is None
    np.testing.assert_array_equal(run(module, X), 2 * X)
    notebook("%load_ext tvmlab")
    assert R.lab.gone == op.bind
    np.testing.assert_array_equal(tl.ops.lab.gone(X), 2 * X)
    notebook("%reload_ext tvmlab")
    assert notebook("%%tvm_op lab.gone -q\n" + scale(3)).error is None
    np.testing.assert_array_equal(tl.ops.lab.gone(X), 3 * X)


def test_purity_and_validation_are_always_set():
    api.define("lab.hooked", scale(2))
    op = tvm.ir.Op.get("relax.lab.hooked")
    assert op.get_attr("FPurity")
    for hook in ("FInferType", "FLegalize", "FValidate"):
        assert op.get_attr(hook) is not None
    assert op.num_inputs == 1


def test_well_formed_refuses_a_wrong_number_of_arguments():
    op = api.define("lab.counted", scale(2))
    good = model_of(op)
    relax.analysis.well_formed(good)

    @relax.expr_functor.mutator
    class Doubled(relax.PyExprMutator):
        def visit_call_(self, call):
            return relax.Call(call.op, [*call.args, *call.args], call.attrs)

    with pytest.raises((TvmlabError, ValueError), match="takes 1 tensor, got 2"):
        relax.analysis.well_formed(tvm.IRModule({"main": Doubled().visit_expr(good["main"])}))


def test_a_forced_pattern_reaches_the_kernel():
    op = api.define("lab.alone", scale(2) + "pattern = 'opaque'\n")
    module = relax.transform.AnnotateTIROpPattern()(relax.transform.LegalizeOps()(model_of(op)))
    assert int(module["lab_alone"].attrs["op_pattern"]) == 8


def test_a_lowering_is_chosen_by_the_target():
    op = api.define("lab.targeted", scale(2) + "def lower_for_c(x):\n    return relax.op.add(x, x)\n")
    plain = relax.transform.LegalizeOps()(model_of(op))
    assert "lab_targeted" in {g.name_hint for g in plain.get_global_vars()}
    with tvm.target.Target("c"):
        other = relax.transform.LegalizeOps()(model_of(op))
    assert {g.name_hint for g in other.get_global_vars()} == {"main", "add"}
    np.testing.assert_array_equal(compile_module(other).run(X), 2 * X)


def test_a_lowering_may_be_written_on_te_tensors():
    op = api.define(
        "lab.on_te",
        scale(2) + "def lower_for_llvm(x):\n    return te.compute(x.shape, lambda *i: x(*i) + x(*i), name='sum')\n",
    )
    assert "x[v_i0, v_i1] + x[v_i0, v_i1]" in relax.transform.LegalizeOps()(model_of(op))["lab_on_te"].script().replace(
        "x0", "x"
    )
    np.testing.assert_array_equal(op(X), 2 * X)


def test_a_variadic_operator_takes_any_number_of_tensors():
    op = api.define(
        "lab.total",
        "type_rule = rules.same\ndef compute(*xs):\n"
        "    return te.compute(xs[0].shape, lambda *i: sum((x(*i) for x in xs[1:]), xs[0](*i)))\n"
        "def reference(*xs):\n    return sum(xs)\n",
    )
    for count in (1, 2, 5):
        np.testing.assert_array_equal(op(*[X] * count), count * X)
        np.testing.assert_array_equal(run(model_of(op, count), *[X] * count), count * X)


def test_the_decorator_does_the_same_as_the_cell():
    from tvmlab.prelude import const_like, te

    @tl.op("lab.decorated")
    class Decorated:
        """Three times."""

        class Attrs:
            by: float = 3.0

        def compute(x, by):
            return te.compute(x.shape, lambda *i: x(*i) * const_like(by, x), name="decorated")

        def reference(x, by):
            return x * by

    assert Decorated is ops.find("lab.decorated")
    assert Decorated.spec.doc == "Three times."
    np.testing.assert_array_equal(Decorated(X), 3 * X)
    np.testing.assert_array_equal(Decorated.reference(X, by=2.0), 2 * X)


def test_a_slip_in_a_decorated_class_names_file_and_line():
    from tvmlab.prelude import te

    with pytest.raises(TvmlabError) as caught:

        @tl.op("lab.decorated_badly")
        class Bad:
            def compute(x):
                return te.compute(x.shape, lambda i, j: x[i, j + 1])

    assert caught.value.where.startswith("test_registry.py, line")
    assert "x[i, j + 1]" in caught.value.where


def test_unknown_namespaces_and_operators_are_explained():
    api.define("lab.known", scale(2))
    with pytest.raises(AttributeError, match=r"no namespace 'labb'(?s:.)*did you mean 'lab'"):
        _ = tl.ops.labb
    with pytest.raises(AttributeError, match="did you mean 'known'"):
        _ = tl.ops.lab.knwon
    assert "known" in dir(tl.ops.lab)
