"""Errors of TVM's with their explanation, in whatever cell they happen.

While the extension is loaded, the one method that shows a traceback is shadowed on the shell.  An error that a rule
knows is shown as its cause, the user's own line and what to write instead; under an error of tvmlab's own comes what to
write.  All others, and what ``%tb`` shows, go to IPython as before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from tvmlab.errors import PipelineError, TvmlabError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from tvmlab.diagnosis import Diagnosis

__all__ = ["install", "remove"]

_METHOD = "_showtraceback"
_MORE = "%tvm_why shows this again, %tb the whole traceback"


def install(shell: InteractiveShell) -> None:
    """Show the explanation of the errors that a rule knows."""
    ipython_shows: Callable[[type, BaseException, list[str]], None] = getattr(shell, _METHOD)

    def showtraceback(kind: type, error: BaseException, lines: list[str]) -> None:
        ipython_shows(kind, error, lines if sys.exception() is None else _with_explanation(error, lines))

    setattr(shell, _METHOD, showtraceback)


def remove(shell: InteractiveShell) -> None:
    """Give the method back to IPython, unless somebody else has shadowed it since: then ours only passes on."""
    shadow = vars(shell).get(_METHOD)
    if getattr(shadow, "__module__", None) == __name__:
        delattr(shell, _METHOD)


def _with_explanation(error: BaseException, lines: list[str]) -> list[str]:
    ours = isinstance(error, TvmlabError)
    if "tvm" not in sys.modules and not ours:
        return lines
    if ours and error.__cause__ is None:  # nobody but tvmlab spoke, and has said it all
        return lines
    from tvmlab.diagnosis import diagnose  # loading the extension imports as little as can be

    found = diagnose(error)
    if not found.rule:
        return lines
    says_itself = ours and not isinstance(error, PipelineError)
    return [*lines, *_code(found)] if says_itself else _in_full(found)


def _in_full(found: Diagnosis) -> list[str]:
    place = [f"  at {found.where}"] if found.where else []
    return [found.headline, *place, f"  mend: {found.mend}", *_code(found), found.error, _MORE]


def _code(found: Diagnosis) -> list[str]:
    return ["  write:", *(f"      {line}" for line in found.code.splitlines())] if found.code else []
