"""Colours read: ink on chips, tokens on light and on dark themes."""

from __future__ import annotations

import pytest

from tvmlab.show import code, palette

LIGHT, DARK = "#FFFFFF", "#111111"


@pytest.mark.parametrize("colour", [*palette.KINDS.values(), palette.GOOD, palette.NOTE, palette.BAD, "#C8C8C8"])
def test_ink_reads_on_every_chip(colour):
    assert palette.contrast(palette.ink_on(colour), colour) >= 4.5


@pytest.mark.parametrize("colour", sorted({c for c in code.Middle.styles.values() if "#" in c}))
def test_code_reads_on_both_themes(colour):
    ink = colour[colour.index("#") :]
    # No colour has more than 4.4 on both; 3 is what WCAG asks of graphics and large text.
    assert min(palette.contrast(ink, LIGHT), palette.contrast(ink, DARK)) >= 4.0


def test_kinds_have_a_colour_each():
    colours = [*palette.KINDS.values(), palette.kind_colour("kSomethingNew")]
    assert len(set(colours)) == len(colours)


def test_contrast_is_wcags():
    assert palette.contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert palette.contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert palette.contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)  # the best known near miss
