"""Kernels give the dtype that their operator says."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from tvmlab import pipeline


@pytest.mark.parametrize("cleanup", ["tvmlab", "tvm", "none"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_batch_normalization_keeps_its_dtype(cleanup, dtype):
    def block(x, scale, shift, mean, variance):
        normal = relax.op.nn.batch_norm(x, scale, shift, mean, variance, axis=1, training=False)
        return relax.op.nn.relu(relax.TupleGetItem(normal, 0))

    names = ("scale", "shift", "mean", "variance")
    block.__annotations__ = {"x": f"{dtype}[2, 3, 4]"} | dict.fromkeys(names, f"{dtype}[3]")
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 3, 4)).astype(dtype)
    scale, shift, mean, variance = (random.uniform(0.5, 2, 3).astype(dtype) for _ in names)
    got = pipeline.trace(pipeline.graph(block), cleanup=cleanup).executable.run(x, scale, shift, mean, variance)
    assert got.dtype == dtype
    wide = (v.astype("float64").reshape(3, 1) for v in (mean, variance, scale, shift))
    m, v, s, h = wide
    expected = np.maximum((x - m) / np.sqrt(v + 1e-5) * s + h, 0)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-2 if dtype == "float16" else 1e-5)
