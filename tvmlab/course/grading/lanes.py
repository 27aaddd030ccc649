"""Judges at work side by side on this machine, each with a process of its own that may die."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, Self

from tvmlab import errors
from tvmlab.course.grading.submissions import Submission
from tvmlab.errors import BackendError, TvmlabError
from tvmlab.runtime.children import Child, ChildLost
from tvmlab.sandbox import Limits

__all__ = ["Here", "Judges", "Lane", "Result", "Setup", "lost"]

_SECONDS_TO_START = 240.0
_SECONDS_BESIDE = 120.0
_ONE_THREAD = dict.fromkeys(("TVM_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Result = dict[str, Any]


@dataclass(frozen=True)
class Setup:
    """What a judge needs to begin; the secret is not in it, but where it is.

    Parameters
    ----------
    teacher, secret_file : str
        Paths.
    caged : bool
        Whether answers run in bubblewrap.
    limits : Limits
    hidden : tuple of str
        Folders that answers must not see.
    exercises : tuple of str
        Those that are judged.
    """

    teacher: str
    secret_file: str
    caged: bool
    limits: Limits
    hidden: tuple[str, ...]
    exercises: tuple[str, ...] = ()

    def first_message(self) -> dict[str, Any]:
        """What the judge is told first."""
        return {
            "teacher": self.teacher,
            "secret_file": self.secret_file,
            "caged": self.caged,
            "limits": list(self.limits),
            "hidden": list(self.hidden),
        }


class Lane:
    """One judge, begun again when it is lost.

    Raises
    ------
    TvmlabError
        It cannot begin: what it says.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self._child: Child | None = None
        self.fingerprint = ""
        self._begin()

    def _begin(self) -> Child:
        self._child = Child("tvmlab.course.grading.judge", _ONE_THREAD)
        try:
            said = _checked(self._child.ask(self.setup.first_message(), _SECONDS_TO_START))
        except ChildLost as lost:
            raise BackendError(f"the judge did not start: {lost}", "its process", "tvmlab doctor looks") from lost
        self.fingerprint = str(said["fingerprint"])
        return self._child

    def judge(self, submission: Submission) -> Result:
        """The marks of a submission and its pages, whatever happens."""
        message = {"student": submission.student, "cells": submission.cells, "exercises": list(self.setup.exercises)}
        seconds = (2 * self.setup.limits.seconds + _SECONDS_BESIDE) * max(1, len(self.setup.exercises))
        for _ in range(2):
            try:
                return _checked((self._child or self._begin()).ask(message, seconds))
            except ChildLost as error:
                self._child = None
                said = str(error)
        return {"lost": said}

    def close(self) -> None:
        """End the judge."""
        if self._child is not None:
            self._child.close()
            self._child = None


def lost(result: Result) -> str:
    """Why a submission could not be judged; empty if it was."""
    return str(result.get("lost", ""))


class Judges(Protocol):
    """Who judges: a context, in which submissions go in and results come out in any order."""

    fingerprint: str

    def judged(self, submissions: Sequence[Submission]) -> Iterator[tuple[Submission, Result]]:
        """Judge submissions; yields each when it is done."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Here:
    """Several lanes on this machine.

    Raises
    ------
    TvmlabError
        A judge cannot begin.
    """

    def __init__(self, setup: Setup, jobs: int) -> None:
        with ThreadPoolExecutor(jobs) as beginning:
            self._lanes = list(beginning.map(Lane, [setup] * jobs))
        self.fingerprint = self._lanes[0].fingerprint

    def judged(self, submissions: Sequence[Submission]) -> Iterator[tuple[Submission, Result]]:
        """Judge submissions; yields each when it is done."""
        waiting: queue.Queue[Submission] = queue.Queue()
        done: queue.Queue[tuple[Submission, Result | BaseException]] = queue.Queue()
        for submission in submissions:
            waiting.put(submission)
        for lane in self._lanes:
            threading.Thread(target=_work, args=(lane, waiting, done), daemon=True).start()
        for _ in submissions:
            submission, result = done.get()
            if isinstance(result, BaseException):
                raise result
            yield submission, result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for lane in self._lanes:
            lane.close()


def _work(
    lane: Lane,
    waiting: queue.Queue[Submission],
    done: queue.Queue[tuple[Submission, Result | BaseException]],
) -> None:
    while True:
        try:
            submission = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            done.put((submission, lane.judge(submission)))
        except BaseException as error:  # noqa: BLE001 - raised again by who takes the results
            done.put((submission, error))
            return


def _checked(said: Result) -> Result:
    if "error" in said:
        kind, what, where, mend = said["error"]
        made = getattr(errors, kind, BackendError) if kind in errors.__all__ else BackendError
        made = made if isinstance(made, type) and issubclass(made, TvmlabError) else BackendError
        raise made(what, where or None, mend or None)
    return said
