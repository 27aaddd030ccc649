"""How the difference of two stages looks: one fold for each function that changed."""

from __future__ import annotations

from tvmlab.records import Bundle, FunctionDiff, StageDiff, picture
from tvmlab.show import code, palette
from tvmlab.show.html import Html, card, details, join, mono, muted, scroll, tag
from tvmlab.show.text import count, plain_table

# An output stays light enough for a notebook: about 100 kB.
LINES_A_FUNCTION = 60
LINES_A_RUN = 20
LINES_IN_ALL = 300
_PLAIN_ROWS = 20


@picture(StageDiff)
def stage_diff(record: StageDiff) -> Bundle:
    """A summary, then the unified difference of every changed function, cut where it gets long."""
    plus = sum(f.added for f in record.functions)
    minus = sum(f.removed for f in record.functions)
    title = join([f"{record.model}: {record.before} → {record.after} ", _counts(plus, minus)])
    changed = count(len(record.functions), "function") + " changed"
    summary = tag("div", muted(f"{changed}, {record.unchanged:,} unchanged"), style="margin-bottom:4px;font-size:92%")
    page = card(title, summary, *_folds(record), accent=palette.SIDES[3])
    return {"text/plain": f"{record.headline}\n{_plain(record)}", "text/html": str(page)}


def _counts(added: int, removed: int) -> Html:
    return join(
        [
            tag("span", f"+{added:,}", style=f"background:{palette.ADDED};border-radius:4px;padding:0 5px"),
            " ",
            tag("span", f"−{removed:,}", style=f"background:{palette.REMOVED};border-radius:4px;padding:0 5px"),
        ]
    )


def _folds(record: StageDiff) -> list[Html]:
    """Changed functions one by one; new ones and gone ones behind one fold each."""
    left = LINES_IN_ALL
    folds: dict[str, list[Html]] = {"changed": [], "new": [], "gone": []}
    order = sorted(enumerate(record.functions), key=lambda item: not (item[1].before and item[1].after))
    for position, function in order:
        state = "changed" if function.before and function.after else "new" if function.after else "gone"
        lines = list(code.unified(function.before, function.after))
        rest = f"functions[{position}] of this record"
        short = list(code.elided(lines, LINES_A_RUN, rest))
        shown = short[: max(0, min(LINES_A_FUNCTION, left))]
        left -= len(shown)
        body = code.diff(shown, hidden=len(short) - len(shown), rest=rest)
        folds[state].append(details(_summary(function), body, opened=state == "changed" and not folds[state]))
    grouped = [
        details(f"{count(len(folds[s]), 'function')} {s}", scroll(*folds[s])) for s in ("new", "gone") if folds[s]
    ]
    return [*folds["changed"], *grouped]


def _summary(function: FunctionDiff) -> Html:
    return join([mono(function.name), " ", _counts(function.added, function.removed)])


def _plain(record: StageDiff) -> str:
    rows = [(f.name, f"+{f.added}", f"−{f.removed}") for f in record.functions[:_PLAIN_ROWS]]
    if len(record.functions) > _PLAIN_ROWS:
        rows.append((f"… {len(record.functions) - _PLAIN_ROWS} more", "", ""))
    return plain_table(("", "", ""), rows, "lrr") if rows else "nothing changed"
