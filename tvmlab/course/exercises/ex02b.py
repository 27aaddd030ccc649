"""Exercise 02b: attributes with types and defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tvmlab.course.refusals import refuses
from tvmlab.course.values import Case, has_values_of
from tvmlab.records import Exercise, Mismatch, Property
from tvmlab.sandbox import beside

FIELDS = [("step", "float", 0.25), ("levels", "int", 16), ("signed", "bool", True)]


def quantize(x: Any, step: float = 0.25, levels: int = 16, signed: bool = True) -> Any:
    """To the nearest of so many levels."""
    lowest = -(levels // 2) if signed else 0
    kind = x.dtype.type
    return np.clip(np.round(x / kind(step)), kind(lowest), kind(lowest + levels - 1)) * kind(step)


def defaults(random: np.random.Generator) -> Iterator[Case]:
    """As it is called without attributes."""
    yield Case((random.uniform(-4, 4, (3, 4)).astype("float32"),), {})


def attributes(random: np.random.Generator) -> Iterator[Case]:
    """Each attribute changed; a whole number is a float too."""
    x = random.uniform(-9, 9, (3, 4)).astype("float32")
    yield Case((x,), {"step": 2})
    yield Case((x,), {"levels": int(random.integers(2, 9))})
    yield Case((x,), {"signed": False, "step": 0.5})


def of_other_types(_random: np.random.Generator) -> Iterator[Case]:
    """A value of another type, and a name that is none."""
    x = np.ones((2, 3), "float32")
    for wrong in ({"levels": 16.5}, {"step": "0.25"}, {"signed": "no"}, {"stepp": 0.5}):
        yield Case((x,), wrong)


def fields(answer: Any) -> list[tuple[str, str, Any]]:
    """Name, type and default of each attribute; a default that is absent is ``"required"``."""
    return [
        (each.name, each.type_name, each.default if isinstance(each.default, bool | int | float | str) else "required")
        for each in answer.spec.attributes
    ]


def declared(answer: Any, _random: np.random.Generator) -> Mismatch | None:
    """Each attribute is there, in order, with its type and default."""
    found = [tuple(each) for each in beside(answer, fields)]
    for name, kind, default in FIELDS:
        here = next((each for each in found if each[0] == name), None)
        if here is None:
            return Mismatch(f"there is no attribute {name}", mend=f"{name}: {kind} = {default}")
        if here[1] != kind:
            return Mismatch(f"{name} is a {here[1]}, and should be a {kind}", mend=f"{name}: {kind} = {default}")
        if here[2] == "required":
            return Mismatch(f"{name} has no default, so every call has to give it", mend=f"{name}: {kind} = {default}")
        if here[2] != default:
            return Mismatch(f"the default of {name} is {here[2]}, and should be {default}")
    return None if len(found) == len(FIELDS) else Mismatch(f"there are {len(found)} attributes, and 3 are asked for")


EXERCISE = Exercise(
    id="02b",
    title="attributes with types and defaults",
    grade=1,
    statement=(
        "The compute of lab.quantize is written: it rounds x to the nearest of `levels` levels that are `step` apart; "
        "with `signed` about half of them are below zero. Declare its attributes: step, 0.25 unless given; levels, a "
        "whole number, 16 unless given; signed, true unless given. Choose types that refuse levels=16.5 and step='a'."
    ),
    starter="""\
class Attrs:
    # one attribute a line
    ...

def compute(x, step, levels, signed):
    lowest = -(levels // 2) if signed else 0
    low, high, width = (const_like(v, x) for v in (lowest, lowest + levels - 1, step))

    def element(*i):
        return tirx.max(low, tirx.min(high, tirx.nearbyint(x(*i) / width))) * width

    return te.compute(x.shape, element, name="quantize")
""",
    asks="lab.quantize",
    properties=(
        Property("each attribute has the type and the default that are asked for", declared),
        has_values_of(quantize, defaults, "without attributes the defaults hold"),
        has_values_of(quantize, attributes, "attributes are taken by name, and a whole number is a float too"),
        refuses(of_other_types, ("x",), "values of another type and unknown names are refused"),
    ),
    hints=(
        "One attribute a line: a name, a colon, its type, an equals sign, its default.",
        "The types are Python's own. A float takes a whole number too; an int takes no number with a fraction.",
        "Outline: three lines under class Attrs, of the types float, int and bool, in the order of compute.",
    ),
    lesson="02_identity_card",
)
