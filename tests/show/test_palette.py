"""Colours read: ink on chips, code on its paper."""

from __future__ import annotations

import pytest

from tvmlab.show import code, palette


@pytest.mark.parametrize("colour", [*palette.KINDS.values(), palette.GOOD, palette.NOTE, palette.BAD, "#C8C8C8"])
def test_ink_reads_on_every_chip(colour):
    assert palette.contrast(palette.ink_on(colour), colour) >= 4.5


def test_kinds_have_a_colour_each():
    colours = [*palette.KINDS.values(), palette.kind_colour("kSomethingNew")]
    assert len(set(colours)) == len(colours)


def test_contrast_is_wcags():
    assert palette.contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert palette.contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert palette.contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)  # the best known near miss


def test_code_reads_on_its_paper_and_on_what_is_added_and_removed():
    inks = {style[style.index("#") :] for style in code.Middle.styles.values() if "#" in style}
    for ground in (code.PAPER, code.ADDED, code.REMOVED):
        for ink in {code.INK, code.GREY, *inks}:
            assert palette.contrast(ink, ground) >= 4.5, (ink, ground)
