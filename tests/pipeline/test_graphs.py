# ruff: noqa: F722, F821
from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

import tvmlab as tl
from tvmlab import pipeline
from tvmlab.errors import LoadError


def run(model, *arrays):
    return pipeline.trace(model).executable.run(*arrays)


def test_a_function_over_operators_with_symbolic_dimensions(clamp):
    def block(x: float32[n, 4], w: float32[4, 3]):
        h = relax.op.matmul(x, w)
        return tl.ops.pipelinelab.clamp(h, lower=-0.5) + h, relax.op.sum(h, axis=1)

    model = pipeline.graph(block)
    assert model.name == "block"
    assert model.ops == ("pipelinelab.clamp",)
    assert [str(t) for t in model.outputs] == ["output_0: float32[n, 3]", "output_1: float32[n]"]
    x, w = np.random.default_rng(0).standard_normal((2, 4, 4)).astype("f4")
    w = w[:, :3]
    first, second = run(model, x, w)
    np.testing.assert_allclose(first, clamp.reference(x @ w, lower=-0.5) + x @ w, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(second, (x @ w).sum(1), rtol=1e-5, atol=1e-5)


def test_an_expression_that_is_used_twice_is_computed_once():
    def twice(x: float32[4]):
        h = relax.op.exp(x)
        return h + h, relax.op.negative(h)

    assert str(pipeline.graph(twice).module).count("R.exp") == 1


def test_scalars_arrays_and_constants():
    table = np.arange(3, dtype="f4")

    def constants(x: "float32[]"):
        return x, table, 2.5

    scalar, array, number = run(pipeline.graph(constants), np.float32(7))
    assert (scalar, number) == (7, 2.5)
    np.testing.assert_array_equal(array, table)
    array[:] = 9
    np.testing.assert_array_equal(table, [0, 1, 2])


def untyped(x: float32[4], y):
    return x


def misspelt(x: "float32[4"):
    return x


def wrong_dtype(x: float33[4]):
    return x


def variadic(*x: float32[4]):
    return x


def nothing(x: float32[4]):
    relax.op.exp(x)


def numpy_on_expressions(x: float32[4]):
    y = relax.op.exp(x)
    return np.exp(y)


def wrong_shapes(x: float32[4, 5], y: float32[3]):
    z = relax.op.exp(x)
    return relax.op.add(z, y)


@pytest.mark.parametrize(
    ("function", "said", "line"),
    [
        (untyped, "parameter 'y' has no type", "def untyped"),
        (misspelt, "parameter 'x' has the type 'float32[4', which is none", "def misspelt"),
        (wrong_dtype, "unknown dtype 'float33'", "def wrong_dtype"),
        (variadic, "stands for any number of inputs", "def variadic"),
        (nothing, "nothing returns NoneType", "def nothing"),
        (numpy_on_expressions, "numpy_on_expressions failed", "np.exp(y)"),
        (wrong_shapes, "wrong_shapes failed", "wrong_shapes"),
    ],
)
def test_errors_name_the_line(function, said, line, capfd):
    with pytest.raises(LoadError) as caught:
        pipeline.graph(function)
    assert said in caught.value.what
    assert line in caught.value.where.replace("▸", "")
    assert "test_graphs.py, line" in caught.value.where
    assert capfd.readouterr().err == ""
