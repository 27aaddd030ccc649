"""Real networks with random weights are right, on their logits."""

from __future__ import annotations

import pytest

from tvmlab import pipeline
from tvmlab.api import define
from tvmlab.measure import verify

LEAKY_CLAMP = """
class Attrs:
    lower: float = 0.0
    upper: float = 6.0
    slope: float = 0.1

def compute(x, lower, upper, slope):
    lo, hi, leak, zero = (const_like(v, x) for v in (lower, upper, slope, 0))
    def clamp(*i):
        v = x(*i)
        return tirx.max(lo, tirx.min(hi, v)) + leak * tirx.min(zero, v - lo)
    return te.compute(x.shape, clamp, name="leaky_clamp")

def reference(x, lower, upper, slope):
    return np.clip(x, lower, upper) + slope * np.minimum(x - lower, 0)
"""


def logits_of(verification):
    return next(output for output in verification.outputs if output.name.endswith("(logits)"))


@pytest.mark.parametrize("network", ["resnet50", "shufflenet", "squeezenet", "vgg19"])
def test_logits_of_networks(network):
    verification = verify(pipeline.load(f"light_{network}.onnx", weights="random"))
    assert verification.ok
    logits = logits_of(verification)
    assert logits.shape[1] == 1000
    assert logits.peak > 0.1
    assert logits.relative <= 1e-4
    print(f"{network}: {logits.relative:.1e} of the largest logit ({logits.peak:.3g}), {verification.seconds:.1f} s")


def test_a_live_operator_in_resnet50():
    model = pipeline.load("light_resnet50.onnx", weights="random")
    op = define("measurelab.leaky_clamp", LEAKY_CLAMP)
    verification = verify(model.replace("relax.nn.relu", op))
    assert verification.ok
    assert logits_of(verification).relative <= 1e-4
    assert any("49 nodes of measurelab.leaky_clamp" in note for note in verification.notes)
