"""Templates match what they say, in every order of operands, and nothing that only looks like it."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, parser
from onnx.reference import ReferenceEvaluator

from tvmlab import fusion
from tvmlab.errors import GraphError
from tvmlab.fusion import as_functions, either, impose, match_templates, maybe, op, read_onnx, template, value
from tvmlab.fusion.template_gallery import conv_then

HEAD = '<ir_version: 10, opset_import: ["": 20, "tvmlab": 1, "com.microsoft": 1]>'


def parsed(text, opset=20):
    return parser.parse_model(f"{HEAD.replace(': 20', f': {opset}')} g {text}")


def found(text, *templates, opset=20):
    """Name and labels of each match."""
    reading = read_onnx(parsed(text, opset))
    return [
        (match.template, [reading.graph.label(node) for node in match.nodes])
        for match in match_templates(reading, templates)
    ]


CONV = "(float[1,1,4,4] x, float[1] s) => (float[1,1,2,2] y) <float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}, float[1] p = {1}>"
GELU = (
    "(float[2,4] x, float[4,4] w) => (float[2,4] y)"
    "<float[4] b = {1,2,3,4}, float root = {1.41421356}, float one = {1}, float half = {0.5},"
    " float[1] inverse = {0.7071}>"
)
NORM = (
    "(float[2,4,4] x) => (float[2,4,4] y)"
    "<float two = {2}, float eps = {0.00001}, float[4] g = {1,2,3,4}, float[4] b = {1,2,3,4}, float[2,4,4] full = {0}>"
)
NORM_BODY = (
    "{ mu = ReduceMean<axes=[-1]>(x) d = Sub(x, mu) sq = Pow(d, two)"
    " var = ReduceMean<axes=[2]>(sq) ve = Add(var, eps) sd = Sqrt(ve) nm = Div(d, sd) sc = Mul(nm, g) y = Add(sc, b) }"
)
ATTENTION = (
    "(float[2,3,8] q, float[2,5,8] k, float[2,5,8] v, float[2,3,5] mask, bool[2,3,5] keep) => (float[2,3,8] y)"
    "<float s = {2.8284}, float f = {0.3535}, float low = {-10000}, float other = {2}>"
)


# Those that are shipped


@pytest.mark.parametrize(
    ("body", "labels"),
    [
        ("{ c = Conv(x, w) n = BatchNormalization(c, p, p, p, p) y = Relu(n) }", ["c", "n", "y"]),
        ("{ c = Conv(x, w, p) n = BatchNormalization(c, s, p, p, p) y = Relu(n) }", ["c", "n", "y"]),
    ],
)
def test_conv_bn_relu(body, labels):
    assert found(CONV + body, "conv_bn_relu") == [("conv_bn_relu", labels)]


@pytest.mark.parametrize(
    "body",
    [
        "{ c = Conv(x, w) n = BatchNormalization(c, p, p, p, p) y = Sigmoid(n) }",
        "{ c = Conv(x, w) n = BatchNormalization(p, c, p, p, p) y = Relu(n) }",
        "{ c = Conv(x, w) n, m, v = BatchNormalization<training_mode=1>(c, p, p, p, p) y = Relu(n) }",
        "{ c = Conv(x, w) n = BatchNormalization(c, p, p, p, p) r = Relu(n) y = Add(r, c) }",
        "{ c = Conv(x, w) n = BatchNormalization(c, p, p, p, p) r = Relu(n) y = Add(r, n) }",
        "{ c = tvmlab.Conv(x, w) n = BatchNormalization(c, p, p, p, p) y = Relu(n) }",
    ],
    ids=["other operator", "other role", "training", "conv read twice", "norm read twice", "other domain"],
)
def test_what_is_no_conv_bn_relu(body):
    assert found(CONV + body, "conv_bn_relu") == []


def test_a_value_that_is_an_output_or_captured_cannot_vanish():
    body = "{ c = Conv(x, w) n = BatchNormalization(c, p, p, p, p) y = Relu(n) }"
    assert (
        found(CONV.replace("(float[1,1,2,2] y)", "(float[1,1,2,2] y, float[1,1,2,2] n)") + body, "conv_bn_relu") == []
    )
    branches = (
        "then_branch = t () => (float[1,1,2,2] a) { a = Neg(n) },"
        " else_branch = e () => (float[1,1,2,2] b) { b = Abs(y) }"
    )
    text = CONV.replace("float[1] s", "bool s").replace("[1,1,2,2] y)", "[1,1,2,2] z)", 1)
    assert found(text + body.replace("}", f"z = If(s) <{branches}> }}"), "conv_bn_relu") == []


MATMUL_GELU = {
    "one node": "g = Gelu(a)",
    "Microsoft's": "g = com.microsoft.Gelu(a)",
    "five": "d = Div(a, root) e = Erf(d) o = Add(e, one) m = Mul(a, o) g = Mul(m, half)",
    "five, turned": "d = Div(a, root) e = Erf(d) o = Add(one, e) m = Mul(o, a) g = Mul(half, m)",
    "half first": "d = Mul(a, inverse) e = Erf(d) o = Add(e, one) m = Mul(a, half) g = Mul(m, o)",
    "half in between": "d = Mul(inverse, a) e = Erf(d) o = Add(e, one) m = Mul(half, o) g = Mul(a, m)",
}


@pytest.mark.parametrize("way", MATMUL_GELU)
@pytest.mark.parametrize("add", ["Add(m0, b)", "Add(b, m0)"])
def test_matmul_add_gelu(way, add):
    text = f"{GELU} {{ m0 = MatMul(x, w) a = {add} {MATMUL_GELU[way]} y = Identity(g) }}"
    ((name, labels),) = found(text, "matmul_add_gelu")
    assert name == "matmul_add_gelu"
    assert len(labels) == (3 if "Gelu" in MATMUL_GELU[way] else 7)
    assert labels[:2] == ["m0", "a"]
    assert labels[-1] == "g"


@pytest.mark.parametrize(
    "body",
    [
        'g = Gelu<approximate="tanh">(a)',
        "d = Div(a, one) e = Erf(d) o = Add(e, one) m = Mul(a, o) g = Mul(m, half)",
        "d = Div(root, a) e = Erf(d) o = Add(e, one) m = Mul(a, o) g = Mul(m, half)",
        "d = Div(a, root) e = Erf(d) o = Add(e, one) m = Mul(m0, o) g = Mul(m, half)",
        "d = Div(a, root) e = Erf(d) o = Add(e, one) m = Mul(o, o) g = Mul(m, half)",
        "d = Div(a, root) e = Erf(d) o = Add(e, one) m = Mul(a, o) h = Mul(m, half) g = Add(h, o)",
    ],
    ids=["tanh", "wrong constant", "operands of Div turned", "another x", "no x", "erf is read elsewhere"],
)
def test_what_is_no_matmul_add_gelu(body):
    assert found(f"{GELU} {{ m0 = MatMul(x, w) a = Add(m0, b) {body} y = Identity(g) }}", "matmul_add_gelu") == []


SLICE = (
    "(float[2,4] x, int64[2] run) => (float[4,2] y)<int64[2] from = {0,0}, int64[2] to = {2,4}, int64[2] shape = {4,2}>"
)


def test_slice_transpose_reshape():
    body = "{ a = Slice(x, from, to) t = Transpose<perm=[1,0]>(a) y = Reshape(t, shape) }"
    assert found(SLICE + body, "slice_transpose_reshape") == [("slice_transpose_reshape", ["a", "t", "y"])]
    assert found(SLICE + body.replace("to)", "run)"), "slice_transpose_reshape") == []
    assert found(SLICE + body.replace("shape)", "run)"), "slice_transpose_reshape") == []


def test_layer_norm():
    labels = ["mu", "d", "sq", "var", "ve", "sd", "nm", "sc", "y"]
    assert found(NORM + NORM_BODY, "layer_norm", opset=17) == [("layer_norm", labels)]
    turned = NORM_BODY.replace("Mul(nm, g)", "Mul(g, nm)").replace("Add(sc, b)", "Add(b, sc)")
    assert found(NORM + turned.replace("Pow(d, two)", "Mul(d, d)"), "layer_norm", opset=17) == [("layer_norm", labels)]


def test_layer_norm_with_its_axes_as_inputs():
    text = NORM.replace("<float two", "<int64[1] last = {-1}, float two")
    body = NORM_BODY.replace("ReduceMean<axes=[-1]>(x)", "ReduceMean(x, last)")
    assert len(found(text + body.replace("ReduceMean<axes=[2]>(sq)", "ReduceMean(sq, last)"), "layer_norm")) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<axes=[2]>", "<axes=[2], keepdims=0>"),
        ("<axes=[2]>", "<axes=[1]>"),
        ("<axes=[2]>", ""),
        ("Pow(d, two)", "Pow(d, eps)"),
        ("Pow(d, two)", "Pow(x, two)"),
        ("Pow(d, two)", "Mul(d, x)"),
        ("Sub(x, mu)", "Sub(mu, x)"),
        ("Div(d, sd)", "Div(sd, d)"),
        ("Div(d, sd)", "Div(x, sd)"),
        ("Mul(nm, g)", "Mul(nm, nm)"),
        ("Mul(nm, g)", "Mul(nm, d)"),
        ("Mul(nm, g)", "Mul(nm, full)"),
        ("Mul(nm, g)", "Mul(nm, two)"),
        ("Add(sc, b)", "Add(sc, mu)"),
        ("Add(var, eps)", "Add(var, g)"),
    ],
)
def test_what_only_looks_like_a_layer_norm(old, new):
    assert old in NORM_BODY
    assert found(NORM + NORM_BODY.replace(old, new), "layer_norm", opset=17) == []


def test_a_square_input_does_not_hide_that_dimensions_are_dropped():
    text = (
        "(float[4,4] x) => (float[4,4] y) <float two = {2}, float eps = {0.00001}, float[4] g = {1,2,3,4}>"
        "{ mu = ReduceMean<axes=[-1], keepdims=0>(x) d = Sub(x, mu) sq = Pow(d, two)"
        " var = ReduceMean<axes=[-1], keepdims=0>(sq) ve = Add(var, eps) sd = Sqrt(ve) nm = Div(d, sd)"
        " sc = Mul(nm, g) y = Add(sc, g) }"
    )
    assert found(text, "layer_norm", opset=17) == []
    assert len(found(text.replace(", keepdims=0", ""), "layer_norm", opset=17)) == 1


ATTENTIONS = {
    "plain": "t = Transpose<perm=[0,2,1]>(k) p = MatMul(q, t) w = Softmax(p)",
    "divided": "t = Transpose<perm=[0,2,1]>(k) p = MatMul(q, t) a = Div(p, s) w = Softmax<axis=2>(a)",
    "multiplied": "t = Transpose<perm=[0,2,1]>(k) p = MatMul(q, t) a = Mul(f, p) w = Softmax(a)",
    "on the queries": "t = Transpose<perm=[0,2,1]>(k) u = Mul(q, f) p = MatMul(u, t) w = Softmax(p)",
    "on both": "t = Transpose<perm=[0,2,1]>(k) u = Mul(q, f) r = Mul(t, f) p = MatMul(u, r) w = Softmax(p)",
    "mask added": "t = Transpose<perm=[0,2,1]>(k) p = MatMul(q, t) a = Div(p, s) n = Add(mask, a) w = Softmax(n)",
    "mask chosen": "t = Transpose<perm=[0,2,1]>(k) p = MatMul(q, t) n = Where(keep, p, low) w = Softmax(n)",
    "mask turned": "t = Transpose<perm=[0,2,1]>(k) p = MatMul(q, t) n = Where(keep, low, p) w = Softmax(n)",
}


@pytest.mark.parametrize("way", ATTENTIONS)
def test_attention(way):
    steps = ATTENTIONS[way]
    ((_, labels),) = found(f"{ATTENTION} {{ {steps} y = MatMul(w, v) }}", "attention")
    assert len(labels) == steps.count("=") - steps.count("perm=") - steps.count("axis=") + 1


@pytest.mark.parametrize(
    "body",
    [
        "t = Transpose<perm=[0,2,1]>(k) p = MatMul(q, t) w = Softmax<axis=1>(p) y = MatMul(w, v)",
        "t = Transpose<perm=[0,2,1]>(k) p = MatMul(q, t) w = Softmax(p) y = MatMul(w, v) z = ReduceSum(w)",
        "t = Transpose<perm=[0,2,1]>(k) p = MatMul(q, t) w = Sigmoid(p) y = MatMul(w, v)",
        "t = Transpose<perm=[0,2,1]>(k) p = MatMul(q, t) a = Div(s, p) w = Softmax(a) y = MatMul(w, v)",
    ],
    ids=["over the queries", "weights are read elsewhere", "no softmax", "division turned"],
)
def test_what_is_no_attention(body):
    text = ATTENTION.replace("(float[2,3,8] y)", "(float[2,3,8] y, float z)") if " z = " in body else ATTENTION
    assert found(f"{text} {{ {body} }}", "attention", opset=13 if " z = " in body else 20) == []


def test_keys_that_are_turned_otherwise_come_from_outside():
    text = f"{ATTENTION.replace('2,5,8] k', '8,2,5] k')} {{ t = Transpose<perm=[1,0,2]>(k) p = MatMul(q, t)"
    ((_, labels),) = found(f"{text} w = Softmax(p) y = MatMul(w, v) }}", "attention")
    assert labels == ["p", "w", "y"]


@pytest.mark.parametrize(("operator", "matches"), [("lab.leaky_clamp", 1), ("lab.other", 0), ("Relu", 0)])
def test_conv_and_an_operator_of_ones_own(operator, matches):
    for body in ("y = tvmlab.Mine(c, s)", "a = Add(c, p) y = tvmlab.Mine(a, s)"):
        model = parsed(f"{CONV} {{ c = Conv(x, w) {body} }}")
        model.graph.node[-1].op_type = operator
        found_here = match_templates(read_onnx(model), [conv_then("lab.leaky_clamp")])
        assert [match.nodes for match in found_here] == [tuple(range(len(model.graph.node)))] * matches


# Templates in general


def test_roles_shapes_and_uses_are_told():
    reading = read_onnx(
        parsed(CONV + "{ c = Conv<pads=[0,0,0,0]>(x, w) n = BatchNormalization(c, p, p, p, p) y = Relu(n) }")
    )
    (match,) = match_templates(reading, ["conv_bn_relu"])
    assert match.roles["conv"] == "c"
    assert match.roles["weight"] == "w"
    assert "bias" not in match.roles
    assert match.shapes["x"] == (1, 1, 4, 4)
    assert match.uses["conv"].attributes == {"pads": [0, 0, 0, 0]}


def test_an_optional_step_is_taken_where_it_is():
    mine = template("tail", maybe(op("Relu", op("Exp", value()))))
    assert found("(float[2] x) => (float[2] y) { e = Exp(x) y = Relu(e) }", mine) == [("tail", ["e", "y"])]
    assert found("(float[2] x) => (float[2] y) { e = Exp(x) y = Neg(e) }", mine) == [("tail", ["e"])]


def test_an_output_other_than_the_first_is_picked():
    split = op("Split", value("x"), more=True)
    text = "(float[2] x) => (float[1] y) { a, b = Split<num_outputs=2>(x) y = Sub(b, a) }"
    assert found(text, template("turned", op("Sub", split[1], split[0]))) == [("turned", ["a", "y"])]
    assert found(text, template("straight", op("Sub", split[0], split[1]))) == []
    with pytest.raises(GraphError, match="one by one"):
        tuple(split)


def test_the_same_value_twice_must_be_the_same_value():
    x = value("x")
    mine = template("gate", op("Mul", x, op("Sigmoid", x)))
    text = "(float[2] x, float[2] z) => (float[2] y) { s = Sigmoid(x) y = Mul(x, s) }"
    assert found(text, mine) == [("gate", ["s", "y"])]
    assert found(text.replace("Mul(x", "Mul(z"), mine) == []


def test_two_steps_are_two_nodes():
    mine = template("sum", op("Add", op("Relu", value()), op("Relu", value())))
    assert found("(float[2] x) => (float[2] y) { a = Relu(x) y = Add(a, a) }", mine) == []
    assert found("(float[2] x) => (float[2] y) { a = Relu(x) b = Relu(x) y = Add(a, b) }", mine) != []


def test_a_value_from_outside_is_not_made_inside():
    mine = template("sum", op("Add", op("Exp", value()), value()))
    assert found("(float[2] x) => (float[2] y) { e = Exp(x) y = Add(e, e) }", mine) == []
    assert found("(float[2] x) => (float[2] y) { e = Exp(x) y = Add(e, x) }", mine) == [("sum", ["e", "y"])]


def test_an_operand_that_the_pattern_does_not_have_is_one_too_many():
    conv = op("Conv", value(), value())
    assert found(CONV + "{ y = Conv(x, w, p) }", template("plain", conv)) == []
    assert found(CONV + "{ y = Conv(x, w) }", template("plain", conv)) == [("plain", ["y"])]
    assert found(CONV + "{ y = Conv(x, w, p) }", template("more", op("Conv", value(), value(), more=True))) != []


def test_an_absent_operand_plays_only_a_part_that_may_be_absent():
    text = "(float[2] x) => (float[2] y) <float high = {1}> { y = Clip(x, , high) }"
    assert found(text, template("both", op("Clip", value(), value(), value()))) == []
    assert found(text, template("upper", op("Clip", value(), value(optional=True), value()))) == [("upper", ["y"])]


def test_a_node_is_in_one_match_and_the_first_template_has_it():
    pair = template("pair", op("Relu", op("Relu", value())))
    triple = template("triple", op("Relu", op("Relu", op("Relu", value()))))
    text = "(float[2] x) => (float[2] y) { a = Relu(x) b = Relu(a) y = Relu(b) }"
    assert found(text, pair, triple) == [("pair", ["b", "y"])]
    assert found(text, triple, pair) == [("triple", ["a", "b", "y"])]


def test_an_overridable_initializer_is_no_constant():
    mine = template("scaled", op("Mul", value(), value(constant=True)))
    text = "(float[2] x, float w) => (float[2] y) <float w = {2}> { y = Mul(x, w) }"
    assert found(text, mine) == []
    assert found(text.replace(", float w)", ")"), mine) == [("scaled", ["y"])]


def test_a_shape_that_is_not_known_does_not_fit():
    mine = template("last", op("Relu", value(shape=lambda shape: len(shape) == 2)))
    assert found("(float[2,3] x) => (float[2,3] y) { y = Relu(x) }", mine) == [("last", ["y"])]
    assert found("(float[2] x) => (float[2] y) { y = Relu(x) }", mine) == []
    model = parsed("(float[2,3] x) => (float[2,3] y) { a = tvmlab.Mystery(x) y = Relu(a) }")
    assert match_templates(read_onnx(model), [mine]) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: template("t", value()), "no step at its end"),
        (lambda: template("t", op("Add", value("a"), value("a"))), "2 parts of the role 'a'"),
        (lambda: match_templates(read_onnx(parsed("(float x) => (float y) { y = Relu(x) }")), ["nope"]), "'nope'"),
    ],
)
def test_templates_that_are_none_are_refused(make, message):
    with pytest.raises(GraphError, match=message):
        make()


def test_a_very_large_template_is_refused():
    pattern = value()
    for _ in range(201):
        pattern = op("Relu", pattern)
    with pytest.raises(GraphError, match="201 steps"):
        template("large", pattern)


# Imposed on a partition


def test_a_match_is_a_group_and_the_rules_decide_about_the_rest():
    text = CONV + (
        "{ b0 = Neg(x) b1 = Abs(b0) c = Conv(b1, w) n = BatchNormalization(c, p, p, p, p) r = Relu(n)"
        " e = Exp(r) y = Sqrt(e) }"
    )
    reading = read_onnx(parsed(text))
    graph = reading.graph
    grouping = impose(graph, match_templates(reading, ["conv_bn_relu"]))
    assert grouping.groups == [[0, 1], [2, 3, 4], [5, 6]]
    assert fusion.partition(graph).groups == [[0, 1], [2, 3, 4, 5, 6]]
    assert "template conv_bn_relu matched both" in grouping.why("c", "r")
    assert "nothing is fused into or behind a match" in grouping.why("r", "e")
    assert "phase 0 merged" in grouping.why("e", "y")
    record = grouping.record("m", "python", "onnx")
    assert [group.kernel for group in record.groups] == ["fused_Neg_Abs", "fused_conv_bn_relu", "fused_Exp_Sqrt"]
    assert record.groups[1].kinds[0] == "kOutEWiseFusable"
    assert record.grouping is grouping
    assert grouping.what_if(kinds={"y": "opaque"}).groups == [[0, 1], [2, 3, 4], [5], [6]]


def test_overlapping_matches_are_refused():
    graph = fusion.Graph.from_kinds([0, 0], [[-1], [0]], [1])
    match = fusion.Match("twice", (0, 1))
    with pytest.raises(GraphError, match="in two matches"):
        impose(graph, [match, match])


@st.composite
def models(draw):
    """Models of a few operators, densely connected; some values are outputs."""
    nodes, values = [], ["x", "z"]
    for at in range(draw(st.integers(3, 12))):
        operation = draw(st.sampled_from(["Relu", "Neg", "Add", "Mul", "Sub"]))
        operands = [draw(st.sampled_from(values[-4:])) for _ in range(1 + (operation in {"Add", "Mul", "Sub"}))]
        nodes.append(helper.make_node(operation, operands, [f"v{at}"]))
        values.append(f"v{at}")
    outputs = {values[-1]} | draw(st.sets(st.sampled_from(values[2:]), max_size=2))
    infos = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in ["x", "z", *sorted(outputs)]]
    graph = helper.make_graph(nodes, "g", infos[:2], infos[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@st.composite
def patterns(draw, depth=3):
    """A pattern over the same operators; a part may be used twice."""
    pool = [value() for _ in range(2)]
    for _ in range(draw(st.integers(1, depth))):
        name = draw(st.sampled_from(["Relu", "Neg", "Add", "Mul", "Sub"]))
        operands = [draw(st.sampled_from(pool)) for _ in range(1 + (name in {"Add", "Mul", "Sub"}))]
        step = op(name, *operands)
        pool.append(draw(st.sampled_from([step, step, maybe(step), either(step, op("Neg", operands[0]))])))
    steps = [part for part in pool if not isinstance(part, fusion.templates.Value)]
    return template("drawn", steps[-1])


@settings(max_examples=150, deadline=None)
@given(models(), st.lists(patterns(), min_size=1, max_size=2))
def test_whatever_matches_makes_a_sound_group(model, templates):
    reading = read_onnx(model)
    matches = match_templates(reading, templates)
    taken = [node for match in matches for node in match.nodes]
    assert len(taken) == len(set(taken))
    grouping = impose(reading.graph, matches)
    for match in matches:
        assert list(match.nodes) in grouping.groups
        inner = [name for node in match.nodes[:-1] for name in reading.nodes[node].output]
        outside = [name for at, node in enumerate(reading.nodes) if at not in match.nodes for name in node.input]
        assert not set(inner) & ({*outside} | reading.view.output_names)
    made = as_functions(reading, grouping)
    feeds = {"x": np.float32([-1.5, 2]), "z": np.float32([0.5, -3])}
    for a, b in zip(ReferenceEvaluator(model).run(None, feeds), ReferenceEvaluator(made).run(None, feeds), strict=True):
        assert np.array_equal(a, b, equal_nan=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.booleans(), min_size=6, max_size=6))
def test_the_order_of_commutative_operands_does_not_matter(turned):
    def pair(at, a, b):
        return f"({b}, {a})" if turned[at] else f"({a}, {b})"

    body = (
        f"{{ m0 = MatMul(x, w) a = Add{pair(0, 'm0', 'b')} d = Mul{pair(1, 'a', 'inverse')} e = Erf(d)"
        f" o = Add{pair(2, 'e', 'one')} m = Mul{pair(3, 'a', 'o')} y = Mul{pair(4, 'm', 'half')} }}"
    )
    ((_, labels),) = found(GELU + body, "matmul_add_gelu")
    assert len(labels) == 7


@settings(max_examples=60, deadline=None)
@given(models(), st.data())
def test_imposing_nothing_is_the_plain_partition_and_matches_are_as_one_opaque_node(model, data):
    graph = read_onnx(model).graph
    assert impose(graph, []).groups == fusion.partition(graph).groups
    node = data.draw(st.integers(0, len(graph) - 1))
    alone = fusion.partition(graph).what_if(kinds={node: "opaque"}).groups
    assert impose(graph, [fusion.Match("one", (node,))]).groups == alone
