"""Where an error came from: the user's own line, and the traceback without the frames that say nothing to them."""

from __future__ import annotations

import linecache
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

from tvmlab.errors import Location

__all__ = ["chain", "shorten", "through_tvm", "traceback_in_short", "users_line"]

_TVM = ("tvm", "tvm_ffi")
_TOOLS = (*_TVM, "tvmlab", "IPython", "ipykernel", "traitlets", "_pytest", "pluggy", "runpy")
_LIBRARIES = tuple(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib"))
_MOST_FRAMES = 6
_MOST_CHARACTERS = 300


def chain(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that led to it, the nearest first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def through_tvm(error: BaseException) -> bool:
    """Whether TVM had a part in an error: it was called on the way, or it is what was asked for."""
    return any(_package(frame) in _TVM for frame, _ in _frames(error)) or bool(re.search(r"\btvm\b", str(error)))


def users_line(error: BaseException) -> Location | None:
    """The innermost line that is the user's own: in a cell or a file that belongs to no library."""
    own = [(frame, line) for frame, line in _frames(error) if _is_own(frame)]
    if not own:
        return None
    frame, line = own[-1]
    name = frame.f_code.co_filename
    return Location(_label(name), line, text=linecache.getline(name, line).rstrip("\n"))


def traceback_in_short(error: BaseException) -> tuple[str, ...]:
    """The user's own frames, at most six of them, and what the error says, line by line."""
    own = [(frame, line) for frame, line in _frames(error) if _is_own(frame)][-_MOST_FRAMES:]
    lines = []
    for frame, line in own:
        name = frame.f_code.co_filename
        lines.append(f"{_label(name)}, line {line}, in {frame.f_code.co_name}")
        lines.append(f"    {linecache.getline(name, line).strip()}")
    said = "".join(traceback.format_exception_only(error)).strip().splitlines()
    return (*lines, *map(shorten, said[:_MOST_FRAMES]))


def shorten(line: str) -> str:
    """A line of an error, cut where it becomes a list."""
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}…"


def _frames(error: BaseException) -> list[tuple[FrameType, int]]:
    return list(traceback.walk_tb(error.__traceback__))


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).split(".", maxsplit=1)[0]


def _is_own(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    if _package(frame) in _TOOLS or name.startswith(_LIBRARIES):
        return False
    return bool(linecache.getline(name, frame.f_lineno))


def _label(filename: str) -> str:
    """What a person calls a file: ``Cell In[3]`` for a notebook cell, else its last component."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    name = shell.compile.format_code_name(filename) if shell is not None else None
    return " ".join(name) if name is not None else filename.replace("\\", "/").rsplit("/", 1)[-1]
