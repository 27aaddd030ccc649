"""Mutants of leaky_clamp, and the score of a test's inputs."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlab import course, ops
from tvmlab.checks import check_op
from tvmlab.course import mutants
from tvmlab.errors import CallError, TvmlabError

X = np.array([-3, -0.5, 0, 0.25, 2, np.nan], "float32")
GOOD = {"lower": -0.5, "upper": 0.75, "slope": 0.25}


def killed(*calls):
    return {result.mutant for result in course.mutation_score(list(calls)).killed}


def reference(x, lower=-1.0, upper=1.0, slope=0.01):
    return np.clip(x, lower, upper) + slope * np.minimum(x - lower, 0)


@pytest.mark.parametrize("mutant", ["", *mutants.MUTANTS])
def test_what_is_evaluated_is_what_a_kernel_gives(mutant):
    op = ops.define("lab.mutant", ops.read_cell(mutants.cell(mutant)))
    found = mutants.outputs(X, GOOD)[mutant]
    np.testing.assert_array_equal(op(X, **GOOD), found)
    if not mutant:
        np.testing.assert_allclose(found, reference(X, **GOOD), rtol=1e-6)


def test_one_good_call_kills_all_but_the_equivalent_one():
    score = course.mutation_score([(X, GOOD)])
    assert tuple(each.mutant for each in score.alive) == mutants.EQUIVALENT
    assert score.headline == "leaky_clamp: 1 call kills 7 of 8 mutants"


def test_symmetric_defaults_and_easy_inputs_let_mutants_live():
    inside = np.array([-0.5, 0, 0.5], "float32")
    assert killed((inside, {})) == set()
    assert killed((X[:-1], {})) == {"no_leak", "sign", "no_upper"}
    assert killed((X[:-1], {}), (X, {"lower": -0.25})) == set(mutants.MUTANTS) - {"slope", "order"}
    assert course.mutation_score([(inside, {}), (X, GOOD)]).results[0].killed_by == (1,)


def test_the_equivalent_mutant_is_equal_for_all_legal_limits():
    random = np.random.default_rng(0)
    for _ in range(50):
        lower, upper = sorted(random.normal(0, 2, 2).round(3).tolist())
        x = random.normal(0, 3, 20).astype("float32")
        found = mutants.outputs(x, {"lower": lower, "upper": upper})
        np.testing.assert_array_equal(found["order"], found[""])


@pytest.mark.parametrize("mutant", sorted(set(mutants.MUTANTS) - {*mutants.EQUIVALENT, "nan"}))
def test_the_inputs_of_c10_kill_every_real_mutant(mutant):
    op = ops.define("lab.mutant", ops.read_cell(mutants.cell(mutant, reference=True)))
    assert not check_op(op, only=["C10"]).ok


def test_the_mutant_that_loses_nan_is_refused_when_it_is_defined():
    with pytest.raises(TvmlabError, match="turns a NaN into"):
        ops.define("lab.mutant", ops.read_cell(mutants.cell("nan", reference=True)))


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([], "a list of 1 to 20 calls"),
        ([(X, GOOD)] * 21, "a list of 1 to 20 calls"),
        (5, "a list of 1 to 20 calls"),
        ([X], "call 1 is a ndarray of 6"),
        ([(X, {}), (X.astype("float64"), {})], "call 2: x is float64"),
        ([(np.zeros(20_000, "float32"), {})], "at most 10,000"),
        ([(X, {"lowr": 1})], "no attribute 'lowr'"),
        ([(X, {"lower": "a"})], "no finite number"),
        ([(X, {"lower": np.nan})], "no finite number"),
        ([(X, {"lower": 2})], "lower is above upper"),
    ],
)
def test_what_is_no_list_of_legal_calls_is_told(calls, said):
    with pytest.raises(CallError, match=said):
        course.mutation_score(calls)


def test_there_is_no_other_mutant():
    with pytest.raises(CallError, match="there is no mutant 'x'"):
        mutants.cell("x")
