"""Carrying an error through TVM's C++ frames.

There an exception is taken apart into the name of its class and its message, and built anew on the other side: its
cause is lost, and with it the user's traceback.  The original waits here.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from tvmlab import errors, tvm_api
from tvmlab.errors import TvmlabError

P = ParamSpec("P")
T = TypeVar("T")

_waiting = threading.local()

for _kind in (getattr(errors, name) for name in errors.__all__ if name != "Location"):
    tvm_api.register_error(_kind)


def called_by_tvm(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a function that TVM calls: only a `TvmlabError` leaves it, and the original is kept for `original`."""

    @functools.wraps(function)
    def crossing(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except TvmlabError as error:
            _waiting.error = error
            raise

    return crossing


def original(error: TvmlabError) -> TvmlabError:
    """The error as it was raised, before it went through C++; the given one if it never did."""
    kept = getattr(_waiting, "error", None)
    _waiting.error = None
    if kept is not None and (kept.message in str(error) or kept.what == error.what):
        return kept  # type: ignore[no-any-return]
    return error
