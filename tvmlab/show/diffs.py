"""How the difference of two stages looks: one fold for each function that changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tvmlab.matching import Matching, match_lines, without_boilerplate
from tvmlab.records import Bundle, FunctionDiff, StageDiff, picture
from tvmlab.show import code, palette
from tvmlab.show.html import Html, card, details, join, mono, muted, scroll, tag
from tvmlab.show.text import count, plain_table

__all__ = ["counts", "folds", "stage_diff"]

# An output stays light enough for a notebook: about 100 kB.
LINES_A_FUNCTION = 60
LINES_A_RUN = 20
LINES_IN_ALL = 300
_LINES_BESIDE = 40
_PLAIN_ROWS = 20
_NAMES = 12


@picture(StageDiff)
def stage_diff(record: StageDiff) -> Bundle:
    """A summary, then the unified difference of every changed function, cut where it gets long."""
    title = join([f"{record.model}: {record.before} → {record.after} ", counts(record.functions)])
    changed = count(len(record.functions), "function") + " changed"
    summary = tag("div", muted(f"{changed}, {record.unchanged:,} unchanged"), style="margin-bottom:4px;font-size:92%")
    page = card(title, summary, *folds(record, beside=True), accent=palette.SIDES[3])
    return {"text/plain": f"{record.headline}\n{_plain(record)}", "text/html": str(page)}


def counts(functions: Sequence[FunctionDiff]) -> Html:
    """How many lines came and went."""
    added, removed = sum(f.added for f in functions), sum(f.removed for f in functions)
    return join(
        [
            tag("span", f"+{added:,}", style=f"background:{palette.ADDED};border-radius:4px;padding:0 5px"),
            " ",
            tag("span", f"−{removed:,}", style=f"background:{palette.REMOVED};border-radius:4px;padding:0 5px"),
        ]
    )


def folds(
    record: StageDiff, lines: int = LINES_IN_ALL, beside: bool = False, place: str = "this record"
) -> Iterator[Html]:
    """Changed functions one by one; new ones, gone ones, and those that there is no room for, behind one fold each.

    Parameters
    ----------
    lines : int
        How many are shown in all.
    beside : bool
        Whether the first function is also shown in two columns.
    place : str
        What to write for the record, to see the rest.
    """
    left = lines
    grouped: dict[str, list[Html]] = {"new": [], "gone": []}
    unshown: list[FunctionDiff] = []
    order = sorted(enumerate(record.functions), key=lambda item: item[1].state != "changed")
    first = True
    for position, function in order:
        if left <= 0:
            unshown.append(function)
            continue
        matching = match_lines(without_boilerplate(function.before), without_boilerplate(function.after))
        rest = f"functions[{position}] of {place}"
        short = list(code.elided(code.unified(matching), LINES_A_RUN, rest))
        shown = short[: min(LINES_A_FUNCTION, left)]
        left -= len(shown)
        body = [_renamed(matching), code.diff(shown, hidden=len(short) - len(shown), rest=rest)]
        if beside and first:
            body.append(details("side by side", code.side_by_side(shown[:_LINES_BESIDE])))
        summary = join([mono(function.name), " ", counts([function])])
        if function.state == "changed":
            yield details(summary, *body, opened=first)
            first = False
        else:
            grouped[function.state].append(details(summary, *body))
    for state, made in grouped.items():
        if made:
            yield details(f"{count(len(made), 'function')} {state}", scroll(*made))
    if unshown:
        named = (f"{f.name} +{f.added} −{f.removed}{'' if f.state == 'changed' else f' ({f.state})'}" for f in unshown)
        hint = muted(f"not shown here; {place} has them all in .functions")
        yield details(f"{count(len(unshown), 'more function')}", hint, tag("div", mono(", ".join(named))))


def _renamed(matching: Matching) -> Html:
    """Which variables are called otherwise, in lines that count as unchanged."""
    if not matching.renamed:
        return Html()
    pairs = [f"{old} → {new}" for old, new in matching.renamed.items()]
    more = f", and {len(pairs) - _NAMES:,} more" if len(pairs) > _NAMES else ""
    return muted(f"{count(len(pairs), 'variable')} renamed: ", mono(", ".join(pairs[:_NAMES])), more)


def _plain(record: StageDiff) -> str:
    rows = [(f.name, f"+{f.added}", f"−{f.removed}") for f in record.functions[:_PLAIN_ROWS]]
    if len(record.functions) > _PLAIN_ROWS:
        rows.append((f"… {len(record.functions) - _PLAIN_ROWS} more", "", ""))
    return plain_table(("", "", ""), rows, "lrr") if rows else "nothing changed"
