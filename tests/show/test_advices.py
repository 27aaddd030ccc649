"""The picture of advice."""

from __future__ import annotations

from tvmlab.measure import Advice
from tvmlab.measure.advice import Match
from tvmlab.records import Side, Timing


def advised(**changes):
    facts = {
        "op": "lab.<b>swish",
        "verdict": "compose",
        "reasons": ("relax.op.nn.silu(x) is equal", "another reason"),
        "matches": (Match("relax.op.nn.silu(x)", "equal", 0.0, 0.0),),
        "nearest": None,
        "tried": 79,
        "elements": 1568,
        "timing": Timing("on x", (Side("lab.swish", (1.0, 1.1)), Side("composed", (1.0, 1.2))), "lab.swish", 1),
        "notes": ("a note",),
    }
    return Advice(**{**facts, **changes})


def test_verdict_reasons_matches_and_times(draw):
    page, plain = draw(advised())
    for text in ("lab.<b>swish", "compose", "another reason", "relax.op.nn.silu(x)", "1,568 results", "a note"):
        assert text in page.text
        assert text in plain
    assert len(page.images) == 1


def test_the_nearest_where_nothing_matches(draw):
    near = Match("relax.op.nn.gelu(x)", "", 2e-2, 1e6)
    page, plain = draw(advised(verdict="add", matches=(), nearest=near, timing=None))
    for text in ("other values, the nearest", "2e-2", "relax.op.nn.gelu(x)"):
        assert text in page.text
        assert text in plain
    assert page.images == []
    page, _ = draw(advised(verdict="add", matches=(), timing=None, reasons=("none",)))
    assert "lab.<b>swish" in page.text
