"""Grade what a class handed in, on Linux: a judge process alone knows the secret, and answers run shut in.

The process that is started reads no secret and runs no answer: it hands submissions to judges, and writes the results.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from tvmlab import __version__, ongoing
from tvmlab.course import library
from tvmlab.course.grading import submissions as handed_in
from tvmlab.course.grading.lanes import Here, Judges, Result, Setup, lost
from tvmlab.course.grading.results import Results, marks_from
from tvmlab.course.grading.submissions import Submission
from tvmlab.course.grading.teachers import check_secret, read_teacher
from tvmlab.errors import BackendError, CallError
from tvmlab.records import ClassMarks, ExerciseMark, PropertyResult, StudentMarks
from tvmlab.runtime.threads import available_processors
from tvmlab.sandbox import Limits

__all__ = ["grade"]

_MARKS = 1  # what a mark means: raised when the same answers would get others


def grade(
    submissions: Path | str,
    *,
    teacher: Path | str,
    secret_file: Path | str,
    out: Path | str = "grades",
    exercises: Sequence[str] = (),
    cluster: str | None = None,
    sandbox: bool = True,
    jobs: int | None = None,
    seconds: float = Limits().seconds,
) -> ClassMarks:
    """Judge every submission in a folder, and write what was found; see ``teacher/README.md``.

    Parameters
    ----------
    submissions : path
        With ``STUDENT/…/NOTEBOOK.ipynb`` or ``STUDENT.ipynb``.
    teacher : path
        With ``ex04a.py`` and the like: hidden properties, exercises of one's own.
    secret_file : path
        From which the inputs are drawn; only its owner may read it.
    out : path
        For the results; submissions that were judged before, by the same teacher and secret, are not judged again.
    exercises : sequence of str
        Default: those of the lessons whose notebooks were handed in; else all of which there is an answer.
    cluster : str, optional
        The address of a Dask scheduler: ``tls://…``, or ``tcp://`` on this machine.
    sandbox : bool
        Without it answers have the rights of this process.
    jobs : int, optional
        How many judges work here side by side; default: one for each processor.
    seconds : float
        How long an answer may take in one exercise.

    Returns
    -------
    ClassMarks

    Raises
    ------
    LoadError
        There are no submissions, or the teacher's folder or the secret cannot be used.
    BackendError
        Bubblewrap is not there or may not work; the cluster cannot be reached.
    CallError
        There is no such exercise.
    """
    if not sys.platform.startswith("linux"):
        raise BackendError("grading is for Linux", sys.platform, "grade in a virtual machine or a container")
    folder, secret = Path(submissions), Path(secret_file).absolute()
    check_secret(secret)
    read_teacher(Path(teacher))
    given = handed_in.found_in(folder)
    asked = tuple(exercises) or _asked(given)
    for each in asked:
        library.find(each)
    hidden = (str(folder.resolve()), str(Path(out).resolve()))
    limits = Limits(seconds=seconds)
    setup = Setup(str(Path(teacher).resolve()), str(secret), sandbox, limits, hidden, asked)
    results = Results(Path(out))
    with _judges(setup, cluster, min(jobs or available_processors(), len(given))) as judges:
        marks, judged = _marks(judges, setup, given, results)
    made = ClassMarks(tuple(sorted(marks, key=lambda each: each.student)), str(out), judged)
    results.finish(made, _assignment(asked, folder))
    return made


def _judges(setup: Setup, cluster: str | None, jobs: int) -> Judges:
    if cluster is None:
        return Here(setup, jobs)
    from tvmlab.course.grading.spread import Spread

    return Spread(setup, cluster)


def _asked(given: Sequence[Submission]) -> tuple[str, ...]:
    """The exercises of the lessons that were handed in; if no name tells, those that there are answers of."""
    known = library.all_exercises()
    names = {part for submission in given for name in submission.files for part in Path(name).with_suffix("").parts}
    answered = {identity for submission in given for identity in submission.exercises}
    found = tuple(each.id for each in known if each.lesson in names)
    found = found or tuple(each.id for each in known if each.id in answered)
    if not found:
        raise CallError("no submission answers an exercise", mend="name them: --exercises 04a,04b")
    return found


def _assignment(asked: Sequence[str], folder: Path) -> str:
    lessons = {library.find(each).lesson for each in asked}
    return lessons.pop() if len(lessons) == 1 else folder.resolve().name


def _marks(
    judges: Judges, setup: Setup, given: Sequence[Submission], results: Results
) -> tuple[list[StudentMarks], int]:
    """The marks of all, those of an earlier run among them; and how many were judged now."""
    prints = {each.student: _fingerprint(each, setup, judges.fingerprint) for each in given}
    kept = {each.student: results.kept(each.student, prints[each.student]) for each in given}
    marks = [each for each in kept.values() if each is not None]
    waiting = [each for each in given if kept[each.student] is None]
    for done, (submission, result) in enumerate(judges.judged(waiting), len(marks) + 1):
        made, pages = _made(submission, result, setup)
        results.keep(made, pages, "" if lost(result) else prints[submission.student])
        marks.append(made)
        ongoing.say(made.headline, done, len(given))
    return marks, len(waiting)


def _made(submission: Submission, result: Result, setup: Setup) -> tuple[StudentMarks, list[str]]:
    if not lost(result):
        made = marks_from(result["marks"])
        return dataclasses.replace(made, findings=tuple(submission.findings)), result["pages"]
    said = f"the judge was lost: {lost(result)}"
    exercises = tuple(
        ExerciseMark(
            each.id, each.title, tuple(PropertyResult(p.name, "untried") for p in each.properties), trouble=said
        )
        for each in map(library.find, setup.exercises)
    )
    made = StudentMarks(submission.student, exercises, tuple(submission.findings))
    return made, ["your teacher has to look at this exercise"] * len(exercises)


def _fingerprint(submission: Submission, setup: Setup, judges: str) -> str:
    parts = (str(_MARKS), __version__, submission.fingerprint, judges, *setup.exercises)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
