"""Each operator of the gallery, defined in a notebook cell, against its NumPy reference."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

import tvmlab as tl
from tvmlab.errors import NameRefused
from tvmlab.ops import gallery
from tvmlab.runtime import compile_module

FLOATS = ("float32", "float64", "float16")
WITH_INTS = (*FLOATS, "int32")

# name, shapes, attributes, dtypes in which the operator makes sense
CASES = [
    ("leaky_clamp", [(4, 5)], {}, FLOATS),
    ("leaky_clamp", [(3, 1, 7)], {"lower": -0.25, "upper": 2.0, "slope": 0.5}, FLOATS),
    ("swish", [(4, 5)], {}, FLOATS),
    ("swish", [(0, 3)], {}, FLOATS),
    ("bias", [(4, 5), (5,)], {}, WITH_INTS),
    ("bias", [(2, 3, 4, 5), (3,)], {"axis": 1}, WITH_INTS),
    ("softmax", [(4, 5)], {}, FLOATS),
    ("softmax", [(2, 3, 7)], {}, FLOATS),
    ("sum", [(4, 5)], {}, WITH_INTS),
    ("sum", [(2, 3, 4)], {"axis": (1,)}, WITH_INTS),
    ("sum", [(2, 3, 4)], {"axis": (-1, 0), "keepdims": True}, WITH_INTS),
    ("split", [(4, 6)], {"sections": 3, "axis": 1}, WITH_INTS),
    ("split", [(4, 6)], {"sections": 2, "axis": -2}, WITH_INTS),
    ("pad", [(3, 4)], {}, WITH_INTS),
    ("pad", [(2, 1, 3)], {"width": 2, "value": 7.0}, WITH_INTS),
    ("matmul", [(3, 4), (4, 5)], {}, WITH_INTS),
    ("depthwise_conv", [(2, 3, 7, 6), (3, 1, 3, 3)], {}, WITH_INTS),
    ("depthwise_conv", [(1, 4, 9, 9), (4, 1, 5, 3)], {"stride": 2, "padding": 0}, WITH_INTS),
]
IDS = [f"{name}-{i}" for i, (name, *_) in enumerate(CASES)]

# Rounding of a sum of n terms in another order is at most about n units; the longest here adds 24.
ULPS = 32


@pytest.fixture
def op(notebook):
    def define(name: str):
        ran = notebook(f"%%tvm_op lab.{name} -q\n{gallery.text(name)}")
        assert ran.error is None, ran.out
        assert ran.err == ""
        return getattr(tl.ops.lab, name)

    return define


def random_array(shape, dtype, seed=0, special=False):
    rng = np.random.default_rng(seed)
    if dtype == "int32":
        return rng.integers(-9, 10, shape).astype(dtype)
    array = (rng.standard_normal(shape) * 2).astype(dtype)
    if special and array.size >= 4:
        array.flat[:4] = [np.nan, np.inf, -np.inf, 0.0]
    return array


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def assert_close(got, expected):
    for g, e in zip(as_tuple(got), map(np.asarray, as_tuple(expected)), strict=True):
        assert g.shape == e.shape
        assert g.dtype == e.dtype
        if e.dtype.kind == "i":
            np.testing.assert_array_equal(g, e)
            continue
        np.testing.assert_array_equal(np.isnan(g), np.isnan(e))
        finite = np.isfinite(e)
        np.testing.assert_array_equal(g[~finite], e[~finite])
        scale = np.abs(e[finite]).max(initial=1.0)
        assert np.abs(g[finite].astype("float64") - e[finite]).max(initial=0.0) <= ULPS * np.finfo(e.dtype).eps * scale


def reference(op, arrays, attributes):
    """The reference in double precision, rounded once; special values and integers in their own dtype."""
    with np.errstate(all="ignore"):
        if arrays[0].dtype.kind == "i":
            return op.reference(*arrays, **attributes)
        exact = as_tuple(op.reference(*(a.astype("float64") for a in arrays), **attributes))
        return tuple(e.astype(arrays[0].dtype) for e in map(np.asarray, exact))


@pytest.mark.parametrize(("name", "shapes", "attributes", "dtypes"), CASES, ids=IDS)
def test_equals_its_reference_on_static_shapes(op, name, shapes, attributes, dtypes):
    live = op(name)
    for dtype in dtypes:
        arrays = [random_array(s, dtype, seed) for seed, s in enumerate(shapes)]
        assert_close(live(*arrays, **attributes), reference(live, arrays, attributes))


@pytest.mark.parametrize(("name", "shapes", "attributes", "dtypes"), CASES, ids=IDS)
def test_keeps_nan_and_infinities(op, name, shapes, attributes, dtypes):
    live = op(name)
    arrays = [random_array(s, "float32", seed, special=seed == 0) for seed, s in enumerate(shapes)]
    assert_close(live(*arrays, **attributes), reference(live, arrays, attributes))


@pytest.mark.parametrize(("name", "shapes", "attributes", "dtypes"), CASES, ids=IDS)
def test_equals_its_reference_on_symbolic_shapes(op, name, shapes, attributes, dtypes):
    live = op(name)
    symbols = {}
    variables = [
        relax.Var(f"x{i}", relax.TensorType([symbolic(d, symbols) for d in shape], "float32"))
        for i, shape in enumerate(shapes)
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        with builder.dataflow():
            out = builder.emit_output(builder.emit(live(*variables, **attributes)))
        builder.emit_func_output(out)
    kernel = compile_module(relax.transform.LegalizeOps()(builder.get()))
    for growth in (0, 6):
        grown = [tuple(d + growth * (d in symbols) for d in shape) for shape in shapes]
        arrays = [random_array(s, "float32", seed) for seed, s in enumerate(grown)]
        assert_close(kernel.run(*arrays), reference(live, arrays, attributes))


def symbolic(size, symbols):
    """One symbol for each size above 3, so that equal sizes stay equal; small ones (filters) stay numbers."""
    if size <= 3:
        return size
    return symbols.setdefault(size, tvm.tirx.Var(f"n{size}", "int64"))


def test_an_unknown_name_is_refused_with_a_suggestion():
    with pytest.raises(NameRefused, match=r"did you mean 'swish'\?"):
        gallery.text("swich")
