"""From an error to a record of what is known of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from tvmlab.diagnosis.places import chain, shorten, through_tvm, traceback_in_short, users_line
from tvmlab.diagnosis.rules import Explanation, explain_text
from tvmlab.errors import CallError, PipelineError, TvmlabError, UnknownOperators
from tvmlab.records import Record

__all__ = ["Diagnosis", "diagnose"]

_OWN_STAGES = {
    "AttributeSchemaError": "attributes",
    "BackendError": "the installation",
    "CallError": "call",
    "CellError": "definition",
    "CheckFailed": "check",
    "ComputeError": "compute",
    "GraphError": "fuse",
    "LoadError": "load",
    "NameRefused": "definition",
    "NoSuchOperator": "look-up of an operator",
    "PipelineError": "build",
    "RemoteLost": "remote device",
    "TypeRuleError": "type rule",
    "UnknownOperators": "import from ONNX",
}


@dataclass(frozen=True, repr=False)
class Diagnosis(Record):
    """What an error means.

    Parameters
    ----------
    rule : str
        Key of the rule that knows it, such as ``E08``; empty if none does.
    cause : str
        One sentence.
    stage : str
        At what it failed; empty if that is not known.
    where : str
        The user's own line, else what tvmlab names in its place; empty if there is none.
    meant : str
        The word that was probably meant; empty if none is near.
    mend : str
        What to do, in one line; empty if that is not known.
    code : str
        What to write instead; empty if there is nothing to show.
    error : str
        Class and first line of the error.
    traceback : tuple of str
        The user's own frames and what the error says.
    """

    rule: str
    cause: str
    stage: str
    where: str
    meant: str
    mend: str
    code: str
    error: str
    traceback: tuple[str, ...]

    @property
    def known(self) -> bool:
        """Whether a rule knows the error, or tvmlab itself raised it and says how to mend it."""
        return bool(self.rule or self.mend)

    @property
    def headline(self) -> str:
        return f"{self.rule}: {self.cause}" if self.rule else self.cause


def diagnose(error: BaseException | str | None = None) -> Diagnosis:
    """Explain an error.

    Parameters
    ----------
    error : BaseException or str, optional
        An error, or the text of one; the last one that was shown by default.

    Returns
    -------
    Diagnosis

    Raises
    ------
    CallError
        There is nothing to explain, or something that is no error.
    """
    if error is None:
        error = getattr(sys, "last_value", None)
        if error is None:
            raise CallError("there is no error to explain", mend="run the cell that fails, then ask")
    if isinstance(error, str):
        return _of_text(error)
    if not isinstance(error, BaseException):
        raise CallError(f"{type(error).__name__} is no error", mend="give an exception, or what it said as text")
    found = next((e for each in chain(error) if (e := explain_text(str(each), by_tvm=through_tvm(each)))), None)
    said = _first_line(error)
    if isinstance(error, TvmlabError):
        return _of_ours(error, found, said)
    place = next((str(place) for each in chain(error) if (place := users_line(each))), "")
    short = traceback_in_short(error)
    if found is None:
        return Diagnosis("", _honest(said), "", place, "", "", "", said, short)
    return Diagnosis(found.key, found.meaning, found.stage, place, found.meant, found.mend, found.code, said, short)


def _of_ours(error: TvmlabError, found: Explanation | None, said: str) -> Diagnosis:
    """An error of tvmlab's own says what, where and how; of one that only passes TVM's words on the rule says more."""
    short = traceback_in_short(error)
    if isinstance(error, UnknownOperators):
        stage, mend = _OWN_STAGES["UnknownOperators"], "write what they compute, and run it before the model is loaded"
        return Diagnosis("E32", error.what, stage, error.where, "", mend, error.skeleton, said, short)
    if found is None:
        stage = _OWN_STAGES.get(type(error).__name__, "")
        return Diagnosis("", error.what, stage, error.where, "", error.mend, "", said, short)
    passed_on = isinstance(error, PipelineError)
    cause, mend = (found.meaning, found.mend) if passed_on else (error.what, error.mend)
    return Diagnosis(found.key, cause, found.stage, error.where, found.meant, mend, found.code, said, short)


def _of_text(text: str) -> Diagnosis:
    found = explain_text(text)
    lines = tuple(line for line in text.strip().splitlines()[-6:])
    said = lines[-1].strip() if lines else ""
    if found is None:
        return Diagnosis("", _honest(said), "", "", "", "", "", said, lines)
    return Diagnosis(found.key, found.meaning, found.stage, "", found.meant, found.mend, found.code, said, lines)


def _honest(said: str) -> str:
    return f"no rule knows this error: {said}"


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {shorten(lines[0])}" if lines else type(error).__name__
