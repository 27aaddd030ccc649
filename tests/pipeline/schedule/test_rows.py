from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

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
