# ruff: noqa: F821
from __future__ import annotations

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from tvm import relax

from tvmlab import pipeline
from tvmlab.api import define
from tvmlab.errors import AttributeSchemaError, CallError, LoadError, NameRefused
from tvmlab.pipeline.live import call_of


def run(model, *arrays, cleanup="tvmlab"):
    return pipeline.trace(model, cleanup=cleanup).executable.run(*arrays)


def relax_calls(model):
    return str(model.module).count("R.pipelinelab.clamp(")


@pytest.mark.parametrize("old", ["Relu", "relax.nn.relu"])
def test_on_onnx_by_either_name(small, clamp, old):
    model = pipeline.load(small)
    before = small.SerializeToString()
    replaced = model.replace(old, "pipelinelab.clamp", lower=0.0, slope=0.0)
    assert replaced.ops == ("pipelinelab.clamp",)
    assert relax_calls(replaced) == 2
    assert [n.op_type for n in replaced.onnx.graph.node if n.domain == "tvmlab"] == ["pipelinelab.clamp"] * 2
    x = np.random.default_rng(1).standard_normal((1, 3, 12, 12)).astype("f4")
    want = ReferenceEvaluator(small).run(None, {"x": x})[0]  # a clamp at 0 without a leak is a relu
    for cleanup in ("tvmlab", "none"):
        np.testing.assert_allclose(run(replaced, x, cleanup=cleanup), want, rtol=1e-4, atol=1e-4)
    assert small.SerializeToString() == before
    assert relax_calls(model) == 0
    assert replaced.original is model


def test_where_by_predicate_name_and_index(small, clamp):
    model = pipeline.load(small)

    def replaced(where):
        return [n.name for n in model.replace("Relu", clamp, where=where).onnx.graph.node if n.domain == "tvmlab"]

    assert replaced(lambda name: name.endswith("2")) == ["relu2"]
    assert replaced(lambda name, index: index == 0) == ["relu1"]
    assert replaced(["relu2"]) == ["relu2"]
    assert replaced([0, -1]) == ["relu1", "relu2"]
    assert replaced("relu1") == ["relu1"]


def test_a_model_keeps_the_version_it_was_built_with(small):
    body = "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) * const_like({}, x), name='times')"
    define("pipelinelab.times", body.format(2))
    doubled = pipeline.load(small).replace("Relu", "pipelinelab.times")
    x = np.ones((1, 3, 12, 12), "f4")
    before = run(doubled, x)
    define("pipelinelab.times", body.format(3))
    np.testing.assert_array_equal(run(doubled, x), before)
    both = doubled.replace("pipelinelab.times", "pipelinelab.times", where=["relu2"])
    assert len({id(call.op) for call in both.live.values()}) == 2
    assert not np.array_equal(run(both, x), before)


def test_on_relax(clamp, unchanged):
    def block(x: float32[n, 4], y: float32[n, 4]):
        return relax.op.nn.relu(x) + relax.op.nn.relu(relax.op.add(x, y))

    model = pipeline.graph(block)
    before = unchanged(model.module)
    replaced = model.replace("relax.nn.relu", "pipelinelab.clamp", where=[1], lower=0.5, slope=0.0)
    assert relax_calls(replaced) == 1
    x, y = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("f4")
    want = np.maximum(x, 0) + np.maximum(x + y, 0.5)
    np.testing.assert_allclose(run(replaced, x, y), want, rtol=1e-6, atol=1e-6)
    assert unchanged(model.module) == before


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"old": "Rellu"}, LoadError, "did you mean 'Relu'?"),
        ({"old": "relax.nn.rellu"}, LoadError, "did you mean 'relax.nn.relu'?"),
        ({"old": "relax.sum"}, LoadError, "replace the whole node: replace('Sum', …)"),
        ({"new": "pipelinelab.clmp"}, NameRefused, "did you mean 'pipelinelab.clamp'?"),
        ({"old": "Conv"}, CallError, "takes 1 tensor, got 2"),
        ({"lowr": 1.0}, AttributeSchemaError, "no attribute 'lowr'"),
        ({"where": ["relu3"]}, LoadError, "did you mean 'relu"),
        ({"where": [7]}, LoadError, "no Relu 7"),
        ({"where": lambda name: False}, LoadError, "selects none of the 2 Relu"),
    ],
)
def test_what_does_not_fit_is_refused(small, clamp, arguments, error, said):
    model = pipeline.load(small)
    with pytest.raises(error) as caught:
        model.replace(**{"old": "Relu", "new": "pipelinelab.clamp", **arguments})
    assert said in str(caught.value)


def test_a_file_that_holds_live_operators_finds_them_again(small, clamp, tmp_path):
    replaced = pipeline.load(small).replace("Relu", "pipelinelab.clamp", lower=0.1, slope=0.3)
    again = pipeline.load(replaced.onnx.SerializeToString())
    assert again.ops == ("pipelinelab.clamp",)
    assert [dict(c.attributes) for c in again.live.values()] == [{"lower": 0.1, "slope": 0.3}] * 2


def test_attributes_of_every_kind_survive_a_file(small):
    body = """
class Attrs:
    number: float = 0.1
    count: int = 3
    flag: bool = True
    mode: str = "{a: 1}"
    axes: tuple[int, ...] = (1, 2)
    maybe: float | None = None

def compute(x, number, count, flag, mode, axes, maybe):
    return te.compute(x.shape, lambda *i: x(*i), name="same")
"""
    define("pipelinelab.kinds", body)
    model = pipeline.load(small).replace("Relu", "pipelinelab.kinds", where=[0], flag=False, axes=(0,))
    (node,) = [n for n in model.onnx.graph.node if n.domain == "tvmlab"]
    assert call_of(node).attributes == {
        "number": 0.1,
        "count": 3,
        "flag": False,
        "mode": "{a: 1}",
        "axes": (0,),
        "maybe": None,
    }
