"""A graph, traced, against its own unfused and unscheduled kernels."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlab import pipeline
from tvmlab.pipeline.schedule import ATTRIBUTE


def arrays_of(shapes, dtype, seed=0):
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


def said(trace):
    """What the scheduler says of each kernel, joined."""
    functions = trace["schedule"].module.functions.values()
    return " | ".join(str(f.attrs[ATTRIBUTE]) for f in functions if f.attrs is not None and ATTRIBUTE in f.attrs)


@pytest.fixture
def check():
    """Trace a function of Relax expressions, compare its values with the unfused ones, and return what was said."""

    def run(function, types, arrays, rtol=1e-5):
        function.__annotations__ = types
        trace = pipeline.trace(pipeline.graph(function))
        want, got = trace.compiled("annotate").run(*arrays), trace.executable.run(*arrays)
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        scale = float(np.abs(want).max()) if want.size else 1.0
        assert np.abs(got - want).max(initial=0) <= rtol * max(scale, 1.0), said(trace)
        assert trace["schedule"].kernels == trace["fuse"].kernels
        return said(trace)

    return run
