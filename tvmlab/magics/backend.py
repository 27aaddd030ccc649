"""The way from a magic to `tvmlab.api`, with an error that says how to install what is missing."""

from __future__ import annotations

import importlib
from typing import Any

from tvmlab.errors import BackendError

__all__ = ["api"]

_PACKAGES = ("apache-tvm", "apache-tvm-ffi")


def api(*, needs_tvm: bool = True) -> Any:
    """The module `tvmlab.api`, once TVM is known to work.

    Raises
    ------
    BackendError
        TVM is not installed, or the two packages that it consists of do not fit each other.
    """
    if needs_tvm:
        try:
            importlib.import_module("tvm")
        except Exception as error:  # a bad pair fails anywhere, with any class of exception
            message = next(iter(str(error).splitlines()), "")
            raise BackendError(
                f"Apache TVM cannot be imported: {type(error).__name__}: {message}",
                ", ".join(map(_installed, _PACKAGES)),
                "pip install --force-reinstall tvmlab, restart the kernel; %tvm_doctor looks for the cause",
            ) from error
    return importlib.import_module("tvmlab.api")


def _installed(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} is not installed"
