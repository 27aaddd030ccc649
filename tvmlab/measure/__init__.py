"""Is it right, and how fast: verification against an oracle, and timing of builds against each other."""

from __future__ import annotations

from tvmlab.measure.advice import Advice, advise
from tvmlab.measure.benchmark import DEFAULT_SIDES, OP_SIDES, SIDES, bench
from tvmlab.measure.inputs import make_inputs
from tvmlab.measure.tuning import KernelTuning, Step, Tuning, tune
from tvmlab.measure.ulp import compare
from tvmlab.measure.verification import TOLERANCES, verify

__all__ = [
    "DEFAULT_SIDES",
    "OP_SIDES",
    "SIDES",
    "TOLERANCES",
    "Advice",
    "KernelTuning",
    "Step",
    "Tuning",
    "advise",
    "bench",
    "compare",
    "make_inputs",
    "tune",
    "verify",
]
