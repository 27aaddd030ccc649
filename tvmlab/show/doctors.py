"""How the doctor's report looks: what is installed, what is wrong, and how to mend it."""

from __future__ import annotations

from tvmlab.records import Bundle, DoctorReport, Finding, picture
from tvmlab.show import palette
from tvmlab.show.html import Html, card, chip, join, mono, table, tag
from tvmlab.show.text import plain_table

_COLOURS = {"ok": palette.GOOD, "note": palette.NOTE, "problem": palette.BAD}


@picture(DoctorReport)
def doctor_report(record: DoctorReport) -> Bundle:
    """One row a finding, with its mend."""
    accent = palette.GOOD if record.ok else palette.BAD
    rows = ((_status(f), f.name, _detail(f)) for f in record.findings)
    page = card(f"tvmlab doctor: {record.headline}", table(("", "", ""), rows), accent=accent)
    plain = plain_table(("", "", ""), ((f.status, f.name, f.detail) for f in record.findings))
    mends = (f"mend {f.name}: {f.mend}" for f in record.findings if f.mend)
    return {"text/plain": "\n".join([record.headline, plain, *mends]), "text/html": str(page)}


def _status(finding: Finding) -> Html:
    return chip(finding.status, _COLOURS.get(finding.status, palette.NOTE))


def _detail(finding: Finding) -> Html:
    mend = [tag("div", "mend: ", mono(finding.mend))] if finding.mend else []
    return join([finding.detail, *mend])
