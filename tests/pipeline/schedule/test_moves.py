from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tvm import relax

from tvmlab import runtime
from tvmlab.pipeline.schedule import streaming

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


@QUICK
@given(
    shape=st.lists(st.sampled_from([1, 3, 4, 8, 16, 24, 32, 48]), min_size=2, max_size=4).map(tuple),
    data=st.data(),
    dtype=st.sampled_from(["float32", "float64", "int64"]),
)
def test_a_cut_that_is_moved_and_joined(check, shape, data, dtype):
    """Nothing is computed: tiles are turned in registers where vectors divide both sides."""
    order = data.draw(st.permutations(range(len(shape))))
    starts = [data.draw(st.integers(0, 3)) for _ in shape]
    whole = tuple(size + start + 2 for size, start in zip(shape, starts, strict=True))
    moved = [shape[axis] for axis in order]
    ends = [start + size for size, start in zip(shape, starts, strict=True)]

    def block(x):
        cut = relax.op.strided_slice(x, list(range(len(shape))), starts, ends)
        turned = relax.op.permute_dims(cut, order)
        return relax.op.reshape(turned, [int(np.prod(moved[:-1])), moved[-1]])

    array = np.arange(np.prod(whole)).reshape(whole).astype(dtype)
    check(block, {"x": f"{dtype}[{', '.join(map(str, whole))}]"}, [array], rtol=0)


@pytest.mark.parametrize(("dtype", "side"), [("float32", 16), ("float32", 8), ("float32", 4), ("float64", 8)])
def test_a_turned_tile_is_as_large_as_vectors_and_shape_allow(check, dtype, side):
    def block(x):
        return relax.op.permute_dims(relax.op.strided_slice(x, [0], [1], [1 + 5 * side]))

    array = np.arange((5 * side + 2) * 3 * side).reshape(5 * side + 2, 3 * side).astype(dtype)
    said = check(block, {"x": f"{dtype}[{5 * side + 2}, {3 * side}]"}, [array], rtol=0)
    side = min(side, runtime.vector_bytes() // array.itemsize)
    assert f"tiles of {side} by {side} turned in registers" in said


@pytest.mark.parametrize(("length", "parallel"), [(256, True), (32, False)])
def test_rows_stay_whole_and_few_of_them_in_one_thread(check, length, parallel):
    def block(x):
        return relax.op.reshape(relax.op.permute_dims(x, (0, 2, 1, 3)), (2, 12, length * 32))

    array = np.arange(2 * length * 12 * 32).reshape(2, length, 12, 32).astype("f4")
    said = check(block, {"x": f"float32[2, {length}, 12, 32]"}, [array], rtol=0)
    assert "rows in vectors of" in said
    assert ("parallel" in said) == parallel


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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_larger_than_the_caches_goes_past_them(check, monkeypatch, dtype, threads):
    """Two kernels, each with functions of LLVM's of the same names; whole lines only."""
    monkeypatch.setattr(streaming, "second_level_bytes", lambda: 1 << 10)

    def twice(x):
        turned = relax.op.permute_dims(relax.op.strided_slice(x, [1], [3], [3 + 288]))
        return relax.op.permute_dims(relax.op.nn.softmax(turned))

    array = RANDOM.standard_normal((320, 300)).astype(dtype)
    with runtime.threads(threads):
        said = check(twice, {"x": f"{dtype}[320, 300]"}, [array])
    assert said.count("stored past the caches") == (2 if runtime.vector_bytes() == 64 else 0)


def test_what_fits_into_the_caches_stays_there(check):
    def block(x):
        return relax.op.permute_dims(x)

    said = check(block, {"x": "float32[256, 256]"}, [RANDOM.standard_normal((256, 256)).astype("f4")], rtol=0)
    assert "turned in registers" in said
    assert "past the caches" not in said
