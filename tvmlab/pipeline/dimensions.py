"""Names of an ONNX model's open dimensions, which may be any text, as identifiers."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from typing import Any

import onnx

__all__ = ["with_named_dimensions"]

# TVM's importer reads a name as arithmetic, from left to right: one operation means the same to everybody.
_FORMULA = re.compile(r"\s*(\w+)\s*(?:\+|-|\*|//)\s*(\w+)\s*", re.ASCII)


def with_named_dimensions(inputs: Sequence[onnx.ValueInfoProto]) -> list[onnx.ValueInfoProto]:
    """The inputs, the names of their dimensions identifiers of their own.

    Parameters
    ----------
    inputs : sequence of onnx.ValueInfoProto
        Are not changed.

    Returns
    -------
    list of onnx.ValueInfoProto
        Equal names stay equal and different ones different.  A name like ``past + 1`` stays as it is if `past` is
        the name of another dimension.
    """
    names = dict.fromkeys(d.dim_param for each in inputs for d in _dimensions(each) if d.dim_param)
    taken = {name for name in names if _is_plain(name)}
    new = {name: name for name in names if name in taken or _is_formula(name, taken)}
    for name in names:
        if name not in new:
            new[name] = _identifier(name, taken)
            taken.add(new[name])
    copies = []
    for each in inputs:
        copy = onnx.ValueInfoProto()
        copy.CopyFrom(each)
        for dimension in _dimensions(copy):
            if dimension.dim_param:
                dimension.dim_param = new[dimension.dim_param]
        copies.append(copy)
    return copies


def _dimensions(value: onnx.ValueInfoProto) -> Any:
    return value.type.tensor_type.shape.dim


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def _is_formula(name: str, known: set[str]) -> bool:
    """Whether it computes with dimensions that are known: ``past + 1``."""
    found = _FORMULA.fullmatch(name)
    if found is None:
        return False
    divides_by_nothing = "/" in name and found[2].isdecimal() and int(found[2]) == 0
    operands = [operand for operand in found.groups() if not operand.isdecimal()]
    return bool(operands) and all(operand in known for operand in operands) and not divides_by_nothing


def _identifier(name: str, taken: set[str]) -> str:
    base = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "dim"
    base = base if _is_plain(base) else f"dim_{base}"
    candidate, count = base, 1
    while candidate in taken:
        count += 1
        candidate = f"{base}_{count}"
    return candidate
