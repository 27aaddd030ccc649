"""Nothing on stderr: what TVM prints goes to a temporary file.

TVM's C++ code writes warnings to file descriptor 2, past Python's ``sys.stderr``; its Python code uses
`warnings` and `logging`, which end in ``sys.stderr``.  Both are caught here.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Silence", "quiet"]

_STDERR = 2


@dataclass
class _Redirection:
    """The one redirection of the process; the first `quiet` makes it, the last one ends it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    depth: int = 0
    file: IO[bytes] | None = None
    text: io.TextIOWrapper | None = None
    saved_descriptor: int = -1
    saved_stream: Any = None

    def enter(self) -> int:
        """Redirect if nobody did yet; returns where in the file the newcomer's own text starts."""
        with self.lock:
            if self.depth == 0:
                self._open()
            self.depth += 1
            return self._end()

    def leave(self, start: int) -> str:
        """The text printed since `start`; the last to leave restores stderr."""
        with self.lock:
            printed = self._read(start)
            self.depth -= 1
            if self.depth == 0:
                self._close()
            return printed

    def peek(self, start: int) -> str:
        with self.lock:
            return self._read(start) if self.depth else ""

    def _open(self) -> None:
        # Closed by _close, in another call.
        self.file = tempfile.TemporaryFile()  # noqa: SIM115
        with suppress(OSError, ValueError, AttributeError):  # no stderr at all: a windowed process
            sys.__stderr__.flush()  # type: ignore[union-attr]
        self.saved_descriptor = -1
        with suppress(OSError):
            self.saved_descriptor = os.dup(_STDERR)
            os.dup2(self.file.fileno(), _STDERR)
        self.saved_stream = sys.stderr
        writer = io.BufferedWriter(_Unclosed(self.file))
        self.text = io.TextIOWrapper(writer, encoding="utf-8", errors="backslashreplace", line_buffering=True)
        sys.stderr = self.text

    def _close(self) -> None:
        assert self.file is not None
        if sys.stderr is self.text:
            sys.stderr = self.saved_stream
        if self.saved_descriptor >= 0:
            os.dup2(self.saved_descriptor, _STDERR)
            os.close(self.saved_descriptor)
        self.file.close()
        self.file = self.text = self.saved_stream = None

    def _end(self) -> int:
        assert self.file is not None
        assert self.text is not None
        self.text.flush()
        return self.file.seek(0, os.SEEK_END)

    def _read(self, start: int) -> str:
        end = self._end()
        assert self.file is not None
        if end == start:
            return ""
        self.file.seek(start)
        printed = self.file.read(end - start)
        self.file.seek(0, os.SEEK_END)
        return printed.decode("utf-8", errors="replace")


class _Unclosed(io.RawIOBase):
    """A raw view of the shared file that never closes it, so that the text layer's end does not end the file."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        written = self._file.write(bytes(data))
        self._file.flush()
        return written


_REDIRECTION = _Redirection()


class Silence:
    """What was printed on stderr under one `quiet`; ``text`` may be read inside and after it."""

    def __init__(self, start: int) -> None:
        self._start = start
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The text printed so far."""
        return _REDIRECTION.peek(self._start) if self._text is None else self._text

    def end(self) -> None:
        """Keep the text, and leave the redirection."""
        self._text = _REDIRECTION.leave(self._start)


@contextmanager
def quiet() -> Iterator[Silence]:
    """Send stderr, both file descriptor 2 and ``sys.stderr``, to a temporary file.

    Yields
    ------
    Silence
        Its ``text`` is what was printed.

    Notes
    -----
    Re-entrant and shared by threads: the first to enter redirects, the last to leave restores.  What another
    thread prints meanwhile is caught too.
    """
    silence = Silence(_REDIRECTION.enter())
    try:
        yield silence
    finally:
        silence.end()
