"""How exercises look: what is asked, the verdict, the hints, and the map of the course."""

from __future__ import annotations

from itertools import groupby

from tvmlab.records import Bundle, CourseProgress, Exercise, Hints, PropertyResult, Standing, Verdict, picture
from tvmlab.show import mismatches, palette
from tvmlab.show.code import block
from tvmlab.show.html import Html, card, chip, details, join, mono, muted, notes, sentence, table, tag
from tvmlab.show.text import count, plain_table

_STATES = {"holds": ("✓ holds", palette.GOOD), "fails": ("✗ fails", palette.BAD), "untried": ("not tried", "#C8C8C8")}
_STANDINGS = {"solved": ("✓ solved", palette.GOOD), "tried": ("tried", palette.NOTE), "new": ("new", "#C8C8C8")}


@picture(Exercise)
def exercise(record: Exercise) -> Bundle:
    """The statement, what will be checked, and the cell to begin with."""
    cell = f"%%tvm_exercise {record.id}\n{record.starter}"
    checked = notes(each.name for each in record.properties)
    how = sentence(
        join(["Copy this into a cell, and write what is missing. ", mono(f"%tvm_hint {record.id}"), " helps."])
    )
    parts = [sentence(record.statement), muted("What is checked:"), checked, how, block(cell)]
    page = card(record.headline, *parts, accent=palette.SIDES[1])
    lines = [record.headline, record.statement, *(f"- {each.name}" for each in record.properties), "", cell]
    return {"text/plain": "\n".join(lines), "text/html": str(page)}


@picture(Verdict)
def verdict(record: Verdict) -> Bundle:
    """Each property, and a picture of what is wrong first."""
    accent = palette.GOOD if record.ok else "#C8C8C8" if record.unwritten else palette.BAD
    title = join([f"{record.exercise} {record.title} ", _word(record)])
    body: list[object] = []
    if record.unwritten:
        body.append(sentence(join(["Write something in place of the three dots, at ", mono(record.unwritten)])))
    body.append(tag("div", *(_result(result) for result in record.results)))
    if record.mismatch is not None:
        body.append(mismatches.drawn(record.mismatch))
    if not record.ok:
        body.append(muted(mono(f"%tvm_hint {record.exercise}"), " gives a hint"))
    page = card(title, *body, notes(record.notes), accent=accent)
    lines = [record.headline, *(f"{_STATES[r.state][0]}: {r.name}" for r in record.results)]
    lines += [*(mismatches.plain(record.mismatch) if record.mismatch else []), *record.notes]
    return {"text/plain": "\n".join(lines), "text/html": str(page)}


def _word(record: Verdict) -> Html:
    if record.unwritten:
        return chip("not written yet", "#C8C8C8")
    return chip("solved", palette.GOOD) if record.ok else chip("not yet", palette.BAD)


def _result(result: PropertyResult) -> Html:
    return tag("div", chip(*_STATES[result.state]), " ", result.name, style="margin:1px 0")


@picture(Hints)
def hints(record: Hints) -> Bundle:
    """The hints so far, one under the other."""
    shown = (tag("div", muted(f"{at}. "), text, style="margin:4px 0;max-width:60em") for at, text in _counted(record))
    left = f"{count(record.left, 'more hint')}: run it again" if record.left else "that was the last hint"
    page = card(f"{record.exercise} {record.title}: hints", *shown, muted(left), accent=palette.NOTE)
    lines = [f"{record.exercise} {record.title}", *(f"{at}. {text}" for at, text in _counted(record)), left]
    return {"text/plain": "\n".join(lines), "text/html": str(page)}


def _counted(record: Hints) -> enumerate[str]:
    return enumerate(record.shown, 1)


@picture(CourseProgress)
def progress(record: CourseProgress) -> Bundle:
    """The exercises by lesson, and how each stands; lessons in which nothing was done yet are folded."""
    parts = []
    untouched = all(standing.state == "new" for standing in record.standings)
    for lesson, each in groupby(record.standings, lambda standing: standing.lesson):
        standings = list(each)
        solved = sum(standing.state == "solved" for standing in standings)
        rows = map(_row, standings)
        shown = table(("exercise", "", "state", "attempts", "hints"), rows, "nlnrr")
        begun = untouched or any(standing.state != "new" for standing in standings)
        parts.append(details(f"{lesson}: {solved} of {len(standings)}", shown, opened=begun))
    page = card(record.headline, *parts, muted("kept in ", mono(record.file)), accent=palette.GOOD)
    rows_of_text = [
        (s.exercise, "★" * s.grade, s.title, _STANDINGS[s.state][0], s.attempts, s.hints) for s in record.standings
    ]
    text = plain_table(("", "", "", "state", "attempts", "hints"), rows_of_text, "llllrr")
    return {"text/plain": f"{record.headline}\n{text}", "text/html": str(page)}


def _row(standing: Standing) -> tuple[object, ...]:
    name = join([mono(standing.exercise), " ", "★" * standing.grade])
    return name, standing.title, chip(*_STANDINGS[standing.state]), standing.attempts, standing.hints
