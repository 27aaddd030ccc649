"""Progress of what takes more than a second: one display that is renewed, and empty at the end.

In a notebook it is a display with a handle, on a terminal a line that is written over; in a pipe or a script there is
none.  Nothing goes to stderr, and no widget is left behind in a notebook that is opened again.
"""

from __future__ import annotations

import contextvars
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from tvmlab import ongoing
from tvmlab.ongoing import Doing
from tvmlab.records import Bundle
from tvmlab.show import palette
from tvmlab.show.html import muted, tag
from tvmlab.show.text import short

__all__ = ["Notebook", "Progress", "Terminal", "bundle", "shown"]

_PATIENCE = 1.0  # seconds before the first word, and between two
_LINE = 100  # characters


class Face(Protocol):
    """Where progress is shown."""

    def show(self, what: str, doing: Doing | None, seconds: float) -> None:
        """Show it, or renew what was shown."""

    def clear(self) -> None:
        """Take it away."""


@contextmanager
def shown(what: str) -> Iterator[None]:
    """Within it, what rooms say is being done is shown; if that is so already, nothing changes.

    Parameters
    ----------
    what : str
        What takes so long: ``verifying resnet50``.
    """
    face = None if ongoing.is_heard() else _face()
    if face is None:
        yield
        return
    progress = Progress(what, face)
    with ongoing.heard(progress):
        try:
            yield
        finally:
            progress.end()


def _face() -> Face | None:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is not None:
        return Notebook()
    return Terminal() if sys.stdout is not None and sys.stdout.isatty() else None


class Progress:
    """Listens, and shows once a second what it heard last, from the first second on.

    While something is being timed, it shows only what it is told, between two repeats.
    """

    def __init__(self, what: str, face: Face) -> None:
        self._what, self._face = what, face
        self._started = self._last = time.monotonic()
        self._doing: Doing | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        # In the cell's own context, so that a kernel knows below which cell to show it.
        run = contextvars.copy_context().run
        self._clock = threading.Thread(target=run, args=(self._tick,), name="tvmlab progress", daemon=True)
        self._clock.start()

    def __call__(self, doing: Doing) -> None:
        self._doing = doing
        if time.monotonic() - self._last >= _PATIENCE:
            self._show()

    def end(self) -> None:
        """Take it away."""
        self._ended.set()
        with self._lock:
            self._face.clear()

    def _tick(self) -> None:
        while not self._ended.wait(_PATIENCE):
            if self._doing is None or not self._doing.undisturbed:
                self._show()

    def _show(self) -> None:
        with self._lock:
            if not self._ended.is_set():
                self._last = time.monotonic()
                self._face.show(self._what, self._doing, self._last - self._started)


class Notebook:
    """A display below the cell."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, what: str, doing: Doing | None, seconds: float) -> None:
        """Show it, or renew what was shown."""
        from IPython.display import display

        drawn = bundle(what, doing, seconds)
        if self._handle is None:
            self._handle = display(drawn, raw=True, display_id=True)
        else:
            self._handle.update(drawn, raw=True)

    def clear(self) -> None:
        """Leave an empty display: one cannot be taken out of a notebook."""
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)


class Terminal:
    """A line that is written over."""

    def __init__(self) -> None:
        self._written = False

    def show(self, what: str, doing: Doing | None, seconds: float) -> None:
        """Show it, or renew what was shown."""
        self._written = True
        self._write(f"\r\x1b[K{short(_line(what, doing, seconds), _LINE)}")

    def clear(self) -> None:
        """Leave an empty line."""
        if self._written:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def bundle(what: str, doing: Doing | None, seconds: float) -> Bundle:
    """A bar where it is known how much there is, the words, and the seconds so far."""
    words = muted(short(_line(what, doing, seconds), 300))
    return {"text/plain": _line(what, doing, seconds), "text/html": str(tag("div", _bar(doing), words))}


def _bar(doing: Doing | None) -> object:
    if doing is None or not doing.of:
        return ""
    share = min(doing.done / doing.of, 1.0)
    part = tag("div", style=f"width:{100 * share:.0f}%;height:6px;background:{palette.GOOD}")
    return tag("div", part, style=f"width:20em;height:6px;background:{palette.SHADE};margin:4px 0")


def _line(what: str, doing: Doing | None, seconds: float) -> str:
    return f"{_words(what, doing)} {seconds:.0f} s"


def _words(what: str, doing: Doing | None) -> str:
    if doing is None:
        return f"{what} …"
    counted = f" ({doing.done:,} of {doing.of:,})" if doing.of else ""
    return f"{what}: {doing.text}{counted} …"
