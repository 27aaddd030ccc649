"""Scenes as an SVG, and as data for the explorer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tvmlab.show import palette
from tvmlab.show.graphs import DIGIT, TILE, Box, Scene, Tile
from tvmlab.show.html import escape
from tvmlab.show.layouts import Point
from tvmlab.show.node_words import STRIP, elided, text_width

__all__ = ["FONT", "LETTERS", "TINTS", "colour_of", "curve", "facts", "svg"]

FONT = "system-ui, 'DejaVu Sans', sans-serif"
LETTERS = {"ELEM": "E", "BCAST": "B", "INJ": "I", "REDUCE": "R", "OEF": "O", "TUPLE": "T", "OPAQUE": "X"}
TINTS = (palette.SIDES[0], palette.SIDES[3], palette.SIDES[2], palette.SIDES[4], palette.SIDES[1], palette.SIDES[5])
_TITLES = dict(zip(LETTERS, palette.KINDS, strict=True))

# Colour, more of its style, and how wide the head is, of each sort of arrow.
_STROKES = {
    "between": ("#5f5f5f", "stroke-width:1.7", 8),
    "inside": ("#8a8a8a", "stroke-width:1", 6),
    "merged": (palette.GOOD, "stroke-width:2.2", 8),
    "refused": (palette.BAD, "stroke-width:1.5;stroke-dasharray:5 3", 8),
    "end": ("#8a8a8a", "stroke-width:1;stroke-dasharray:1 3", 6),
}


def curve(points: Sequence[Point]) -> str:
    """A smooth way through points, from above to below, as the data of a path."""
    distinct = [p for at, p in enumerate(points) if not at or _apart(p, points[at - 1])]
    parts = [f"M{_number(distinct[0][0])} {_number(distinct[0][1])}"]
    for (x, y), (to_x, to_y) in itertools.pairwise(distinct):
        if abs(x - to_x) < 0.6:
            parts.append(f"L{_number(to_x)} {_number(to_y)}")
        else:
            middle = (y + to_y) / 2
            numbers_ = " ".join(map(_number, (x, middle, to_x, middle, to_x, to_y)))
            parts.append(f"C{numbers_}")
    return "".join(parts)


def _apart(a: Point, b: Point) -> bool:
    return abs(a[0] - b[0]) > 0.1 or abs(a[1] - b[1]) > 0.1


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def tint(number: int | None) -> str:
    """The colour of a group."""
    return TINTS[(number - 1) % len(TINTS)] if number is not None else "#9A9A9A"


def colour_of(kind: str) -> str:
    return palette.kind_colour(_TITLES[kind])


def svg(
    parts: Sequence[tuple[str, Scene]], titles: Mapping[int, str], kinds: Iterable[str], margin: float = 10.0
) -> tuple[bytes, int, int]:
    """Scenes side by side, each under its heading, and a legend; with width and height in pixels."""
    drawn, at = [], margin
    height = max(scene.height for _, scene in parts)
    for heading, scene in parts:
        drawn.append(f'<g transform="translate({_number(at)} 34)">')
        drawn.append(f'<text class="h" x="0" y="-18">{escape(heading)}</text>{"".join(_drawn(scene, titles))}</g>')
        at += max(scene.width, 1.25 * text_width(heading)) + 40
    legend = "".join(_legend(kinds, height + 58))
    width = max(at - 40 + margin, 30 + 118.0 * min(len(set(kinds)), 4))
    rows = (len(set(kinds)) + 3) // 4
    whole = (round(width), round(height + 46 + 20 * rows))
    style = (
        f"text{{font:11px {FONT};fill:#1f1f1f}}.h{{font-weight:600;font-size:12px}}.q{{fill:#595959;font-size:10px}}"
        ".t{fill:#fff;stroke:#6b6b6b}.f{fill:none;stroke:#6b6b6b;stroke-dasharray:4 3}"
        ".n{font-weight:700;font-size:10px}.b{unicode-bidi:isolate}"
        + "".join(f".{name}{{fill:none;stroke:{ink};{more}}}" for name, (ink, more, _) in _STROKES.items())
    )
    size_of = f'viewBox="0 0 {whole[0]} {whole[1]}" width="{whole[0]}" height="{whole[1]}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size_of}>'
    markers = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="{wide}" markerHeight="{wide}" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="{ink}"/></marker>'
        for name, (ink, _, wide) in _STROKES.items()
    )
    text = f"{head}<style>{style}</style><defs>{markers}</defs>{''.join(drawn)}{legend}</svg>"
    return text.encode(), *whole


def _drawn(scene: Scene, titles: Mapping[int, str]) -> Iterator[str]:
    for frame in scene.frames:
        right = _number(frame.x + frame.width - 14)
        yield f'<rect class="f" rx="6" {_rectangle(frame)}/>'
        yield f'<text class="h" x="{right}" y="{_number(frame.y + 15)}">{escape(frame.text[0])}</text>'
    for box in scene.boxes:
        yield from _box(box)
    seen: set[str] = set()
    for arrow in scene.arrows:
        path = curve(arrow.points)
        if path not in seen:
            seen.add(path)
            yield f'<path class="{arrow.style}" marker-end="url(#{arrow.style})" d="{path}"/>'
    for tile in scene.tiles:
        yield _tile(tile, titles.get(tile.node, ""))


def _rectangle(box: Box) -> str:
    return f'x="{_number(box.x)}" y="{_number(box.y)}" width="{_number(box.width)}" height="{_number(box.height)}"'


def _box(box: Box) -> Iterator[str]:
    if box.folded:
        yield f'<rect rx="6" fill="#ececec" stroke="#6b6b6b" stroke-dasharray="4 3" {_rectangle(box)}/>'
    else:
        ink = tint(box.number)
        yield f'<rect rx="6" fill="{ink}" fill-opacity=".16" stroke="{ink}" {_rectangle(box)}/>'
        if box.number is not None:
            yield f'<text class="n" x="{_number(box.x + 4)}" y="{_number(box.y + 13)}">{box.number}</text>'
    middle = box.y + box.height / 2
    lines = [line for line in box.text if line]
    if 13 * len(lines) > box.height - 4:
        lines = [lines[0], " · ".join(lines[1:])]
    start = middle + 4 - 6.5 * (len(lines) - 1)
    for at, line in enumerate(lines):
        style = "b" if not at else "q"
        left = 10 if box.number is None else 10 + DIGIT * len(str(box.number))
        room, x = box.width - left - 6, box.x + left
        place = f'x="{_number(x)}" y="{_number(start + 13 * at)}"'
        yield f'<text class="{style}" {place}>{escape(elided(line, room))}</text>'


def _tile(tile: Tile, title: str) -> str:
    x, y = tile.x - tile.width / 2, tile.y - TILE / 2
    ink = colour_of(tile.kind)
    dashes = "" if tile.computes else ' stroke-dasharray="3 2"'
    strip = f"M{_number(x + 4)} {_number(y)}h{STRIP - 4:.0f}v{TILE:.0f}h-{STRIP - 4:.0f}q-4 0 -4 -4v-14q0 -4 4 -4z"
    corner = f'x="{_number(x)}" y="{_number(y)}" width="{_number(tile.width)}" height="{_number(TILE)}"'
    return (
        f"<g><title>{escape(title)}</title>"
        f'<rect class="t" rx="4" {corner}{dashes}/>'
        f'<path fill="{ink}" d="{strip}"/>'
        f'<text class="n" text-anchor="middle" x="{_number(x + STRIP / 2)}" y="{_number(tile.y + 4)}" '
        f'style="fill:{palette.ink_on(ink)}">{LETTERS[tile.kind]}</text>'
        f'<text class="b" x="{_number(x + STRIP + 6)}" y="{_number(tile.y + 4)}">{escape(tile.text)}</text></g>'
    )


def _legend(kinds: Iterable[str], y: float) -> Iterator[str]:
    order = [kind for kind in LETTERS if kind in set(kinds)]
    for at, kind in enumerate(order):
        x, down = 10 + 118 * (at % 4), y + 20 * (at // 4)
        ink = colour_of(kind)
        yield f'<rect x="{x}" y="{_number(down - 11)}" width="16" height="15" rx="3" fill="{ink}"/>'
        yield (
            f'<text class="n" text-anchor="middle" x="{x + 8}" y="{_number(down + 1)}" '
            f'style="fill:{palette.ink_on(ink)}">{LETTERS[kind]}</text>'
        )
        yield f'<text x="{x + 22}" y="{_number(down + 1)}">{kind.lower()}</text>'


def facts(scene: Scene) -> dict[str, Any]:
    """A scene as JSON data."""
    return {
        "width": round(scene.width, 1),
        "height": round(scene.height, 1),
        "tiles": [
            {"node": t.node, "x": round(t.x, 1), "y": round(t.y, 1), "width": round(t.width, 1), "text": t.text,
             "kind": t.kind, "computes": t.computes}
            for t in scene.tiles
        ],
        "boxes": [
            {"group": b.group, "number": b.number, "x": round(b.x, 1), "y": round(b.y, 1), "width": round(b.width, 1),
             "height": round(b.height, 1), "text": [elided(line, b.width - 30) for line in b.text if line],
             "folded": b.folded}
            for b in [*scene.boxes]
        ],
        "frames": [
            {"x": round(f.x, 1), "y": round(f.y, 1), "width": round(f.width, 1), "height": round(f.height, 1),
             "text": f.text[0]}
            for f in scene.frames
        ],
        "arrows": [
            {"start": a.start, "end": a.end, "path": curve(a.points), "style": a.style} for a in scene.arrows
        ],
    }  # fmt: skip
