from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tvm import relax

RANDOM = np.random.default_rng(4)
QUICK = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(
    rows=st.sampled_from([1, 2, 7, 16, 37]),
    inner=st.sampled_from([1, 4, 33, 64]),
    columns=st.sampled_from([1, 10, 16, 24, 96]),
    constant=st.booleans(),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_any_product_with_bias_and_gelu(check, rows, inner, columns, constant, dtype):
    w = RANDOM.standard_normal((inner, columns)).astype(dtype)
    b = RANDOM.standard_normal(columns).astype(dtype)
    x = RANDOM.standard_normal((rows, inner)).astype(dtype)

    def block(x, w):
        right = relax.const(constants[0], dtype) if constant else w
        return relax.op.nn.gelu(relax.op.add(relax.op.matmul(x, right), relax.const(b, dtype)))

    constants = [w]
    check(block, {"x": f"{dtype}[{rows}, {inner}]", "w": f"{dtype}[{inner}, {columns}]"}, [x, w])


def test_weights_stand_in_panels(check):
    w = RANDOM.standard_normal((32, 64)).astype("f4")

    def block(x):
        return relax.op.nn.relu(relax.op.matmul(x, relax.const(w)))

    said = check(block, {"x": "float32[16, 32]"}, [RANDOM.standard_normal((16, 32)).astype("f4")])
    assert re.search(r"tile of \d+ rows and \d+ vectors of \d+ columns, parallel", said)


@pytest.mark.parametrize("turned", [False, True])
def test_batches(check, turned):
    def block(x, y):
        return relax.op.matmul(x, relax.op.permute_dims(y, (0, 1, 3, 2)) if turned else y)

    shapes = [(2, 3, 8, 16), (2, 3, 24, 16) if turned else (2, 3, 16, 24)]
    types = {n: f"float32[{', '.join(map(str, s))}]" for n, s in zip("xy", shapes, strict=True)}
    check(block, types, [RANDOM.standard_normal(s).astype("f4") for s in shapes])


def test_a_symbolic_number_of_rows(check):
    w = RANDOM.standard_normal((32, 48)).astype("f4")

    def block(x):
        return relax.op.nn.relu(relax.op.matmul(x, relax.const(w)))

    for rows in (1, 5):
        check(block, {"x": "float32[n, 32]"}, [RANDOM.standard_normal((rows, 32)).astype("f4")])


def test_rows_on_two_axes(check):
    w = RANDOM.standard_normal((16, 32)).astype("f4")

    def block(x):
        return relax.op.tanh(relax.op.matmul(x, relax.const(w)))

    check(block, {"x": "float32[3, 8, 16]"}, [RANDOM.standard_normal((3, 8, 16)).astype("f4")])


@QUICK
@given(
    rows=st.sampled_from([1, 13, 97, 197]),
    inner=st.sampled_from([1, 7, 48]),
    columns=st.sampled_from([64, 96, 80]),
    batch=st.sampled_from([(), (1,), (2,)]),
    relu=st.booleans(),
)
def test_rows_that_no_tile_divides(check, rows, inner, columns, batch, relu):
    w = RANDOM.standard_normal((inner, columns)).astype("f4")

    def block(x):
        y = relax.op.matmul(x, relax.const(w))
        return relax.op.nn.relu(y) if relu else y

    shape = (*batch, rows, inner)
    check(block, {"x": f"float32[{', '.join(map(str, shape))}]"}, [RANDOM.standard_normal(shape).astype("f4")])


def test_a_prime_number_of_rows_is_padded_to_whole_tiles(check):
    w = RANDOM.standard_normal((32, 96)).astype("f4")

    def block(x):
        return relax.op.nn.relu(relax.op.matmul(x, relax.const(w)))

    said = check(block, {"x": "float32[197, 32]"}, [RANDOM.standard_normal((197, 32)).astype("f4")])
    assert "x_pad: row by row" in said
    assert "tile of 1 rows" not in said


@pytest.mark.parametrize("rows", [0, 1, 4, 30])
def test_symbolic_rows_get_tiles_of_several(check, rows):
    w = RANDOM.standard_normal((32, 96)).astype("f4")

    def block(x):
        return relax.op.nn.relu(relax.op.matmul(x, relax.const(w)))

    said = check(block, {"x": "float32[n, 32]"}, [RANDOM.standard_normal((rows, 32)).astype("f4")])
    assert "tile of 4 rows" in said
