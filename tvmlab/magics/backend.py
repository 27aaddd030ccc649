"""The way from a magic to `tvmlab.api`, with an error that says how to install what is missing."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tvmlab.errors import BackendError

__all__ = ["api"]


def api(*, needs_tvm: bool = True) -> Any:
    """The module `tvmlab.api`, once TVM is known to work.

    Raises
    ------
    BackendError
        TVM is not installed, or the two packages that it consists of do not fit each other.
    """
    if needs_tvm and "tvm" not in sys.modules:
        _import_tvm()
    return importlib.import_module("tvmlab.api")


def _import_tvm() -> None:
    from tvmlab.doctoring import require_tvm

    require_tvm()
    try:
        importlib.import_module("tvm")
    except Exception as error:  # a damaged installation fails anywhere, with any class of exception
        message = next(iter(str(error).splitlines()), "")
        what = f"TVM cannot be imported: {type(error).__name__}: {message}"
        raise BackendError(what, sys.executable, "%tvm_doctor looks for the cause") from error
