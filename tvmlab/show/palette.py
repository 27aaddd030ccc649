"""Colours: Okabe and Ito's, which the colour-blind tell apart, and mixtures that read on light and on dark themes.

Nothing here is the only carrier of a meaning: every colour stands beside a word.
"""

from __future__ import annotations

__all__ = [
    "ADDED",
    "BAD",
    "GOOD",
    "KINDS",
    "LINE",
    "NOTE",
    "REMOVED",
    "SHADE",
    "SIDES",
    "contrast",
    "ink_on",
    "kind_colour",
    "luminance",
]

_ORANGE = "#E69F00"
_SKY = "#56B4E9"
_GREEN = "#009E73"
_YELLOW = "#F0E442"
_BLUE = "#0072B2"
_VERMILION = "#D55E00"
_PURPLE = "#CC79A7"
_GREY = "#9A9A9A"

# TVM's pattern kinds, from the most to the least willing to fuse.
KINDS = {
    "kElemWise": _GREEN,
    "kBroadcast": _SKY,
    "kInjective": _BLUE,
    "kCommReduce": _ORANGE,
    "kOutEWiseFusable": _PURPLE,
    "kTuple": _YELLOW,
    "kOpaque": _GREY,
}
_UNKNOWN = "#C8C8C8"

SIDES = (_ORANGE, _SKY, _GREEN, _BLUE, _PURPLE, _VERMILION)

GOOD, NOTE, BAD = _GREEN, _ORANGE, _VERMILION

# Translucent, so that the theme's own background shows through.
ADDED = "rgba(0,158,115,0.20)"
REMOVED = "rgba(213,94,0,0.20)"
LINE = "rgba(127,127,127,0.40)"
SHADE = "rgba(127,127,127,0.10)"

_DARK_INK, _LIGHT_INK = "#111111", "#FFFFFF"


def kind_colour(kind: str) -> str:
    """The colour of a pattern kind; light grey for a kind that TVM does not have."""
    return KINDS.get(kind, _UNKNOWN)


def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on a colour."""
    return max((_DARK_INK, _LIGHT_INK), key=lambda ink: contrast(ink, colour))


def contrast(a: str, b: str) -> float:
    """Contrast of two colours as WCAG 2 defines it: 1 to 21, and 4.5 is enough for text."""
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of ``#RRGGBB``, 0 to 1."""
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
