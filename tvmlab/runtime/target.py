"""The compilation target for the machine that runs this process."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tvmlab.runtime.silence import quiet

__all__ = ["host_target", "lacking", "processor", "vector_bytes"]

# LLVM's feature -> the flag Linux shows for it.  Only features that make LLVM emit other instructions.
_X86_FLAGS = {
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "avx": "avx",
    "avx2": "avx2",
    "fma": "fma",
    "f16c": "f16c",
    "bmi": "bmi1",
    "bmi2": "bmi2",
    "lzcnt": "abm",
    "movbe": "movbe",
    "popcnt": "popcnt",
    "gfni": "gfni",
    "avxvnni": "avx_vnni",
    "avx512f": "avx512f",
    "avx512bw": "avx512bw",
    "avx512cd": "avx512cd",
    "avx512dq": "avx512dq",
    "avx512vl": "avx512vl",
    "avx512ifma": "avx512ifma",
    "avx512vbmi": "avx512vbmi",
    "avx512vbmi2": "avx512_vbmi2",
    "avx512vnni": "avx512_vnni",
    "avx512bitalg": "avx512_bitalg",
    "avx512vpopcntdq": "avx512_vpopcntdq",
    "avx512bf16": "avx512_bf16",
    "avx512fp16": "avx512_fp16",
}
_X86_LEVELS = ("x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64")


def host_target(threads: int | None = None) -> Any:
    """TVM's LLVM target for this machine, never beyond what its processor has.

    Parameters
    ----------
    threads : int, optional
        Written into the target as ``num-cores``.  It does not limit the threads that run: see `set_threads`.

    Returns
    -------
    tvm.target.Target

    Notes
    -----
    LLVM names a processor by its model, but a virtual machine may hide some of the model's instructions, and
    using a hidden one kills the process.  There the best generic level that the machine has is taken.
    """
    return _target(threads)


@functools.lru_cache(maxsize=16)
def _target(threads: int | None) -> Any:
    import tvm

    settings: dict[str, Any] = {"kind": "llvm", "mcpu": _processor()}
    if threads is not None:
        settings["num-cores"] = threads
    with quiet():
        return tvm.target.Target(settings)


@functools.cache
def _processor() -> str:
    from tvm.target import codegen

    with quiet():
        name = str(codegen.llvm_get_system_cpu())
        flags = _linux_x86_flags()
        return name if flags is None else _within(name, flags)


def _within(name: str, flags: frozenset[str]) -> str:
    """`name`, or the best generic level if the processor lacks something that `name` stands for."""
    return next((each for each in (name, *_X86_LEVELS) if not _missing(each, flags)), _X86_LEVELS[-1])


def _missing(name: str, flags: frozenset[str]) -> set[str]:
    return {f for f in _features(name) if _X86_FLAGS[f] not in flags}


def _features(name: str) -> set[str]:
    """Features of a processor that LLVM knows by name, as far as Linux has flags for them."""
    import tvm
    from tvm.target import codegen

    with quiet():
        features = codegen.llvm_get_cpu_features(tvm.target.Target({"kind": "llvm", "mcpu": name}))
    return {f for f in map(str, features) if f in _X86_FLAGS}


def _linux_x86_flags() -> frozenset[str] | None:
    """The processor's flags as Linux shows them; None on other systems and processors."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    found = next((line.partition(":")[2] for line in lines if line.startswith("flags")), None)
    return None if found is None else frozenset(found.split())


def processor() -> dict[str, Any]:
    """What code for `host_target` needs: LLVM's name of the processor, and its instructions, where they are told apart.

    Returns
    -------
    dict
        ``name``, and ``instructions``: LLVM's features that a processor may lack; empty on other than x86.
    """
    name = _processor()
    return {"name": name, "instructions": sorted(_features(name)) if _linux_x86_flags() is not None else []}


def lacking(needed: Mapping[str, Any]) -> list[str]:
    """What this machine lacks of what `processor` said of another: instructions, or the other processor's name."""
    flags = _linux_x86_flags()
    wanted = needed.get("instructions") or []
    if flags is None or not wanted:
        return [] if needed.get("name") == _processor() else [str(needed.get("name"))]
    return [feature for feature in wanted if _X86_FLAGS.get(feature, feature) not in flags]


@functools.cache
def vector_bytes() -> int:
    """How many bytes the vector registers of `host_target` hold."""
    from tvm.target import codegen

    with quiet():
        features = set(map(str, codegen.llvm_get_cpu_features(host_target())))
    return 64 if "avx512f" in features else 32 if "avx2" in features else 16
