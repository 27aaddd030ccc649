"""C15: it survives the passes that a model goes through, among other calls of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tvm
from numpy.typing import NDArray
from tvm import relax

from tvmlab.checks import variants
from tvmlab.checks.comparison import Expectation, first_mismatch
from tvmlab.checks.graphs import function
from tvmlab.checks.inputs import rounds
from tvmlab.checks.kernels import runnable
from tvmlab.checks.outcome import Outcome, failed, ok, skipped
from tvmlab.checks.subject import Configuration, Refused, Subject, legalized_module, within_tvm
from tvmlab.errors import TvmlabError
from tvmlab.ops.guarded import guarded
from tvmlab.runtime.executable import first_line

Array = NDArray[Any]

_PASSES: dict[str, Callable[[], Any]] = {
    "EliminateCommonSubexpr": relax.transform.EliminateCommonSubexpr,
    "DeadCodeElimination": relax.transform.DeadCodeElimination,
    "FoldConstant": relax.transform.FoldConstant,
    "ToMixedPrecision": lambda: relax.transform.ToMixedPrecision("float16"),
    "ConvertLayout": lambda: relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]}),
    "CanonicalizeBindings": relax.transform.CanonicalizeBindings,
}


def run(subject: Subject) -> Outcome:
    """Two equal calls and one with other attributes, through each pass; values must stay."""
    base, other = subject.base, _other(subject)
    prepared = subject.prepare(base)
    arrays = rounds(subject, prepared, 1)[0].arrays
    try:
        errors = [e for c in (base, base, other) for e in _errors(subject, c, arrays)]
        module = _calls(subject, base, other)
        plain = subject.call(runnable(legalized_module(module, subject.spec)), arrays)
    except Refused as refusal:
        return skipped(str(refusal))
    wanted = Expectation(plain, plain)
    done = []
    for name, mutated in _mutated(subject, module, base, other, arrays):
        if isinstance(mutated, TvmlabError):
            return failed(f"{name} fails on a model with it: {mutated.what}", mutated.mend, mutated.where)
        try:
            given = [] if name == "FoldConstant" else arrays
            got = subject.call(runnable(legalized_module(mutated, subject.spec)), given)
        except TvmlabError as error:
            return failed(f"after {name} the model does not compile: {error.what}", error.mend, error.where)
        mismatch = first_mismatch(got, wanted, errors)
        if mismatch is not None:
            return failed(
                f"after {name} a model with it gives {mismatch.got} instead of {mismatch.expected}",
                "let compute and type_rule depend on their arguments alone",
            )
        done.append(name)
    beside = _gradient_beside(subject, base)
    if beside:
        return beside
    return ok(f"values stay through {', '.join(done)}, and beside a part that is differentiated")


def _other(subject: Subject) -> Configuration:
    """The base with other attributes, if it takes some with the same shapes."""
    base = subject.base
    for attributes in variants.attribute_variants(subject, 8)[1:]:
        candidate = Configuration(base.shapes, base.dtypes, attributes)
        try:
            subject.prepare(candidate)
        except (Refused, TvmlabError):
            continue
        return candidate
    return base


def _errors(subject: Subject, configuration: Configuration, arrays: Any) -> list[Array]:
    evaluation = subject.safe(subject.prepare(configuration), arrays)
    if evaluation is not None:
        return evaluation.errors
    return [np.full(o.shape, 1e-5) for o in subject.run(configuration, arrays)]


def _calls(subject: Subject, base: Configuration, other: Configuration, constants: Any = None) -> tvm.IRModule:
    def build(builder: relax.BlockBuilder, inputs: list[relax.Var]) -> Any:
        given = [relax.const(c) for c in constants] if constants is not None else inputs
        results: list[Any] = []
        for each in (base, base, other):
            made = builder.emit(subject.op.bind(*given, **each.attributes))
            fields = made.ty.fields if isinstance(made.ty, relax.TupleType) else [None]
            results += (
                [made] if fields == [None] else [builder.emit(relax.TupleGetItem(made, i)) for i in range(len(fields))]
            )
        return results

    if constants is None:
        return function(subject, base, build)

    def built() -> tvm.IRModule:
        builder = relax.BlockBuilder()
        with builder.function("main", []):
            with builder.dataflow():
                output = builder.emit_output(relax.Tuple(build(builder, [])))
            builder.emit_func_output(output)
        return builder.get()

    return within_tvm(subject.spec, built)


def _mutated(
    subject: Subject, module: tvm.IRModule, base: Configuration, other: Configuration, arrays: Any
) -> Iterator[tuple[str, tvm.IRModule | TvmlabError]]:
    for name, make in _PASSES.items():
        given = module
        if name == "FoldConstant":
            given = legalized_module(_calls(subject, base, other, arrays), subject.spec)
        yield name, _through(make(), given)


def _through(change: Any, module: tvm.IRModule) -> tvm.IRModule | TvmlabError:
    try:
        return guarded(lambda: change(module), lambda error: TvmlabError(first_line(error), "the pass"))
    except TvmlabError as error:
        return error


def _gradient_beside(subject: Subject, base: Configuration) -> Outcome | None:
    """Differentiate something else in the same function; the call must be left alone."""
    if "float32" not in base.dtypes:
        return None
    at = base.dtypes.index("float32")

    def build(builder: relax.BlockBuilder, inputs: list[relax.Var]) -> Any:
        builder.emit(subject.op.bind(*inputs, **base.attributes))
        return builder.emit(relax.op.sum(builder.emit(relax.op.multiply(inputs[at], inputs[at]))))

    module = function(subject, base, build)
    changed = _through(relax.transform.Gradient("main"), module)
    if isinstance(changed, TvmlabError):
        return failed(f"Gradient fails on a model that does not differentiate it: {changed.what}")
    return None
