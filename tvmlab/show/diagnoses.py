"""How the explanation of an error looks: the cause first, then where, how to mend it, and what was said."""

from __future__ import annotations

from tvmlab.diagnosis import Diagnosis
from tvmlab.records import Bundle, Reason, picture
from tvmlab.show import palette
from tvmlab.show.code import block
from tvmlab.show.html import card, join, mono, sentence, table, tag

__all__ = ["diagnosis", "reason"]


@picture(Diagnosis)
def diagnosis(record: Diagnosis) -> Bundle:
    """The cause as title; what was written and what to write instead."""
    rows = [(name, mono(text) if name in ("where", "said") else text) for name, text in _facts(record)]
    parts = [table(("", ""), rows)]
    if record.code:
        parts.append(join([tag("div", "write:"), block(record.code)]))
    if not record.rule and record.traceback:
        parts.append(block("\n".join(record.traceback)))
    accent = palette.NOTE if record.known else palette.BAD
    return {"text/plain": _plain(record), "text/html": str(card(record.headline, join(parts), accent=accent))}


@picture(Reason)
def reason(record: Reason) -> Bundle:
    """The sentence as it is."""
    return {"text/html": str(sentence(record.sentence))}


def _facts(record: Diagnosis) -> list[tuple[str, str]]:
    facts = (("at", record.stage), ("where", record.where), ("mend", record.mend), ("said", record.error))
    return [(name, text) for name, text in facts if text]


def _plain(record: Diagnosis) -> str:
    lines = [record.headline, *(f"  {name}: {text}" for name, text in _facts(record))]
    if record.code:
        lines += ["  write:", *(f"      {line}" for line in record.code.splitlines())]
    if not record.rule and record.traceback:
        lines += ["  traceback, in short:", *(f"      {line}" for line in record.traceback)]
    return "\n".join(lines)
