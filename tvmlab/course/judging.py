"""From the text of a cell to a verdict."""

from __future__ import annotations

import ast
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tvmlab import ongoing
from tvmlab.errors import Location, TvmlabError
from tvmlab.records import Exercise, Mismatch, Property, PropertyResult, Verdict

if TYPE_CHECKING:
    from tvmlab.ops.source import Source

__all__ = ["generator", "judge"]

Cache = Callable[[str], str]


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
    blank = _unwritten(body, label, first_line)
    if blank:
        return _nothing(exercise, properties, blank)
    given = {"label": label, "first_line": first_line, "cache": cache}
    try:
        answer, source = _answer(exercise, body, dict(shell_namespace or {}), given)
    except _Refused as refused:
        error = refused.error
        result = PropertyResult("it is an operator", "fails", Mismatch(error.what, error.where, error.mend))
        rest = (PropertyResult(each.name, "untried") for each in properties)
        return Verdict(exercise.id, exercise.title, (result, *rest))
    try:
        results = []
        for done, each in enumerate(properties):
            ongoing.say(each.name, done, len(properties))
            results.append(_try(each, answer, source, generator(secret, exercise.id, each.name)))
    except NotImplementedError as error:
        return _nothing(exercise, properties, str(source.of_exception(error) or label))
    return Verdict(exercise.id, exercise.title, tuple(results), answer=answer)


def generator(secret: bytes, *names: str) -> np.random.Generator:
    """The random numbers of one property: from the secret and names, so that nobody without it can know them."""
    digest = hmac.new(secret, "\0".join(names).encode(), hashlib.sha256).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint32))


class _Refused(Exception):
    """TVM or a quick check refuses the operator."""

    def __init__(self, error: TvmlabError) -> None:
        super().__init__(str(error))
        self.error = error


def _answer(exercise: Exercise, body: str, names: dict[str, Any], given: dict[str, Any]) -> tuple[Any, Source]:
    """What the cell defines, and its source."""
    from tvmlab import ops
    from tvmlab.ops.source import source_of

    if "." not in exercise.asks:
        function = ops.read_function(exercise.asks, body, user_namespace=names, **given)
        return function, _labelled(source_of(function), given["label"])
    parts = ops.read_cell(body, user_namespace=names, **given)
    try:
        return ops.define(exercise.asks, parts), parts.source
    except NotImplementedError:
        raise
    except TvmlabError as error:
        raise _Refused(error) from error


def _labelled(source: Source, label: str) -> Source:
    return type(source)(source.filename, label, source.text)


def _try(each: Property, answer: Any, source: Source, random: np.random.Generator) -> PropertyResult:
    try:
        mismatch = each.check(answer, random)
    except NotImplementedError:
        raise
    except TvmlabError as error:
        mismatch = Mismatch(error.what, error.where, error.mend)
    except (Exception, SystemExit) as error:
        place = source.of_exception(error)
        if place is None:
            raise  # not the student's fault
        mismatch = Mismatch(f"{type(error).__name__}: {error}", str(place), "mend this line")
    return PropertyResult(each.name, "holds" if mismatch is None else "fails", mismatch)


def _nothing(exercise: Exercise, properties: Sequence[Property], where: str) -> Verdict:
    return Verdict(
        exercise.id, exercise.title, tuple(PropertyResult(each.name, "untried") for each in properties), unwritten=where
    )


def _unwritten(body: str, label: str, first_line: int) -> str:
    """The first line that has ``...`` where a statement or a value belongs; empty if there is none."""
    try:
        tree = ast.parse(body)
    except (SyntaxError, ValueError):
        return ""  # running it says more
    lines = [
        node.value.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return)
        and isinstance(node.value, ast.Constant)
        and node.value.value is ...
    ]
    if not lines:
        return ""
    return str(Location(label, min(lines) + first_line - 1, -1, body.splitlines()[min(lines) - 1]))
