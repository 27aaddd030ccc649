"""On what a timing was taken."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path

from tvmlab.runtime import host_target
from tvmlab.runtime.threads import available_processors

__all__ = ["machine"]

_PACKAGES = ("apache-tvm", "onnxruntime")


def machine() -> dict[str, str]:
    """Processor, cores and versions, by name."""
    facts = {
        "processor": processor(),
        "code for": str(host_target().attrs["mcpu"]),
        "cores": str(available_processors()),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }
    for package in _PACKAGES:
        try:
            facts[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            facts[package] = "not installed"
    return facts


def processor() -> str:
    """The processor's name as its maker writes it, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Hardware")))
    return next(names, "") or platform.processor() or platform.machine()
