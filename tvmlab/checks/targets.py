"""Code for targets, with or without a device: the operator's kernels compiled to source."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import tvm
from tvm.relax import TensorType
from tvm.tirx import PrimFunc

from tvmlab.checks.subject import Subject, legalized
from tvmlab.errors import TvmlabError
from tvmlab.runtime.executable import first_line

__all__ = ["SOURCES", "source_for"]

SOURCES = ("c", "cuda", "opencl", "metal", "webgpu")
"""Kinds of targets whose source TVM can write on any machine."""
_ON_GPU = ("cuda", "opencl", "metal", "webgpu")


def source_for(subject: Subject, kind: str, types: Sequence[TensorType], attributes: Any) -> str:
    """The source of the operator's kernels for a target.

    Raises
    ------
    TvmlabError
        The operator refuses, or TVM cannot write the code.
    """
    target = _target(kind)
    with target:
        module = legalized(subject.op, types, attributes)
        try:
            if kind in _ON_GPU:
                module = _for_gpu()(module)
            kernels = {
                v: f.with_attr("global_symbol", v.name_hint)
                for v, f in module.functions.items()
                if isinstance(f, PrimFunc)
            }
            built = tvm.tirx.build(tvm.IRModule(kernels), target=target)
            device = built.imports[0] if kind in _ON_GPU and built.imports else built
            return str(device.inspect_source())
        except TvmlabError:
            raise
        except Exception as error:
            raise TvmlabError(
                f"no code for {kind}: {first_line(error)}",
                where=subject.spec.signature,
                mend=f"write lower_for_{kind}(…) with what {kind} has",
            ) from error


@functools.cache
def _target(kind: str) -> Any:
    if kind == "cuda":
        return tvm.target.Target({"kind": kind, "arch": "sm_80"}, host={"kind": "llvm"})
    if kind in _ON_GPU:
        return tvm.target.Target({"kind": kind}, host={"kind": "llvm"})
    return tvm.target.Target({"kind": kind})


@functools.cache
def _for_gpu() -> Any:
    from tvm.s_tir import dlight

    return dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())
