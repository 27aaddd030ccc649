"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass

from tvmlab.errors import TvmlabError
from tvmlab.records import Reads

__all__ = ["Outcome", "failed", "failed_by", "ok", "skipped", "warning"]


@dataclass(frozen=True)
class Outcome:
    """Status, one sentence, and what helps; see `tvmlab.records.CheckResult`."""

    status: str
    why: str
    mend: str = ""
    where: str = ""
    repro: str = ""
    notes: tuple[str, ...] = ()
    reads: Reads | None = None


def ok(why: str, notes: tuple[str, ...] = ()) -> Outcome:
    """It is as it should be."""
    return Outcome("ok", why, notes=notes)


def failed(why: str, mend: str = "", where: object = "", repro: str = "", notes: tuple[str, ...] = ()) -> Outcome:
    """The operator is wrong."""
    return Outcome("failed", why, mend, str(where or ""), repro, notes)


def warning(why: str, mend: str = "", where: object = "", repro: str = "", notes: tuple[str, ...] = ()) -> Outcome:
    """It works, and something about it is worth knowing."""
    return Outcome("warning", why, mend, str(where or ""), repro, notes)


def skipped(reason: str, notes: tuple[str, ...] = ()) -> Outcome:
    """It could not be checked."""
    return Outcome("skipped", reason, notes=notes)


def failed_by(error: TvmlabError, repro: str = "") -> Outcome:
    """The operator is wrong as an error says."""
    return failed(error.what, error.mend, error.where, repro)
