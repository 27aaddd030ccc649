"""The picture of a mutation score."""

from __future__ import annotations

from tvmlab.records import MutantResult, MutationScore, PropertyResult, ShownMismatch, Verdict

SCORE = MutationScore(
    "leaky_clamp",
    ("x = [0. 1.]; lower=-1", "x = [nan]"),
    (
        MutantResult("sign", "the <other> way", (1,)),
        MutantResult("slope", "always 0.01", ()),
    ),
)


def test_each_mutant_is_killed_or_alive_and_the_calls_are_told(draw):
    page, text = draw(SCORE)
    for shown in (page.text, text):
        assert "leaky_clamp: 2 calls kill 1 of 2 mutants" in shown
        for word in ("sign", "the <other> way", "killed", "alive", "x = [nan]"):
            assert word in shown
    rows = [line.split() for line in text.splitlines()]
    assert next(row for row in rows if row[0] == "sign")[-3:] == ["·", "✗", "killed"]
    assert next(row for row in rows if row[0] == "slope")[-3:] == ["·", "·", "alive"]


def test_a_verdict_shows_the_record_of_its_mismatch(draw):
    mismatch = ShownMismatch("slope lives", record=SCORE)
    page, text = draw(Verdict("05d", "inputs", (PropertyResult("all are killed", "fails", mismatch),)))
    for shown in (page.text, text):
        assert "slope lives" in shown
        assert "2 calls kill 1 of 2 mutants" in shown


def test_many_calls_have_no_column_each(draw):
    many = MutationScore("op", tuple(f"call {n}" for n in range(15)), (MutantResult("a", "b", (14,)),))
    page, _ = draw(many)
    assert "call 11" in page.text
    assert "call 12" not in page.text
    assert "killed" in page.text
