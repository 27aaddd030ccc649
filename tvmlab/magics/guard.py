"""Misspelt magics as errors that a notebook runner sees.

A magic that does not exist, or a cell magic over an empty body, never reaches the extension: IPython raises its own
`UsageError` and prints it on stderr, without an error output.  While the extension is loaded, the one method that
prints it is shadowed on the shell, and those that concern tvmlab are shown as `TvmlabUsageError`.
All others go to IPython as before.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from IPython.core.error import UsageError

from tvmlab.magics import cell
from tvmlab.magics.commands import CELL_HINTS, Tvmlab
from tvmlab.magics.errors import TvmlabUsageError, nearest

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["explain", "install", "remove"]

_METHOD = "show_usage_error"
_NAMED = re.compile(r"(%+)([^\s`%]+)")


def install(shell: InteractiveShell) -> None:
    """Show the usage errors that concern tvmlab as its own."""
    ipython_shows: Callable[[UsageError], None] = getattr(shell, _METHOD)

    def show_usage_error(error: UsageError) -> None:
        ours = explain(shell, error)
        if ours is None:
            ipython_shows(error)
        else:
            shell._showtraceback(type(ours), ours, ours._render_traceback_())

    setattr(shell, _METHOD, show_usage_error)


def remove(shell: InteractiveShell) -> None:
    """Give the method back to IPython, unless somebody else has shadowed it since: then ours only passes on."""
    shadow = vars(shell).get(_METHOD)
    if getattr(shadow, "__module__", None) == __name__:
        delattr(shell, _METHOD)


def explain(shell: InteractiveShell, error: UsageError) -> TvmlabUsageError | None:
    """Turn IPython's usage error into ours; None if it does not concern tvmlab.

    It does if the magic it names is one of ours, begins with ``tvm``, or is nearly one of ours.
    """
    face = shell.magics_manager.registry.get(Tvmlab.__name__)
    named = _NAMED.search(str(error))
    if face is None or named is None:
        return None
    typed, name = named.group(), named.group(2)
    meant = nearest(name, face.names, cutoff=0.6 if name.startswith("tvm") else 0.8)
    if not meant and not name.startswith("tvm"):
        return None
    frames = reversed(list(traceback.walk_tb(error.__traceback__)))
    where = cell.locate(shell, name, typed, frames)
    if name not in face.names:
        spelt = [face.spelling(known) for known in face.names]
        mend = f"did you mean {face.spelling(meant)}?" if meant else f"there are {', '.join(spelt)}"
        return TvmlabUsageError(f"there is no magic {typed}", where, mend)
    if name not in face.magics["cell"]:
        return TvmlabUsageError(f"%{name} works on its line, not on a cell", where, f"write %{name} with one %")
    if "empty" in str(error):
        return TvmlabUsageError(f"the cell under %%{name} is empty", where, CELL_HINTS[name])
    mend = "move it to the first line, above comments, or into a cell of its own"
    return TvmlabUsageError(f"%%{name} is not at the top of its cell", where, mend)
