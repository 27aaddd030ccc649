"""Which elements one element of a te.compute is made of: tensors as grids, what does not exist in red beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tvmlab.records import Bundle, Reads, TensorReads, picture
from tvmlab.show import palette
from tvmlab.show.html import Html, card, chip, escape, image, join, mono, muted, scroll, sentence, tag
from tvmlab.show.node_words import elided, text_width
from tvmlab.show.scene_svg import FONT
from tvmlab.show.text import count, plain_table, short

__all__ = ["drawing", "reads"]

_CELL = 22
_MARGIN = 26  # the numbers of rows
_HEAD, _PLANE, _NUMBERS = 22, 16, 14  # lines of text above: of a tensor, of a plane, of columns
_GAP = 26
_SIDE = 14  # rows and columns that are shown of a plane
_BEYOND = 2  # rows and columns that do not exist, on each side
_PLANES = 6
_ACROSS = 3  # planes beside one another
_WIDE = 900
_LISTED = 12

_READ, _MADE, _OUTSIDE = palette.SIDES[1], palette.GOOD, palette.BAD

Point = tuple[int, ...]


@picture(Reads)
def reads(record: Reads) -> Bundle:
    """The picture, what each colour means, and the elements in words."""
    colour = palette.GOOD if record.ok else palette.BAD
    output = record.tensors[-1]
    verdict = [] if record.ok else [" ", chip("reads outside", palette.BAD)]
    title = join([mono(short(record.subject)), ": ", mono(_element(output.name, record.at)), *verdict])
    data, width = drawing(record)
    rows = [_words(tensor) for tensor in record.tensors[:-1]]
    page = card(
        title,
        scroll(image(data, _alt(record), width, shrinks=False), height="40em"),
        _legend(record),
        *(sentence(join([mono(name), f" {list(shape)}: ", said])) for name, shape, said in rows),
        accent=colour,
    )
    table = plain_table(("", "", ""), ((name, list(shape), said) for name, shape, said in rows))
    return {"text/plain": f"{record.headline}\n{table}" if rows else record.headline, "text/html": str(page)}


def _element(name: str, index: Sequence[int]) -> str:
    return f"{short(name)}[{', '.join(map(str, index))}]"


def _words(tensor: TensorReads) -> tuple[str, Point, str]:
    parts = []
    if tensor.inside:
        again = f", {tensor.times:,} reads" if tensor.times != len(tensor.inside) else ""
        parts.append(f"{count(len(tensor.inside), 'element')}{again}: {_list(list(tensor.inside))}")
    if tensor.outside:
        exist = "does" if len(tensor.outside) == 1 else "do"
        parts.append(f"{len(tensor.outside):,} that {exist} not exist: {_list(tensor.outside)}")
    if tensor.by_data:
        parts.append("its data, or those of another tensor, say which; any may be read")
    return short(tensor.name), tensor.shape, "; ".join(parts) or "not read"


def _list(points: Sequence[Point]) -> str:
    more = " …" if len(points) > _LISTED else ""
    return " ".join(f"[{', '.join(map(str, point))}]" for point in points[:_LISTED]) + more


def _alt(record: Reads) -> str:
    said = "; ".join(f"{name}: {words}" for name, _, words in map(_words, record.tensors[:-1]))
    return short(f"{_element(record.tensors[-1].name, record.at)} is made of {said or 'nothing'}", 1000)


def _legend(record: Reads) -> Html:
    chips = [chip("made", _MADE), chip("read", _READ)]
    chips += [] if record.ok else [chip("read, and does not exist", _OUTSIDE)]
    return tag("div", *chips, muted("a number: how often it is read"), style="font-size:92%;margin:4px 0")


# The picture


@dataclass(frozen=True)
class _Plane:
    """The last two axes of a tensor at one place of the others; rows and columns that are shown."""

    heading: str
    rows: range
    columns: range
    cells: dict[tuple[int, int], tuple[str, int]]

    @property
    def width(self) -> float:
        return max(_MARGIN + _CELL * len(self.columns), text_width(self.heading) + 8)

    @property
    def height(self) -> float:
        return (_PLANE if self.heading else 0) + _NUMBERS + _CELL * len(self.rows)


def drawing(record: Reads) -> tuple[bytes, int]:
    """An SVG document on white, and its width in pixels."""
    parts: list[str] = []
    x, y, bottom, right = 8.0, 8.0, 8.0, 0.0
    for tensor in record.tensors:
        drawn, width, height = _tensor(tensor)
        if x > 8 and x + width > _WIDE:
            x, y = 8.0, bottom + _GAP / 2
        parts.append(f'<g transform="translate({x:.1f} {y:.1f})">{drawn}</g>')
        x += width + _GAP
        bottom, right = max(bottom, y + height), max(right, x - _GAP)
    whole = (round(right + 8), round(bottom + 8))
    style = (
        f"text{{font:10px {FONT};fill:#1f1f1f}}.h{{font-weight:600;font-size:12px}}.q{{fill:#595959}}"
        ".c{text-anchor:middle}.e{text-anchor:end;fill:#595959}"
        "rect{stroke:#9a9a9a;fill:#fff}.b{fill:#f1f1f1;stroke:#c4c4c4}"
        f".r{{fill:{_READ};stroke:#2b6f97}}.m{{fill:{_MADE};stroke:#00583f}}"
        f".o{{fill:{_OUTSIDE};stroke:#7d3700;stroke-dasharray:3 2}}"
        ".p{fill:#d9edf9;stroke:#2b6f97;stroke-dasharray:3 2}"
        f".x{{fill:{palette.ink_on(_OUTSIDE)};font-weight:700}}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole[0]} {whole[1]}" width="{whole[0]}" '
    text = f'{head}height="{whole[1]}"><style>{style}</style>{"".join(parts)}</svg>'
    return text.encode(), whole[0]


def _tensor(tensor: TensorReads) -> tuple[str, float, float]:
    """A tensor's planes, with their width and height."""
    planes, left_out = _planes(tensor)
    heading = f"{elided(short(tensor.name), 150)} {list(tensor.shape)}"
    what = {"input": "", "between": "computed in between", "output": "the result"}[tensor.role]
    notes = [*([what] if what else []), *(["which elements: data say"] if tensor.by_data else [])]
    notes += [count(left_out, "more plane")] if left_out else []
    parts = [f'<text class="h" x="0" y="12">{escape(heading)}</text>']
    parts += [f'<text class="q" x="0" y="26">{escape("; ".join(notes))}</text>'] if notes else []
    top = _HEAD + (12 if notes else 0)
    x, y, row, right = 0.0, float(top), 0.0, text_width(heading) * 1.15
    for at, plane in enumerate(planes):
        if at and at % _ACROSS == 0:
            x, y, row = 0.0, y + row + 10, 0.0
        parts += _drawn(plane, x, y)
        x += plane.width + 10
        row, right = max(row, plane.height), max(right, x - 10)
    return "".join(parts), max(right, text_width("; ".join(notes))), y + row


def _planes(tensor: TensorReads) -> tuple[list[_Plane], int]:
    """Those that hold something that is read, or else the first; and how many there is no room for."""
    state = "m" if tensor.role == "output" else "r"
    marked = {point: (state, times) for point, times in tensor.inside.items()}
    marked |= dict.fromkeys(tensor.outside, ("o", 1))
    padded = {_two(point): told for point, told in marked.items()}
    leading = sorted({point[:-2] for point in padded}) or [(0,) * max(len(tensor.shape) - 2, 0)]
    sizes = _two(tensor.shape, 1)[-2:]
    found = []
    for place in leading[:_PLANES]:
        cells = {(p[-2], p[-1]): told for p, told in padded.items() if p[:-2] == place}
        heading = f"[{', '.join(map(str, place))}, :, :]" if place else ""
        lines = [_shown([cell[axis] for cell in cells], sizes[axis]) for axis in (0, 1)]
        exists = all(0 <= at < size for at, size in zip(place, tensor.shape, strict=False))
        grid = _grid(lines, sizes, "p" if tensor.by_data else "b") if exists else {}
        found.append(_Plane(heading, lines[0], lines[1], {**grid, **cells}))
    return found, len(leading) - len(found)


def _two(point: Point, filler: int = 0) -> Point:
    """With at least two axes."""
    return (filler,) * (2 - len(point)) + point


def _shown(marked: Sequence[int], size: int) -> range:
    """The rows or columns that are shown: those that exist and those beyond that are read, or a window of them."""
    first = max(min([0, *marked]), -_BEYOND)
    last = min(max([size - 1, *marked]), size - 1 + _BEYOND)
    if last - first < _SIDE:
        return range(first, last + 1)
    start = min(max(min(marked, default=0) - 2, first), last + 1 - _SIDE)
    return range(start, start + _SIDE)


def _grid(lines: Sequence[range], sizes: Point, state: str) -> dict[tuple[int, int], tuple[str, int]]:
    """The elements that exist."""
    rows, columns = ([at for at in line if 0 <= at < size] for line, size in zip(lines, sizes, strict=True))
    return {(i, j): (state, 0) for i in rows for j in columns}


def _drawn(plane: _Plane, x: float, y: float) -> Iterator[str]:
    if plane.heading:
        yield f'<text class="q" x="{x:.1f}" y="{y + 10:.1f}">{escape(plane.heading)}</text>'
        y += _PLANE
    for across, j in enumerate(plane.columns):
        yield f'<text class="c q" x="{x + _MARGIN + _CELL * (across + 0.5):.1f}" y="{y + 9:.1f}">{j}</text>'
    y += _NUMBERS
    for down, i in enumerate(plane.rows):
        if len(plane.rows) > 1 or i:
            yield f'<text class="e" x="{x + _MARGIN - 5:.1f}" y="{y + _CELL * (down + 0.5) + 4:.1f}">{i}</text>'
        for across, j in enumerate(plane.columns):
            told = plane.cells.get((i, j))
            if told is not None:
                yield from _cell(told, x + _MARGIN + _CELL * across, y + _CELL * down)


def _cell(told: tuple[str, int], x: float, y: float) -> Iterator[str]:
    state, times = told
    yield f'<rect class="{state}" x="{x + 1:.1f}" y="{y + 1:.1f}" width="{_CELL - 2}" height="{_CELL - 2}" rx="2"/>'
    middle = f'x="{x + _CELL / 2:.1f}" y="{y + _CELL / 2 + 4:.1f}"'
    if state == "o":
        yield f'<text class="c x" {middle}>✗</text>'
    elif times > 1:
        yield f'<text class="c" {middle}>{times if times < 1000 else "…"}</text>'
