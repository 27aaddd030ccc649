"""Making the checks, one after the other."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence

from tvmlab import ongoing
from tvmlab.checks.catalogue import CHECKS, QUICK, Check
from tvmlab.checks.matrix import matrix
from tvmlab.checks.outcome import Outcome, failed_by, skipped
from tvmlab.checks.subject import Refused, Subject
from tvmlab.errors import CallError, TvmlabError
from tvmlab.ops import Op, original
from tvmlab.ops.naming import did_you_mean
from tvmlab.records import CheckReport, CheckResult, MatrixCell
from tvmlab.runtime import quiet

__all__ = ["check_op", "codes"]

Progress = Callable[[int, int, str], None]


def codes() -> tuple[str, ...]:
    """The codes of all checks."""
    return tuple(check.code for check in CHECKS)


def check_op(
    op: Op,
    *,
    quick: bool = False,
    only: Sequence[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> CheckReport:
    """Check a live operator.

    Parameters
    ----------
    op : Op
    quick : bool
        Only what takes milliseconds, on fewer inputs.
    only : sequence of str, optional
        Codes of the checks to make.
    seed : int
        Of the random part of the inputs.
    progress : callable, optional
        Called before each check with how many are done, how many there are, and its title; default: it is said.

    Returns
    -------
    CheckReport

    Raises
    ------
    CallError
        If a code is none.
    """
    started = time.perf_counter()
    tell = progress or _say
    chosen = _chosen(only, quick=quick)
    subject = Subject(op, quick=quick, seed=seed)
    results = []
    for done, check in enumerate(chosen):
        tell(done, len(chosen), f"{check.code} {check.title}")
        if check.on_request and only is None:
            reason = f"it takes long; %tvm_check {op.name} --only {check.code} makes it"
            results.append(CheckResult(check.code, check.title, "skipped", reason, lesson=check.lesson))
        else:
            results.append(_made(check, subject))
    cells: tuple[MatrixCell, ...] = ()
    if only is None and not quick:
        tell(len(chosen), len(chosen), "what works where")
        with quiet():
            cells = matrix(subject)
    return CheckReport(op.name, tuple(results), cells, quick=quick, seconds=time.perf_counter() - started)


def _say(done: int, of: int, what: str) -> None:
    ongoing.say(what, done, of)


def _chosen(only: Sequence[str] | None, *, quick: bool) -> list[Check]:
    if only is None:
        return [check for check in CHECKS if not quick or check.code in QUICK]
    wanted = {code.strip().upper() for code in only}
    unknown = sorted(wanted - set(codes()))
    if unknown:
        raise CallError(f"there is no check {unknown[0]!r}", mend=did_you_mean(unknown[0], codes()))
    return [check for check in CHECKS if check.code in wanted]


def _made(check: Check, subject: Subject) -> CheckResult:
    started = time.perf_counter()
    with quiet():
        outcome = _outcome(check, subject)
    return CheckResult(
        check.code,
        check.title,
        outcome.status,
        outcome.why,
        outcome.mend,
        outcome.where,
        outcome.repro,
        check.lesson,
        outcome.notes,
        time.perf_counter() - started,
        outcome.reads,
    )


def _outcome(check: Check, subject: Subject) -> Outcome:
    """What a check found; frames of an error hold block builders, which complain on stderr when they die unfinished."""
    try:
        return check.run(subject)
    except Refused as refusal:
        return skipped(str(refusal))
    except TvmlabError as error:
        traceback.clear_frames(error.__traceback__)
        return failed_by(original(error))
    except Exception as error:  # noqa: BLE001  a report must come, whatever TVM does
        traceback.clear_frames(error.__traceback__)
        return _broken(error)


def _broken(error: Exception) -> Outcome:
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return skipped(f"the check itself could not be made: {type(error).__name__}: {said}")
