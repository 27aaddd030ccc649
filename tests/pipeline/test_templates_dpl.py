"""The same templates drive TVM's FuseOpsByPattern: what they match there, what they refuse, and the values after it."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

from tvmlab import fusion, pipeline, runtime
from tvmlab.errors import GraphError, NameRefused
from tvmlab.fusion import op, template, value
from tvmlab.fusion.template_gallery import conv_then
from tvmlab.pipeline.templates_dpl import fuse_by_templates

SHIPPED = fusion.shipped_templates()
CONV = "(float[1,1,4,4] x) => (float[1,1,2,2] y) <float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, float[1] p = {1}>"
GELU = (
    "(float[2,4] x, float[4,4] w) => (float[2,4] y) <float[4] b = {1,2,3,4}, float root = {1.41421356},"
    " float one = {1}, float half = {0.5}>"
)
NORM = (
    "(float[2,4,4] x) => (float[2,4,4] y)"
    "<float two = {2}, float eps = {0.00001}, float[4] g = {1,2,3,4}, float[4] b = {1,2,3,4}>"
    "{ mu = ReduceMean<axes=[-1]>(x) d = Sub(x, mu) sq = Pow(d, two)"
    " var = ReduceMean<axes=[2]>(sq) ve = Add(var, eps) sd = Sqrt(ve) nm = Div(d, sd) sc = Mul(nm, g) y = Add(sc, b) }"
)
ATTENTION = (
    "(float[2,3,8] q, float[2,5,8] k, float[2,5,8] v, float[2,3,5] mask) => (float[2,3,8] y) <float s = {2.8284}>"
    "{ t = Transpose<perm=[0,2,1]>(k) p = MatMul(q, t) a = Div(p, s) n = Add(mask, a) w = Softmax(n) y = MatMul(w, v) }"
)
SLICE = (
    "(float[2,4] x) => (float[4,2] y)"
    "<int64[2] from = {0,0}, int64[2] to = {2,4}, int64[2] shape = {4,2}>"
    "{ a = Slice(x, from, to) t = Transpose<perm=[1,0]>(a) y = Reshape(t, shape) }"
)


def load(text, opset=17):
    return pipeline.load(parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> g {text}'))


def composites(module):
    """How many operators each function has that a template matched."""
    functions = [f for f in module.functions.values() if f.attrs and "Composite" in f.attrs]
    return sorted(sum(len(block.bindings) for block in f.body.blocks) for f in functions)


def found(text, name, opset=17):
    return composites(fuse_by_templates(load(text, opset).module, [SHIPPED[name]]))


MATCHES = {
    "conv_bn_relu": (CONV + "{ c = Conv(x, w) n = BatchNormalization(c, p, p, p, p) y = Relu(n) }", 17, 4),
    "conv_bn_relu with a bias": (
        CONV + "{ c = Conv(x, w, p) n = BatchNormalization(c, p, p, p, p) y = Relu(n) }",
        17,
        6,
    ),
    "matmul_add_gelu of one": (GELU + "{ m = MatMul(x, w) a = Add(b, m) y = Gelu(a) }", 20, 3),
    "matmul_add_gelu of five": (
        GELU + "{ m = MatMul(x, w) a = Add(m, b) d = Div(a, root) e = Erf(d) o = Add(one, e)"
        " f = Mul(a, o) y = Mul(half, f) }",
        17,
        7,
    ),
    "slice_transpose_reshape": (SLICE, 17, 3),
    "layer_norm": (NORM, 17, 9),
    "attention": (ATTENTION, 17, 6),
}


@pytest.mark.parametrize("case", MATCHES)
def test_what_matches_in_onnx_matches_in_relax_and_becomes_one_kernel_with_the_same_values(case):
    import tvm
    from tvm import relax

    text, opset, size = MATCHES[case]
    model = load(text, opset)
    before = model.module.script()
    fused = fuse_by_templates(model.module, [SHIPPED[case.split()[0]]])
    assert composites(fused) == [size]
    assert model.module.script() == before
    lower = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), relax.transform.FuseTIR()]
    lower.append(relax.transform.DeadCodeElimination())
    with runtime.quiet():
        lowered = tvm.ir.transform.Sequential(lower)(fused)
        plain = relax.transform.LegalizeOps()(model.module)
    calls = [b for block in lowered["main"].body.blocks for b in block.bindings if isinstance(b.value, relax.Call)]
    assert len(calls) == 1
    inputs = [np.random.default_rng(0).standard_normal(i.shape).astype("f4") for i in model.inputs]
    want, got = (runtime.compile_module(module).run(*inputs) for module in (plain, lowered))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("conv_bn_relu", CONV + "{ c = Conv(x, w) n = BatchNormalization(c, p, p, p, p) y = Sigmoid(n) }"),
        ("conv_bn_relu", CONV + "{ c = Conv(x, w) n = BatchNormalization(c, p, p, p, p) r = Relu(n) y = Add(r, c) }"),
        ("matmul_add_gelu", GELU + "{ m = MatMul(x, w) a = Add(m, b) y = Relu(a) }"),
        (
            "matmul_add_gelu",
            GELU + "{ m = MatMul(x, w) a = Add(m, b) d = Div(a, one) e = Erf(d) o = Add(e, one)"
            " f = Mul(a, o) y = Mul(f, half) }",
        ),
        ("layer_norm", NORM.replace("<axes=[2]>", "<axes=[1]>")),
        ("layer_norm", NORM.replace("<axes=[2]>", "<axes=[2], keepdims=0>").replace("[2,4,4]", "[4,4,4]")),
        ("layer_norm", NORM.replace("Pow(d, two)", "Pow(d, eps)")),
        ("layer_norm", NORM.replace("Mul(nm, g)", "Mul(nm, d)")),
        ("layer_norm", NORM.replace("Sub(x, mu)", "Sub(mu, x)")),
        ("attention", ATTENTION.replace("Softmax(n)", "Softmax<axis=1>(n)")),
        ("attention", ATTENTION.replace("Div(p, s)", "Div(s, p)")),
    ],
)
def test_what_only_looks_like_it_is_left_alone(name, text):
    assert found(text, name) == []


def test_conv_and_an_operator_of_ones_own(clamp):
    model = load(CONV + "{ c = Conv(x, w) y = Relu(c) }").replace("Relu", clamp.name, slope=0.2)
    assert composites(fuse_by_templates(model.module, [conv_then(clamp.name)])) == [2]
    with pytest.raises(NameRefused, match=r"pipelinelab\.absent"):
        fuse_by_templates(model.module, [conv_then("pipelinelab.absent")])
    (match,) = fusion.match_templates(fusion.read_onnx(model.onnx), [conv_then(clamp.name)])
    assert match.nodes == (0, 1)


def test_a_predicate_sees_the_attributes_in_the_words_of_onnx():
    seen = []
    conv = op("Conv", value("x"), value("w"), where=lambda use: seen.append(use) or True)
    fuse_by_templates(load(CONV + "{ y = Conv<strides=[1,1]>(x, w) }").module, [template("conv", conv)])
    assert seen[0].attributes == {"strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1], "group": 1}
    assert seen[0].inputs == ((1, 1, 4, 4), (1, 1, 3, 3))
    assert seen[0].outputs == ((1, 1, 2, 2),)
    assert seen[0].constant == (False, True)


def test_on_a_network_both_find_the_same(network):
    model = pipeline.load(network("resnet50"))
    in_onnx = fusion.match_templates(fusion.read_onnx(model.onnx), ["conv_bn_relu"])
    fused = fuse_by_templates(model.module, [SHIPPED["conv_bn_relu"]])
    calls = [b.value for block in fused["main"].body.blocks for b in block.bindings if "fused_" in str(b.value)[:20]]
    assert len(calls) == len(in_onnx) == 33


def test_the_first_template_has_it():
    pair = template("pair", op("Relu", op("Exp", value())))
    single = template("single", op("Relu", value()))
    module = load("(float[2] x) => (float[2] y) { e = Exp(x) y = Relu(e) }").module
    assert composites(fuse_by_templates(module, [pair, single])) == [2]


def test_what_relax_has_no_counterpart_of_is_refused():
    module = load("(float[2] x) => (float[2] y) { y = Relu(x) }").module
    with pytest.raises(GraphError, match="asks for Mystery"):
        fuse_by_templates(module, [template("odd", op("Mystery", value()))])
    with pytest.raises(GraphError, match="other than the first"):
        fuse_by_templates(module, [template("second", op("Relu", op("Split", value(), more=True)[1]))])
