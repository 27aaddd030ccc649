"""How a timing looks: every repeat a dot, medians and quartiles, and the ratios round by round."""

from __future__ import annotations

import base64
import io
import warnings
from typing import Any

from tvmlab.records import Bundle, Side, Timing, picture, quantile
from tvmlab.show import palette
from tvmlab.show.html import Html, card, image, join, mono, muted, notes, sentence, table
from tvmlab.show.kernel_profiles import profile_body, profile_lines
from tvmlab.show.text import count, duration, plain_table, short

PEERS = ("onnxruntime", "onnxruntime-all", "onnxruntime-off", "numpy")
_WIDTH = 620
_NAME = 28  # characters
_HEAD = ("side", "median", "quartiles", "least", "against {}", "quartiles", "")
_ALIGN = "lrrrrrl"
_CIRCLE = {"s": 16, "facecolors": "none", "edgecolors": "#222222", "linewidths": 0.8}


@picture(Timing)
def timing(record: Timing) -> Bundle:
    """A plot, a table and the notes."""
    rounds = len(record.sides[0].seconds) if record.sides else 0
    measured = f"({count(record.threads, 'thread')}, {count(rounds, 'round')} interleaved)"
    title = join([f"{short(record.model)}: {summary(record)} ", muted(measured)])
    head = [h.format(short(record.baseline)) for h in _HEAD]
    rows = [_row(record, side) for side in record.sides]
    png = _plot(record) if record.sides else b""
    plot = image(png, _alt(record), _WIDTH) if png else Html()
    machine = ", ".join(f"{key} {value}" for key, value in record.machine.items())
    page = card(
        title,
        plot,
        table(head, ([mono(row[0]), *row[1:]] for row in rows), _ALIGN),
        sentence(_explanation(record)),
        notes(record.notes),
        profile_body(record.kernels) if record.kernels else "",
        sentence(machine),
        accent=palette.SIDES[1],
    )
    kernels = profile_lines(record.kernels) if record.kernels else []
    table_ = plain_table(head, rows, _ALIGN)
    beyond = f"repeats beyond Tukey's fences, which are kept: {_beyond(record)}"
    lines = [record.headline, table_, beyond, *record.notes, *kernels, machine]
    alone = {"image/png": base64.b64encode(png).decode("ascii")} if png else {}
    return {"text/plain": "\n".join(lines), "text/html": str(page), **alone}


def summary(record: Timing) -> str:
    """What tvmlab reached, against the baseline and against the peer."""
    ours = [s.name for s in record.sides if s.name not in {record.baseline, *PEERS}]
    against = [s.name for s in record.sides if s.name in {record.baseline, *PEERS}]
    if not ours or not against:
        return ", ".join(f"{short(s.name)} {duration(_median(s))}" for s in record.sides) or "nothing timed"
    ratios = " and ".join(f"{ratio(record.ratio(name, ours[-1])[1])} × as fast as {short(name)}" for name in against)
    return f"{short(ours[-1])} is {ratios}"


def _median(side: Side) -> float:
    return quantile(sorted(side.seconds), 0.5)


def _row(record: Timing, side: Side) -> tuple[str, ...]:
    ordered = sorted(side.seconds)
    low, middle, high = (quantile(ordered, q) for q in (0.25, 0.5, 0.75))
    slow, usual, fast = record.ratio(record.baseline, side.name)
    return (
        short(side.name),
        duration(middle),
        f"{duration(low)} – {duration(high)}",
        duration(ordered[0]),
        "1" if side.name == record.baseline else f"{ratio(usual)} ×",
        "" if side.name == record.baseline else f"{ratio(slow)} – {ratio(fast)}",
        side.note,
    )


def ratio(value: float) -> str:
    """Three significant digits."""
    return f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:,.0f}"


def _explanation(record: Timing) -> str:
    baseline = short(record.baseline)
    return (
        f"“against {baseline}”: how many times as fast as {baseline}; below 1 is slower. It is taken "
        "round by round, since what disturbs a round disturbs all of its sides. "
        "Quartiles: half of the rounds lie between them. Every repeat is kept and shown; those beyond Tukey's fences "
        f"(1.5 times the distance of the quartiles from them) are circles: {_beyond(record)}."
    )


def _beyond(record: Timing) -> str:
    return ", ".join(f"{short(side.name)} {len(side.outliers)}" for side in record.sides if side.outliers) or "none"


def _alt(record: Timing) -> str:
    sides = "; ".join(f"{short(s.name)} median {duration(_median(s))}" for s in record.sides)
    return f"Plot of every repeat of each side on a logarithmic axis of time: {sides}"


def _plot(record: Timing) -> bytes:
    """A PNG, one row a side: repeats as dots, a bar from quartile to quartile, a stroke at the median."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    # Made without pyplot, so that neither its state nor the user's backend is touched.
    figure = Figure(figsize=(6.2, 0.75 + 0.52 * len(record.sides)), dpi=200, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for row, side in enumerate(record.sides):
        _draw_side(axes, record, side, row)
    axes.set_xscale("log")
    names = [short(s.name, _NAME).replace("\n", " ") for s in record.sides]
    style: dict[str, Any] = {"fontsize": 9, "parse_math": False, "fontfamily": families("".join(names))}
    axes.set_yticks(range(len(record.sides)), names, **style)
    axes.set_ylim(len(record.sides) - 0.5, -0.55)
    low = min(min(s.seconds) for s in record.sides)
    high = max(max(s.seconds) for s in record.sides)
    axes.set_xlim(low / 1.25, high * 1.9)
    decades = high / low > 300
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if decades else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _tick(x)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("time of one run", fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", which="major", color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)
    for edge in ("top", "right", "left"):
        axes.spines[edge].set_visible(False)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # no font here has it; the table beside it does
        figure.savefig(buffer, format="png", facecolor="white")
    return buffer.getvalue()


def families(text: str) -> list[str]:
    """Fonts that have every letter of a text, as far as there are such here; the usual one first."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    usual = font_manager.findfont("DejaVu Sans")
    missing = {letter for letter in text if not FT2Font(usual).get_char_index(ord(letter))}
    found = ["DejaVu Sans"]
    for font in font_manager.fontManager.ttflist if missing else ():
        has = {letter for letter in missing if FT2Font(font.fname).get_char_index(ord(letter))}
        if has:
            found.append(font.name)
            missing -= has
    return found


def _draw_side(axes: object, record: Timing, side: Side, row: int) -> None:
    colour = palette.SIDES[row % len(palette.SIDES)]
    ordered = sorted(side.seconds)
    low, middle, high = (quantile(ordered, q) for q in (0.25, 0.5, 0.75))
    axes.fill_betweenx([row - 0.3, row + 0.3], low, high, color=colour, alpha=0.35, linewidth=0)  # type: ignore[attr-defined]
    axes.plot([middle, middle], [row - 0.34, row + 0.34], color=colour, linewidth=2.2)  # type: ignore[attr-defined]
    # Spread over the row in the order of measurement, so that a drift is seen as a slope.
    heights = [row + 0.24 * (2 * i / max(len(ordered) - 1, 1) - 1) for i in range(len(side.seconds))]
    beyond = set(side.outliers)
    for apart, style in ((False, {"s": 9, "color": "#222222", "linewidths": 0}), (True, _CIRCLE)):
        chosen = [i for i in range(len(heights)) if (i in beyond) == apart]
        x, y = [side.seconds[i] for i in chosen], [heights[i] for i in chosen]
        axes.scatter(x, y, alpha=0.65, zorder=3, **style)  # type: ignore[attr-defined]
    label = duration(middle)
    if side.name != record.baseline:
        label += f"   {ratio(record.ratio(record.baseline, side.name)[1])}×"
    axes.annotate(label, (max(ordered), row), xytext=(7, 0), textcoords="offset points", va="center", fontsize=8)  # type: ignore[attr-defined]


def _tick(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.999 or unit == "µs":
            return f"{seconds / size:g} {unit}"
    raise AssertionError(seconds)
