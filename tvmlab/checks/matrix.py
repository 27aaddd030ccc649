"""What works where: dtype by target by kind of shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm import tirx
from tvm.relax import TensorType

from tvmlab.checks import variants
from tvmlab.checks.comparison import expectation, first_mismatch
from tvmlab.checks.inputs import rounds
from tvmlab.checks.kernels import runnable
from tvmlab.checks.subject import Configuration, Refused, Subject, legalized
from tvmlab.checks.targets import SOURCES, source_for
from tvmlab.errors import PipelineError, TvmlabError
from tvmlab.records import MatrixCell

__all__ = ["matrix"]

_DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")
_ELSEWHERE = ("float16", "float32", "int32")
_SHAPES = ("static", "symbolic", "empty")


def matrix(subject: Subject) -> tuple[MatrixCell, ...]:
    """Every dtype on this machine, with known, symbolic and empty shapes; and as source for other targets."""
    try:
        base = subject.base
    except Refused:
        return ()
    cells = []
    for dtype in _DTYPES:
        configuration = base.with_dtype(dtype)
        here = [_on_this_machine(subject, configuration, shape) for shape in _SHAPES]
        cells += [MatrixCell(dtype, "llvm", shape, *found) for shape, found in zip(_SHAPES, here, strict=True)]
        for target in SOURCES if dtype in _ELSEWHERE else ():
            found = here[0] if here[0][0] == "refused" else _as_source(subject, configuration, target)
            cells.append(MatrixCell(dtype, target, "static", *found))
    return tuple(cells)


def _as_source(subject: Subject, configuration: Configuration, target: str) -> tuple[str, str]:
    try:
        source_for(subject, target, configuration.types, configuration.attributes)
    except TvmlabError as error:
        return "no code", error.what
    return "compiles", ""


def _on_this_machine(subject: Subject, configuration: Configuration, shape: str) -> tuple[str, str]:
    try:
        subject.prepare(configuration)
        types = configuration.types if shape == "static" else _symbolic(configuration)
        if shape == "empty":
            empty = next(_empty(subject, configuration), None)
            if empty is None:
                return "refused", "it takes no size of 0"
            configuration, types = empty, empty.types
        return _values(subject, configuration, types)
    except Refused as refusal:
        return "refused", str(refusal)
    except PipelineError as error:
        return "no code", error.what
    except TvmlabError as error:
        return "refused", error.what


def _empty(subject: Subject, configuration: Configuration) -> Iterator[Configuration]:
    for shapes in variants.shape_variants(subject):
        if any(0 in shape for shape in shapes):
            candidate = Configuration(shapes, configuration.dtypes, configuration.attributes)
            if subject.takes(candidate):
                yield candidate


def _symbolic(configuration: Configuration) -> list[TensorType]:
    symbols: dict[int, Any] = {}
    return [
        TensorType([1 if d == 1 else symbols.setdefault(d, tirx.Var(f"n{d}", "int64")) for d in shape], dtype)
        for shape, dtype in zip(configuration.shapes, configuration.dtypes, strict=True)
    ]


def _values(subject: Subject, configuration: Configuration, types: list[TensorType]) -> tuple[str, str]:
    prepared = subject.prepare(configuration)
    kernel = runnable(legalized(subject.op, types, configuration.attributes))
    status = "runs"
    for each in rounds(subject, prepared, 2):
        evaluation = subject.safe(prepared, each.arrays)
        got = subject.call(kernel, each.arrays)
        if subject.spec.reference is None or evaluation is None:
            continue
        wanted = expectation(subject, configuration, each.arrays)
        if any(g.dtype.kind not in (w.dtype.kind, "f") for g, w in zip(got, wanted.own, strict=False)):
            return "runs", f"the reference gives {wanted.own[0].dtype}, which is not compared"
        if "bool" in configuration.dtypes and "bool" not in subject.base.dtypes:
            return "runs", "NumPy's arithmetic of truth values is another, and not compared"
        mismatch = first_mismatch(got, wanted, evaluation.errors)
        if mismatch is not None and not each.special:
            return "wrong", str(mismatch)
        status = "right"
    return status, ""
