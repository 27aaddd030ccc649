"""Operators as ONNX functions give in onnxruntime what they give here; what ONNX cannot say is named."""

from __future__ import annotations

import textwrap

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import tvmlab as tl
from tvmlab.api import define
from tvmlab.errors import AttributeSchemaError, CallError
from tvmlab.ops import gallery
from tvmlab.ops.onnx_function import NotExpressible

RANDOM = np.random.default_rng(5)
ODD = np.array([[np.nan, np.inf, -np.inf], [0.0, -0.0, 1e-42]], "f4")


def some(*shape, dtype="f4"):
    return np.asarray(RANDOM.standard_normal(shape) * 3, dtype)


def in_onnxruntime(function, arrays, wanted, **attributes):
    """A model with a node of the function, and what it gives; `wanted` has the shapes and dtypes of the outputs."""
    outputs = [f"y{at}" for at in range(len(wanted))]
    node = helper.make_node(function.name, list(function.input), outputs, domain=function.domain, **attributes)
    graph = helper.make_graph([node], "g", infos(function.input, arrays), infos(outputs, wanted))
    opsets = [*function.opset_import, helper.make_opsetid(function.domain, 1)]
    model = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=10)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return model, session.run(None, dict(zip(function.input, arrays, strict=True)))


def infos(names, arrays):
    return [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(names, arrays, strict=True)
    ]


def agrees(op, arrays, *, fixed=None, opset=18, **attributes):
    """Compare, with some attributes fixed in the function and others given by the node; returns the function."""
    function = op.to_onnx_function(opset=opset, **(fixed or {}))
    wanted = op(*arrays, **(fixed or {}), **attributes)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    _, got = in_onnxruntime(function, arrays, wanted, **attributes)
    for one, other in zip(got, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6)
    return function


GALLERY = {
    "bias": ((some(3, 5), some(5)), {}),
    "leaky_clamp": ((some(2, 3, 4),), {"lower": -0.5, "upper": 0.25, "slope": 0.5}),
    "matmul": ((some(3, 4), some(4, 5)), {}),
    "rms_norm": ((some(3, 5), some(5)), {"epsilon": 0.5}),
    "softmax": ((some(4, 7),), {}),
    "sum": ((some(4, 7),), {}),
    "swish": ((some(5),), {}),
}
REFUSED = {
    "depthwise_conv": "computes with the position of an element",
    "pad": "computes with the position of an element",
    "split": "a part of its n",
}


@pytest.mark.parametrize("name", gallery.names())
def test_the_gallery(name):
    op = define(f"functionlab.{name}", gallery.text(name))
    if name in REFUSED:
        with pytest.raises(NotExpressible, match=REFUSED[name]) as caught:
            op.to_onnx_function()
        assert caught.value.location is not None
        return
    arrays, attributes = GALLERY[name]
    function = agrees(op, arrays, **attributes)
    assert (function.domain, function.name) == ("functionlab", name)
    for opset in (15, onnx.defs.onnx_opset_version() - 2):
        agrees(op, arrays, opset=opset, **attributes)
    agrees(op, arrays)


@pytest.fixture(scope="module")
def clamp():
    return define("functionlab.leaky_clamp", gallery.text("leaky_clamp"))


def test_one_function_is_for_every_rank_dtype_and_special_number(clamp):
    function = clamp.to_onnx_function()
    assert "for any rank" in function.doc_string
    for array in (ODD, some(), some(0, 3), some(2, 1, 3, 2), some(3, dtype="f8")):
        _, (got,) = in_onnxruntime(function, [array], [array], slope=0.25)  # a float32 too
        np.testing.assert_array_equal(got, clamp(array, slope=0.25))


def test_what_is_fixed_is_no_attribute_any_more(clamp):
    function = clamp.to_onnx_function(lower=-2.0, domain="my.domain", name="Clamp")
    assert [a.name for a in function.attribute_proto] == ["upper", "slope"]
    assert (function.domain, function.name) == ("my.domain", "Clamp")
    assert "fixed in it: lower=-2.0" in function.doc_string
    agrees(clamp, [some(4, 4)], fixed={"lower": -2.0}, upper=0.5)


def test_a_model_with_the_function_loads_with_and_without_the_operator(clamp):
    x = some(2, 3)
    function = clamp.to_onnx_function(domain="my.domain", name="LeakyClamp")
    model, (wanted,) = in_onnxruntime(function, [x], [x], lower=-0.5)
    unfolded = tl.load(model)
    assert unfolded.ops == ()
    np.testing.assert_allclose(tl.run(unfolded, x), wanted, rtol=1e-6)
    with tl.onnx.register("my.domain", "LeakyClamp", clamp):
        live = tl.load(model)
    assert live.ops == ("functionlab.leaky_clamp",)
    np.testing.assert_allclose(tl.run(live, x), wanted, rtol=1e-6)


COMPUTES = {
    "mean": """
        k = te.reduce_axis((0, x.shape[1]), name="k")
        total = te.compute((x.shape[0],), lambda i: te.sum(x[i, k], axis=k), name="total")
        return te.compute((x.shape[0],), lambda i: total[i] / x.shape[1].astype(x.dtype), name="mean")
    """,
    "turned": """return te.compute(x.shape, lambda i, j: x[i, j] + y[j, i], name="turned")""",
    "middle": """return te.compute(x.shape, lambda i, j, k: x[i, j, k] * y[j] - z[0, k], name="middle")""",
    "smallest": """
        k = te.reduce_axis((0, x.shape[0]), name="k")
        return te.compute((x.shape[1],), lambda j: te.min(x[k, j], axis=k), name="smallest")
    """,
    "product": """return topi.prod(x, 0)""",
    "inner": """
        k = te.reduce_axis((0, x.shape[1]), name="k")
        return te.compute((x.shape[0], y.shape[0]), lambda i, j: te.sum(x[i, k] * y[j, k], axis=k), name="inner")
    """,
    "chosen": """
        def value(*i):
            larger = tirx.all(x(*i) > y(*i), tirx.Not(x(*i) == y(*i)))
            return tirx.Select(larger, tirx.sqrt(tirx.abs(x(*i))), tirx.exp(-y(*i)) * tirx.tanh(x(*i)))
        return te.compute(x.shape, value, name="chosen")
    """,
    "counted": """return te.compute(x.shape, lambda *i: (x(*i) > const_like(0, x)).astype("int32"), name="counted")""",
    "many": """
        def value(*i):
            positive = tirx.abs(x(*i))
            root = tirx.power(positive, const_like(0.5, x))
            return tirx.erf(x(*i)) + tirx.floor(x(*i)) + tirx.rsqrt(positive) + root
        return te.compute(x.shape, value, name="many")
    """,
    "two": """
        total = te.compute(x.shape, lambda *i: x(*i) + y(*i), name="total")
        return total, te.compute(x.shape, lambda *i: x(*i) - y(*i), name="difference")
    """,
    "normed": """return topi.nn.softmax(x, axis=1)""",
}
SHAPES = {
    "mean": [(3, 5)],
    "turned": [(3, 5), (5, 3)],
    "middle": [(2, 3, 4), (3,), (2, 4)],
    "inner": [(3, 4), (5, 4)],
    "two": [(3,), (3,)],
    "chosen": [(3, 4), (3, 4)],
}


def defined(name, body, shapes):
    tensors = "xyz"[: len(shapes)]
    examples = dict(zip(tensors, shapes, strict=True))
    body = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return define(f"functionlab.{name}", f"def compute({', '.join(tensors)}):\n{body}\n\nexamples = [{examples!r}]")


@pytest.mark.parametrize("name", COMPUTES)
def test_what_compute_may_hold(name):
    shapes = SHAPES.get(name, [(3, 4)])
    op = defined(name, COMPUTES[name], shapes)
    agrees(op, [some(*shape) for shape in shapes])


NOT_EXPRESSIBLE = {
    "diagonal": ("(x.shape[0],), lambda i: x[i, i]", "diagonal|part of"),
    "shifted": ("(x.shape[0] - 1, x.shape[1]), lambda i, j: x[i + 1, j]", "no axis as it is"),
    "spread": ("(x.shape[0], 3), lambda i, j: x[i, 0]", "has the size of its axis 1"),
    "positions": ("x.shape, lambda i, j: x[i, j] * i", "position of an element"),
    "bits": ('x.shape, lambda i, j: x[i, j].astype("int32") << 1', "ONNX has no operator|shift"),
    "quotient": ('x.shape, lambda i, j: tirx.div(x[i, j].astype("int32"), 3)', "integers|truncdiv|div"),
}


@pytest.mark.parametrize("name", NOT_EXPRESSIBLE)
def test_what_onnx_cannot_say_is_named(name):
    formula, what = NOT_EXPRESSIBLE[name]
    op = defined(name, f'return te.compute({formula}, name="{name}")', [(4, 4)])
    with pytest.raises(NotExpressible, match=what) as caught:
        op.to_onnx_function()
    assert caught.value.what.startswith(f"functionlab.{name} ")


def test_attributes_that_python_computes_with_have_to_be_fixed():
    op = define(
        "functionlab.computed",
        "class Attrs:\n    a: float = 2.0\n    b: float = 0.0\n\ndef compute(x, a, b):\n"
        "    return te.compute(x.shape, lambda *i: x(*i) * const_like(a * a, x) + const_like(-b, x), name='c')",
    )
    with pytest.raises(NotExpressible, match=r"Python computes the number .* from a or b"):
        op.to_onnx_function()
    agrees(op, [some(3)], fixed={"a": 3.0}, b=0.25)
    branching = define(
        "functionlab.branching",
        "class Attrs:\n    a: float = 1.0\n\ndef compute(x, a):\n"
        "    n = int(a * 1000)\n"
        "    return te.compute(x.shape, lambda *i: x(*i) if n == 1001 else x(*i) * const_like(a, x), name='c')",
    )
    with pytest.raises(NotExpressible, match="otherwise than by the number itself"):
        branching.to_onnx_function()


def test_an_attribute_without_a_default_is_one_of_the_function():
    op = define(
        "functionlab.required",
        "class Attrs:\n    by: float\n    times: int\n\ndef compute(x, by, times):\n"
        "    return te.compute(x.shape, lambda *i: x(*i) * const_like(by, x) * const_like(times, x), name='c')",
    )
    with pytest.raises(AttributeSchemaError, match="needs the attribute 'times'"):
        op.to_onnx_function()
    function = agrees(op, [some(3)], fixed={"times": 2}, by=1.5)
    assert (list(function.attribute), len(function.attribute_proto)) == (["by"], 0)


def test_what_is_asked_wrongly(clamp):
    for opset in (14, 99, "18"):
        with pytest.raises(CallError, match="none that a function can be written in"):
            clamp.to_onnx_function(opset=opset)
    with pytest.raises(AttributeSchemaError, match="no attribute 'lowr'"):
        clamp.to_onnx_function(lowr=1.0)
