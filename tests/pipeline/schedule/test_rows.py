from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from tvmlab import pipeline

RANDOM = np.random.default_rng(5)


def softmax(x):
    return relax.op.nn.softmax(x, axis=-1)


def variance(x):
    return relax.op.variance(x, axis=-1, keepdims=True)


def normalized(x):
    shape = [int(x.ty.shape.values[-1])]
    ones = relax.const(np.full(shape, 1.5), str(x.ty.dtype))
    return relax.op.nn.layer_norm(x, ones, ones, axes=[-1])


@pytest.mark.parametrize("function", [softmax, variance, normalized])
@pytest.mark.parametrize("shape", [(4, 64), (2, 3, 48), (5, 7), (1, 40), (3, 1), (0, 16)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_keep_their_values(check, function, shape, dtype):
    dtype = "float32" if function is normalized else dtype  # TVM's layer_norm knows no float64

    def block(x):
        return function(x)

    check(block, {"x": f"{dtype}[{', '.join(map(str, shape))}]"}, [RANDOM.standard_normal(shape).astype(dtype)])


def test_a_large_softmax_goes_row_by_row(check):
    def block(x):
        return softmax(x)

    said = check(block, {"x": "float32[64, 512]"}, [RANDOM.standard_normal((64, 512)).astype("f4")])
    assert said.startswith("division by what stands still, exp in vectors; 4 blocks row by row, sums of")


def test_symbolic_rows(check):
    def block(x):
        return softmax(x)

    check(block, {"x": "float32[n, 32]"}, [RANDOM.standard_normal((5, 32)).astype("f4")])


@pytest.mark.parametrize("shape", [(1, 3, 4, 64), (2, 1, 5, 256)])
def test_axes_of_one_element_do_not_keep_rows_apart(check, shape):
    def block(x):
        return softmax(x)

    said = check(block, {"x": f"float32[{', '.join(map(str, shape))}]"}, [RANDOM.standard_normal(shape).astype("f4")])
    assert "4 blocks row by row" in said


def test_a_softmax_asks_for_its_next_row(check):
    def block(x):
        return softmax(x)

    block.__annotations__ = {"x": "float32[8, 64]"}
    (kernel,) = [
        f
        for v, f in pipeline.trace(pipeline.graph(block))["schedule"].module.functions.items()
        if v.name_hint != "main"
    ]
    asked = [line.strip() for line in kernel.script().splitlines() if "T.prefetch" in line]
    assert len(asked) == 2
    assert asked[0].startswith("T.prefetch(T.address_of(x[0, (i0 + T.int64(1)) * T.int64(64) + ")
    assert "tvmlab.next_row" not in kernel.script()
