from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tvm import relax

RANDOM = np.random.default_rng(6)
QUICK = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(
    shape=st.lists(st.sampled_from([1, 2, 3, 5, 8, 16, 17]), min_size=2, max_size=4).map(tuple),
    data=st.data(),
    joined=st.booleans(),
    dtype=st.sampled_from(["float32", "float64", "float16", "int32"]),
)
def test_any_transpose_and_reshape(check, shape, data, joined, dtype):
    order = data.draw(st.permutations(range(len(shape))))
    moved = [shape[axis] for axis in order]

    def block(x):
        y = relax.op.permute_dims(relax.op.add(x, x), order)
        return relax.op.reshape(y, [moved[0], int(np.prod(moved[1:]))]) if joined else y

    array = (RANDOM.standard_normal(shape) * 9).astype(dtype)
    check(block, {"x": f"{dtype}[{', '.join(map(str, shape))}]"}, [array])


def test_what_is_said(check):
    def heads(x):
        y = relax.op.permute_dims(relax.op.reshape(x, (1, 32, 4, 16)), (0, 2, 1, 3))
        return relax.op.reshape(y, (1, 4, 512))

    def turned(x):
        return relax.op.permute_dims(relax.op.nn.relu(x))

    assert "joined axes one by one, rows in vectors of" in check(
        heads, {"x": "float32[1, 32, 64]"}, [RANDOM.standard_normal((1, 32, 64)).astype("f4")]
    )
    assert "tiles of 16 by 16" in check(
        turned, {"x": "float32[48, 32]"}, [RANDOM.standard_normal((48, 32)).astype("f4")]
    )
