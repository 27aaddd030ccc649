"""How an operator's health certificate looks: one row a check, the failures opened, then what works where."""

from __future__ import annotations

from tvmlab.records import Bundle, CheckReport, CheckResult, MatrixCell, picture
from tvmlab.show import palette
from tvmlab.show.code import block
from tvmlab.show.html import Html, card, chip, details, join, mono, muted, sentence, table, tag
from tvmlab.show.text import count, duration, plain_table

__all__ = ["brief", "brief_text", "check_report"]

_COLOURS = {"ok": palette.GOOD, "failed": palette.BAD, "warning": palette.NOTE, "skipped": "#C8C8C8"}
_MARKS = {"ok": "✓", "failed": "✗", "warning": "!", "skipped": "–"}
_CELLS = {
    "right": ("✓ right", palette.GOOD),
    "runs": ("runs", palette.SIDES[1]),
    "compiles": ("compiles", palette.SIDES[1]),
    "refused": ("refused", "#C8C8C8"),
    "no code": ("no code", palette.NOTE),
    "wrong": ("✗ wrong", palette.BAD),
}


@picture(CheckReport)
def check_report(record: CheckReport) -> Bundle:
    """The verdict, what failed with its mend and a cell that shows it, all checks, and the matrix."""
    colour = palette.BAD if record.failed else palette.NOTE if record.of_status("warning") else palette.GOOD
    title = join([mono(record.op), " ", *_counts(record), muted(f" in {duration(record.seconds)}")])
    told = [r for r in record.results if r.status in ("failed", "warning")]
    rows = ((_status(r), mono(r.code), _row(r)) for r in record.results if r not in told)
    fine = count(len(record.results) - len(told), "check")
    page = card(
        title,
        *(_told(r, opened=r.status == "failed") for r in told),
        details(fine, table(("", "", ""), rows, "nnl"), opened=not told) if len(told) < len(record.results) else "",
        *([_matrix(record.matrix)] if record.matrix else []),
        accent=colour,
    )
    return {"text/plain": _plain(record), "text/html": str(page)}


def brief(record: CheckReport) -> Html:
    """What matters of a quick check, under an operator's card: failures and warnings; else one line."""
    told = [r for r in record.results if r.status in ("failed", "warning")]
    if not told:
        return sentence(_fine(record))
    return join(_told(r, opened=False) for r in told)


def brief_text(record: CheckReport) -> list[str]:
    """As `brief`, for a terminal."""
    told = [r for r in record.results if r.status in ("failed", "warning")]
    return [line for r in told for line in _lines(r)] or [_fine(record)]


def _fine(record: CheckReport) -> str:
    values = next((r for r in record.results if r.code == "C10" and r.status == "ok"), None)
    more = f": {values.why}" if values is not None else ""
    return f"quick check: {count(len(record.of_status('ok')), 'check')} ok{more}. %tvm_check {record.op} makes all"


def _counts(record: CheckReport) -> list[Html]:
    words = {"ok": "ok", "failed": "failed", "warning": "to know", "skipped": "skipped"}
    return [
        chip(f"{_MARKS[s]} {len(record.of_status(s))} {words[s]}", _COLOURS[s]) for s in _COLOURS if record.of_status(s)
    ]


def _status(result: CheckResult) -> Html:
    return chip(f"{_MARKS[result.status]} {result.status}", _COLOURS[result.status])


def _row(result: CheckResult) -> Html:
    notes = [tag("div", muted(note), style="font-size:92%") for note in result.notes]
    return join([tag("div", result.title), tag("div", muted(result.why), style="font-size:92%"), *notes])


def _told(result: CheckResult, *, opened: bool) -> Html:
    head = join([_status(result), mono(result.code), " ", result.title])
    parts = [tag("div", result.why, style="overflow-wrap:break-word")]
    parts += [tag("div", muted("at "), mono(result.where))] if result.where else []
    parts += [tag("div", muted("mend: "), result.mend)] if result.mend else []
    parts += [tag("div", muted(note)) for note in result.notes]
    parts += [Html(result.reads._repr_mimebundle_()["text/html"])] if result.reads is not None else []
    parts += [details("a cell that shows it", block(result.repro))] if result.repro else []
    parts += [tag("div", muted(f"lesson {result.lesson}"), style="font-size:92%")] if result.lesson else []
    return details(head, *parts, opened=opened)


def _matrix(cells: tuple[MatrixCell, ...]) -> Html:
    columns = list(dict.fromkeys((c.target, c.shape) for c in cells))
    by_place = {(c.dtype, c.target, c.shape): c for c in cells}
    head = ("dtype", *(join([mono(t), tag("div", muted(s))]) for t, s in columns))
    rows = (
        (mono(dtype), *(_cell(by_place.get((dtype, *column))) for column in columns))
        for dtype in dict.fromkeys(c.dtype for c in cells)
    )
    explained = "right: values compared with the reference; compiles: there is no device here to run it on."
    return join([table(head, rows, "n" * (len(columns) + 1)), sentence(explained)])


def _cell(cell: MatrixCell | None) -> Html:
    if cell is None:
        return Html("")
    word, colour = _CELLS[cell.status]
    return chip(word, colour, title=cell.detail)


def _plain(record: CheckReport) -> str:
    lines = [record.headline]
    rows = [(_MARKS[r.status], r.code, r.title, r.why) for r in record.results if r.status not in ("failed", "warning")]
    for result in record.results:
        if result.status in ("failed", "warning"):
            lines += _lines(result)
    lines += [plain_table(("", "", "", ""), rows)] if rows else []
    if record.matrix:
        lines += ["", _plain_matrix(record.matrix)]
    return "\n".join(lines)


def _lines(result: CheckResult) -> list[str]:
    lines = [f"{_MARKS[result.status]} {result.code} {result.title}: {result.why}"]
    lines += [f"    at {result.where}"] if result.where else []
    lines += [f"    mend: {result.mend}"] if result.mend else []
    lines += [f"    {note}" for note in result.notes]
    lines += [f"    > {line}" for line in result.repro.splitlines()]
    return lines


def _plain_matrix(cells: tuple[MatrixCell, ...]) -> str:
    columns = list(dict.fromkeys((c.target, c.shape) for c in cells))
    by_place = {(c.dtype, c.target, c.shape): c.status for c in cells}
    rows = (
        (dtype, *(by_place.get((dtype, *column), "") for column in columns))
        for dtype in dict.fromkeys(c.dtype for c in cells)
    )
    return plain_table(("dtype", *(f"{t} {s}" for t, s in columns)), rows)
