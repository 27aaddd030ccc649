"""Faults are planted in the pipeline, in each stage and in each kind of kernel; bisection has to name both."""

# ruff: noqa: F821, UP037  types of a graph are written as texts

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
import tvm
from onnx import parser
from tvm import relax

from tvmlab import pipeline
from tvmlab.api import define
from tvmlab.errors import CallError
from tvmlab.measure import verify
from tvmlab.pipeline import stages
from tvmlab.runtime import executable


def strided(x: "float32[5, 12]"):
    return relax.op.strided_slice(x, axes=[1], begin=[1], end=[12], strides=[2])


def broadcast(x: "float32[5, 16]", b: "float32[16]"):
    return relax.op.subtract(x, b)


def reduction(x: "float32[5, 16]"):
    return relax.op.sum(x, axis=[1])


def matmul(x: "float32[4, 16]", w: "float32[16, 32]", b: "float32[32]"):
    return relax.op.nn.relu(relax.op.add(relax.op.matmul(x, w), b))


def convolution(x: "float32[1, 8, 6, 6]", w: "float32[16, 8, 3, 3]"):
    return relax.op.nn.relu(relax.op.nn.conv2d(x, w, padding=1))


def softmax(x: "float32[5, 16]"):
    return relax.op.nn.softmax(x)


def pooling(x: "float32[1, 8, 6, 6]"):
    return relax.op.nn.max_pool2d(x, pool_size=[2, 2], strides=[2, 2])


def transposed(x: "float32[5, 16]"):
    return relax.op.permute_dims(x)


def planted(pattern, replacement, flags=re.MULTILINE):
    return lambda text: re.sub(pattern, replacement, text, count=1, flags=flags)


# The kernel's model, what is written in the place of what in its TIR, and the name that it has unfused and fused.
OFF_BY_ONE = planted(r"^( *\w+\[.*\] = .*)\b(x\[)(\w+), ", r"\1\2T.min(\3 + T.int64(1), T.int64(4)), ")
FAULTS = {
    "injective": (strided, OFF_BY_ONE, ("strided_slice", "strided_slice")),
    "broadcast": (broadcast, planted(r"= (\w+\[.*?\]) - (\w+\[.*?\])", r"= \2 - \1"), ("subtract", "subtract")),
    "reduction": (reduction, planted(r"(_red\w*\[.*\] = )T.float32\(0.0\)$", r"\1T.float32(1.0)"), ("sum", "sum")),
    "matmul": (matmul, planted(r"= T.max\((.*), T.float32\(0.0\)\)$", r"= \1"), ("relu", "fused_matmul_add_relu")),
    "convolution": (
        convolution,
        planted(r"(conv2d\w*\[.*\] = )T.float32\(0.0\)$", r"\1T.float32(0.5)"),
        ("conv2d", "fused_conv2d_relu"),
    ),
    "softmax": (
        softmax,
        planted(r"(expsum\w*\[.*\] = )T.float32\(0.0\)$", r"\1T.float32(2.0)"),
        ("softmax", "softmax"),
    ),
    "pooling": (pooling, planted(r"T.float32\(-3402\d*\.0\)", "T.float32(0.75)"), ("max_pool2d", "max_pool2d")),
    "transposed": (transposed, OFF_BY_ONE, ("transpose", "transpose")),
}
PLACES = {
    "legalize": "legalize",
    "fuse": "merge_groups",
    "inline": "inline",
    "schedule": "schedule",
    "build": "build",
}


def with_fault(module, change):
    """The module with the first kernel changed that the change fits."""
    functions, done = {}, False
    for variable, function in module.functions.items():
        functions[variable] = function
        if isinstance(function, tvm.tirx.PrimFunc) and not done:
            lines = function.script().splitlines(keepends=True)
            text = "".join(line for line in lines if "T.prefetch(" not in line)  # TVMScript prints what it cannot read
            if change(text) != text:
                functions[variable] = tvm.script.from_source(change(text))
                done = True
    assert done, "the fault does not fit"
    return tvm.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos)


def plant(monkeypatch, stage, change):
    """Let a stage of the pipeline do its work, and one thing wrong."""
    right = getattr(stages, PLACES[stage])

    def wrong(module, *rest):
        if stage == "build":
            return right(with_fault(module, change), *rest)
        return with_fault(right(module, *rest), change)

    monkeypatch.setattr(stages, PLACES[stage], wrong)


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("stage", PLACES)
def test_a_planted_fault_is_found(monkeypatch, stage, kind):
    graph, change, (unfused, fused) = FAULTS[kind]
    plant(monkeypatch, stage, change)
    found = verify(pipeline.graph(graph), bisect=True)
    assert not found.ok
    assert (found.stage, found.kernel.kernel) == (stage, unfused if stage == "legalize" else fused)
    worst = found.kernel.worst
    assert abs(worst.got - worst.expected) == pytest.approx(worst.max_abs, rel=1e-4)
    assert (
        f"{stage} is the first stage where values leave the tolerance: kernel {found.kernel.kernel}" in found.headline
    )
    assert f"[{', '.join(map(str, worst.index))}]: expected" in found.headline
    plain = found._repr_mimebundle_()["text/plain"]
    assert found.headline in plain
    assert all(name in plain for name in found.left)


def test_a_right_model_is_right_in_every_stage():
    found = verify(pipeline.graph(matmul), bisect=True)
    assert found.ok
    assert [stage.name for stage in found.stages] == list(pipeline.STAGES)
    assert (found.stage, found.kernel, found.left) == (None, None, ())
    assert "right in 7 stages; " in found.headline
    assert found.to_dict()["ok"] is True


def test_a_live_operator_that_is_not_its_reference_is_wrong_in_legalize(network):
    body = """
def compute(x): return te.compute(x.shape, lambda *i: x(*i) * const_like(2, x), name="liar")
def reference(x): return x * 3
"""
    liar = define("bisectlab.liar", body)
    for model in (network.replace("relax.nn.relu", liar), pipeline.graph(_calling(liar))):
        found = verify(model, bisect=True)
        assert (found.stage, found.kernel.kernel) == ("legalize", "bisectlab_liar")
        assert found.kernel.worst.got == pytest.approx(found.kernel.worst.expected * 2 / 3)


def _calling(op):
    def block(x: "float32[n, 8]"):
        return relax.op.exp(op.bind(x))

    return block


CONV = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1, 4, 6, 6] x, float[1, 8, 6, 6] r) => (float[1, 8, 6, 6] y)
<float[8, 4, 3, 3] w = {%s}, float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}>
{ c = Conv <pads = [1, 1, 1, 1]> (x, w, b)  a = Add(c, r)  y = Relu(a) }"""


def convolved():
    rng = np.random.default_rng(0)
    text = CONV % ", ".join(map(str, rng.standard_normal(8 * 4 * 9).round(3)))
    return pipeline.load(parser.parse_model(text), name="convolved")


def test_a_wrong_clean_up_is_the_import_stage(monkeypatch):
    right = stages.clean_up

    def wrong(graph):
        cleaned = right(graph)
        weights = {name: np.asarray(stages_array(value)) for name, value in cleaned.constants.items()}
        return dataclasses.replace(cleaned, constants=weights | {"b": weights["b"] + np.float32(1)})

    monkeypatch.setattr(stages, "clean_up", wrong)
    found = verify(convolved(), bisect=True)
    assert (found.stage, found.kernel.kernel) == ("import", "add")
    assert "one of conv2d, add" in found.kernel.note
    assert any("without the clean-up" in note for note in found.notes)


def stages_array(value):
    from onnx import numpy_helper

    return value if isinstance(value, np.ndarray) else numpy_helper.to_array(value)


def test_a_wrong_packed_weight_is_a_fault_of_build(monkeypatch):
    right = stages.build

    def wrong(module, *rest):
        return right(_with_rolled_constants(module), *rest)

    monkeypatch.setattr(stages, "build", wrong)
    found = verify(convolved(), bisect=True)
    assert (found.stage, found.kernel.kernel) == ("build", "fused_conv2d_add_add1_relu")
    assert "its argument 1 is not the module's" in found.kernel.note


def test_a_wrong_packed_weight_is_a_fault_of_schedule(monkeypatch):
    right = stages.carry_layouts
    monkeypatch.setattr(stages, "carry_layouts", lambda module: _with_rolled_constants(right(module)))
    found = verify(convolved(), bisect=True)
    assert (found.stage, found.kernel.kernel) == ("schedule", "fused_conv2d_add_add1_relu")


def _with_rolled_constants(module):
    """The module, the first weights of its main one place further."""
    from tvm.relax.expr_functor import PyExprMutator, mutator

    rolled = []

    @mutator
    class Roller(PyExprMutator):
        def visit_generic_const_(self, constant):
            array = constant.value.numpy()
            if rolled or array.ndim < 4:
                return constant
            rolled.append(constant)
            return relax.const(np.roll(array, 1), "float32")

    changed = module.clone()
    changed["main"] = Roller(module).visit_expr(module["main"])
    assert rolled
    return changed


def test_a_wrong_code_generator_is_told_from_a_wrong_kernel(monkeypatch):
    fast = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu(), "fast-math": True})
    monkeypatch.setattr(executable, "host_target", lambda: fast)  # it takes it that there is no NaN
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (bool[4] y) { e = Exp(x) y = IsNaN(e) }'
    x = np.array([1, np.nan, 2, -1], np.float32)
    found = verify(pipeline.load(parser.parse_model(text), name="isnan"), bisect=True, inputs=[x])
    assert (found.stage, found.kernel.kernel, found.kernel.worst.index) == ("build", "tir_isnan", (1,))
    assert any("the code generator is at fault" in note for note in found.notes)


def test_swapped_arguments_of_a_right_kernel_are_a_fault_of_the_stage(monkeypatch):
    from tvm.relax.expr_functor import PyExprMutator, mutator

    def product(x: "float32[8, 8]", y: "float32[8, 8]"):
        return relax.op.matmul(x, y)

    @mutator
    class Swapper(PyExprMutator):
        def visit_call_(self, call):
            kernel, arguments = call.args
            return relax.call_tir(kernel, relax.Tuple(list(arguments.fields)[::-1]), list(call.ty_args))

    right = stages.inline

    def wrong(module):
        changed = right(module).clone()
        changed["main"] = Swapper(changed).visit_expr(changed["main"])
        return changed

    monkeypatch.setattr(stages, "inline", wrong)
    found = verify(pipeline.graph(product), bisect=True)
    assert (found.stage, found.kernel.kernel) == ("inline", "matmul")


def test_symbolic_sizes_and_several_outputs():
    def block(x: "float32[n, 64]", w: "float32[64, 64]"):
        halves = relax.op.split(relax.op.permute_dims(relax.op.nn.relu(relax.op.matmul(x, w))), 2, axis=0)
        twice = relax.op.concat([relax.op.tanh(x), relax.op.tanh(x)], axis=0)
        return relax.op.add(relax.op.sum(halves[0], axis=[0]), relax.op.nn.softmax(halves[1])), relax.op.exp(twice)

    model = pipeline.graph(block)
    x, w = np.ones((7, 64), np.float32), np.full((64, 64), 0.01, np.float32)
    assert verify(model, bisect=True, inputs=[x, w]).ok
    assert verify(model, groups=True, inputs=[x, w]).ok


def test_a_tolerance_of_nothing_shows_that_the_first_rounding_is_found():
    found = verify(pipeline.graph(matmul), bisect=True, tolerance=0.0)
    assert found.ok or found.kernel.worst.ulp_of_peak < 16


@pytest.mark.parametrize("options", [{"groups": True}, {"stage": "fuse"}])
def test_options_that_exclude_each_other(network, options):
    with pytest.raises(CallError, match="goes through all stages"):
        verify(network, bisect=True, **options)
