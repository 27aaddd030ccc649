"""Small graphs behind public reports of wrong fusion, written anew: the text of each, and the groups it should have.

Tests get them by `runpy.run_path`.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, parser

HEAD = '<ir_version: 8, opset_import: ["": 17, "my.domain": 1]>'

CASES = {
    "outputs inside of a pattern end their groups": (
        (
            "(float[2,8] x) => (float[2,8] t, float[2,8] s, float[2,8] y) <float a = {1.702}>"
            "{ t = Mul(x, a) s = Sigmoid(t) y = Mul(x, s) }"
        ),
        [["t"], ["s"], ["y"]],
    ),
    "nodes in any order": (
        "(float[4,4] x) => (float[4,4] y) { y = Add(b, x) b = Exp(a) a = Relu(x) }",
        [["a", "b", "y"]],
    ),
    "a weight that the caller may override": (
        (
            "(float[1,3,6,6] x, float[4,3,3,3] W) => (float[1,4,6,6] y)"
            "<float[4] p = {1,1,1,1}, float[4,3,3,3] W = {0}>"
            "{ c = Conv<pads=[1,1,1,1]>(x, W) y = BatchNormalization(c, p, p, p, p) }"
        ),
        [["c", "y"]],
    ),
    "a branch that reads a value from outside": (
        (
            "(float[3,4] x, bool cond) => (float[3,4] y) {"
            " r = Relu(x) e = Exp(r)"
            " i = If(cond) <then_branch = t () => (float[3,4] to) { to = Mul(r, r) },"
            " else_branch = f () => (float[3,4] fo) { fo = Neg(r) }>"
            " y = Add(e, i) }"
        ),
        [["r"], ["i"], ["e", "y"]],
    ),
    "a training batch norm": (
        (
            "(float[4,3,5,5] x) => (float[4,4,5,5] y, float[4] m, float[4] v)"
            "<float[4,3,1,1] W = {1,1,1,1,1,1,1,1,1,1,1,1}, float[4] p = {1,1,1,1}>"
            "{ c = Conv(x, W) y, m, v = BatchNormalization<training_mode=1>(c, p, p, p, p) }"
        ),
        [["c"], ["y"]],
    ),
    "three readers that never meet": (
        "(float[2,3] x) => (float[2,3] a, float[2,3] b, float[2,3] c) { r = Relu(x) a = Exp(r) b = Neg(r) c = Abs(r) }",
        [["r"], ["a"], ["b"], ["c"]],
    ),
    "a shape that is computed": (
        (
            "(float[N,12] x) => (float[N,3,4] y) <int64[1] zero = {0}, int64[2] tail = {3,4}>"
            "{ r = Relu(x) s = Shape(r) n = Gather(s, zero) t = Concat<axis=0>(n, tail)"
            " e = Exp(r) q = Reshape(e, t) y = Neg(q) }"
        ),
        [["r"], ["s"], ["n"], ["t"], ["e"], ["q"], ["y"]],
    ),
    "symbolic height and width": (
        (
            "(float[1,3,H,W] x) => (float[1,4,P,Q] y)"
            "<float[4,3,3,3] v = {0}, float[4,4,3,3] w = {0}, float[4,1,1] b = {1,1,1,1}>"
            "{ c = Conv<strides=[2,2], pads=[1,1,1,1]>(x, v) d = Conv<pads=[1,1,1,1]>(c, w) y = Add(d, b) }"
        ),
        [["c"], ["d", "y"]],
    ),
    "an output that nobody uses": (
        (
            "(float[2,6] x) => (float[2,2] y) <int64[3] sizes = {2,2,2}>"
            "{ p, q, unused = Split<axis=1>(x, sizes) r = Relu(p) y = Add(r, q) }"
        ),
        [["p", "r", "y"]],
    ),
    "a layer norm that is none": (
        (
            "(float[4,4] x) => (float[4,4] y) <float two = {2}, float eps = {0.00001}, float[4] g = {1,1,1,1}>"
            "{ mu = ReduceMean<axes=[-1], keepdims=0>(x) d = Sub(x, mu) sq = Pow(d, two)"
            " var = ReduceMean<axes=[-1], keepdims=0>(sq) ve = Add(var, eps) sd = Sqrt(ve) nm = Div(d, sd)"
            " sc = Mul(nm, g) y = Add(sc, g) }"
        ),
        [["mu", "d"], ["sq"], ["var", "ve", "sd", "nm", "sc", "y"]],
    ),
    "an opaque node on one of two ways": (
        "(float[3,4] x) => (float[3,4] y) <int64 axis = {1}> { a = Relu(x) b = CumSum(a, axis) y = Add(a, b) }",
        [["a"], ["b"], ["y"]],
    ),
    "identities": (
        (
            "(float[2,3] x) => (float[2,3] y, float[2,3] copy) <float one = {1}, float zero = {0}>"
            "{ mid = Identity(x) k = Div(one, one) w = Mul(mid, k) y = Add(w, zero) copy = Identity(x) }"
        ),
        [["mid", "k", "w", "y"], ["copy"]],
    ),
    "one value twice": ("(float[2,3] x) => (float[2,3] y) { a = Relu(x) y = Mul(a, a) }", [["a", "y"]]),
}


def model(name):
    """The model of a case; weights that are all zero become random ones."""
    made = parser.parse_model(f"{HEAD} g {CASES[name][0]}")
    for tensor in made.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and set(tensor.float_data) == {0.0}:
            del tensor.float_data[:]
            tensor.float_data.extend(random(tuple(tensor.dims)).ravel())
    return made


def feeds(made):
    """Random inputs of a case."""
    return {i.name: random(tuple(map(dimension, i.type.tensor_type.shape.dim)), i) for i in made.graph.input}


def dimension(given):
    return given.dim_value or {"N": 2, "H": 16, "W": 20}[given.dim_param]


def random(shape, info=None):
    if info is not None and info.type.tensor_type.elem_type == TensorProto.BOOL:
        return np.array(True)
    return np.random.default_rng(len(shape)).random(shape, np.float32) - np.float32(0.5)
