"""C04: the type rule answers whatever it is asked: with a type, or with a refusal in words; and twice the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm import tirx
from tvm.relax import TensorType

from tvmlab.checks import variants
from tvmlab.checks.outcome import Outcome, failed, ok
from tvmlab.checks.repro import type_cell
from tvmlab.checks.subject import Subject
from tvmlab.errors import CallError, TvmlabError
from tvmlab.ops import lowering, rules


def run(subject: Subject) -> Outcome:
    """Ask the rule about known, symbolic and unknown shapes, unknown ranks, and other dtypes."""
    spec = subject.spec
    if spec.type_rule is None:
        return ok("there is no type_rule: the type is derived from compute, also for symbolic and unknown shapes")
    asked = 0
    for attributes in variants.attribute_variants(subject, 2 if subject.quick else 6):
        for kind, types in _questions(subject):
            try:
                first = lowering.run_type_rule(spec, types, attributes)
                second = lowering.run_type_rule(spec, types, attributes)
            except CallError:
                asked += 1
                continue  # a refusal in words
            except TvmlabError as error:
                if kind in ("another dtype", "another rank"):
                    continue
                return failed(
                    f"asked about {kind}, {_without_head(error.what)}",
                    _MENDS.get(kind, error.mend),
                    error.where,
                    type_cell(subject.op, types, attributes),
                )
            asked += 1
            if not (lowering.agree(first, second) and rules.show(first) == rules.show(second)):
                return failed(
                    f"asked twice about {', '.join(map(rules.show, types))}, it says {rules.show(first)} and then "
                    f"{rules.show(second)}",
                    "let the rule depend on its arguments alone",
                    spec.source.of_function(spec.type_rule.function),
                    type_cell(subject.op, types, attributes),
                )
    return ok(f"it answered {asked} questions with a type or a refusal in words, and twice the same")


_MENDS = {
    "shapes of known rank": "add: if x.shape is None: return TensorType(dtype=x.dtype, ndim=x.ndim)",
    "shapes of unknown rank": "add: if x.shape is None: return TensorType(dtype=x.dtype, ndim=-1)",
    "symbolic sizes": "compute with the sizes as they are, n * 2 and not int(n) * 2; rules.equal and rules.different "
    "compare them",
}


def _questions(subject: Subject) -> Iterator[tuple[str, list[Any]]]:
    base = subject.base
    types = base.types
    yield "known shapes", types
    yield "shapes of known rank", [TensorType(dtype=t.dtype, ndim=t.ndim) for t in types]
    yield "shapes of unknown rank", [TensorType(dtype=t.dtype, ndim=-1) for t in types]
    symbols: dict[int, Any] = {}
    yield (
        "symbolic sizes",
        [TensorType([symbols.setdefault(d, tirx.Var(f"n{d}", "int64")) for d in s], t) for s, t in _pairs(subject)],
    )
    for unknown in range(len(types) if len(types) > 1 else 0):
        some = [TensorType(dtype=t.dtype, ndim=t.ndim) if i == unknown else t for i, t in enumerate(types)]
        yield "shapes of known rank", some
    for dtype in ("int32", "bool", "float16"):
        yield "another dtype", [TensorType(list(s), dtype) for s in base.shapes]
    yield "another rank", [TensorType([*s, 3], d) for s, d in _pairs(subject)]


def _pairs(subject: Subject) -> list[tuple[tuple[int, ...], str]]:
    return list(zip(subject.base.shapes, subject.base.dtypes, strict=True))


def _without_head(what: str) -> str:
    return what.partition(": ")[2] or what
