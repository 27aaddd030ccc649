"""Properties of type rules: for each question, the type that the answer gives.

A type is written as it is shown: ``float32[n, 4]``, ``float32[?, ?]`` where only the rank is known, ``float32[…]``
where not even that is, ``(float32[2], int32[2])`` for two outputs.  A size may be a formula: ``float32[(n + 1) // 2]``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tvmlab.errors import CallError
from tvmlab.records import Mismatch, Property
from tvmlab.sandbox import beside

__all__ = ["Question", "mentions_none_of", "tells_types", "type_of"]


class Question(NamedTuple):
    """Types of the inputs, attributes, and the type of the output; empty if the rule has to refuse them."""

    types: tuple[str, ...]
    attributes: Mapping[str, Any]
    expected: str


Questions = Callable[[np.random.Generator], Iterable[Question]]


def tells_types(questions: Questions, name: str) -> Property:
    """A property: a type rule, or the rule of an operator, answers every question.

    Parameters
    ----------
    questions : callable
        From a generator to questions.  Symbols are single letters.
    name : str
        Of the property.
    """

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        asked = list(questions(random))
        sizes = [{letter: int(random.integers(5, 60)) for letter in _LETTERS} for _ in range(4)]
        given = [[list(each.types), dict(each.attributes)] for each in asked]
        for question, said in zip(asked, beside(answer, told_types, given, sizes), strict=True):
            found = _compare(question, said, sizes)
            if found is not None:
                return found
        return None

    return Property(name, check)


def mentions_none_of(words: Sequence[str], name: str) -> Property:
    """A property: the cell does not use what would do the exercise by itself."""

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        text = beside(answer, text_of)
        used = next((word for word in words if re.search(rf"\b{re.escape(word)}\b", text)), None)
        return None if used is None else Mismatch(f"the cell uses {used}", mend="write it by hand this time")

    return Property(name, check)


_LETTERS = "nmklbc"


def text_of(answer: Any) -> str:
    """The text of an answer's cell."""
    from tvmlab.ops.source import source_of

    return str((answer.spec.source if hasattr(answer, "spec") else source_of(answer)).text)


def told_types(answer: Any, questions: list[Any], sizes: list[dict[str, int]]) -> list[Any]:
    """What an answer says to each question: a refusal in words, or its outputs, also for sizes of the symbols."""
    from tvm import relax

    from tvmlab.ops import lowering

    said: list[Any] = []
    for types, attributes in questions:
        symbols: dict[str, Any] = {}
        inputs = [type_of(each, symbols) for each in types]
        try:
            if hasattr(answer, "spec"):
                values = answer.spec.schema.values(answer.spec.schema.make(attributes))
                result = lowering.run_type_rule(answer.spec, inputs, values)
            else:
                result = answer(*inputs, **attributes)
        except (ValueError, CallError) as error:
            text = str(getattr(error, "what", error)).split("\n", 1)[0]
            if "and / or / not operator to Expr" in text:
                text = "no == and no if on a symbol: ask rules.equal(a, b), or isinstance(size, tirx.IntImm)"
            said.append({"refuses": text})
            continue
        fields = list(result.fields) if isinstance(result, relax.TupleType) else result
        several = isinstance(fields, list | tuple)
        outputs = [described(each, symbols, sizes) for each in (fields if several else [fields])]
        said.append({"says": outputs, "several": several})
    return said


def type_of(written: str, symbols: dict[str, Any]) -> Any:
    """The TensorType that is written; symbols are taken from, and put into, a dict.

    Parameters
    ----------
    written : str
        Such as ``float32[n, 4]``, ``float32[?, ?]`` or ``float32[…]``.
    symbols : dict of str to tvm.tirx.Var

    Raises
    ------
    ValueError
        It is no type.
    """
    from tvm import relax, tirx

    found = re.fullmatch(r"(\w+)\[(.*)\]", written.replace(" ", ""))
    if found is None:
        raise ValueError(f"{written!r} is no type such as float32[2, 3]")
    dtype, inside = found[1], found[2]
    dims = inside.split(",") if inside else []
    if inside in ("…", "..."):
        return relax.TensorType(dtype=dtype, ndim=-1)
    if "?" in dims:
        return relax.TensorType(dtype=dtype, ndim=len(dims))
    shape = [int(d) if d.isdigit() else symbols.setdefault(d, tirx.Var(d, "int64")) for d in dims]
    return relax.TensorType(shape, dtype)


def described(kind: Any, symbols: dict[str, Any], sizes: list[dict[str, int]]) -> dict[str, Any]:
    """A type as plain data: how it is shown, its dtype, its rank, and its shape for each choice of sizes."""
    from tvm import relax

    from tvmlab.ops import rules

    if not isinstance(kind, relax.TensorType):
        return {"shown": f"a {type(kind).__name__}", "dtype": "", "rank": -2, "shapes": None}
    shapes = None
    if kind.shape is not None:
        shapes = [_sizes_of(kind, symbols, chosen) for chosen in sizes]
    dtype = "?" if kind.dtype is None else str(kind.dtype)
    return {"shown": rules.show(kind), "dtype": dtype, "rank": int(kind.ndim), "shapes": shapes}


def _sizes_of(kind: Any, symbols: dict[str, Any], chosen: dict[str, int]) -> list[str]:
    """The sizes of a type where its symbols have these values."""
    from tvm import tirx
    from tvm.sym import Analyzer

    analyzer = Analyzer()
    for name, var in symbols.items():
        analyzer.bind(var, tirx.IntImm("int64", chosen[name]))
    return [str(int(size) if isinstance(size, tirx.IntImm) else size) for size in map(analyzer.simplify, kind.shape)]


def _compare(question: Question, said: Mapping[str, Any], sizes: Sequence[Mapping[str, int]]) -> Mismatch | None:
    asked = ", ".join([*question.types, *(f"{k}={v!r}" for k, v in question.attributes.items())])
    if "refuses" in said:
        if not question.expected:
            return None
        return Mismatch(f"for {asked} the rule refuses, and should say {question.expected}", mend=said["refuses"])
    outputs = said["says"]
    shown = ", ".join(each["shown"] for each in outputs)
    shown = f"({shown})" if said["several"] else shown
    if not question.expected:
        return Mismatch(f"for {asked} the rule says {shown}, and should refuse", mend="raise ValueError, with a reason")
    several = question.expected.startswith("(")
    wanted = re.findall(r"\w+\[.*?\]", question.expected)
    same = several == said["several"] and len(wanted) == len(outputs)
    if same and all(_is(each, output, sizes) for each, output in zip(wanted, outputs, strict=True)):
        return None
    return Mismatch(f"for {asked} the rule says {shown}, and should say {question.expected}")


def _is(wanted: str, output: Mapping[str, Any], sizes: Sequence[Mapping[str, int]]) -> bool:
    dtype, inside = wanted[:-1].split("[", 1)
    dims = [each.strip() for each in inside.split(",")] if inside else []
    if dtype != output["dtype"]:
        return False
    if inside == "…":
        return bool(output["rank"] == -1)
    if "?" in dims:
        return output["rank"] == len(dims) and output["shapes"] is None
    if output["shapes"] is None:
        return False
    expected = [[str(eval(dim, {}, dict(chosen))) for dim in dims] for chosen in sizes]  # noqa: S307 - of an exercise
    return bool(output["shapes"] == expected)
