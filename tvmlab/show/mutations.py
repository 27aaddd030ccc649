"""How a mutation score looks: which call notices which slip."""

from __future__ import annotations

from tvmlab.records import Bundle, MutantResult, MutationScore, picture
from tvmlab.show import palette
from tvmlab.show.html import card, chip, mono, notes, table
from tvmlab.show.text import plain_table, short

_MOST = 12  # calls with a column of their own


@picture(MutationScore)
def score(record: MutationScore) -> Bundle:
    """A row for each mutant, a column for each call."""
    shown = range(min(len(record.calls), _MOST))
    head = ("mutant", "the slip", *(str(at + 1) for at in shown), "")
    rows = [(r.mutant, r.slip, *("✗" if at in r.killed_by else "·" for at in shown)) for r in record.results]
    drawn = table(
        head,
        [(mono(row[0]), *row[1:], chip(*_state(result))) for row, result in zip(rows, record.results, strict=True)],
        "ll" + "l" * len(shown) + "l",
    )
    calls = notes(f"{at + 1}: {short(record.calls[at], 110)}" for at in shown)
    accent = palette.BAD if record.alive else palette.GOOD
    page = card(record.headline, drawn, calls, accent=accent)
    states = [(*row, _state(result)[0]) for row, result in zip(rows, record.results, strict=True)]
    text = plain_table(head, states, "ll" + "l" * (len(shown) + 1))
    listed = "\n".join(f"{at + 1}: {record.calls[at]}" for at in shown)
    return {"text/plain": f"{record.headline}\n{text}\n{listed}", "text/html": str(page)}


def _state(result: MutantResult) -> tuple[str, str]:
    return ("killed", palette.GOOD) if result.killed_by else ("alive", palette.BAD)
