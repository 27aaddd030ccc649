"""The warm parent of all answers: ``python -m tvmlab.sandbox.server FD``.

It has imported TVM, knows no exercise, and runs no answer: for each it forks, and hands the fork a socket to the judge.
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tvmlab.sandbox import cage
from tvmlab.sandbox.cage import Limits
from tvmlab.sandbox.plain import send

__all__ = ["main"]

_LOOK_EVERY = 0.1  # seconds
_KILLED = 128 + signal.SIGKILL


class Server:
    """The forks that are alive, and the judge's orders.

    Parameters
    ----------
    control : socket
        From the judge: one order a packet, with the socket of the fork beside it.
    caged : bool
        Whether this process is in bubblewrap, so that its forks can be shut in further.
    """

    def __init__(self, control: socket.socket, *, caged: bool) -> None:
        self._control = control
        self._caged = caged
        self._alive: dict[int, int] = {}
        self._limits: dict[int, Limits] = {}
        self._fates: dict[int, str] = {}
        self._folders: dict[int, str] = {}

    def serve(self) -> None:
        """Take orders until the judge is gone."""
        self._say({"ready": True})
        while True:
            waiting = _LOOK_EVERY if self._alive else None
            if select.select([self._control], [], [], waiting)[0]:
                text, sockets = _packet(self._control)
                if not text:
                    return
                self._obey(json.loads(text), sockets)
            self._look()

    def close(self) -> None:
        """End all forks."""
        for number in list(self._alive):
            self._end(number)

    def _obey(self, order: dict[str, Any], sockets: list[int]) -> None:
        number = order["answer"]
        if order["do"] == "fork":
            self._fork(number, Limits(*order["limits"]), sockets[0])
            os.close(sockets[0])
        else:
            if number in self._alive:
                self._end(number, wait=1.0 if order["do"] == "fate" else 0.0)
            self._say({"answer": number, "fate": self._fates.pop(number, "")})

    def _fork(self, number: int, limits: Limits, connection: int) -> None:
        folder = "" if self._caged else tempfile.mkdtemp(prefix="tvmlab-answer-")
        process = os.fork()
        if process == 0:
            try:
                self._control.close()
                try:
                    _run(number, limits, connection, folder)
                except BaseException:
                    import traceback

                    traceback.print_exc()
                    raise
            finally:
                os._exit(0)
        self._alive[number], self._limits[number] = process, limits
        if folder:
            self._folders[number] = folder

    def _look(self) -> None:
        """Note who has ended, and end who uses too much memory."""
        for number, process in list(self._alive.items()):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                self._note(number, status)
            elif _memory(process) > self._limits[number].megabytes << 20:
                self._end(number)
                self._fates[number] = "memory"

    def _end(self, number: int, wait: float = 0.0) -> None:
        process, until = self._alive[number], time.monotonic() + wait
        while time.monotonic() < until:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                self._note(number, status)
                return
            time.sleep(0.002)
        for child in [*_descendants(process), process]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        if not self._caged:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process, signal.SIGKILL)
        self._note(number, os.waitpid(process, 0)[1])

    def _note(self, number: int, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        ended_by = -code if code < 0 else code - 128 if code > 128 else 0
        self._fates.setdefault(number, _name(ended_by) if ended_by else f"exit code {code}")
        del self._alive[number], self._limits[number]
        shutil.rmtree(self._folders.pop(number, ""), ignore_errors=True)

    def _say(self, message: dict[str, Any]) -> None:
        self._control.send(json.dumps(message).encode())


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _packet(control: socket.socket) -> tuple[bytes, list[int]]:
    text, beside, _, _ = control.recvmsg(1 << 16, socket.CMSG_SPACE(4))
    found = array.array("i")
    for level, kind, data in beside:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return text, list(found)


def _descendants(process: int) -> list[int]:
    found: list[int] = []
    waiting = [process]
    while waiting:
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{waiting[-1]}/task/{waiting.pop()}/children").read_text(encoding="ascii")
            children = [int(child) for child in text.split()]
            found += children
            waiting += children
    return found


def _memory(process: int) -> int:
    """Bytes that a fork and its children have for themselves."""
    total = 0
    for each in _descendants(process):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii").splitlines()
            total += sum(
                int(line.split()[1]) << 10 for line in lines if line.startswith(("Private_Dirty", "Shared_Dirty"))
            )
    return total


def _run(number: int, limits: Limits, connection: int, folder: str) -> None:
    """In the fork: be shut in, then answer the judge."""
    from tvmlab.sandbox import answering

    os.setsid()
    with socket.socket(fileno=os.dup(connection)) as judge:
        _close_all_but(judge.fileno())
        try:
            _shut_in(number, limits, folder)
        except OSError as error:
            send(judge, {"broken": str(error)})
            return
        gc.set_threshold(100_000, 50, 100)  # what was there before the fork is frozen, and costs nothing
        gc.enable()
        answering.answer(judge)


def _shut_in(number: int, limits: Limits, folder: str) -> None:
    before = cage.size()
    if folder:
        os.chdir(folder)
    else:
        cage.enter(number, limits)
    _mute()
    home = folder or cage.SCRATCH
    os.environ.update(HOME=home, TMPDIR=home, XDG_CACHE_HOME=home)
    tempfile.tempdir = home
    cage.limit(limits, before)


def _mute() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.close(nothing)


def _close_all_but(kept: int) -> None:
    os.closerange(3, kept)
    os.closerange(kept + 1, 4096)


def _warm_up() -> None:
    """Import, and compile something: what every answer would begin with."""
    from tvm import relax

    from tvmlab import ops, pipeline  # noqa: F401
    from tvmlab.sandbox import answering  # noqa: F401

    def same(x: float32[2]) -> Any:  # type: ignore[name-defined] # noqa: F821 - a type for the model
        return relax.op.nn.relu(x)

    pipeline.trace(pipeline.graph(same)).executable  # noqa: B018 - compiled when it is asked for


def main() -> None:
    """Serve the judge at the other end of a socket that was inherited."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _warm_up()
    gc.collect()
    gc.freeze()
    gc.disable()
    server = Server(control, caged=sys.argv[2] == "caged")
    try:
        server.serve()
    finally:
        server.close()


if __name__ == "__main__":
    main()
