"""An order of passes is judged by what comes out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tvmlab.course.exercises import ex05c
from tvmlab.course.orders import PASSES, outcome_of
from tvmlab.errors import PipelineError

CHAIN = ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR", "CallTIRRewrite")


@pytest.fixture(scope="module")
def task():
    return ex05c.network(np.random.default_rng(0))


@pytest.mark.parametrize("place", range(5))
def test_the_constant_may_be_folded_at_five_of_the_six_places(place, task):
    outcome = outcome_of([*CHAIN[:place], "FoldConstant", *CHAIN[place:]], task)
    assert len(outcome.kernels) == 1
    np.testing.assert_allclose(outcome.result, task.expected, rtol=1e-4, atol=1e-5)


def test_folded_at_the_end_it_stays_a_kernel(task):
    assert outcome_of([*CHAIN, "FoldConstant"], task).kernels[0] == "multiply"


def test_a_swap_of_neighbours_in_the_chain_is_worse(task):
    for a, b in itertools.pairwise(range(5)):
        order = ["FoldConstant", *CHAIN]
        order[a + 1], order[b + 1] = order[b + 1], order[a + 1]
        try:
            outcome = outcome_of(order, task)
        except PipelineError:
            continue
        assert len(outcome.kernels) > 1 or outcome.kernels[0].startswith("function ")


def test_a_pass_that_fails_and_one_that_does_not_compile_are_told(task):
    with pytest.raises(PipelineError, match="it does not compile: CodeGenVM cannot emit"):
        outcome_of(PASSES, task)
    with pytest.raises(PipelineError, match="FuseTIR fails after LegalizeOps"):
        outcome_of([*CHAIN[:3], "CallTIRRewrite", "FuseTIR"], task)
