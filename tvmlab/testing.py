"""For tests of one's own operators: ``from tvmlab.testing import assert_op_ok``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tvmlab import api

if TYPE_CHECKING:
    from tvmlab.ops import Op
    from tvmlab.records import CheckReport, CheckResult

__all__ = ["assert_op_ok"]


def assert_op_ok(op: Op | str, *, only: Sequence[str] | None = None, quick: bool = False, seed: int = 0) -> CheckReport:
    """Make the checks of an operator, and fail the test with all that failed.

    Parameters
    ----------
    op, only, quick, seed
        As for `tvmlab.api.check`.

    Returns
    -------
    CheckReport

    Raises
    ------
    AssertionError
        A check failed; the message has its sentence, line, mend and a cell that shows it.

    Examples
    --------
    >>> def test_hard_tanh():
    ...     assert_op_ok("lab.hard_tanh")
    """
    report = api.check(op, only=only, quick=quick, seed=seed)
    if report.failed:
        raise AssertionError("\n".join([report.headline, *map(_told, report.failed)]))
    return report


def _told(result: CheckResult) -> str:
    lines = [f"{result.code} {result.title}: {result.why}"]
    lines += [f"  at {result.where}"] if result.where else []
    lines += [f"  mend: {result.mend}"] if result.mend else []
    lines += [f"  > {line}" for line in result.repro.splitlines()]
    return "\n".join(lines)
