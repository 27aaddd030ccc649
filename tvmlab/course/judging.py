"""From the text of a cell to a verdict."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tvmlab import ongoing
from tvmlab.errors import TvmlabError
from tvmlab.records import Exercise, Mismatch, Property, PropertyResult, Verdict
from tvmlab.sandbox.answers import Cache, Refused, answer_of, unwritten
from tvmlab.sandbox.remote import AnswerLost, RemoteAnswer, Unmade

__all__ = ["LOST", "check", "generator", "judge", "judge_apart", "place_apart"]

LOST = "the answer cannot be judged"
"""How a finding begins where an answer ended its process, or went over a limit."""

PlaceOf = Callable[[BaseException], Any]


def judge(
    exercise: Exercise,
    body: str,
    *,
    hidden: Sequence[Property] = (),
    secret: bytes = b"",
    shell_namespace: Mapping[str, Any] | None = None,
    label: str = "cell",
    first_line: int = 2,
    cache: Cache | None = None,
) -> Verdict:
    """Run an answer, and check every property of it.

    Parameters
    ----------
    exercise : Exercise
    body : str
        The cell without its magic line.
    hidden : sequence of Property
        What is checked beyond the public properties.
    secret : bytes
        Decides the random inputs; the empty one is that of the notebook, where a wrong answer fails the same way twice.
    shell_namespace, label, first_line, cache
        As for `tvmlab.api.define`.

    Returns
    -------
    Verdict

    Raises
    ------
    CellError
        The cell is no Python, fails while it runs, or does not define what is asked for.
    """
    properties = (*exercise.properties, *hidden)
    blank = unwritten(body, label, first_line)
    if blank:
        return _nothing(exercise, properties, blank)
    try:
        answer, source = answer_of(
            exercise.asks, body, shell_namespace or {}, label=label, first_line=first_line, cache=cache
        )
    except Refused as refused:
        error = refused.error
        return _refused(exercise, properties, Mismatch(error.what, error.where, error.mend))
    try:
        results = check(exercise.id, properties, answer, secret, source.of_exception)
    except NotImplementedError as error:
        return _nothing(exercise, properties, str(source.of_exception(error) or label))
    return Verdict(exercise.id, exercise.title, results, answer=answer)


def judge_apart(
    exercise: Exercise,
    body: str,
    answer: RemoteAnswer,
    *,
    before: Sequence[str] = (),
    hidden: Sequence[Property] = (),
    secret: bytes = b"",
    label: str = "cell",
) -> Verdict:
    """Have an answer run in another process, and check every property of it here.

    Parameters
    ----------
    answer : RemoteAnswer
        A new one of a `Sandbox`.
    before : sequence of str
        The code cells before it in its notebook.
    exercise, body, hidden, secret, label
        As for `judge`.

    Returns
    -------
    Verdict
        Whatever the answer does.
    """
    properties = (*exercise.properties, *hidden)
    try:
        answer.make(exercise.asks, body, label, before)
        results = check(exercise.id, properties, answer, secret, place_apart)
    except Unmade as unmade:
        if unmade.kind == "unwritten":
            return _nothing(exercise, properties, unmade.what)
        return _refused(exercise, properties, Mismatch(unmade.what, unmade.where, unmade.mend), unmade.kind)
    except NotImplementedError as error:
        return _nothing(exercise, properties, str(error))
    except AnswerLost as lost:
        return _refused(exercise, properties, _of_lost(lost), "error")
    return Verdict(exercise.id, exercise.title, results)


def check(
    identity: str, properties: Sequence[Property], answer: Any, secret: bytes, place_of: PlaceOf
) -> tuple[PropertyResult, ...]:
    """Check properties of an answer, each with random numbers of its own."""
    results = []
    for done, each in enumerate(properties):
        ongoing.say(each.name, done, len(properties))
        results.append(_try(each, answer, place_of, generator(secret, identity, each.name)))
    return tuple(results)


def generator(secret: bytes, *names: str) -> np.random.Generator:
    """The random numbers of one property: from the secret and names, so that nobody without it can know them."""
    digest = hmac.new(secret, "\0".join(names).encode(), hashlib.sha256).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint32))


def _try(each: Property, answer: Any, place_of: PlaceOf, random: np.random.Generator) -> PropertyResult:
    try:
        mismatch = each.check(answer, random)
    except NotImplementedError:
        raise
    except AnswerLost as lost:
        mismatch = _of_lost(lost)
    except TvmlabError as error:
        mismatch = Mismatch(error.what, error.where, error.mend)
    except (Exception, SystemExit) as error:
        place = place_of(error)
        if place is None:
            raise  # not the student's fault
        mismatch = Mismatch(f"{type(error).__name__}: {error}", str(place), "mend this line")
    return PropertyResult(each.name, "holds" if mismatch is None else "fails", mismatch)


def place_apart(error: BaseException) -> Any:
    """The line of an answer in another process that an error comes from; None if it is not the answer's."""
    return getattr(error, "place_in_answer", None)


def _of_lost(lost: AnswerLost) -> Mismatch:
    return Mismatch(f"{LOST}: {lost}", mend="run it in a notebook with %config Tvmlab.safe = True")


def _refused(exercise: Exercise, properties: Sequence[Property], mismatch: Mismatch, kind: str = "refused") -> Verdict:
    first = "it is an operator" if kind == "refused" else "its cell runs"
    result = PropertyResult(first, "fails", mismatch)
    rest = (PropertyResult(each.name, "untried") for each in properties)
    return Verdict(exercise.id, exercise.title, (result, *rest))


def _nothing(exercise: Exercise, properties: Sequence[Property], where: str) -> Verdict:
    return Verdict(
        exercise.id, exercise.title, tuple(PropertyResult(each.name, "untried") for each in properties), unwritten=where
    )
