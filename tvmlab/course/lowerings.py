"""Properties of lowerings: functions that LegalizeOps calls for an operator, ``legalize(bb, call)``.

A student's function is never given to TVM: a wrong return value would end the process.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tvmlab.course.values import Case, Cases, compare
from tvmlab.errors import CallError, PipelineError, TvmlabError
from tvmlab.records import Mismatch, Property
from tvmlab.sandbox import beside

__all__ = [
    "calls_a_kernel_named",
    "calls_operators_alone",
    "lowered",
    "lowers_to",
    "operator_of_the_course",
    "run_carefully",
]


def lowers_to(operator: str, reference: Callable[..., Any], cases: Cases, name: str) -> Property:
    """A property: with it an operator, lowered, compiled and run, gives what `reference` gives.

    Parameters
    ----------
    operator : str
        Text of the cell of an operator, whose own compute is not used.
    reference : callable
        From arrays, then attributes by name, to an array.
    """

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        names = tuple(inspect.signature(reference).parameters)
        for case in cases(random):
            with np.errstate(all="ignore"):
                expected = np.asarray(reference(*case.tensors, **case.attributes))
            got = beside(answer, run_lowered, operator, list(case.tensors), dict(case.attributes))
            found = compare(got, expected, case, names)
            if found is not None:
                return found
        return None

    return Property(name, check)


def calls_a_kernel_named(operator: str, kernel: str, case: Case, name: str) -> Property:
    """A property: it makes one kernel, which has a name."""

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        kernels, _ = beside(answer, kernels_of, operator, list(case.tensors), dict(case.attributes))
        if kernels == [kernel]:
            return None
        mend = f"call_te takes primfunc_name_hint={kernel!r}"
        return Mismatch(f"the kernels are {', '.join(kernels) or 'none'}, and should be {kernel}", mend=mend)

    return Property(name, check)


def calls_operators_alone(operator: str, case: Case, name: str) -> Property:
    """A property: it returns calls of TVM's own operators, and writes no kernel itself."""

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        _, made = beside(answer, kernels_of, operator, list(case.tensors), dict(case.attributes))
        if made:
            mend = "return relax.op calls, and let LegalizeOps lower those"
            return Mismatch(f"it writes a kernel of its own, {made[0]}", mend=mend)
        return None

    return Property(name, check)


def run_lowered(answer: Any, operator: str, tensors: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """What an operator that is lowered by an answer gives for some arrays."""
    return run_carefully(lowered(answer, operator, tensors, attributes)[0], tensors)


def run_carefully(module: Any, tensors: Sequence[Any]) -> Any:
    """Compile and run a module; in a child process, if its kernels are not proved to end and to stay inside."""
    from tvmlab import runtime

    kernel = runtime.compile_module(module) if runtime.is_proved_safe(module) else runtime.isolate(module)
    return kernel.run(*tensors)


def kernels_of(
    answer: Any, operator: str, tensors: Sequence[Any], attributes: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Names of all kernels of an operator that is lowered by an answer, and of those that the answer adds itself."""
    from tvm.tirx import PrimFunc

    module, made = lowered(answer, operator, tensors, attributes)
    return [str(v.name_hint) for v, f in module.functions.items() if isinstance(f, PrimFunc)], made


def lowered(
    legalize: Callable[..., Any], operator: str, tensors: Sequence[Any], attributes: Mapping[str, Any]
) -> tuple[Any, list[str]]:
    """A module whose main calls an operator once, lowered by a student's function, and the kernels that this adds.

    Parameters
    ----------
    legalize : callable
        From a block builder and a call to an expression.
    operator : str
        Text of its cell.
    tensors : sequence of ndarray
        Only their shapes and dtypes matter.
    attributes : mapping

    Raises
    ------
    CallError
        It returns no expression, or the call that it was given.
    PipelineError
        TVM refuses what it returns.
    """
    from tvm import relax

    from tvmlab.ops.crossing import called_by_tvm
    from tvmlab.ops.guarded import guarded

    op = operator_of_the_course(operator)
    made: list[str] = []

    def customised(builder: Any, call: Any) -> Any:
        before = set(builder.get().functions)
        result = legalize(builder, call)
        found = _refused(result, call)
        if found is not None:
            raise found
        made.extend(str(v.name_hint) for v in builder.get().functions if v not in before)
        return builder.normalize(result) if not isinstance(result, relax.Call) else builder.emit(result)

    def run() -> Any:
        module = call_of(op, tensors, attributes)
        return relax.transform.LegalizeOps({op.full_name: called_by_tvm(customised)})(module)

    return guarded(run, lambda error: _failed(error, legalize)), made


def operator_of_the_course(text: str, name: str = "operator") -> Any:
    """An operator that is only called, in a namespace that no student uses; a cell that is live is not read again."""
    from tvmlab import ops

    whole = f"course.{name}"
    if whole in ops.live_names() and ops.find(whole).spec.source.text.strip() == text.strip():
        return ops.find(whole)
    return ops.define(whole, ops.read_cell(text))


def call_of(op: Any, tensors: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """A module whose main calls an operator once, not lowered."""
    from tvm import relax

    types = [relax.TensorType(array.shape, array.dtype.name) for array in tensors]
    inputs = [relax.Var(name, kind) for name, kind in zip(op.spec.tensors, types, strict=True)]
    builder = relax.BlockBuilder()
    with builder.function("main", inputs):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(op.bind(*inputs, **attributes)))
        builder.emit_func_output(result)
    return builder.get()


def _refused(result: Any, call: Any) -> TvmlabError | None:
    """What is wrong with what a lowering returns."""
    from tvm import relax

    if result is None:
        return CallError("legalize returns nothing: a return is missing", mend="return the expression")
    if not isinstance(result, relax.Expr):
        mend = "return bb.call_te(…), or a call of relax.op"
        return CallError(f"legalize returns {type(result).__name__}, which is no Relax expression", mend=mend)
    found: list[Any] = []
    relax.analysis.post_order_visit(result, lambda node: found.append(getattr(node, "op", None)))
    if any(op is not None and op.same_as(call.op) for op in found):
        mend = "return what it is made of: TVM would lower it again and again"
        return CallError("legalize returns a call of the operator itself", mend=mend)
    return None


def _failed(error: Exception, legalize: Callable[..., Any]) -> TvmlabError:
    from tvmlab.diagnosis import explain
    from tvmlab.ops.source import source_of

    known = explain(error)
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    what = known.meaning if known else f"{type(error).__name__}: {said}"
    where = source_of(legalize).of_exception(error)
    return PipelineError(what, where or "", known.mend if known else "mend this line")
