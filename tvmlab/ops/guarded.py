"""Calls into TVM that print nothing and fail in three lines."""

from __future__ import annotations

import contextlib
import io
import traceback
import warnings
from collections.abc import Callable
from typing import TypeVar

from tvmlab import runtime
from tvmlab.errors import TvmlabError
from tvmlab.ops.crossing import original

__all__ = ["guarded"]

T = TypeVar("T")


def guarded(action: Callable[[], T], explain: Callable[[Exception], TvmlabError]) -> T:
    """Run `action` without a word on stdout or stderr.

    Parameters
    ----------
    action : callable
    explain : callable
        From an error of TVM's to the error to raise; one of our own is raised as it is.

    Notes
    -----
    The frames of a failed call hold block builders, which complain on stderr when they die unfinished: they are let go
    while it is still quiet.
    """
    with runtime.quiet(), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return action()
        except TvmlabError as error:
            failure = original(error)
            for each in (error, failure, failure.__cause__):
                traceback.clear_frames(each.__traceback__ if each is not None else None)
        except Exception as error:  # noqa: BLE001 - TVM raises whatever it likes
            failure = explain(error)
            failure.__cause__ = error
            traceback.clear_frames(error.__traceback__)
    raise failure
