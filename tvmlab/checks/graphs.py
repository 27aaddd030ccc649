"""Small functions around an operator, for the checks that look at it among others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm
from tvm import relax

from tvmlab.checks.subject import Configuration, Subject, within_tvm
from tvmlab.ops import lowering

__all__ = ["between", "function", "kernels_called"]

Build = Callable[[relax.BlockBuilder, list[relax.Var]], Sequence[Any] | Any]


def function(subject: Subject, configuration: Configuration, build: Build) -> tvm.IRModule:
    """A module whose main takes the operator's inputs and returns what `build` emits."""

    def built() -> tvm.IRModule:
        inputs = lowering.parameters(subject.spec, configuration.types)
        builder = relax.BlockBuilder()
        with builder.function("main", inputs):
            with builder.dataflow():
                made = build(builder, inputs)
                result = relax.Tuple(list(made)) if isinstance(made, list | tuple) else made
                output = builder.emit_output(result)
            builder.emit_func_output(output)
        return builder.get()

    return within_tvm(subject.spec, built, configuration.types)


def between(subject: Subject, configuration: Configuration, *, before: bool, after: bool) -> tvm.IRModule:
    """The operator between two negations, of its first floating-point input and of its outputs."""
    first = next((i for i, d in enumerate(configuration.dtypes) if "float" in d), None)

    def build(builder: relax.BlockBuilder, inputs: list[relax.Var]) -> Any:
        given = list(inputs)
        if before and first is not None:
            given[first] = builder.emit(relax.op.negative(given[first]))
        called = builder.emit(subject.op.bind(*given, **configuration.attributes))
        if isinstance(called.ty, relax.TupleType):
            parts = [builder.emit(relax.TupleGetItem(called, i)) for i in range(len(called.ty.fields))]
            return [builder.emit(relax.op.negative(p)) if after else p for p in parts]
        return builder.emit(relax.op.negative(called)) if after else called

    return function(subject, configuration, build)


def kernels_called(module: tvm.IRModule) -> int:
    """How many kernels main calls."""
    found = 0
    for block in module["main"].body.blocks:
        for binding in block.bindings:
            value = getattr(binding, "value", None)
            found += isinstance(value, relax.Call) and getattr(value.op, "name", "") == "relax.call_tir"
    return found
