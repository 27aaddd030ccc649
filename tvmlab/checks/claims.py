"""An operator that cannot even be defined has failed a check already: which one, by the error."""

from __future__ import annotations

import re

from tvmlab.checks.catalogue import CHECKS
from tvmlab.checks.outcome import failed_by
from tvmlab.errors import (
    AttributeSchemaError,
    CallError,
    CellError,
    ComputeError,
    NameRefused,
    TvmlabError,
    TypeRuleError,
)
from tvmlab.records import CheckReport, CheckResult

__all__ = ["claimed_by", "refused_report"]

# The first that fits counts.
_CLAIMS: tuple[tuple[type[TvmlabError], str, str], ...] = (
    (NameRefused, "", "C01"),
    (AttributeSchemaError, "", "C03"),
    (CellError, r"gradient\(", "C16"),
    (CellError, r"parameter|does not take the tensors|readable signature", "C02"),
    (CellError, "", "C01"),
    (TypeRuleError, r"compute makes", "C05"),
    (TypeRuleError, "", "C04"),
    (ComputeError, r"widened|floating-point numbers only", "C12"),
    (ComputeError, r"out of bounds", "C09"),
    (ComputeError, r"NaN|reference", "C10"),
    (ComputeError, r"gradient", "C16"),
    (CallError, r"reads \w+ on axis", "C09"),
    (TvmlabError, "", "C07"),
)


def claimed_by(error: TvmlabError) -> str:
    """The code of the check that an operator has failed whose definition raised this."""
    return next(code for kind, text, code in _CLAIMS if isinstance(error, kind) and re.search(text, error.what))


def refused_report(name: str, error: TvmlabError) -> CheckReport:
    """The report on an operator that could not be defined: the check that claims the error failed, others skipped."""
    code = claimed_by(error)
    results = []
    for check in CHECKS:
        if check.code == code:
            found = failed_by(error)
            result = CheckResult(code, check.title, "failed", found.why, found.mend, found.where, lesson=check.lesson)
        else:
            reason = "the operator could not be defined"
            result = CheckResult(check.code, check.title, "skipped", reason, lesson=check.lesson)
        results.append(result)
    return CheckReport(name, tuple(results))
