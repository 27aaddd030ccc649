"""The table of kinds, row by row where a row has conditions."""

from __future__ import annotations

import pytest
from onnx import parser

from tvmlab import fusion
from tvmlab.errors import GraphError
from tvmlab.fusion import Kind, kinds, read_onnx

HEAD = '<ir_version: 8, opset_import: ["": %d, "my.domain": 1, "com.microsoft": 1]>'


def kind_of(text, opset=17):
    """The kind of the node that makes y."""
    graph = read_onnx(parser.parse_model(f"{HEAD % opset} g {text}")).graph
    return graph.kind(graph.index("y")).name.lower()


ROWS = [
    # operators that broadcast
    ("elem", "(float[2,3] a, float[2,3] b) => (float[2,3] y) { y = Add(a, b) }"),
    ("elem", "(float[2,3] a, float[3] b) => (float[2,3] y) { y = Mul(a, b) }"),
    ("elem", "(float[3] a, float[2,3] b) => (float[2,3] y) { y = Sub(a, b) }"),
    ("elem", "(float[2,3] a, float b) => (float[2,3] y) { y = Pow(a, b) }"),
    ("elem", "(float[N,3] a, float[3] b) => (float[N,3] y) { y = Div(a, b) }"),
    ("elem", "(float[N,M] a, float[N,M] b) => (float[N,M] y) { y = Add(a, b) }"),
    ("bcast", "(float[6,1] a, float[1,8] b) => (float[6,8] y) { y = Add(a, b) }"),
    ("bcast", "(float[N,3] a, float[M,3] b) => (float[K,3] y) { y = Add(a, b) }"),
    ("bcast", "(float[4,6] a, float[1,2,1,1,6] b) => (float[1,2,1,4,6] y) { y = Add(a, b) }"),
    ("elem", "(bool[2,3] c, float[3] a, float b) => (float[2,3] y) { y = Where(c, a, b) }"),
    ("elem", "(float[2,3] a, float[3] b, float[1,3] c) => (float[2,3] y) { y = Max(a, b, c) }"),
    # unary ones
    ("elem", "(float[2] x) => (float[2] y) { y = Gelu(x) }"),
    ("elem", "(float[2] x) => (float[2] y) { y = com.microsoft.FastGelu(x) }"),
    ("opaque", "(float[2] x) => (float[2] y) { y = my.domain.Relu(x) }"),
    # layout
    ("inj", "(float[2,3] x) => (float[3,2] y) { y = Transpose<perm=[1,0]>(x) }"),
    ("inj", "(float[2,3] x) => (float[3,2] y) { y = Transpose(x) }"),
    ("elem", "(float[2,3] x) => (float[2,3] y) { y = Transpose<perm=[0,1]>(x) }"),
    ("inj", "(float[2,3] x) => (float[6] y) <int64[1] s = {6}> { y = Reshape(x, s) }"),
    ("opaque", "(float[2,3] x, int64[1] s) => (float[N] y) { y = Reshape(x, s) }"),
    ("inj", "(float[2,3] x) => (float[1,3] y) <int64[1] a = {1}, int64[1] b = {2}> { y = Slice(x, a, b) }"),
    ("elem", "(float[2,3] x) => (float[1,3] y) <int64[1] a = {0}, int64[1] b = {1}> { y = Slice(x, a, b) }"),
    (
        "inj",
        ("(float[4] x) => (float[2] y) <int64[1] a = {0}, int64[1] b = {4}, int64[1] c = {0}, int64[1] d = {2}>"
        "{ y = Slice(x, a, b, c, d) }"),
    ),
    ("opaque", "(float[4] x, int64[1] a) => (float[N] y) <int64[1] b = {4}> { y = Slice(x, a, b) }"),
    ("bcast", "(float[2] x) => (float[1,2] y) <int64[1] a = {0}> { y = Unsqueeze(x, a) }"),
    ("inj", "(float[2] x, float[2] z) => (float[4] y) { y = Concat<axis=0>(x, z) }"),
    ("inj", "(float[2] x) => (float[4] y) <int64[2] p = {1,1}> { y = Pad(x, p) }"),
    ("opaque", "(float[2] x, int64[2] p) => (float[N] y) { y = Pad(x, p) }"),
    ("opaque", "(int64[1] s) => (float[N] y) { y = ConstantOfShape(s) }"),
    # reductions
    ("reduce", "(float[2,3] x) => (float y) { y = ReduceSum<keepdims=0>(x) }"),
    ("opaque", "(float[2,3] x, int64[1] a) => (float y) { y = ReduceSum<keepdims=0>(x, a) }"),
    ("elem", "(float[2,3] x) => (float[2,3] y) { y = ReduceSum<noop_with_empty_axes=1>(x) }"),
    ("reduce", "(float[2,3] x) => (float[2,1] y) <int64[1] a = {1}> { y = ReduceSum<noop_with_empty_axes=1>(x, a) }"),
    ("oef", "(float[2,3] x) => (float[2,1] y) { y = ReduceMean<axes=[1]>(x) }"),
    ("oef", "(float[2,3] x) => (float[2,3] y) { y = Softmax(x) }"),
    # products
    ("oef", "(float[2,3] x, float[3,4] w) => (float[2,4] y) { y = MatMul(x, w) }"),
    ("reduce", "(float[3] x, float[3,4] w) => (float[4] y) { y = MatMul(x, w) }"),
    # of several minds
    ("elem", "(float[1,2,4,4] x, float[2] p) => (float[1,2,4,4] y) { y = BatchNormalization(x, p, p, p, p) }"),
    (
        "oef",
        ("(float[1,2,4,4] x, float[2] p) => (float[1,2,4,4] y, float[2] m, float[2] v)"
        "{ y, m, v = BatchNormalization<training_mode=1>(x, p, p, p, p) }"),
    ),
    ("elem", "(float[2] x) => (float[2] y) { y = Dropout(x) }"),
    ("elem", "(float[2] x) => (float[2] y) <float r = {0.5}, bool t = {0}> { y = Dropout(x, r, t) }"),
    ("opaque", "(float[2] x) => (float[2] y) <float r = {0.5}, bool t = {1}> { y = Dropout(x, r, t) }"),
    ("opaque", "(float[2] x, bool t) => (float[2] y) <float r = {0.5}> { y = Dropout(x, r, t) }"),
    # what decides at run time
    ("opaque", "(float[2,3] x, int64[1] i) => (float[1,3] y) { y = Gather(x, i) }"),
    ("opaque", "(float[2,3] x) => (int64[2] y) { y = Shape(x) }"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "text"), ROWS)
def test_row(right, text):
    assert kind_of(text) == right


@pytest.mark.parametrize(
    ("right", "opset", "text"),
    [
        ("oef", 6, "(float[1,2,4,4] x, float[2] p) => (float[1,2,4,4] y) { y = BatchNormalization(x, p, p, p, p) }"),
        (
            "elem",
            6,
            "(float[1,2,4,4] x, float[2] p) => (float[1,2,4,4] y) { y = BatchNormalization<is_test=1>(x, p, p, p, p) }",
        ),
        ("elem", 9, "(float[1,2,4,4] x, float[2] p) => (float[1,2,4,4] y) { y = BatchNormalization(x, p, p, p, p) }"),
        ("opaque", 6, "(float[2] x) => (float[2] y) { y = Dropout(x) }"),
        ("elem", 6, "(float[2] x) => (float[2] y) { y = Dropout<is_test=1>(x) }"),
        ("inj", 9, "(float[4] x) => (float[3] y) { y = Slice<starts=[1], ends=[4]>(x) }"),
        ("elem", 9, "(float[4] x) => (float[3] y) { y = Slice<starts=[0], ends=[3]>(x) }"),
        ("reduce", 11, "(float[2,3] x) => (float[2,1] y) { y = ReduceSum<axes=[1]>(x) }"),
    ],
)
def test_row_that_depends_on_the_operator_set(right, opset, text):
    assert kind_of(text, opset) == right


def test_kinds_of_own_operators_and_other_answers(monkeypatch):
    monkeypatch.setattr(kinds, "_own", {})
    text = "(float[2] x) => (float[2] y) { y = my.domain.Clamp(x) }"
    fusion.kind("my.domain", "Clamp", "elem")
    assert kind_of(text) == "elem"
    fusion.kind("my.domain", "Clamp", lambda use: Kind.INJ if use.inputs[0] == (2,) else Kind.OPAQUE)
    assert kind_of(text) == "inj"
    fusion.kind("ai.onnx", "Relu", Kind.OPAQUE)
    assert kind_of("(float[2] x) => (float[2] y) { y = Relu(x) }") == "opaque"
    with pytest.raises(GraphError, match="'elm' is no kind"):
        fusion.kind("my.domain", "Clamp", "elm")
