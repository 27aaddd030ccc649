"""The report on a model: one HTML file with the pictures of all its records, which needs neither network nor script.

The pictures are those that a notebook shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tvmlab.errors import TvmlabError
from tvmlab.records import Bundle, Partition, Record, Report, picture
from tvmlab.show import palette, partitions
from tvmlab.show.html import Html, card, chip, mono, muted, sentence, table, tag
from tvmlab.show.pages import page, section
from tvmlab.show.text import duration, plain_table

__all__ = ["Part", "report_page"]

_TOLD = 0.01  # seconds
_DECISIONS = 600  # nodes: in a file of its own there is room for more of them than in a notebook


@dataclass(frozen=True)
class Part:
    """One section: its records, or the error that there is in their place.

    Parameters
    ----------
    title, explanation : str
    records : tuple of Record
    error : TvmlabError or None
    """

    title: str
    explanation: str
    records: tuple[Record, ...] = ()
    error: TvmlabError | None = None


def report_page(model: str, facts: Mapping[str, str], parts: Sequence[Part], made: str) -> str:
    """The whole file.

    Parameters
    ----------
    model : str
        Its name.
    facts : mapping of str to str
        What is said first.
    parts : sequence of Part
    made : str
        When, by what and on what.
    """
    first = section("At a glance", table(("", ""), facts.items(), "nl"), muted(made))
    return page(f"{model}: report", [first, *map(_section, parts)], contents=True, wide=True)


def _section(part: Part) -> Html:
    return section(part.title, sentence(part.explanation), *(map(_drawn, part.records)), _complaint(part.error))


def _drawn(record: Record) -> Html:
    if isinstance(record, Partition):
        return partitions.page_of(record, decisions=_DECISIONS)
    return Html(record._repr_mimebundle_()["text/html"])


def _complaint(error: TvmlabError | None) -> Html:
    """The three lines of an error."""
    if error is None:
        return Html()
    return card(chip("not made", palette.BAD), tag("pre", str(error), style="white-space:pre-wrap"), accent=palette.BAD)


@picture(Report)
def report(record: Report) -> Bundle:
    """Where it is, what it says first, and what took how long."""
    accent = palette.GOOD if record.ok else palette.BAD
    long = {title: seconds for title, seconds in record.seconds.items() if seconds >= _TOLD}
    took = ", ".join(f"{title.lower()} {duration(seconds)}" for title, seconds in long.items())
    page_ = card(
        f"{record.model}: report, {record.bytes / 1000:,.0f} kB",
        tag("div", muted("open it in a browser: "), mono(record.file)),
        table(("", ""), record.facts.items(), "nl"),
        sentence(f"It took: {took}.") if took else "",
        accent=accent,
    )
    return {"text/plain": f"{record.headline}\n{plain_table(('', ''), record.facts.items())}", "text/html": str(page_)}
