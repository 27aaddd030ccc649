"""A roofline as SVG: what each kernel reaches, under what memory and arithmetic allow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tvmlab.records import KernelProfile, KernelTime
from tvmlab.show import palette
from tvmlab.show.html import escape
from tvmlab.show.text import rate, short, size

__all__ = ["BOUNDS", "HEIGHT", "WIDTH", "roofline"]

WIDTH, HEIGHT = 620, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 16, 18, 44
_INK, _GRID, _SOFT = "#222222", "#DDDDDD", "#666666"
_FONT = "system-ui, 'DejaVu Sans', sans-serif"
_LABELLED = 9

BOUNDS = {"memory": palette.SIDES[3], "compute": palette.SIDES[0]}


@dataclass(frozen=True)
class _Axes:
    """From operations a byte and operations a second to places in the picture; both logarithmic."""

    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, value: float) -> float:
        return _LEFT + _part(value, *self.x) * (WIDTH - _LEFT - _RIGHT)

    def down(self, value: float) -> float:
        return HEIGHT - _BOTTOM - _part(value, *self.y) * (HEIGHT - _TOP - _BOTTOM)


def _part(value: float, low: float, high: float) -> float:
    return math.log(value / low) / math.log(high / low)


def roofline(profile: KernelProfile) -> str:
    """An SVG document, on white, with numbers that stand for the rows of the table; empty if no kernel computes."""
    numbered = [(n, k) for n, k in enumerate(profile.kernels, 1) if k.operations and k.moved and k.median > 0]
    if not numbered:
        return ""
    axes = _axes(profile, [k for _, k in numbered])
    parts = [*_grid(axes), *_roofs(profile, axes), *_dots(profile, axes, numbered)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="{_FONT}" font-size="11"><rect width="100%" height="100%" fill="#FFFFFF"/>{"".join(parts)}</svg>'
    )


def _intensity(kernel: KernelTime) -> float:
    return (kernel.operations or 0) / (kernel.moved or 1)


def _reached(kernel: KernelTime) -> float:
    return (kernel.operations or 0) / kernel.median


def _axes(profile: KernelProfile, kernels: Sequence[KernelTime]) -> _Axes:
    ridges = [profile.peak / bandwidth for bandwidth in profile.bandwidths.values()]
    along = [*map(_intensity, kernels), *ridges]
    up = [*map(_reached, kernels), profile.peak]
    return _Axes((min(along) / 2, max(along) * 3), (min(up) / 2.5, max(up) * 2))


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" {more}/>'


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{_INK}" {more}>{escape(text)}</text>'


def _grid(axes: _Axes) -> Iterator[str]:
    bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    for value in _ticks(*axes.x):
        at = axes.across(value)
        yield _line(at, _TOP, at, bottom, _GRID)
        yield _text(at, bottom + 15, f"{value:g}", 'text-anchor="middle"')
    for value in _ticks(*axes.y):
        at = axes.down(value)
        yield _line(_LEFT, at, right, at, _GRID)
        yield _text(_LEFT - 6, at + 4, f"{value / 1e9:g}", 'text-anchor="end"')
    yield _text((_LEFT + right) / 2, HEIGHT - 8, "operations a byte", 'text-anchor="middle"')
    middle = (_TOP + bottom) / 2
    yield _text(14, middle, "Gop/s", f'text-anchor="middle" transform="rotate(-90 14 {middle:.1f})"')


def _ticks(low: float, high: float) -> list[float]:
    """Powers of 10, and their halves where there are few."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1.0,) if len(exponents) > 4 else (1.0, 3.0)
    return [step * 10.0**e for e in exponents for step in steps if low <= step * 10.0**e <= high]


def _roofs(profile: KernelProfile, axes: _Axes) -> Iterator[str]:
    low, high = axes.x
    most = profile.peak
    bandwidths = sorted(profile.bandwidths.items(), key=lambda item: item[1])
    ridge = most / bandwidths[-1][1]
    yield _line(axes.across(ridge), axes.down(most), axes.across(high), axes.down(most), _INK, 'stroke-width="1.6"')
    said = f"{most / 1e9:.3g} Gop/s, multiply and add in float32"
    yield _text(WIDTH - _RIGHT - 4, axes.down(most) - 6, said, 'text-anchor="end"')
    taken: list[float] = []
    for bytes_, bandwidth in bandwidths:
        start = max(low, axes.y[0] / bandwidth)
        ends = (axes.across(start), axes.down(start * bandwidth))
        top = (axes.across(most / bandwidth), axes.down(most))
        yield _line(*ends, *top, _INK, 'stroke-width="1.2"')
        turn = math.degrees(math.atan2(top[1] - ends[1], top[0] - ends[0]))
        x, y = ends[0] + 0.06 * (top[0] - ends[0]), ends[1] + 0.06 * (top[1] - ends[1])
        if all(abs(y - other) > 18 for other in taken):  # of lines that lie on each other one is named
            taken.append(y)
            place = f'transform="rotate({turn:.1f} {x:.1f} {y:.1f})" dy="-4"'
            yield _text(x, y, f"{rate(bandwidth)} at {size(bytes_)}", place)


def _dots(profile: KernelProfile, axes: _Axes, numbered: Sequence[tuple[int, KernelTime]]) -> Iterator[str]:
    for number, kernel in reversed(numbered):
        x, y = axes.across(_intensity(kernel)), axes.down(_reached(kernel))
        radius = 3 + 13 * math.sqrt(profile.share(kernel))
        colour = BOUNDS[kernel.bound]
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" fill-opacity="0.75" stroke="#FFFFFF">'
            f"<title>{escape(short(kernel.name))}</title></circle>"
        )
        if number <= _LABELLED:
            yield _text(x + radius + 2, y + 4, str(number), 'font-weight="600"')
