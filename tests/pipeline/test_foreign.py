"""Nodes of other domains become calls of live operators, and of the right ones."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import tvmlab as tl
from tvmlab.errors import CallError, LoadError, NameRefused, UnknownOperators
from tvmlab.prelude import TensorType, const_like, te, tirx

OPSETS = '"" : 17, "my.domain" : 2, "odd.relu" : 1'


def parse(graph, opsets=OPSETS):
    return parser.parse_model(f"<ir_version: 8, opset_import: [{opsets}]>\n{graph}")


@tl.op("foreign.clamp")
class Clamp:
    class Attrs:
        lower: float = -1.0
        slope: float = 0.1

    def compute(x, lower, slope):
        low, leak, zero = (const_like(v, x) for v in (lower, slope, 0))
        return te.compute(
            x.shape, lambda *i: tirx.max(low, x(*i)) + leak * tirx.min(zero, x(*i) - low), name="foreign_clamp"
        )

    def reference(x, lower, slope):
        return np.maximum(x, lower) + slope * np.minimum(x - lower, 0)


@tl.op("foreign.power_relu")
class PowerRelu:
    class Attrs:
        times: int
        mode: str = "plain"

    def compute(x, times, mode):
        def value(*i):
            v = tirx.max(const_like(0, x), x(*i))
            result = const_like(-1, x) if mode == "négatif" else const_like(1, x)
            for _ in range(times):
                result = result * v
            return result

        return te.compute(x.shape, value, name="power_relu")

    def reference(x, times, mode):
        return (-1 if mode == "négatif" else 1) * np.maximum(x, 0) ** times


@tl.op("foreign.scale_shift")
class ScaleShift:
    """Two outputs, and a third input that a node may leave out."""

    class Attrs:
        weights: tuple[float, ...] = (1.0,)

    def type_rule(x, w, b, weights):
        return TensorType(x.shape, x.dtype), TensorType(x.shape, x.dtype)

    def compute(x, w, b, weights):
        total = const_like(sum(weights), x)
        scaled = te.compute(x.shape, lambda i, j: x[i, j] * w[j] * total, name="scaled")
        return scaled, te.compute(x.shape, lambda i, j: x[i, j] + b[j], name="shifted")

    def reference(x, w, b, weights):
        return x * w * x.dtype.type(sum(weights)), x + b


GRAPH = """
    g (float[n, 4] x, float[4] w) => (float[n, 4] y, float[n, 4] z)
    {
        a = Relu(x)
        b = my.domain.LeakyClamp <lower: float = -0.25, slope: float = 0.5> (x)
        c = odd.relu.Relu <times: int = 3, mode: string = "négatif"> (b)
        d, e = my.domain.ScaleShift <weights: floats = [0.5, 0.25]> (c, w)
        s = Add(a, d)
        y = Relu(s)
        z = Neg(e)
    }
"""


class LeakyClamp(OpRun):
    op_domain = "my.domain"

    def _run(self, x, lower=None, slope=None):
        return (np.where(x < lower, lower + slope * (x - lower), x).astype(x.dtype),)


class Relu(OpRun):
    op_domain = "odd.relu"

    def _run(self, x, times=None, mode=None):
        assert mode == "négatif"
        return (-(np.where(x > 0, x, 0).astype(x.dtype) ** times),)


class Twofold(OpRun):
    op_domain = "my.domain"

    def _run(self, x, w, b=None, weights=None):
        assert b is None
        return (x * w * np.float32(sum(weights)), x)


def by_hand():
    """The operators written once more, for the evaluator of the onnx package."""
    return [LeakyClamp, Relu, type("ScaleShift", (Twofold,), {})]


def registered():
    """Registrations of the three, all in force."""
    return [
        tl.onnx.register("my.domain", "LeakyClamp", Clamp),
        tl.onnx.register("odd.relu", "Relu", "foreign.power_relu"),
        tl.onnx.register(
            "my.domain", "ScaleShift", "foreign.scale_shift", absent={"b": lambda w: np.zeros(w.shape, w.dtype)}
        ),
    ]


@pytest.fixture(autouse=True)
def clean():
    """No test leaves a registration behind."""
    yield
    for each in tl.onnx.registrations():
        tl.onnx.unregister(each.domain, each.op_type)


@pytest.fixture
def three():
    return registered()


def some(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def test_three_operators_in_two_domains_equal_onnx_reference(three):
    proto = parse(GRAPH)
    feeds = {"x": some(3, 4), "w": some(4, seed=1)}
    model = tl.load(proto)
    assert model.ops == ("foreign.clamp", "foreign.power_relu", "foreign.scale_shift")
    got = tl.run(model, *feeds.values())
    for ops in (by_hand(), tl.onnx.reference_ops()):
        want = ReferenceEvaluator(proto, new_ops=ops).run(None, feeds)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-7)
    assert tl.verify(model).ok
    assert {node.domain for node in proto.graph.node} == {"", "my.domain", "odd.relu"}, "the caller's model is his own"


def test_both_levels_of_fusion_know_the_kinds(three, tmp_path):
    file = tmp_path / "three.onnx"
    onnx.save(parse(GRAPH), file)
    for source in (tl.load(file), file, file.read_bytes(), parse(GRAPH)):
        partition = tl.fuse(source, level="onnx")
        (chain,) = [group for group in partition.groups if "foreign.clamp" in group.operations]
        assert set(chain.operations) >= {"foreign.clamp", "foreign.power_relu"}
        assert "kOpaque" not in {kind for group in partition.groups for kind in group.kinds}
    assert tl.fuse(file).kernels_after == 3
    assert tl.trace(tl.load(file))["fuse"].kernels == 3


def test_shapes_go_on_behind_a_live_operator(three):
    named = {info.name: info for info in tl.load(parse(GRAPH)).onnx.graph.value_info}
    dims = [d.dim_param or d.dim_value for d in named["c"].type.tensor_type.shape.dim]
    assert dims == ["n", 4]


def test_a_registration_ends_with_its_block():
    proto = parse("g (float[2] x) => (float[2] y) { y = my.domain.LeakyClamp(x) }")
    with tl.onnx.register("my.domain", "LeakyClamp", Clamp), pytest.raises(CallError):
        tl.onnx.register("my.domain", "LeakyClamp", Clamp, since=0)
    with pytest.raises(UnknownOperators):
        tl.load(proto)
    tl.onnx.register("my.domain", "LeakyClamp", Clamp)
    with tl.onnx.register("my.domain", "LeakyClamp", PowerRelu, attributes={"lower": "times"}):
        assert tl.onnx.registrations()[0].op == "foreign.power_relu"
    assert tl.load(proto).ops == ("foreign.clamp",)
    tl.onnx.unregister("my.domain", "LeakyClamp")
    with pytest.raises(UnknownOperators):
        tl.load(proto)
    with pytest.raises(CallError, match=r"my\.domain::LeakyClamp is not registered"):
        tl.onnx.unregister("my.domain", "LeakyClamp")


def test_the_operator_is_the_one_that_is_live_when_the_model_is_loaded(three):
    def define(number):
        class Again:
            def compute(x):
                return te.compute(x.shape, lambda *i: x(*i) + const_like(number, x), name="again")

        return tl.op("foreign.again")(Again)

    old = define(1)
    tl.onnx.register("my.domain", "Again", old)
    proto = parse("g (float[2] x) => (float[2] y) { y = my.domain.Again(x) }")
    before = tl.load(proto)
    define(2)
    zeros = np.zeros(2, "f4")
    assert tl.run(before, zeros).tolist() == [1, 1]
    assert tl.run(tl.load(proto), zeros).tolist() == [2, 2]


def test_the_newest_version_that_the_model_allows_counts():
    tl.onnx.register("my.domain", "Op", Clamp)
    tl.onnx.register("my.domain", "Op", PowerRelu, since=3)
    for version, op in (
        (1, "foreign.clamp"),
        (2, "foreign.clamp"),
        (3, "foreign.power_relu"),
        (9, "foreign.power_relu"),
    ):
        times = "<times: int = 2>" if version > 2 else ""
        proto = parse(
            f"g (float[2] x) => (float[2] y) {{ y = my.domain.Op{times}(x) }}", f'"" : 17, "my.domain" : {version}'
        )
        assert tl.load(proto).ops == (op,)
    tl.onnx.unregister("my.domain", "Op", since=1)
    old = parse("g (float[2] x) => (float[2] y) { y = my.domain.Op(x) }")
    with pytest.raises(UnknownOperators, match=r"my\.domain::Op of version 2 \(registered since 3\)"):
        tl.load(old)


def test_outputs_that_a_node_leaves_out(three):
    proto = parse("g (float[2, 4] x, float[4] w, float[4] b) => (float[2, 4] y) { y = my.domain.ScaleShift(x, w, b) }")
    second = onnx.ModelProto()
    second.CopyFrom(proto)
    second.graph.node[0].output[:] = ["", "y"]
    x, w, b = some(2, 4), some(4, seed=1), some(4, seed=2)
    for model, want in ((proto, x * w), (second, x + b)):
        loaded = tl.load(model)
        np.testing.assert_allclose(tl.run(loaded, x, w, b), want, rtol=1e-6)
        assert tl.verify(loaded).ok


def test_absent_inputs_get_what_stands_for_them():
    proto = parse("g (float[2, 4] x, float[4] b) => (float[2, 4] y, float[2, 4] z) { y, z = my.domain.S(x, , b) }")
    x, b = some(2, 4), some(4, seed=2)
    for weight in (lambda b: np.full(b.shape, 2, b.dtype), np.full(4, 2, "f4")):
        tl.onnx.register("my.domain", "S", ScaleShift, absent={"w": weight})
        model = tl.load(proto)
        for got, want in zip(tl.run(model, x, b), (2 * x, x + b), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)
        assert tl.verify(model).ok
    tl.onnx.register("my.domain", "S", ScaleShift)
    with pytest.raises(LoadError, match=r"leaves out the input w") as caught:
        tl.load(proto)
    assert caught.value.where == "node 'y' (my.domain::S)"


def test_functions_of_the_model_are_unfolded_unless_an_operator_is_registered():
    proto = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17, "my.domain" : 1]>
        g (float[2] x) => (float[2] y) { y = my.domain.LeakyClamp <lower: float = -0.5> (x) }
        <domain: "my.domain", opset_import: ["" : 17]>
        LeakyClamp <lower> (x) => (y) { y = my.domain.Lower <lower: float = @lower> (x) }
        <domain: "my.domain", opset_import: ["" : 17]>
        Lower <lower: float = -9.0, factor: float = 1.0> (x) => (y) {
            f = Constant <value_float: float = @factor> ()
            s = Mul(x, f)
            low = Constant <value_float: float = @lower> () y = Max(s, low)
        }
    """)
    x = np.array([-3, 2], "f4")
    assert tl.run(tl.load(proto), x).tolist() == [-0.5, 2]
    with tl.onnx.register("my.domain", "LeakyClamp", Clamp):
        assert tl.run(tl.load(proto), x).tolist() == [-0.75, 2]


def test_a_foreign_operator_inside_of_another_node_is_no_relu():
    body = [
        helper.make_graph(
            [helper.make_node("Relu", ["x"], [name], domain="odd.relu", times=2)],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])],
        )
        for name in "ab"
    ]
    proto = parse("g (bool c, float[2] x) => (float[2] y) { y = Identity(x) }")
    proto.graph.node[0].CopyFrom(helper.make_node("If", ["c"], ["y"], then_branch=body[0], else_branch=body[1]))
    with pytest.raises(UnknownOperators, match=r"odd\.relu::Relu"):
        tl.load(proto)


def test_an_operator_of_the_standard_domain_can_be_given_another_meaning():
    proto = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    with tl.onnx.register("ai.onnx", "Relu", Clamp):
        assert tl.load(proto).ops == ("foreign.clamp",)
    assert tl.load(proto).ops == ()


REFUSED_NODES = [
    ("LeakyClamp <lowre: float = 1.0> (x)", "has no attribute 'lowre'", "did you mean 'lower'"),
    ('LeakyClamp <lower: string = "a"> (x)', "'lower' is 'a', of ONNX's type string", "declares lower: float"),
    ("LeakyClamp <lower: floats = [1.0]> (x)", r"'lower' is \(1.0,\), of ONNX's type floats", "declares lower: float"),
    ("Relu <times: float = 2.0> (x)", "'times' is 2.0, of ONNX's type float", "declares times: int"),
    ("Relu (x)", "needs the attribute 'times'", "times"),
    ("LeakyClamp <lower: tensor = float[1] {1.0}> (x)", "'lower' is a tensor", "make it an input of the node"),
    ("LeakyClamp (x, x)", "has 2 inputs, foreign.clamp takes 1", "the signature is"),
]


@pytest.mark.parametrize(("node", "what", "mend"), REFUSED_NODES)
def test_a_node_that_does_not_fit_is_named(node, what, mend):
    tl.onnx.register("d", "LeakyClamp", Clamp)
    tl.onnx.register("d", "Relu", PowerRelu)
    proto = parse(f"g (float[2] x) => (float[2] y) {{ y = d.{node} }}", '"" : 17, "d" : 1')
    with pytest.raises(LoadError, match=what) as caught:
        tl.load(proto)
    assert caught.value.where.startswith("node 'y' (d::")
    assert mend in str(caught.value)


def test_a_node_that_names_an_operator_which_is_not_live():
    proto = parse("g (float[2] x) => (float[2] y) { y = Relu(x) }", '"" : 17, "tvmlab" : 1')
    proto.graph.node[0].op_type, proto.graph.node[0].domain = "foreign.clmp", "tvmlab"
    with pytest.raises(NameRefused, match=r"no operator 'foreign\.clmp' is live") as caught:
        tl.load(proto)
    assert caught.value.where == "node 'y'"
    assert "foreign.clamp" in caught.value.mend
    assert "--ops FILE.py" in caught.value.mend


def test_too_many_outputs_and_bytes_that_are_no_text():
    tl.onnx.register("d", "Relu", PowerRelu)
    two = parse("g (float[2] x) => (float[2] y, float[2] z) { y, z = d.Relu <times: int = 1> (x) }", '"" : 17, "d" : 1')
    with pytest.raises(LoadError, match=r"has 2 outputs, foreign\.power_relu gives 1"):
        tl.load(two)
    raw = parse("g (float[2] x) => (float[2] y) { y = d.Relu <times: int = 1> (x) }", '"" : 17, "d" : 1')
    raw.graph.node[0].attribute.append(helper.make_attribute("mode", b"\xff\xfe"))
    with pytest.raises(LoadError, match="no text in UTF-8"):
        tl.load(raw)


@pytest.mark.parametrize("said", ["float[3]", "float[1, 2]", "int32[2]"])
def test_a_result_that_the_model_says_is_another(said):
    tl.onnx.register("d", "Op", Clamp)
    proto = parse(f"g (float[2] x) => ({said} y) {{ y = d.Op(x) }}", '"" : 17, "d" : 1')
    with pytest.raises(LoadError, match=r"foreign\.clamp gives float32\[2\], the model says that y is") as caught:
        tl.load(proto)
    assert caught.value.where == "node 'y' (d::Op)"


def test_attributes_under_other_names():
    proto = parse(
        "g (float[2] x) => (float[2] y) { y = my.domain.Op <alpha: int = 0, note: tensor = float[1] {1.0}> (x) }"
    )
    with tl.onnx.register("my.domain", "Op", Clamp, attributes={"alpha": "slope", "note": None}):
        assert tl.run(tl.load(proto), np.array([-3, 1], "f4")).tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "what"),
    [
        (("my.domain", "Op", "foreign.clmp"), {}, NameRefused, "no operator 'foreign.clmp' is live"),
        (("my.domain", "Op", 3), {}, CallError, "a int is no live operator"),
        (("my.domain", "", Clamp), {}, CallError, "name no ONNX operator"),
        (("my.domain::Op", "Op", Clamp), {}, CallError, "two arguments"),
        (("tvmlab", "Op", Clamp), {}, CallError, "tvmlab's own"),
        (("d", "Op", Clamp), {"since": True}, CallError, "no version"),
        (("d", "Op", Clamp), {"attributes": {"a": "lowr"}}, CallError, "no attribute 'lowr'"),
        (("d", "Op", Clamp), {"attributes": ["a"]}, CallError, "no mapping"),
        (("d", "Op", Clamp), {"absent": {"y": 0}}, CallError, "no tensor 'y'"),
    ],
)
def test_registrations_that_are_none(arguments, options, kind, what):
    with pytest.raises(kind, match=what):
        tl.onnx.register(*arguments, **options)
    assert tl.onnx.registrations() == ()


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("text", "no array of numbers"),
        (lambda q: 0, "which is no tensor that the node gives"),
        (lambda x: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_what_cannot_stand_for_an_absent_input(value, what):
    tl.onnx.register("my.domain", "S", ScaleShift, absent={"w": value, "b": 0.0})
    proto = parse("g (float[2, 4] x) => (float[2, 4] y) { y = my.domain.S(x) }")
    with pytest.raises(LoadError, match=what):
        tl.load(proto)


def test_weights_that_are_left_out_are_constants_for_every_stage(three):
    model = tl.load(parse(GRAPH))
    added = [t for t in model.onnx.graph.initializer if "absent" in t.name]
    assert [numpy_helper.to_array(t).tolist() for t in added] == [[0, 0, 0, 0]]
