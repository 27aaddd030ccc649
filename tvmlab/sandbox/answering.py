"""In the process of an answer: make it, and do with it what the judge asks for."""

from __future__ import annotations

import inspect
import socket
import traceback
from typing import Any

from tvmlab.errors import TvmlabError
from tvmlab.sandbox.answers import Refused, answer_of, unwritten
from tvmlab.sandbox.names import names_for
from tvmlab.sandbox.plain import receive, send
from tvmlab.sandbox.probes import unpack

__all__ = ["answer"]

_Message = dict[str, Any]


class Answer:
    """The answer, once it was made."""

    def __init__(self) -> None:
        self._made: Any = None
        self._source: Any = None
        self._probes: dict[str, Any] = {}

    def reply(self, message: _Message) -> _Message:
        """Do what a message asks for; what failed is told."""
        try:
            if "make" in message:
                return self._make(**message["make"])
            if "probe" in message:
                if "code" in message:
                    self._probes[message["probe"]] = unpack(message["code"])
                return {"value": self._probes[message["probe"]](self._made, *message["given"])}
            return {"value": self._made(*message["given"], **message["named"])}
        except NotImplementedError as error:
            return {"unwritten": str(self._place(error) or "the answer")}
        except Refused as refused:
            return {"refused": _told(refused.error)}
        except TvmlabError as error:
            return {"error": _told(error)}
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever an answer raises, the judge wants to know
            place = self._place(error)
            where = "" if place is None else str(place)
            trace = traceback.format_exception(error)[-1].strip()
            return {"raised": [type(error).__name__, _text(error), where, trace[:500]]}

    def _make(self, asks: str, body: str, label: str, before: list[str]) -> _Message:
        blank = unwritten(body, label)
        if blank:
            return {"unwritten": blank}
        self._made, self._source = answer_of(asks, body, names_for(body, before), label=label)
        return {"made": [_signature(self._made), str(getattr(self._made, "__name__", asks))]}

    def _place(self, error: BaseException) -> Any:
        return None if self._source is None else self._source.of_exception(error)


def answer(judge: socket.socket) -> None:
    """Reply to the judge until it is gone."""
    made = Answer()
    while True:
        try:
            message = receive(judge)
        except EOFError:
            return
        reply = made.reply(message)
        try:
            send(judge, reply)
        except MemoryError:
            send(judge, {"raised": ["MemoryError", "", "", "MemoryError"]})


def _signature(made: Any) -> list[list[str]]:
    try:
        parameters = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):
        return []
    return [[each.name, each.kind.name] for each in parameters]


def _told(error: TvmlabError) -> list[str]:
    return [type(error).__name__, error.what, error.where, error.mend]


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an answer's own __str__ may do anything
        return "an error without a text"
