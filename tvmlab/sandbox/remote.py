"""The judge's side: the warm parent, and answers that are elsewhere."""

from __future__ import annotations

import builtins
import inspect
import itertools
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from tvmlab import errors
from tvmlab.errors import BackendError, TvmlabError
from tvmlab.sandbox import bubblewrap
from tvmlab.sandbox.cage import Limits
from tvmlab.sandbox.plain import Garbled, TooLarge, receive, send
from tvmlab.sandbox.probes import pack

_P = inspect.Parameter

__all__ = ["AnswerLost", "RemoteAnswer", "Sandbox", "Unmade", "beside"]

_SECONDS_TO_START = 120.0
_ONE_THREAD = ("TVM_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_SPARE_SECONDS = 5.0
_KINDS = (_P.POSITIONAL_ONLY, _P.POSITIONAL_OR_KEYWORD, _P.VAR_POSITIONAL, _P.KEYWORD_ONLY, _P.VAR_KEYWORD)


class AnswerLost(BaseException):
    """The answer ended its process, went over a limit, or sends what is no message.

    No `Exception`, so that a property which expects one of an answer does not take this for it.
    """


class Unmade(Exception):
    """The cell makes no answer; ``kind`` is ``unwritten``, ``refused`` or ``error``."""

    def __init__(self, kind: str, what: str, where: str = "", mend: str = "") -> None:
        super().__init__(what)
        self.kind, self.what, self.where, self.mend = kind, what, where, mend


def beside(answer: Any, probe: Callable[..., Any], *given: Any) -> Any:
    """What `probe(answer, *given)` returns, where the answer is.

    A property may call an answer with plain values: numbers, texts, arrays, graphs, and lists, tuples and dicts of
    these.  Whatever else it wants of an answer, a probe finds out, which is run beside it: in grading the answer is in
    another process, and only plain values come back.

    Parameters
    ----------
    answer : Op, function or RemoteAnswer
    probe : function
        Defined at the top of a file.  It may mention modules and functions, and no reference.
    *given
        Plain values.
    """
    if isinstance(answer, RemoteAnswer):
        return answer.look(probe, given)
    return probe(answer, *given)


class RemoteAnswer:
    """An answer in another process; it is called as the answer itself is.

    Parameters
    ----------
    sandbox : Sandbox
    number : int
    connection : socket
    limits : Limits
    """

    def __init__(self, sandbox: Sandbox, number: int, connection: socket.socket, limits: Limits) -> None:
        self._sandbox = sandbox
        self._number = number
        self._connection = connection
        self._left = limits.seconds
        self._limits = limits
        self._lost = ""
        self._sent: dict[str, Callable[..., Any]] = {}
        self.__name__ = "answer"

    def make(self, asks: str, body: str, label: str, before: Sequence[str] = ()) -> None:
        """Run the cell there; ``before`` are the code cells before it.

        Raises
        ------
        Unmade
            It makes no answer.
        AnswerLost
            It ends its process.
        """
        given = {"asks": asks, "body": body, "label": label, "before": list(before)}
        reply = self._ask({"make": given}, self._left + _SPARE_SECONDS)
        if "unwritten" in reply:
            raise Unmade("unwritten", str(reply["unwritten"]))
        for kind in ("refused", "error"):
            if kind in reply:
                raise Unmade(kind, *_texts(reply[kind], 4)[1:])
        if "raised" in reply:
            name, text, where, _ = _texts(reply["raised"], 4)
            raise Unmade("error", f"{name}: {text}", where, "mend this line")
        self._describe(reply.get("made"))

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._value({"given": list(given), "named": named})

    def look(self, probe: Callable[..., Any], given: Sequence[Any]) -> Any:
        """What a probe finds; see `beside`."""
        name = f"{probe.__module__}.{probe.__qualname__}"
        message: dict[str, Any] = {"probe": name, "given": list(given)}
        if self._sent.get(name) is not probe:
            self._sent[name] = probe
            message["code"] = pack(probe)
        return self._value(message)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise TypeError(
            f"a property asks an answer for its {name}, and the answer is in another process: ask for it in a probe, "
            "tvmlab.sandbox.beside(answer, probe, …)"
        )

    def close(self) -> None:
        """End the process of the answer."""
        self._connection.close()
        if not self._lost:
            self._lost = "it was ended"
            self._sandbox.fate(self._number, "kill")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _describe(self, made: Any) -> None:
        kinds = {kind.name: kind for kind in _KINDS}
        try:
            listed, name = made
            parameters = [inspect.Parameter(str(each), kinds[kind]) for each, kind in listed]
            self.__signature__ = inspect.Signature(parameters)
            self.__name__ = str(name)
        except (TypeError, ValueError, KeyError) as error:
            raise self._lose("it sends what is no answer") from error

    def _value(self, message: dict[str, Any]) -> Any:
        reply = self._ask(message, self._left)
        if "value" in reply:
            return reply["value"]
        if "unwritten" in reply:
            error: BaseException = NotImplementedError(str(reply["unwritten"]))
        elif "error" in reply:
            name, what, where, mend = _texts(reply["error"], 4)
            kind = getattr(errors, name, TvmlabError) if name in errors.__all__ else TvmlabError
            told = issubclass(kind, TvmlabError) if isinstance(kind, type) else False
            error = (kind if told else TvmlabError)(what, where or None, mend or None)
        elif "raised" in reply:
            name, text, where, _ = _texts(reply["raised"], 4)
            kind = getattr(builtins, name, None)
            known = isinstance(kind, type) and issubclass(kind, Exception | SystemExit)
            error = _made(kind, text) if known else RuntimeError(f"{name}: {text}")
            error.place_in_answer = where or "the answer"  # type: ignore[attr-defined]
        else:
            raise self._lose("it sends what is no message")
        raise error

    def _ask(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        if self._lost:
            raise AnswerLost(self._lost)
        start = time.monotonic()
        try:
            send(self._connection, message)
            reply = receive(self._connection, start + seconds)
        except TimeoutError:
            raise self._lose(f"it did not end in {self._limits.seconds:g} seconds") from None
        except TooLarge as error:
            raise self._lose(f"it gives too much data: {error}") from None
        except Garbled as error:
            raise self._lose(f"it sends what is no message: {error}") from None
        except (EOFError, OSError):
            raise self._lose("") from None
        self._left -= time.monotonic() - start
        if not isinstance(reply, dict):
            raise self._lose("it sends what is no message")
        if "broken" in reply:
            raise BackendError(
                f"an answer cannot be shut in: {reply['broken']}", "bubblewrap", "grade on another machine, or as root"
            )
        return reply

    def _lose(self, what: str) -> AnswerLost:
        self._connection.close()
        fate = self._sandbox.fate(self._number, "kill" if what else "fate")
        if fate == "memory":
            self._lost = f"it used more than {self._limits.megabytes} MB of memory"
        elif fate == "SIGXCPU":
            self._lost = f"it did not end in {self._limits.seconds:g} seconds"
        else:
            self._lost = what or f"it ended its process: {fate or 'nobody knows how'}"
        return AnswerLost(self._lost)


class Sandbox:
    """The warm parent, from which a process is forked for each answer.

    Parameters
    ----------
    caged : bool
        In bubblewrap; else answers have the rights of this process.
    limits : Limits
    hidden : sequence of path
        What no answer may see.

    Raises
    ------
    BackendError
        Bubblewrap is not there or may not work, or the parent does not start.
    """

    def __init__(self, *, caged: bool = True, limits: Limits | None = None, hidden: Sequence[Path] = ()) -> None:
        self.limits = limits or Limits()
        before = bubblewrap.command(bubblewrap.require(), hidden) if caged else []
        self._control, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._numbers = itertools.count(os.getpid() * 1000)
        with there:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, and a module of ours
                [*before, *_python(), str(there.fileno()), "caged" if caged else "free"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=[there.fileno()],
                env=_environment(),
                cwd="/",
            )
        self._begin()

    def _begin(self) -> None:
        if not select.select([self._control], [], [], _SECONDS_TO_START)[0] or not self._control.recv(1 << 16):
            self._process.kill()
            assert self._process.stderr is not None
            said = self._process.stderr.read().decode(errors="replace").strip().splitlines()
            self.close()
            raise BackendError(
                f"the process for the answers did not start: {said[-1] if said else 'it said nothing'}",
                sys.executable,
                "tvmlab doctor looks for the cause",
            )

    def new(self) -> RemoteAnswer:
        """A process for one answer."""
        number = next(self._numbers)
        here, there = socket.socketpair()
        here.settimeout(self.limits.seconds + _SPARE_SECONDS)  # an answer that reads nothing must not stop its judge
        with there:
            order = {"do": "fork", "answer": number, "limits": list(self.limits)}
            socket.send_fds(self._control, [json.dumps(order).encode()], [there.fileno()])
        return RemoteAnswer(self, number, here, self.limits)

    def fate(self, number: int, do: str) -> str:
        """End the process of an answer, or wait a moment until it ends; how it ended."""
        self._control.send(json.dumps({"do": do, "answer": number}).encode())
        told = json.loads(self._control.recv(1 << 16) or b"{}")
        return str(told.get("fate", "its parent ended"))

    def close(self) -> None:
        """End all of it."""
        self._control.close()
        if self._process.stderr is not None:
            self._process.stderr.close()
        self._process.terminate()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _python() -> list[str]:
    return [sys.executable, "-m", "tvmlab.sandbox.server"]


def _environment() -> dict[str, str]:
    """Of ours only what Python needs: a variable may hold anything."""
    package = Path(__file__).resolve().parent.parent.parent
    path = [str(package), *bubblewrap.packages()]
    return {
        **dict.fromkeys(_ONE_THREAD, "1"),
        "TVM_BIND_THREADS": "0",
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/nonexistent",
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",
    }


def _texts(given: Any, count: int) -> list[str]:
    texts = [str(each) for each in given] if isinstance(given, list) else []
    return [each[:2000] for each in (texts + [""] * count)[:count]]


def _made(kind: Any, text: str) -> BaseException:
    try:
        made: BaseException = kind(text)
    except Exception:  # noqa: BLE001 - UnicodeDecodeError and its like take more
        made = RuntimeError(f"{kind.__name__}: {text}")
    return made
