"""Properties of operators beyond their values: what they load, what TVM sees in them, what the checks say."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tvmlab.course.lowerings import run_carefully
from tvmlab.course.values import Case, Cases, compare
from tvmlab.records import BufferLoads, Loads, Mismatch, Property, ShownMismatch
from tvmlab.sandbox import beside

__all__ = ["lowers_for_host", "not_opaque", "passes_checks", "reads_at_most", "source_has_none_of"]


def reads_at_most(par: Callable[..., int], cases: Cases, name: str) -> Property:
    """A property: on every case its kernels load no more elements than `par` says, of arrays, then attributes by name.

    What counts is `tvmlab.measure.loads`: every load of every iteration, of inputs, of buffers on the way, and of
    running totals.
    """

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        for case in cases(random):
            op, buffers, elements = beside(answer, loads_found, list(case.tensors), dict(case.attributes))
            loads = Loads(op, tuple(BufferLoads(*each) for each in buffers), elements)
            most = par(*case.tensors, **case.attributes)
            if loads.total > most:
                said = ", ".join(f"{array.dtype}{list(array.shape)}" for array in case.tensors)
                return ShownMismatch(f"for {said} it loads {loads.total:,} elements, and {most:,} do", record=loads)
        return None

    return Property(name, check)


def not_opaque(name: str) -> Property:
    """A property: TVM reads a pattern kind off its loops, so that it can be fused."""

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        kind = beside(answer, kind_of)
        if kind == "kOpaque":
            mend = "TVM sees into te.compute, not into te.extern and what is built on it"
            return Mismatch(f"its kernel is {kind}: TVM cannot see what it does, and fuses nothing with it", mend=mend)
        return None

    return Property(name, check)


def passes_checks(codes: Sequence[str], name: str) -> Property:
    """A property: these checks of `tvmlab.checks` are ok, none with a warning and none skipped."""

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        for code, title, status, why, where, mend in beside(answer, checked, list(codes)):
            if status != "ok":
                return Mismatch(f"{code} {title}: {status}: {why}", where, mend)
        return None

    return Property(name, check)


def lowers_for_host(reference: Callable[..., Any], cases: Cases, kind: str, name: str) -> Property:
    """A property: what it is lowered to for a target, compiled for this machine, gives what a reference gives.

    Parameters
    ----------
    reference : callable
        From arrays, then attributes by name, to an array.
    cases : callable
    kind : str
        Of the target.
    """

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        for case in cases(random):
            expected = np.asarray(reference(*case.tensors, **case.attributes))
            got = beside(answer, run_lowered_for, kind, list(case.tensors), dict(case.attributes))
            found = compare(got, expected, case, tuple(inspect.signature(reference).parameters))
            if found is not None:
                return found
        return None

    return Property(name, check)


def source_has_none_of(words: Sequence[str], kind: str, case: Case, name: str) -> Property:
    """A property: its source for a target, on the types of a case, calls none of these functions."""

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        source = beside(answer, source_of_kernel, kind, list(case.tensors), dict(case.attributes))
        lines = [line.strip() for line in str(source).splitlines() if not line.startswith("TVM_DLL")]  # a declaration
        called = [(line, word) for line in lines for word in words if f"{word}(" in line]
        if called:
            line, word = called[0]
            return Mismatch(f"its source for {kind} calls {word}: {line:.120}")
        return None

    return Property(name, check)


def loads_found(
    answer: Any, tensors: Sequence[Any], attributes: Mapping[str, Any]
) -> tuple[str, list[tuple[str, str, int, int]], int]:
    """The operator's name, what it loads of each buffer, and how many elements its result has."""
    from tvmlab.measure.loads import loads_of

    loads = loads_of(answer, tensors, attributes)
    return loads.op, [(b.buffer, b.role, b.loads, b.elements) for b in loads.buffers], loads.elements


def kind_of(answer: Any) -> str:
    """The pattern kind of its kernel."""
    return str(answer.card().kind)


def checked(answer: Any, codes: Sequence[str]) -> list[tuple[str, str, str, str, str, str]]:
    """What some checks say: code, title, status, why, where and mend."""
    from tvmlab.checks import check_op

    results = check_op(answer, only=codes).results
    return [(r.code, r.title, r.status, r.why, str(r.where), str(r.mend)) for r in results]


def run_lowered_for(answer: Any, kind: str, tensors: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """What it is lowered to for a kind of target gives for some arrays, compiled for this machine."""
    import tvm
    from tvm import relax

    from tvmlab.checks.subject import legalized

    types = [relax.TensorType(array.shape, array.dtype.name) for array in tensors]
    with tvm.target.Target(kind):
        module = legalized(answer, types, attributes)
    return run_carefully(module, tensors)


def source_of_kernel(answer: Any, kind: str, tensors: Sequence[Any], attributes: Mapping[str, Any]) -> str:
    """The source of its kernels for a kind of target."""
    from tvm import relax

    from tvmlab.checks.subject import Subject
    from tvmlab.checks.targets import source_for

    types = [relax.TensorType(array.shape, array.dtype.name) for array in tensors]
    return source_for(Subject(answer), kind, types, attributes)
