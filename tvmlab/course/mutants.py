"""Mutants of leaky_clamp: copies with one slip each, and how many of them the inputs of a test notice."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tvmlab.errors import CallError
from tvmlab.records import Mismatch, MutantResult, MutationScore, Property, ShownMismatch

__all__ = ["EQUIVALENT", "MUTANTS", "ORIGINAL", "cell", "kills_all", "mutation_score", "outputs", "spares"]

Call = tuple[Any, Mapping[str, Any]]

ORIGINAL = "tirx.max(lo, tirx.min(hi, v)) + leak * tirx.min(zero, v - lo)"
"""What leaky_clamp gives for an element ``v``."""

MUTANTS: Mapping[str, tuple[str, str]] = {
    "no_leak": ("it does not leak", "tirx.max(lo, tirx.min(hi, v))"),
    "sign": ("the leak goes the other way", "tirx.max(lo, tirx.min(hi, v)) - leak * tirx.min(zero, v - lo)"),
    "no_upper": ("upper is left out", "tirx.max(lo, v) + leak * tirx.min(zero, v - lo)"),
    "slope": (
        "the slope is always 0.01",
        "tirx.max(lo, tirx.min(hi, v)) + const_like(0.01, x) * tirx.min(zero, v - lo)",
    ),
    "mirror": ("lower is taken for -upper", "tirx.max(-hi, tirx.min(hi, v)) + leak * tirx.min(zero, v + hi)"),
    "plus_one": (
        "v + 1 stands for v - lower",
        "tirx.max(lo, tirx.min(hi, v)) + leak * tirx.min(zero, v + const_like(1, x))",
    ),
    "nan": ("a NaN becomes a number", "tirx.max(tirx.min(v, hi), lo) + leak * tirx.min(v - lo, zero)"),
    "order": ("it clamps below first, then above", "tirx.min(hi, tirx.max(lo, v)) + leak * tirx.min(zero, v - lo)"),
}
"""By name: the slip in words, and what the mutant gives for an element."""

EQUIVALENT = ("order",)
"""Equal to leaky_clamp wherever lower is not above upper."""

_CELL = '''"""leaky_clamp, in which {slip}."""

class Attrs:
    lower: float = -1.0
    upper: float = 1.0
    slope: float = 0.01

    def validate(self):
        if self.lower > self.upper:
            raise ValueError(f"lower ({{self.lower}}) is above upper ({{self.upper}})")

def compute(x, lower, upper, slope):
    lo, hi, leak, zero = (const_like(v, x) for v in (lower, upper, slope, 0))

    def clamp(*i):
        v = x(*i)
        return {formula}

    return te.compute(x.shape, clamp, name="leaky_clamp")
'''
_REFERENCE = """
def reference(x, lower, upper, slope):
    return np.clip(x, lower, upper) + slope * np.minimum(x - lower, 0)
"""
_LARGEST = 10_000  # elements of a call
_LARGEST_OUTPUT = 100_000
_MOST = 20
_TOLERANCE = 1e-5


def cell(mutant: str = "", *, reference: bool = False) -> str:
    """The text of an operator cell: leaky_clamp, or one of its mutants; with the reference that it should equal.

    Raises
    ------
    CallError
        There is no such mutant.
    """
    if mutant and mutant not in MUTANTS:
        raise CallError(f"there is no mutant {mutant!r}", mend=f"they are {', '.join(MUTANTS)}")
    slip, formula = MUTANTS[mutant] if mutant else ("nothing is wrong", ORIGINAL)
    return _CELL.format(slip=slip, formula=formula) + (_REFERENCE if reference else "")


def outputs(x: Any, attributes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What leaky_clamp, under ``""``, and each mutant give for an array.

    Their te.compute is evaluated with the rounding and the NaNs of a kernel, and nothing is compiled.

    Parameters
    ----------
    x : ndarray of float32
    attributes : mapping, optional
        Other than the defaults.

    Raises
    ------
    CallError
        leaky_clamp does not take it.
    """
    array, values = _legal((x, attributes or {}), 1, _LARGEST_OUTPUT)
    prepared = _prepared(array.shape, tuple(sorted(values.items())))
    return {name: each.evaluate([array]).outputs[0] for name, each in prepared.items()}


def mutation_score(calls: Sequence[Call]) -> MutationScore:
    """Which calls tell leaky_clamp from which of its mutants.

    Parameters
    ----------
    calls : sequence of (ndarray of float32, mapping)
        The input of each call, and attributes other than the defaults.

    Returns
    -------
    MutationScore
        A mutant is killed by a call at which an element differs by more than 1e-5, absolute and relative, or is NaN
        on one side alone.

    Raises
    ------
    CallError
        These are no calls of leaky_clamp, or too many or too large ones.
    """
    if not isinstance(calls, list | tuple) or not 0 < len(calls) <= _MOST:
        raise CallError(
            f"a list of 1 to {_MOST} calls is wanted, not {_described(calls)}",
            mend='write [(np.array([-2, 0, 2], "float32"), {"lower": -0.5}), …]',
        )
    legal = [_legal(call, at) for at, call in enumerate(calls, 1)]
    killed: dict[str, list[int]] = {name: [] for name in MUTANTS}
    for at, (x, attributes) in enumerate(legal):
        found = outputs(x, attributes)
        for name, places in killed.items():
            if not np.allclose(found[name], found[""], rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True):
                places.append(at)
    results = tuple(MutantResult(name, MUTANTS[name][0], tuple(places)) for name, places in killed.items())
    return MutationScore("leaky_clamp", tuple(_told(call) for call in legal), results)


def kills_all(name: str) -> Property:
    """A property: the calls that it returns first kill every mutant but the equivalent one."""

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        given = _pair(answer())
        if isinstance(given, Mismatch):
            return given
        score = mutation_score(given[0])
        alive = [each.mutant for each in score.alive]
        if set(alive) <= set(EQUIVALENT):
            return None
        return ShownMismatch(f"{score.headline}; alive are {', '.join(alive)}", record=score)

    return Property(name, check)


def spares(name: str) -> Property:
    """A property: what it returns second is the name of the equivalent mutant."""

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        given = _pair(answer())
        if isinstance(given, Mismatch):
            return given
        if given[1] in EQUIVALENT:
            return None
        if given[1] not in MUTANTS:
            return Mismatch(f"{given[1]!r:.60} is no mutant", mend=f"they are {', '.join(MUTANTS)}")
        return Mismatch(f"{given[1]} is not it: there is a legal call that kills it")

    return Property(name, check)


def _pair(given: Any) -> tuple[Any, Any] | Mismatch:
    if isinstance(given, tuple) and len(given) == 2:
        return given
    return Mismatch(f"the answer is {_described(given)}, and not two things", mend="return calls, name")


def _legal(call: Any, at: int, largest: int = _LARGEST) -> tuple[Any, dict[str, float]]:
    """The array and all attributes of a call."""
    defaults = {"lower": -1.0, "upper": 1.0, "slope": 0.01}
    if not (isinstance(call, tuple | list) and len(call) == 2 and isinstance(call[1], Mapping)):
        mend = "write a tuple of an array and a dictionary, which may be empty"
        raise CallError(f"call {at} is {_described(call)}, not an array and attributes", mend=mend)
    x = call[0]
    if not isinstance(x, np.ndarray) or x.dtype != np.float32 or x.size > largest:
        said = f"{x.dtype} of {x.size:,} elements" if isinstance(x, np.ndarray) else type(x).__name__
        raise CallError(
            f"call {at}: x is {said}, not an array of at most {largest:,} float32", mend='np.array([…], "float32")'
        )
    unknown = [name for name in call[1] if name not in defaults]
    if unknown:
        raise CallError(f"call {at}: there is no attribute {unknown[0]!r:.60}", mend=f"there are {', '.join(defaults)}")
    if not all(isinstance(v, int | float) and np.isfinite(v) for v in call[1].values()):
        raise CallError(f"call {at}: an attribute is no finite number", mend="give plain numbers")
    values = {name: float(call[1].get(name, default)) for name, default in defaults.items()}
    if values["lower"] > values["upper"]:
        raise CallError(f"call {at}: lower is above upper, which leaky_clamp refuses", mend="a test makes legal calls")
    return x, values


@functools.lru_cache(maxsize=256)
def _prepared(shape: tuple[int, ...], attributes: tuple[tuple[str, float], ...]) -> dict[str, Any]:
    from tvmlab.checks.subject import Configuration, Subject

    configuration = Configuration((shape,), ("float32",), dict(attributes))
    return {name: Subject(op).prepare(configuration) for name, op in _operators().items()}


@functools.cache
def _operators() -> dict[str, Any]:
    from tvmlab.course.lowerings import operator_of_the_course

    return {name: operator_of_the_course(cell(name), f"leaky_clamp_{name}") for name in ("", *MUTANTS)}


def _told(call: Call) -> str:
    x, attributes = call
    numbers = np.array2string(x.ravel(), precision=4, threshold=8, max_line_width=200)
    shape = f"{list(x.shape)} " if x.ndim != 1 else ""
    given = ", ".join(f"{name}={value:g}" for name, value in attributes.items())
    return f"x = {shape}{numbers}; {given}"


def _described(value: Any) -> str:
    return f"a {type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else f"a {type(value).__name__}"
