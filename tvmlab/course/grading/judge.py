"""The process that alone knows the secret: ``python -m tvmlab.course.grading.judge``.

It draws the inputs and compares; the answers run in processes of a `Sandbox`, and send plain values.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tvmlab.course import library
from tvmlab.course.grading.teachers import read_secret, read_teacher
from tvmlab.course.judging import LOST, check, judge_apart, place_apart
from tvmlab.course.lessons import exercise_in
from tvmlab.errors import BackendError, TvmlabError
from tvmlab.records import Exercise, ExerciseMark, Mismatch, Property, PropertyResult, StudentMarks, Verdict
from tvmlab.runtime.children import requests
from tvmlab.sandbox import AnswerLost, Limits, RemoteAnswer, Sandbox

__all__ = ["Judge", "main"]

_UNSEEN = "it fails for inputs that are kept secret"
_OTHER_INPUTS = "it holds for the inputs of the notebook, and fails for others"


class Judge:
    """The secret, the hidden properties and a sandbox.

    Parameters
    ----------
    teacher, secret_file : str
        Paths.
    caged : bool
        Whether answers run in bubblewrap.
    limits : sequence
        The fields of `Limits`.
    hidden : sequence of str
        Folders that answers must not see.
    """

    def __init__(
        self, *, teacher: str, secret_file: str, caged: bool, limits: Sequence[Any], hidden: Sequence[str]
    ) -> None:
        self._teacher = read_teacher(Path(teacher))
        self._secret = read_secret(Path(secret_file))
        self._marked: dict[bytes, tuple[ExerciseMark, str]] = {}
        paths = [Path(each) for each in (teacher, secret_file, *hidden)]
        self._sandbox = Sandbox(caged=caged, limits=Limits(*limits), hidden=paths)

    def about(self) -> dict[str, Any]:
        """What decides the marks beside the submissions, as one hash; it tells nothing of the secret."""
        parts = [file.read_bytes() for _, file in sorted(self._teacher.files.items())]
        digest = hashlib.sha256(b"\0".join([hashlib.sha256(b"marks" + self._secret).digest(), *parts]))
        return {"fingerprint": digest.hexdigest()}

    def mark(self, student: str, cells: dict[str, list[str]], exercises: Sequence[str]) -> dict[str, Any]:
        """The marks of one submission, and the page for the student."""
        marked = [self._mark_once(library.find(each), list(_cells_of(each, cells))) for each in exercises]
        marks = StudentMarks(student, tuple(mark for mark, _ in marked))
        return {"marks": marks.to_dict(), "pages": [page for _, page in marked]}

    def _mark_once(self, exercise: Exercise, answers: Sequence[tuple[str, str, list[str]]]) -> tuple[ExerciseMark, str]:
        """The same for the same cells after the same ones: starters that nobody touched, above all."""
        key = hashlib.sha256(json.dumps([exercise.id, answers]).encode()).digest()
        if key not in self._marked:
            marked = self._mark(exercise, answers)
            if marked[0].trouble or marked[0].finding.startswith(LOST):  # may be otherwise the next time
                return marked
            self._marked[key] = marked
        return self._marked[key]

    def _mark(self, exercise: Exercise, answers: Sequence[tuple[str, str, list[str]]]) -> tuple[ExerciseMark, str]:
        hidden = self._teacher.hidden.get(exercise.id, ())
        blank = Verdict(exercise.id, exercise.title, _untried((*exercise.properties, *hidden)))
        if not answers:
            return _told(exercise, blank, len(hidden), "there is no cell of it"), "there is no cell of it"
        for label, body, before in answers:
            with self._sandbox.new() as answer:
                try:
                    verdict = judge_apart(
                        exercise, body, answer, before=before, hidden=hidden, secret=self._secret, label=label
                    )
                    if verdict.unwritten:
                        blank = verdict
                        continue
                    page = self._shown(exercise, verdict, hidden, answer)
                except BackendError:
                    raise
                except Exception as error:  # noqa: BLE001 - the property's fault: the class is graded all the same
                    trouble = f"a property of {exercise.id} fails itself: {type(error).__name__}: {error}"
                    mark = _told(exercise, blank, len(hidden), "")
                    return dataclasses.replace(mark, trouble=trouble), "your teacher has to look at this exercise"
            said = "; ".join(_sentences(verdict.mismatch)) if verdict.mismatch else ""
            return _told(exercise, verdict, len(hidden), said), page
        return _told(exercise, blank, len(hidden), "it is not written"), _html(blank)

    def _shown(self, exercise: Exercise, verdict: Verdict, hidden: Sequence[Property], answer: RemoteAnswer) -> str:
        """What the student sees: the first reason, for the notebook's inputs, and none that tells of secret ones."""
        public = {each.name: each for each in exercise.properties}
        secret = {each.name for each in hidden}
        shown: list[PropertyResult] = []
        for result in verdict.results:
            first = not any(each.state == "fails" for each in shown)
            if result.state != "fails" or _is_loss(result) or result.name not in {*public, *secret}:
                shown.append(result)
            elif result.name in secret:
                shown.append(dataclasses.replace(result, mismatch=Mismatch(_UNSEEN)))
            elif first:
                shown.append(self._again(exercise, public[result.name], answer))
            else:
                shown.append(dataclasses.replace(result, mismatch=None))
        return _html(dataclasses.replace(verdict, results=tuple(shown)))

    def _again(self, exercise: Exercise, failed: Property, answer: RemoteAnswer) -> PropertyResult:
        """A property that failed, with the notebook's inputs."""
        try:
            (again,) = check(exercise.id, [failed], answer, b"", place_apart)
        except (AnswerLost, NotImplementedError):
            return PropertyResult(failed.name, "fails")
        return again if again.state == "fails" else PropertyResult(failed.name, "fails", Mismatch(_OTHER_INPUTS))

    def close(self) -> None:
        """End the sandbox."""
        self._sandbox.close()


def _cells_of(identity: str, cells: dict[str, list[str]]) -> Iterator[tuple[str, str, list[str]]]:
    """Cells that answer an exercise, the last one first: where each is, its text, and the cells before it."""
    for name, texts in reversed(cells.items()):
        for at in reversed(range(len(texts))):
            if exercise_in(texts[at]) == identity:
                body = texts[at].lstrip().partition("\n")[2]
                yield f"{Path(name).name}, code cell {at + 1}", body, texts[:at]


def _untried(properties: Sequence[Property]) -> tuple[PropertyResult, ...]:
    return tuple(PropertyResult(each.name, "untried") for each in properties)


def _told(exercise: Exercise, verdict: Verdict, hidden: int, finding: str) -> ExerciseMark:
    """The mark; whether the answer is an operator at all is no property, and worth nothing."""
    names = len(exercise.properties) + hidden
    results = tuple(map(_in_words, verdict.results[-names:]))
    return ExerciseMark(exercise.id, exercise.title, results, hidden, finding)


def _in_words(result: PropertyResult) -> PropertyResult:
    """Without arrays and graphs."""
    found = result.mismatch
    return dataclasses.replace(result, mismatch=found and Mismatch(found.what, found.where, found.mend))


def _is_loss(result: PropertyResult) -> bool:
    return result.mismatch is not None and result.mismatch.what.startswith(LOST)


def _sentences(mismatch: Mismatch) -> list[str]:
    return [each for each in (mismatch.what, mismatch.where and f"at {mismatch.where}") if each]


def _html(verdict: Verdict) -> str:
    return str(verdict._repr_mimebundle_()["text/html"])


def main() -> None:
    """Answer the messages of the process that grades."""
    messages, reply = requests()
    judge: Judge | None = None
    for message in messages:
        try:
            if judge is None:
                judge = Judge(**message)
                reply(judge.about())
            else:
                reply(judge.mark(**message))
        except TvmlabError as error:
            reply({"error": [type(error).__name__, error.what, error.where, error.mend]})


if __name__ == "__main__":
    main()
