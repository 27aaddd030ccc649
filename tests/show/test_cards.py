"""The picture of an operator."""

from __future__ import annotations

import dataclasses

import pytest

from tvmlab.ops.card import ChainPart, OpCard

CARD = OpCard(
    name="lab.clamp",
    full_name="relax.lab.clamp",
    doc="Clamp to <lower>.\n\nSecond paragraph.",
    signature="lab.clamp(x, *, lower: float = -1.0)",
    tensors=("x",),
    attributes=(("lower", "float", "-1.0"),),
    example="(float32[n, m]) → float32[n, m]",
    tir='@T.prim_func\ndef lab_clamp(x: T.Buffer((n, m), "float32")):\n    pass',
    kind="kElemWise",
    chain=(
        ChainPart("identity card", "name", "RELAY_REGISTER_OP", "RegisterOp", "set", "relax.lab.clamp"),
        ChainPart("rule book", "pattern", "TOpPattern", "op_pattern", "derived", "kElemWise"),
        ChainPart("construction crew", "gradient", "register_gradient", "FPrimalGradient", "missing", "no training"),
    ),
    remarks=("reads a[i+1] <outside>",),
)


def test_everything_on_the_card_is_shown(draw):
    page, plain = draw(CARD)
    for word in (
        CARD.signature,
        "Second paragraph.",
        "kElemWise",
        "lower",
        "identity card",
        "rule book",
        "construction crew",
        "TOpPattern → op_pattern",
        "no training",
        "lowered for (float32[n, m]) → float32[n, m]",
        'x: T.Buffer((n, m), "float32")',
        "reads a[i+1] <outside>",
    ):
        assert word in page.text
        assert word.removeprefix("lowered for ") in plain or word.startswith("lowered")
    assert page.text.index("identity card") < page.text.index("rule book") < page.text.index("construction crew")


@pytest.mark.parametrize(("status", "word"), [("set", "✓ set"), ("derived", "derived"), ("missing", "missing")])
def test_a_part_says_whether_it_is_there(draw, status, word):
    page, plain = draw(dataclasses.replace(CARD, chain=(dataclasses.replace(CARD.chain[0], status=status),)))
    assert f"name {word}relax.lab.clamp" in page.text
    assert status in plain


def test_a_card_of_an_operator_that_could_not_be_lowered(draw):
    page, plain = draw(dataclasses.replace(CARD, doc="", attributes=(), example="", tir="", kind="unknown", remarks=()))
    assert "lowered for" not in page.text
    assert {"details", "table", "li"}.isdisjoint(page.tags)
    assert "prim_func" not in plain


def test_a_forced_kind_keeps_its_colour(draw):
    forced, _ = draw(dataclasses.replace(CARD, kind="kOpaque (forced)"))
    assert "kOpaque (forced)" in forced.text
    assert "#9A9A9A" in [s.get("background") for s in forced.styles]


def test_an_operator_is_shown_by_its_card(draw):
    from tvmlab.api import define

    op = define("showlab.twice", "def compute(x): return te.compute(x.shape, lambda *i: x(*i) + x(*i), name='twice')")
    page, plain = draw(op)
    card = draw(op.card())[0].text
    assert page.text.startswith(card)
    assert page.text[len(card) :].startswith("quick check: 6 checks ok")
    assert "showlab.twice(x)" in page.text
    assert plain.startswith(op.card().headline)
