"""Progress of what takes more than a second: one display that is renewed, and gone at the end."""

from __future__ import annotations

import html
import time
from typing import Any

from IPython.display import display

__all__ = ["Progress"]

_PATIENCE = 1.0


class Progress:
    """Say what is being done, once that has taken a second.  Nothing goes to stderr.

    Parameters
    ----------
    what : str
        What takes so long.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._started = time.monotonic()
        self._handle: Any = None

    def __call__(self, done: int, of: int, now: str) -> None:
        """Show that `done` of `of` are done, and what is next."""
        if time.monotonic() - self._started < _PATIENCE:
            return
        self._show(f"{self._what}: {done} of {of} done; {now} …")

    def end(self) -> None:
        """Take the display away."""
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)

    def _show(self, text: str) -> None:
        bundle = {"text/plain": text, "text/html": f'<div style="opacity:0.7">{html.escape(text)}</div>'}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)
