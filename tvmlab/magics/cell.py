"""Where the running cell is: its label, its own text and the lines of a magic and of a body in it.

IPython's transformed source is not the cell: blank lines before a cell magic are gone from it, and a body comes
without the lines above it.  The lines shown to the user are those of the cell as typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import FrameType
from typing import TYPE_CHECKING, Any

from tvmlab.errors import Location

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["first_line", "label", "locate", "remember"]


def _number(shell: InteractiveShell) -> int:
    # execution_count is already that of the next cell while a cell runs
    history: Any = shell.history_manager
    return len(history.input_hist_parsed) - 1


def _text(shell: InteractiveShell) -> str:
    history: Any = shell.history_manager
    return str(history.input_hist_raw[-1])


def label(shell: InteractiveShell) -> str:
    """What IPython calls the running cell: ``Cell In[3]``."""
    return f"Cell In[{_number(shell)}]"


def first_line(shell: InteractiveShell, body: str) -> int:
    """1-based line of the running cell in which a cell magic's body begins.

    2 if the body is not the end of the cell, as when a program runs the magic.
    """
    cell, body = _text(shell).rstrip(), body.rstrip()
    if body and cell.endswith("\n" + body):
        return cell.removesuffix(body).count("\n") + 1
    return 2


def locate(
    shell: InteractiveShell, magic: str, culprit: str, frames: Iterable[tuple[FrameType, int]]
) -> Location | None:
    """Where a magic stands in the running cell.

    Parameters
    ----------
    magic : str
        Name of the magic, without its ``%``.
    culprit : str
        The word to point at; the line alone is given if it is empty or not there.
    frames : iterable of (frame, line number)
        Frames of the call, innermost first: they tell two uses of a magic in one cell apart.

    Returns
    -------
    Location or None
        None if the cell does not show the magic, as when a program runs it.
    """
    lines = _text(shell).splitlines()
    pattern = re.compile(rf"%+{re.escape(magic)}(?!\w)")
    uses = {number: use for number, line in enumerate(lines, 1) if (use := pattern.search(line))}
    if not uses:
        return None
    # IPython drops the blank lines at the top of a cell before it compiles it
    dropped = next(number for number, line in enumerate(lines) if line.strip())
    running = next((line + dropped for frame, line in frames if frame.f_globals is shell.user_global_ns), 0)
    number = running if running in uses else min(uses)
    line = lines[number - 1]
    word = re.compile(rf"(?<!\S){re.escape(culprit)}").search(line, uses[number].start()) if culprit else None
    return Location(label(shell), number, word.start() if word else -1, line)


def remember(shell: InteractiveShell, source: str) -> str:
    """Keep the source of code about to be compiled; return the file name to compile it under.

    IPython shows that name as the running cell and finds the source for its tracebacks; so does `inspect.getsource`.
    """
    return shell.compile.cache(source, _number(shell), raw_code=source)
