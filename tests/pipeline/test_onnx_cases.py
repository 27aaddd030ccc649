"""Models behind public reports, through tvmlab's own partition into machine code: the same values, or a refusal."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from tvmlab import pipeline
from tvmlab.errors import TvmlabError

SHARED = runpy.run_path(str(Path(__file__).parents[1] / "onnx_cases.py"))
REFUSED = {  # what TVM cannot do with a model, and what its refusal names
    "a shape that is computed": "'q' (Reshape)",
}


def run(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


@pytest.mark.parametrize("name", [name for name in SHARED["CASES"] if name not in REFUSED])
def test_the_same_values(name):
    proto = SHARED["model"](name)
    feeds = SHARED["feeds"](proto)
    model = pipeline.load(proto)
    got = pipeline.trace(model, engine="python").executable.run(*(feeds[i.name] for i in model.inputs))
    right = run(proto, {i.name: feeds[i.name] for i in model.inputs})
    for mine, theirs in zip(got if isinstance(got, tuple) else [got], right, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_node(name):
    with pytest.raises(TvmlabError) as refused:
        pipeline.trace(pipeline.load(SHARED["model"](name)), engine="python")
    assert REFUSED[name] in refused.value.what
