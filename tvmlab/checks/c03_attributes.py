"""C03: attributes keep their types and values on every way, and different values are different operators."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from tvmlab.checks import variants
from tvmlab.checks.outcome import Outcome, failed, ok, warning
from tvmlab.checks.subject import Subject, within_tvm
from tvmlab.errors import TvmlabError

_WRONG: dict[Any, Any] = {float: "a", int: 1.5, bool: "a", str: 1}


def run(subject: Subject) -> Outcome:
    """Take every variant of the attributes through ``validate``, JSON, TVMScript and comparison."""
    spec = subject.spec
    if not spec.attributes:
        return ok("there are no attributes")
    loose = _accepts_wrong_types(subject)
    if loose:
        return loose
    found = variants.attribute_variants(subject, 6 if subject.quick else 16)
    for values in found:
        problem = _changed_by_validate(subject, values) or _lost(subject, values)
        if problem:
            return problem
    if any(not equal_values(v, v) for v in found):
        return failed(
            "an attribute that is NaN equals nothing, itself neither: equal calls are not found to be equal",
            "give it a default that equals itself, such as None or 0.0",
            spec.source.of_name("Attrs"),
        )
    same = _indistinct(subject, found)
    if same:
        return failed(f"{_text(same[0])} and {_text(same[1])} count as equal, so one call would replace the other")
    return ok(f"{len(found)} sets of values are kept by validate, JSON and TVMScript, and told apart")


def _accepts_wrong_types(subject: Subject) -> Outcome | None:
    spec = subject.spec
    base = dict(subject.base.attributes)
    for attribute in spec.attributes:
        wrong = _WRONG.get(attribute.annotation)
        if attribute.annotation is Any:
            return warning(
                f"attribute {attribute.name!r} is declared as Any, so a value of a wrong type is found late",
                f"write its type: {attribute.name}: float",
                spec.source.of_name(attribute.name),
            )
        if wrong is None:
            continue
        try:
            spec.schema.make({**base, attribute.name: wrong})
        except TvmlabError:
            continue
        return failed(
            f"attribute {attribute.name!r} is a {attribute.type_name} and accepts {wrong!r}",
            "remove what turns wrong values into right ones in validate()",
            spec.source.of_name("validate") or spec.source.of_name(attribute.name),
        )
    return None


def _changed_by_validate(subject: Subject, values: Mapping[str, Any]) -> Outcome | None:
    """``validate`` may put values into a normal form; done again, it must leave them there."""
    spec = subject.spec
    once = values
    try:
        twice = spec.schema.validated(once)
    except TvmlabError as error:
        return failed(
            f"validate() refuses what it made itself: {error.what}",
            "let validate() accept the values that it assigns",
            spec.source.of_name("validate") or spec.source.of_name("Attrs"),
        )
    if repr(once) != repr(twice):
        return failed(
            f"validate() changes {_text(once)} to {_text(twice)}: a call that is printed and read back is another one",
            "let validate() leave alone what it has already changed",
            spec.source.of_name("validate") or spec.source.of_name("Attrs"),
        )
    return None


def _lost(subject: Subject, values: Mapping[str, Any]) -> Outcome | None:
    """Through JSON and through TVMScript the same values must come back."""
    op = subject.op
    call = op.bind(*_variables(subject), **values)
    loaded = tvm.ir.load_json(tvm.ir.save_json(call.attrs))
    if not tvm_ffi.structural_equal(loaded, call.attrs) and equal_values(values, values):
        return failed(f"{_text(values)} comes back from JSON as {_text(op.spec.schema.values(loaded))}")
    try:
        module = within_tvm(op.spec, lambda: _module(subject, values))
    except TvmlabError:
        return None  # these shapes do not go with these attributes
    try:
        again = tvm.script.from_source(module.script())
    except Exception as error:  # noqa: BLE001  the parser raises whatever it likes
        reason = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        return failed(
            f"TVMScript of a call with {_text(values)} cannot be read back: {reason[0].strip()}",
            "use attribute types whose values can be written down: numbers, strings, tuples of them",
            op.spec.source.of_name("Attrs"),
        )
    read = _attributes_in(again, op.full_name)
    if read is not None and repr(op.spec.schema.values(read)) != repr(dict(values)):
        return failed(f"{_text(values)} comes back from TVMScript as {_text(op.spec.schema.values(read))}")
    return None


def _variables(subject: Subject) -> list[relax.Var]:
    return [relax.Var(n, t) for n, t in zip(subject.names(len(subject.base.types)), subject.base.types, strict=True)]


def _module(subject: Subject, values: Mapping[str, Any]) -> tvm.IRModule:
    inputs = _variables(subject)
    builder = relax.BlockBuilder()
    with builder.function("main", inputs):
        builder.emit_func_output(builder.emit(subject.op.bind(*inputs, **values)))
    return builder.get()


def _attributes_in(module: Any, full_name: str) -> Any:
    for block in module["main"].body.blocks:
        for binding in block.bindings:
            value = getattr(binding, "value", None)
            if isinstance(value, relax.Call) and getattr(value.op, "name", "") == full_name:
                return value.attrs
    return None


def equal_values(a: Any, b: Any) -> bool:
    """Whether two values are equal; a NaN is not."""
    if isinstance(a, Mapping):
        return all(equal_values(a[k], b[k]) for k in a)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(equal_values, a, b))
    return not (isinstance(a, float) and math.isnan(a)) and bool(a == b)


def _indistinct(subject: Subject, found: list[dict[str, Any]]) -> tuple[Any, Any] | None:
    made = [subject.spec.schema.make(values) for values in found]
    for i, first in enumerate(made):
        for j in range(i):
            same = all(equal_values(found[i][k], found[j][k]) for k in found[i])
            if not same and tvm_ffi.structural_equal(first, made[j]):
                return found[i], found[j]
    return None


def _text(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v!r}" for k, v in values.items())
