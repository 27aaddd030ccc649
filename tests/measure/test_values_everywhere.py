"""Values are right in every stage, of operators and templates, in every dtype and many shapes.

`benchmarks/values.py` goes through the whole product, networks included; here a part of it, and shapes by hypothesis.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import relax

from tvmlab import pipeline
from tvmlab.measure import compare
from tvmlab.measure.verification import TOLERANCES
from tvmlab.ops import gallery

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "values.py"


@pytest.fixture(scope="module")
def values():
    """The benchmark as a module."""
    specification = importlib.util.spec_from_file_location("values_benchmark", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    yield module
    del sys.modules[specification.name]


def test_the_benchmark_has_every_operator_template_network_and_dtype(values):
    from tvmlab.fusion.template_gallery import shipped

    every = list(values.subjects())
    assert {name for name, *_ in values.GALLERY} == set(gallery.names())
    assert set(values.TEMPLATES) == set(shipped())
    for dtype in values.DTYPES:
        names = [subject.name for subject in every if subject.dtype == dtype]
        assert {*values.TEMPLATES, *values.NETWORKS} <= set(names)
        assert len(names) == len(values.GALLERY) + len(values.TEMPLATES) + len(values.NETWORKS)
    assert len(values.NETWORKS) == 9


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_gallery_operators_after_the_last_stage(values, dtype):
    first_of_each = {name: case for case in reversed(values.GALLERY) for name in case[:1]}
    for name, attributes, types, sizes in first_of_each.values():
        case = (name, attributes, types, dtype)
        subject = values.Subject(name, dtype, lambda c=case: values.gallery_model(*c), tuple(sizes))
        row = values.check(subject, ["schedule"], ["tvmlab"], ["python"])
        assert row["ok"], row
        assert row["ulp_of_peak"] <= row["allowed_ulp"]


@pytest.mark.parametrize("name", ["conv_bn_relu", "matmul_add_gelu", "layer_norm", "attention"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_templates_after_the_last_stage(values, name, dtype):
    subject = values.Subject(name, dtype, lambda: values.template_model(name, dtype), (1, 3))
    row = values.check(subject, ["schedule"], ["tvmlab"], ["python"])
    assert row["ok"], row


def test_every_combination_of_stages(values):
    subject = values.Subject(
        "matmul", "float32", lambda: values.gallery_model("matmul", {}, ["n, 17", "17, 29"], "float32"), (1, 0, 5)
    )
    row = values.check(subject)
    assert row["ok"], row
    assert row["combinations"] == 3 * 3 * 5 * 3
    assert row["builds"] >= 4


def test_a_wrong_value_is_seen(values, monkeypatch):
    right = pipeline.stages.build

    class Off:
        def __init__(self, executable):
            self.executable = executable

        def run(self, *arrays):
            return self.executable.run(*arrays) + np.float32(0.1)

    monkeypatch.setattr(pipeline.stages, "build", lambda module: Off(right(module)))
    subject = values.Subject("swish", "float32", lambda: values.gallery_model("swish", {}, ["3, 5"], "float32"))
    row = values.check(subject, ["schedule"], ["tvmlab"], ["python"])
    assert not row["ok"]
    assert row["wrong_in"] == ["tvmlab, python, schedule"]


SIZES = st.sampled_from([0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32, 33, 64])
FLOATS = st.sampled_from(["float32", "float16", "float64"])


def run_all_stages(function, annotations, arrays, expected):
    """Fused, inlined and scheduled, against NumPy in longer floats."""
    function.__annotations__ = annotations
    trace = pipeline.trace(pipeline.graph(function))
    for stage in ("fuse", "schedule"):
        got = trace.compiled(stage).run(*arrays)
        error = compare(expected, got, stage)
        assert error.non_finite == 0
        assert error.relative <= TOLERANCES[str(got.dtype)], (stage, annotations, error)


def arrays_of(*shapes, dtype):
    random = np.random.default_rng(sum(map(sum, shapes)))
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


@settings(max_examples=7, deadline=None, derandomize=True)
@given(SIZES, SIZES, SIZES, FLOATS, st.booleans())
def test_a_product_with_its_epilogue(rows, inner, columns, dtype, symbolic):
    def product(x, w, b):
        return relax.op.nn.relu(relax.op.add(relax.op.matmul(x, w), b))

    types = {
        "x": f"{dtype}[{'n' if symbolic else rows}, {inner}]",
        "w": f"{dtype}[{inner}, {columns}]",
        "b": f"{dtype}[{columns}]",
    }
    x, w, b = arrays_of((rows, inner), (inner, columns), (columns,), dtype=dtype)
    expected = np.maximum(x.astype("float64") @ w.astype("float64") + b, 0)
    run_all_stages(product, types, [x, w, b], expected)


@settings(max_examples=7, deadline=None, derandomize=True)
@given(SIZES, SIZES, FLOATS, st.booleans())
def test_a_softmax_of_a_sum(rows, columns, dtype, symbolic):
    def chain(x, b):
        return relax.op.nn.softmax(relax.op.add(x, b), axis=-1)

    types = {"x": f"{dtype}[{'n' if symbolic else rows}, {columns}]", "b": f"{dtype}[{columns}]"}
    x, b = arrays_of((rows, columns), (columns,), dtype=dtype)
    both = (x + b).astype("float64")
    powers = np.exp(both - both.max(-1, keepdims=True, initial=-np.inf)) if both.size else both
    run_all_stages(chain, types, [x, b], powers / powers.sum(-1, keepdims=True))


@settings(max_examples=7, deadline=None, derandomize=True)
@given(SIZES, SIZES, SIZES, FLOATS)
def test_a_transposed_chain_with_a_reduction(a, b, c, dtype):
    def chain(x):
        return relax.op.sum(relax.op.multiply(relax.op.permute_dims(x, [2, 0, 1]), relax.const(0.5, dtype)), axis=[1])

    (x,) = arrays_of((a, b, c), dtype=dtype)
    expected = (x.astype("float64").transpose(2, 0, 1) * 0.5).sum(1)
    run_all_stages(chain, {"x": f"{dtype}[{a}, {b}, {c}]"}, [x], expected)


@settings(max_examples=6, deadline=None, derandomize=True)
@given(st.sampled_from([1, 3, 8, 16]), st.sampled_from([1, 5, 8, 16, 24]), st.sampled_from([1, 3, 7, 8]), FLOATS)
def test_a_convolution_with_its_epilogue(channels, outputs, size, dtype):
    def convolved(x, w, b):
        return relax.op.nn.relu(relax.op.add(relax.op.nn.conv2d(x, w, padding=1), b))

    x, w, b = arrays_of((2, channels, size, size), (outputs, channels, 3, 3), (outputs, 1, 1), dtype=dtype)
    padded = np.pad(x.astype("float64"), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    expected = np.maximum(np.einsum("nchwyx,ocyx->nohw", windows, w.astype("float64")) + b, 0)
    types = {name: f"{dtype}[{', '.join(map(str, array.shape))}]" for name, array in zip("xwb", (x, w, b), strict=True)}
    run_all_stages(convolved, types, [x, w, b], expected)
