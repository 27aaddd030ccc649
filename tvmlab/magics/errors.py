"""The error for a magic that is typed wrongly."""

from __future__ import annotations

from collections.abc import Iterable

from IPython.core.error import UsageError

from tvmlab import errors
from tvmlab.errors import TvmlabError

__all__ = ["TvmlabUsageError", "nearest"]


class TvmlabUsageError(TvmlabError, UsageError):
    """A magic is called wrongly: its name, an option, or what it is given.

    IPython prints a plain `UsageError` on stderr and sends no error output, so a notebook runner that looks for
    error outputs stays green.  A subclass that renders itself is sent as an error output.
    """


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known word nearest to a misspelt one; empty if none is near.  Case is no difference."""
    return errors.nearest(word, known, cutoff=cutoff, any_case=True)
