from __future__ import annotations

import math

import numpy as np
import pytest
import tvm
from tvm import te, topi

from tvmlab import runtime
from tvmlab.pipeline.schedule.vector_math import VECTOR_FUNCTIONS, with_vector_math

SIZE = 1 << 14
LEAST = {
    "exp": 1.7e-38,
    "log": 0,
    "sigmoid": 1.2e-38,
    "tanh": 1e-35,
    "erf": 1e-35,
}  # smaller results are less exact, or 0
ULP = {"exp": 2, "log": 1, "sigmoid": 3, "tanh": 5, "erf": 6}
EXACT = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "erf": lambda a: np.array([math.erf(v) for v in a]),
}


def kernel(name, dtype="float32"):
    x = te.placeholder((SIZE,), dtype, name="x")
    return te.create_prim_func([x, getattr(topi, name)(x)])


@pytest.mark.parametrize("name", VECTOR_FUNCTIONS)
def test_errors_stay_within_what_is_stated(name):
    function, replaced = with_vector_math(kernel(name))
    assert replaced == (name,)
    with runtime.quiet():
        built = tvm.compile(function, target=runtime.host_target())
    random = np.random.default_rng(0)
    every = np.linspace(0, 0x7F7FFFFF, SIZE // 4, dtype=np.int64).astype("u4").view("f4")
    x = np.concatenate(
        [
            every,
            -every,
            random.normal(0, 4, SIZE // 4),
            random.uniform(-104, 89, SIZE // 8),
            random.normal(1, 1e-2, SIZE // 8),
        ]
    ).astype("f4")
    x[:6] = np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0
    result = tvm.runtime.tensor(np.zeros(SIZE, "f4"))
    built["main"](tvm.runtime.tensor(x), result)
    got = result.numpy()
    with np.errstate(all="ignore"):
        want = EXACT[name](x.astype("f8"))
        rounded = want.astype("f4")
        errors = np.abs(got - want) / np.spacing(np.abs(rounded))
    finite, large = np.isfinite(rounded), np.isfinite(rounded) & (np.abs(rounded) > LEAST[name])
    np.testing.assert_array_equal(got[~finite], rounded[~finite])
    assert errors[large].max() <= ULP[name]
    assert np.abs(got[finite & ~large]).max(initial=0) <= 1.01 * LEAST[name]


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_types_are_left_alone(dtype):
    function = kernel("exp", dtype)
    assert with_vector_math(function) == (function, ())


def test_a_division_by_what_stands_still_is_a_product():
    x, row = te.placeholder((4, 8), name="x"), te.placeholder((4,), name="row")
    by_row = te.create_prim_func([x, row, te.compute((4, 8), lambda i, j: x[i, j] / row[i], name="d")])
    by_all = te.create_prim_func([x, te.compute((4, 8), lambda i, j: x[i, j] / x[i, j], name="d")])
    assert with_vector_math(by_row)[1] == ("division by what stands still",)
    assert with_vector_math(by_all)[1] == ()
