"""The child of safe mode: ``python -m tvmlab.runtime.isolated``.  It compiles, and forks for every call."""

from __future__ import annotations

import gc
import json
import math
import os
import select
import signal
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tvmlab.errors import PipelineError, TvmlabError
from tvmlab.runtime import wire
from tvmlab.runtime.children import requests
from tvmlab.runtime.executable import Executable, compile_module, first_line

_KEPT = 64
_Message = dict[str, Any]


class Server:
    """Compiles modules, and gives each call to a process of its own."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Executable] = OrderedDict()
        self._next: Fork | None = None
        self._ending: list[Fork] = []

    def answer(self, message: _Message) -> _Message:
        """Answer one message of the parent's."""
        if not message:
            import tvm  # noqa: F401 - what makes the process warm

            return {"ready": True}
        try:
            if "module" in message:
                return self._compile(message)
            if message["key"] not in self._kept:
                return {"unknown": True}
            self._kept.move_to_end(message["key"])
            if not hasattr(os, "fork"):
                return run(self._kept, message)
            self.prepare()
            assert self._next is not None
            fork, self._next = self._next, None
            self._ending.append(fork)
            return fork.run(message)
        except TvmlabError as error:
            return _told(error)

    def prepare(self) -> None:
        """Fork for the next call before it comes: that is most of what a call costs."""
        if self._next is None and self._kept and hasattr(os, "fork"):
            self._next = Fork(self._kept)
        self._ending = [fork for fork in self._ending if not fork.is_gone()]

    def _compile(self, message: _Message) -> _Message:
        if self._next is not None:  # it does not know the new module
            self._next.end()
            self._next = None
        self._kept[message["key"]] = _compiled(Path(message["module"]).read_text(encoding="utf-8"))
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return {"compiled": True}


def main() -> None:
    """Answer the parent's messages."""
    messages, reply = requests()
    server = Server()
    for message in messages:
        reply(server.answer(message))
        server.prepare()


def _compiled(text: str) -> Executable:
    from tvm import ir

    parts = ir.load_json(text)
    return compile_module(parts["module"], parts.get("target"))


def run(kept: Mapping[str, Executable], message: _Message) -> _Message:
    """Run one call in this process."""
    executable = kept[message["key"]]
    path, description = message["given"]
    try:
        arrays = wire.mapped(Path(path), description["tuple"])
        result = executable.run_in_place(*arrays, function=message["function"])
        return {"result": wire.write(Path(message["made"]), result)}
    except TvmlabError as error:
        return _told(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        return _told(PipelineError(f"the kernel failed while it ran: {first_line(error)}"))


def _told(error: TvmlabError) -> _Message:
    return {"error": [type(error).__name__, error.what, error.where, error.mend]}


class Fork:
    """A process that waits for one call, runs it under its limits, and ends.

    It ends as well when the end of the pipe to it is closed, as it is by the death of the process that made it.
    """

    def __init__(self, kept: Mapping[str, Executable]) -> None:
        call, self._call = os.pipe()
        self._said, said = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the other thread waits for a line, and holds no lock
            self._process = os.fork()
        if self._process == 0:
            try:
                os.close(self._call)
                os.close(self._said)
                _serve_one(kept, call, said)
            finally:
                os._exit(0)
        os.close(call)
        os.close(said)

    def run(self, message: _Message) -> _Message:
        """Give it the call; the answer, or what became of it."""
        with os.fdopen(self._call, "w", encoding="utf-8") as call:
            call.write(json.dumps(message))
        ready, _, _ = select.select([self._said], [], [], message["seconds"])
        if not ready:
            os.kill(self._process, signal.SIGKILL)
        with os.fdopen(self._said, encoding="utf-8") as said:
            text = said.read()
        if ready and text:  # what has answered is not waited for: its end takes longer than most calls
            answer: _Message = json.loads(text)
            return answer
        status = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        self._process = 0
        if not ready:
            return {"late": message["seconds"]}
        return {"died": signal.Signals(-status).name if status < 0 else f"exit code {status}"}

    def is_gone(self) -> bool:
        """Whether it has ended, and the system has forgotten it."""
        return self._process == 0 or os.waitpid(self._process, os.WNOHANG)[0] == self._process

    def end(self) -> None:
        """End it without a call."""
        os.close(self._call)
        os.close(self._said)
        os.waitpid(self._process, 0)


def _serve_one(kept: Mapping[str, Executable], call: int, said: int) -> None:
    gc.disable()  # it would touch every object, and so copy every page of the process that made this one
    with os.fdopen(call, encoding="utf-8") as waiting:
        text = waiting.read()
    if not text:
        return
    message = json.loads(text)
    _limit(message)
    with os.fdopen(said, "w", encoding="utf-8") as out:
        out.write(json.dumps(run(kept, message)))


def _limit(message: _Message) -> None:
    """Set the limits of a call, and let its death be quick: TVM would print a backtrace, the system dump its memory."""
    import resource

    for number in (signal.SIGSEGV, signal.SIGFPE, signal.SIGILL, signal.SIGBUS, signal.SIGABRT):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    processors = os.cpu_count() or 1
    seconds = math.ceil(message["seconds"] * processors) + 1  # outlives the parent no longer than that
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    statistics = Path("/proc/self/statm")
    if statistics.exists():
        size = int(statistics.read_text(encoding="ascii").split()[0]) * resource.getpagesize() + message["bytes"]
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


if __name__ == "__main__":
    main()
