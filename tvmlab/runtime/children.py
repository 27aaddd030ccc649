"""Processes of our own that speak lines of JSON, so that what dies or hangs in them is an answer and no disaster."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Self

__all__ = ["Child", "ChildLost", "requests"]

_Message = dict[str, Any]


class ChildLost(Exception):
    """The child died, or did not answer in time and was killed; the text says which."""


class Child:
    """A Python process that runs a module of ours.

    Parameters
    ----------
    module : str
        What ``python -m`` runs; it reads `requests` and answers each with ``reply``.
    environment : mapping, optional
        Variables on top of this process's own.

    Notes
    -----
    It has a session of its own, so that Ctrl-C ends the parent first, which then ends it with all its children; and it
    ends by itself when the parent is gone.
    """

    def __init__(self, module: str, environment: Mapping[str, str] | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tvmlab-", ignore_cleanup_errors=True)
        self._log = Path(self._folder.name) / "stderr"
        root = str(Path(__file__).resolve().parent.parent.parent)
        path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, and a module of ours
                [sys.executable, "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "PYTHONPATH": path, "TMPDIR": self._folder.name, **(environment or {})},
                start_new_session=os.name == "posix",
                text=True,
                encoding="utf-8",
            )
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def ask(self, message: _Message, timeout: float) -> _Message:
        """Send a message, and wait for one answer.

        Raises
        ------
        ChildLost
            The child died, or `timeout` seconds passed; it is dead then.
        """
        self.send(message)
        return self.receive(timeout)

    def send(self, message: _Message) -> None:
        """Send a message.

        Raises
        ------
        ChildLost
            The child is dead.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError) as error:
            raise ChildLost(self._epitaph()) from error

    def receive(self, timeout: float) -> _Message:
        """Wait for an answer; raises as `ask` does."""
        try:
            line = self._answers.get(timeout=timeout)
        except queue.Empty:
            self.close()
            raise ChildLost(f"no answer in {timeout:.0f} s, so it was ended") from None
        if line is None:
            raise ChildLost(self._epitaph())
        answer: _Message = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process, its children and its folder."""
        if self._process.poll() is None:
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                _close(stream)
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def _epitaph(self) -> str:
        code = self._process.wait()
        printed = (
            self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if self._log.exists() else []
        )
        self.close()
        if code < 0:
            return f"it was ended by {signal.Signals(-code).name}"
        said = f": {printed[-1].strip()}" if printed else ""
        return f"it ended with code {code}{said}"


def requests() -> tuple[Iterator[_Message], Callable[[_Message], None]]:
    """In the child: the parent's messages, and the function that answers.

    Standard output belongs to the answers; what anything else prints goes to stderr, which the parent keeps.  The
    process ends when the parent does, whatever it is doing.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    arrived: queue.Queue[_Message] = queue.Queue()

    def read() -> None:
        for line in sys.stdin:
            arrived.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()

    def reply(message: _Message) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    return iter(arrived.get, None), reply


def _close(stream: IO[str]) -> None:
    """Close a pipe whose other end may be gone with text still in the buffer."""
    try:
        stream.close()
    except BrokenPipeError:
        stream.close()
