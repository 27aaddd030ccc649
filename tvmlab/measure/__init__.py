"""Is it right, and how fast: verification against an oracle, and timing of builds against each other."""

from __future__ import annotations

from tvmlab.measure.benchmark import SIDES, bench
from tvmlab.measure.inputs import make_inputs
from tvmlab.measure.ulp import compare
from tvmlab.measure.verification import TOLERANCES, verify

__all__ = ["SIDES", "TOLERANCES", "bench", "compare", "make_inputs", "verify"]
