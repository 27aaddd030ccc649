"""``tl.fuse(…, templates=[…])``: what is matched is a group, and the rules decide about the rest."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import parser

import tvmlab as tl
from tvmlab.errors import CallError, GraphError
from tvmlab.fusion import op, template, value

NORM = (
    '<ir_version: 8, opset_import: ["": 17]> g (float[2,4,4] x) => (float[2,4,4] y)'
    "<float two = {2}, float eps = {0.00001}, float[4] g = {1,2,3,4}, float[4] b = {1,2,3,4}>"
    "{ e = Exp(x) mu = ReduceMean<axes=[-1]>(e) d = Sub(e, mu) sq = Pow(d, two)"
    " var = ReduceMean<axes=[2]>(sq) ve = Add(var, eps) sd = Sqrt(ve) nm = Div(d, sd) sc = Mul(nm, g) n = Add(sc, b)"
    " y = Neg(n) }"
)
CONV = (
    '<ir_version: 8, opset_import: ["": 17]> g (float[1,1,4,4] x) => (float[1,1,2,2] y)'
    "<float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, float[1] p = {1}>"
    "{ c = Conv(x, w, p) n = BatchNormalization(c, p, p, p, p) r = Relu(n) y = Exp(r) }"
)


@pytest.fixture(scope="module")
def resnet():
    return tl.load("light_resnet50.onnx")


def test_every_match_is_a_group(resnet):
    partition = tl.fuse(resnet, level="onnx", templates=["conv_bn_relu"])
    operations = [tuple(group.operations) for group in partition.groups]
    assert operations.count(("Conv", "BatchNormalization", "Relu")) == 33


def test_on_the_level_of_relax_as_well(resnet):
    partition = tl.fuse(resnet, templates=["conv_bn_relu"], cleanup="none")
    found = [group for group in partition.groups if group.kernel == "fused_conv_bn_relu"]
    assert len(found) == 33
    assert found[0].nodes == ("n0: conv2d", "n1: batch_norm", "n2: relu")
    assert partition.why("n0", "n2").endswith("are in one group: template conv_bn_relu matched both.")
    folded = tl.fuse(resnet, templates=["conv_bn_relu"])
    assert folded.kernels_after == tl.fuse(resnet).kernels_after


@pytest.mark.parametrize(
    ("text", "name", "cleanup", "kernels"),
    [
        (NORM, "layer_norm", "tvmlab", 3),
        (NORM, "layer_norm", "none", 3),
        (CONV, "conv_bn_relu", "none", 2),
        (CONV, "conv_bn_relu", "tvmlab", 1),
    ],
)
def test_a_match_becomes_one_kernel_with_the_same_values(text, name, cleanup, kernels):
    model = tl.load(parser.parse_model(text))
    traced = tl.trace(model, cleanup=cleanup, templates=[name])
    assert traced["fuse"].kernels == traced.partition.kernels_after == kernels
    assert (f"fused_{name}" in [group.kernel for group in traced.partition.groups]) == (kernels > 1)
    x = np.random.default_rng(0).standard_normal(model.inputs[0].shape).astype("f4")
    want = tl.trace(model, cleanup=cleanup, engine="none").executable.run(x)
    np.testing.assert_allclose(traced.executable.run(x), want, rtol=1e-5, atol=1e-5)


def test_a_template_of_ones_own_keeps_what_the_rules_would_have_fused_apart():
    text = (
        '<ir_version: 8, opset_import: ["": 17]> g (float[8] x) => (float[8] y) { a = Exp(x) b = Relu(a) y = Neg(b) }'
    )
    model = tl.load(parser.parse_model(text))
    pair = template("pair", op("Relu", op("Exp", value())))
    partition = tl.fuse(model, templates=[pair])
    assert [(group.kernel, group.nodes) for group in partition.groups] == [
        ("fused_pair", ("a: tir_exp", "b: relu")),
        ("tir_negative", ("y: tir_negative",)),
    ]
    assert tl.fuse(model, templates=[pair], kinds={"y": "opaque"}).kernels_after == 2
    assert tl.fuse(model).kernels_after == 1


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"templates": ["conv_bn_relu"], "engine": "tvm"}, CallError, 'for engine="python"'),
        ({"templates": ["conv_bn_relu"], "level": "onnx", "engine": "none"}, CallError, 'for engine="python"'),
        ({"templates": ["nothing"], "level": "onnx"}, GraphError, "no template 'nothing' is shipped"),
        ({"templates": ["nothing"]}, GraphError, "no template 'nothing' is shipped"),
    ],
)
def test_what_cannot_be_matched_is_refused(resnet, options, error, words):
    with pytest.raises(error, match=words):
        tl.fuse(resnet, **options)


def test_a_module_as_it_stands_and_a_trace_by_tvm_take_no_templates(resnet):
    with pytest.raises(CallError, match="matched in a model before it is legalized"):
        tl.fuse(resnet.module, templates=["conv_bn_relu"])
    with pytest.raises(CallError, match='for engine="python"'):
        tl.trace(resnet, engine="tvm", templates=["conv_bn_relu"])


def test_one_phase_may_be_given_as_it_is_and_a_limit_is_a_number(resnet):
    assert tl.fuse(resnet, without="phase0").groups == tl.fuse(resnet, without=["phase0"]).groups
    with pytest.raises(CallError, match="max_depth='8' is no whole number"):
        tl.fuse(resnet, max_depth="8")
