"""Errors that say what went wrong, where in the user's own cell, and how to mend it.

Every failure a user can cause is a `TvmlabError`.  It renders as three lines, in a notebook (through
`_render_traceback_`, which IPython asks before it prints a traceback), on a terminal and in a log alike.
``%tb`` shows the full traceback, with that of the ``__cause__``.
"""

from __future__ import annotations

import difflib
import itertools
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = [
    "AttributeSchemaError",
    "BackendError",
    "CallError",
    "CellError",
    "CheckFailed",
    "ComputeError",
    "GraphError",
    "LoadError",
    "Location",
    "NameRefused",
    "NoSuchOperator",
    "PipelineError",
    "RemoteLost",
    "TvmlabError",
    "TypeRuleError",
    "UnknownOperators",
    "nearest",
]


_MOST_WORDS = 100_000  # comparing with more would take too long


def nearest(word: object, known: Iterable[str], *, cutoff: float = 0.6, any_case: bool = False) -> str:
    """The known word nearest to a misspelt one; empty if none is near.

    Parameters
    ----------
    cutoff : float
        How alike they must be, from 0 to 1 (`difflib.get_close_matches`).
    any_case : bool
        Whether capitals are no difference.
    """
    folded = str.lower if any_case else str
    by_word = {folded(each): each for each in itertools.islice(known, _MOST_WORDS)}
    close = difflib.get_close_matches(folded(str(word)), by_word, n=1, cutoff=cutoff)
    return by_word[close[0]] if close else ""


@dataclass(frozen=True)
class Location:
    """A place in the user's source.

    Parameters
    ----------
    label : str
        What the user calls the source: ``Cell In[3]`` or a file name.
    line : int
        1-based line in that source, the ``%%magic`` line counted.
    column : int
        0-based column of the culprit; -1 if only the line is known.
    text : str
        The source line itself, without its line break.
    """

    label: str
    line: int
    column: int = -1
    text: str = ""

    def __str__(self) -> str:
        indent = len(self.text) - len(self.text.lstrip())
        code = self.text.strip()
        if self.column >= indent:
            at = self.column - indent
            code = f"{code[:at]}▸{code[at:]}"
        return f"{self.label}, line {self.line}: {code}" if code else f"{self.label}, line {self.line}"


class TvmlabError(Exception):
    """What, where, how to mend.

    Parameters
    ----------
    what : str
        One line: what is wrong.
    where : Location or str, optional
        The user's own line; or the node, file or attribute if no line of theirs is concerned.
    mend : str, optional
        One line: what to write instead.

    Notes
    -----
    An error that crosses TVM's C++ boundary is rebuilt there from its class and its message alone
    (`tvm_ffi.register_error`), so the three parts are recovered from a message of three lines.
    """

    what: str
    where: str
    mend: str

    def __init__(self, what: str, where: Location | str | None = None, mend: str | None = None) -> None:
        if where is None and mend is None and "\n" in what:
            what, where, mend = self._split(what)
        self.what = " ".join(what.split())
        self.location = where if isinstance(where, Location) else None
        self.where = " ".join(str(where).split()) if where else ""
        self.mend = " ".join(mend.split()) if mend else ""
        super().__init__(self.message)

    @staticmethod
    def _split(message: str) -> tuple[str, str, str]:
        lines = [line.strip() for line in message.splitlines() if line.strip()]
        where = next((line[len("at ") :] for line in lines if line.startswith("at ")), "")
        mend = next((line[len("mend: ") :] for line in lines if line.startswith("mend: ")), "")
        what = " ".join(line for line in lines if not line.startswith(("at ", "mend: ")))
        return what, where, mend

    @property
    def message(self) -> str:
        """The three lines, without the class name."""
        lines = [self.what]
        if self.where:
            lines.append(f"  at {self.where}")
        if self.mend:
            lines.append(f"  mend: {self.mend}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.message

    def _render_traceback_(self) -> list[str]:
        asked_again = sys.exception() is None and getattr(sys, "last_value", None) is self
        if asked_again:  # %tb: the error is no longer on its way, and is the last one shown
            return "".join(traceback.format_exception(self)).splitlines()
        return f"{type(self).__name__}: {self.message}".splitlines()


class CellError(TvmlabError):
    """The cell does not define an operator: a syntax error, an error while it ran, or a part that is missing."""


class NameRefused(TvmlabError):
    """The operator's name cannot be taken."""


class NoSuchOperator(NameRefused, AttributeError):
    """No operator of that name is live; an AttributeError too, as for any attribute that is not there."""


class AttributeSchemaError(TvmlabError):
    """An attribute is declared or given wrongly."""


class TypeRuleError(TvmlabError):
    """The type rule fails, returns no type, or disagrees with the compute."""


class ComputeError(TvmlabError):
    """The compute fails, returns no tensor, or reads outside its inputs."""


class CallError(TvmlabError):
    """An operator is called with the wrong number or kind of arguments."""


class GraphError(TvmlabError):
    """What is given to the fuser is no graph, or names nothing in it."""


class LoadError(TvmlabError):
    """A model cannot be read."""


class UnknownOperators(LoadError):
    """A model has operators for which there is no converter.

    Attributes
    ----------
    skeleton : str
        Python that defines and registers a live operator for each; what they compute is left to write.
    """

    def __init__(
        self, what: str, where: Location | str | None = None, mend: str | None = None, skeleton: str = ""
    ) -> None:
        super().__init__(what, where, mend)
        self.skeleton = skeleton


class PipelineError(TvmlabError):
    """A stage from a model to machine code fails."""


class CheckFailed(TvmlabError):
    """An operator failed a check."""


class BackendError(TvmlabError):
    """The installation is at fault: a bad pair of versions, a missing package or target."""


class RemoteLost(TvmlabError):
    """A remote device cannot be reached, or went away.

    Attributes
    ----------
    partial : Timing or None
        What had been measured before, round by round.
    """

    def __init__(
        self, what: str, where: Location | str | None = None, mend: str | None = None, partial: object = None
    ) -> None:
        super().__init__(what, where, mend)
        self.partial = partial
