"""Compose or add: what the search finds, what it survives, and what the verdict says."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from tvmlab.api import define
from tvmlab.errors import CallError, PipelineError
from tvmlab.measure import advice, advise
from tvmlab.measure.advice import COMPOSED, EXACT, FINITE, ROUNDED, Match, _input_sets, _match, _verdict
from tvmlab.measure.candidates import Candidate, candidates
from tvmlab.records import Side, Timing

SILU = Candidate("relax.op", "nn.silu", (0,), {})
RELU = Candidate("relax.op", "nn.relu", (0,), {})
SIGMOID = Candidate("relax.op", "sigmoid", (0,), {})
DEADLY = Candidate("topi", "nn.batch_to_space_nd", (0,), {"block_shape": 0, "crop_begin_list": 0, "crop_end_list": 0})


def elementwise(name, body):
    return define(f"advicelab.{name}", f"def compute(x): return te.compute(x.shape, lambda *i: {body}, name={name!r})")


@pytest.fixture(scope="session")
def swish():
    return elementwise("swish", "x(*i) * te.sigmoid(x(*i))")


@pytest.fixture(scope="session")
def rectifier():
    """It keeps a NaN, which TVM's relu turns into 0."""
    return elementwise("rectifier", "tirx.max(const_like(0, x), x(*i))")


@pytest.fixture
def only(monkeypatch):
    """Let the search know a few candidates alone."""

    def known(*chosen):
        monkeypatch.setattr(advice, "candidates", lambda library, *_: [c for c in chosen if c.library == library])

    return known


def test_an_operator_that_tvm_has_is_found_among_all_of_them(swish, capfd):
    found = advise(swish, budget=0.1, threads=1)
    assert found.verdict in {"compose", "add"}  # by its times, which no test judges
    assert (found.matches[0].call, found.matches[0].how) == ("relax.op.nn.silu(x)", EXACT)
    assert found.tried > 50
    assert [side.name for side in found.timing.sides] == ["advicelab.swish", "composed"]
    assert capfd.readouterr().err == ""


def test_a_death_counts_as_different_and_the_search_goes_on(rectifier, only):
    only(DEADLY, RELU)
    found = advise(rectifier, budget=0.1, threads=1)
    assert [(m.call, m.how) for m in found.matches] == [("relax.op.nn.relu(x)", FINITE)]
    assert any("infinite or NaN" in reason for reason in found.reasons)
    assert found.notes[0].startswith("topi.nn.batch_to_space_nd: ended the process")


def test_a_composition_is_measured_unfused_too(only):
    only(SIGMOID)
    hinge = define(
        "advicelab.hinge",
        "class Attrs:\n    slope: float = 0.25\n"
        "def compute(x, slope):\n"
        "    return te.compute(x.shape, lambda *i: te.sin(x(*i) * const_like(slope, x)), name='hinge')",
    )

    def composed(x, slope):
        return relax.op.sin(relax.op.multiply(x, relax.const(np.float32(slope))))

    found = advise(hinge, composed=composed, budget=0.1, threads=1, slope=0.5)
    assert (found.matches[0].call, found.matches[0].how) == (COMPOSED, EXACT)
    assert [side.name for side in found.timing.sides][1:] == ["composed, unfused", "composed"]
    assert any(reason.startswith("without fusion it takes") for reason in found.reasons)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"sets": [{"relative": 1e-7}, {"relative": 0.25}]}, "has other values: off by 2e-01 of the largest"),
        ({"refused": "its result has another type"}, "cannot be taken: its result has another type"),
    ],
)
def test_a_composition_that_differs_is_told(answer, told):
    assert advice._differs(answer) == f"the composition given {told}"


def test_a_composition_that_fails_is_told(swish, only):
    only()
    with pytest.raises(CallError, match="the composition given fails: TypeError"):
        advise(swish, composed=relax.op.add)


def test_without_inputs_there_is_no_advice():
    refuses = define(
        "advicelab.refuses",
        "def compute(x):\n    raise ValueError('no')\n",
    )
    with pytest.raises(CallError, match=r"no inputs are known that advicelab\.refuses takes"):
        advise(refuses)


def test_an_operator_that_ends_the_process_is_told(only):
    only(SILU)
    far = define(
        "advicelab.far",
        "examples = [{'x': np.ones(4, 'int32')}]\n"
        "def compute(x): return te.compute(x.shape, lambda *i: x[x(*i) * 500000000], name='far')",
    )
    with pytest.raises(PipelineError, match=r"advicelab\.far cannot be evaluated .* SIGSEGV"):
        advise(far)


@pytest.mark.parametrize(
    ("library", "tensors", "attributes", "call"),
    [
        ("relax.op", 1, {}, "relax.op.nn.gelu(x)"),
        ("relax.op", 1, {"axis": (1,)}, "relax.op.sum(x, axis=(1,))"),
        ("relax.op", 1, {"slope": 0.3}, "relax.op.nn.leakyrelu(x, alpha=0.3)"),
        ("relax.op", 1, {"low": -2.0, "high": 3.0}, "relax.op.clip(x, min=-2.0, max=3.0)"),
        ("relax.op", 2, {}, "relax.op.subtract(y, x)"),
        ("topi", 1, {}, "topi.fast_exp(x)"),
        ("topi", 1, {"alpha": 0.3}, "topi.nn.leaky_relu(x, alpha=0.3)"),
    ],
)
def test_candidates_come_from_the_installed_tvm(library, tensors, attributes, call):
    assert call in {c.text(["x", "y", "z"]) for c in candidates(library, tensors, attributes)}


def test_what_takes_functions_or_prints_is_no_candidate():
    names = {c.name for c in candidates("relax.op", 1, {})}
    assert not {n for n in names if n.startswith(("call_", "print", "invoke_", "assert_"))}


def judged(**worst):
    finite = {"exact": False, "non_finite": 0, "relative": 0.0, "ulp": 0.0}
    return {"sets": [{**finite, **worst}, {**finite, "exact": worst.get("exact", False)}]}


@pytest.mark.parametrize(
    ("answer", "how"),
    [
        (judged(exact=True), EXACT),
        (judged(relative=1e-7), ROUNDED),
        (judged(relative=1e-3), ""),
        ({"sets": [judged()["sets"][0], {**judged()["sets"][0], "non_finite": 3}]}, FINITE),
    ],
)
def test_degrees_of_equality(answer, how):
    assert _match("f(x)", answer, [True, False], [((2,), "float32")]).how == how


def test_what_is_far_off_is_no_match():
    assert _match("f(x)", judged(relative=0.5), [True, False], [((2,), "float32")]) is None
    assert _match("f(x)", {"refused": "…"}, [True, False], [((2,), "float32")]) is None


def test_inputs_hold_the_attributes_values_and_every_special_one():
    sets, finite = _input_sets([((40, 40), "float32")], {"edge": 0.625}, seed=0)
    assert finite[-2:] == [True, False]
    assert (sets[-2][0] == 0.625).any()
    assert np.isnan(sets[-1][0]).any()
    assert np.isposinf(sets[-1][0]).any()
    assert np.signbit(sets[-1][0][sets[-1][0] == 0]).any()
    assert all(np.isfinite(arrays[0]).all() for arrays, is_finite in zip(sets, finite, strict=True) if is_finite)


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "compose"), (1.05, "compose"), (1.5, "add")])
def test_a_composition_that_costs_more_than_a_tenth_is_not_taken(swish, factor, verdict):
    subject = advice._Subject(swish, {})
    sides = (Side(swish.name, (1.0,) * 5), Side("composed", (factor,) * 5))
    timing = Timing("block", sides, swish.name, 1)
    best = Match("relax.op.nn.silu(x)", EXACT, 0.0, 0.0)
    got, reasons = _verdict(subject, [best], None, 80, timing, given=False)
    assert got == verdict
    assert f"{factor:.2f}" in reasons[0]
