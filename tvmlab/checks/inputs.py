"""Inputs that are chosen, not drawn blindly.

Floating-point tensors get the numbers at which the kernel decides and their neighbours, ties, both zeros, denormals,
infinities and NaN; where the kernel reduces, one special number among ordinary ones.  Which way each comparison of the
kernel went is counted, and inputs are sought that make it go both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.checks.interpreter import Decision
from tvmlab.checks.subject import Prepared, Subject
from tvmlab.ops.evaluate import NotEvaluable

__all__ = ["HUGE", "Round", "rounds", "sought"]

Array = NDArray[Any]

HUGE = 1e4
"""Numbers above it may overflow on the way though the result does not: of them little is asked."""
_POOLS = ("ordinary", "special", "huge")
_ORDINARY = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.7, -3.7, 10.0, -10.0, 0.001, -0.001, 100.0, -100.0, 0.3, -1.3)
_LARGE = 100.0
"""The exponential of it overflows in float32, which a sum or a quotient may not."""
_BISECTIONS = 70


@dataclass(frozen=True)
class Round:
    """The arrays of one call, and whether they hold NaN, infinities or numbers above `HUGE`."""

    arrays: tuple[Array, ...]
    special: bool = False


def rounds(subject: Subject, prepared: Prepared, limit: int) -> list[Round]:
    """Inputs for one configuration, at most that many rounds.

    Integer tensors hold small numbers of both signs, and if a kernel reads by them, only such as are inside.
    """
    configuration = prepared.configuration
    shapes, dtypes = configuration.shapes, [np.dtype(d) for d in configuration.dtypes]
    rng = np.random.default_rng(subject.seed)
    made = [_given(subject, prepared)] if subject.spec.examples else []
    made += [_random(rng, shapes, dtypes), _ties(rng, shapes, dtypes)]
    floats = any(d.kind == "f" for d in dtypes)
    if floats and prepared.reduces:
        made += [_one_special(rng, shapes, dtypes, value) for value in (_LARGE, -0.0, np.nan, np.inf, -np.inf)]
    elif floats:
        made += _pooled(rng, prepared, dtypes, limit - len(made))
    else:
        made += [_random(rng, shapes, dtypes, spread=s) for s in (4.0, 30.0, 60.0)]
    kept = [each for each in made if each is not None]
    return [_inside(prepared, each) for each in kept[:limit]]


def _given(subject: Subject, prepared: Prepared) -> Round | None:
    """The arrays of the cell's own examples, where they are of this configuration."""
    for example in subject.spec.examples:
        values = [v for k, v in example.items() if k not in subject.spec.schema.names]
        arrays = [np.asarray(v) for v in values if not isinstance(v, tuple | list)]
        wanted = list(zip(prepared.configuration.shapes, prepared.configuration.dtypes, strict=True))
        if [(a.shape, a.dtype.name) for a in arrays] == wanted and arrays:
            return Round(tuple(arrays))
    return None


def _random(rng: np.random.Generator, shapes: Any, dtypes: Any, spread: float = 1.5) -> Round:
    return Round(tuple(_fill(rng.standard_normal(s) * spread, d) for s, d in zip(shapes, dtypes, strict=True)))


def _ties(rng: np.random.Generator, shapes: Any, dtypes: Any) -> Round:
    """Few different numbers, so that many are equal."""
    return Round(tuple(_fill(rng.integers(-2, 3, s), d) for s, d in zip(shapes, dtypes, strict=True)))


def _fill(values: Any, dtype: np.dtype[Any]) -> Array:
    values = np.asarray(values)
    if dtype.kind == "b":
        return np.asarray(values > 0)
    if dtype.kind in "iu":
        return np.asarray(np.rint(np.abs(values) if dtype.kind == "u" else values)).astype(dtype)
    return np.asarray(values).astype(dtype)


def _one_special(rng: np.random.Generator, shapes: Any, dtypes: Any, value: float) -> Round:
    """An ordinary round in which one element of the first floating-point tensor is special."""
    arrays = list(_random(rng, shapes, dtypes).arrays)
    first = next(i for i, d in enumerate(dtypes) if d.kind == "f")
    if arrays[first].size:
        arrays[first].flat[int(rng.integers(arrays[first].size))] = value
    return Round(tuple(arrays), special=not np.isfinite(value))


def _pooled(rng: np.random.Generator, prepared: Prepared, dtypes: Sequence[np.dtype[Any]], count: int) -> list[Round]:
    """Every number of the pool in turn; of several tensors, each goes through it in an order of its own."""
    shapes = prepared.configuration.shapes
    made = []
    for kind in _POOLS:
        pools = [_pool(prepared.constants, d, kind) for d in dtypes]
        size = max((int(np.prod(s)) for s in shapes), default=0)
        longest = max(map(len, pools), default=0)
        # one tensor alone sees the whole pool once; several meet in more pairs
        wanted = -(-longest // max(size, 1)) * (1 if len(shapes) == 1 else 3)
        for _ in range(min(wanted, max(count // 2 if kind == "ordinary" else count // 4, 1))):
            arrays = []
            for shape, dtype, pool in zip(shapes, dtypes, pools, strict=True):
                flat = np.resize(rng.permutation(pool), int(np.prod(shape)))
                arrays.append(_fill(flat, dtype) if dtype.kind != "f" else flat.reshape(shape).astype(dtype))
            made.append(
                Round(tuple(np.reshape(a, s) for a, s in zip(arrays, shapes, strict=True)), special=kind != "ordinary")
            )
    return made


def _pool(constants: Sequence[float], dtype: np.dtype[Any], kind: str) -> Array:
    if dtype.kind != "f":
        return np.arange(-9, 10)
    limits = np.finfo(dtype)
    if kind == "special":
        tiny = [limits.smallest_subnormal, -limits.smallest_subnormal, limits.tiny / 2, limits.tiny]
        return np.array([np.nan, np.inf, -np.inf, *tiny, -0.0, 0.0, 1.0], dtype)
    if kind == "huge":
        large = np.sqrt(limits.max)
        return np.array([limits.max, -limits.max, large, -large, large / 4, 1.0, 0.0], dtype)
    kept = [c for c in constants if abs(c) <= HUGE][:12]
    near = [np.asarray(v, dtype) for c in kept for v in (c, -c, c + 0.5, c - 0.5, c * 1.25)]
    at = np.array([c for c in kept if np.isfinite(np.asarray(c, dtype))], dtype)
    inf = np.asarray(np.inf, dtype)
    values = [*near, *np.nextafter(at, inf), *np.nextafter(at, -inf), *np.array(_ORDINARY, dtype), -np.zeros((), dtype)]
    return np.array(values, dtype)


def _inside(prepared: Prepared, each: Round) -> Round:
    """Where integers are read by, or divide, such as are allowed: small ones that are not negative, else ones."""
    if not any(a.dtype.kind in "iu" for a in each.arrays):
        return each
    for change in (None, lambda a: np.abs(a) % 2, np.zeros_like, np.ones_like):
        arrays = each.arrays
        if change is not None:
            arrays = tuple(np.asarray(change(a)).astype(a.dtype) if a.dtype.kind in "iu" else a for a in arrays)
        try:
            if not prepared.evaluate(arrays).hazards:
                return Round(arrays, each.special)
        except NotEvaluable:
            return each
    return each


def sought(prepared: Prepared, decisions: dict[Any, Decision]) -> Round | None:
    """Inputs at which each comparison that was not yet seen to tie does so, with the numbers just beside.

    Found by bisection, for a kernel of one tensor that treats each element alone; None if it is another one, or if
    nothing is missing.
    """
    configuration = prepared.configuration
    if len(configuration.shapes) != 1 or prepared.reduces or np.dtype(configuration.dtypes[0]).kind != "f":
        return None
    (shape,), dtype = configuration.shapes, np.dtype(configuration.dtypes[0])
    size = int(np.prod(shape))
    if size < 8 or all(d.equal for d in decisions.values()):
        return None
    pool = np.unique(_pool(prepared.constants, dtype, "ordinary"))
    grid = np.concatenate([pool, np.linspace(-50, 50, max(size - len(pool), 1)).astype(dtype)])[:size]
    grid = np.sort(np.resize(grid, size))
    found: list[float] = []
    missing = [place for place, decision in decisions.items() if not decision.equal]
    for place in missing[:8]:
        found += _crossings(prepared, place, grid, shape)
    if not found:
        return None
    at = np.array(found, dtype)
    near = np.concatenate(
        [at, np.nextafter(at, np.asarray(np.inf, dtype)), np.nextafter(at, np.asarray(-np.inf, dtype))]
    )
    return Round((np.resize(near, size).reshape(shape),))


def _crossings(prepared: Prepared, place: Any, grid: Array, shape: tuple[int, ...]) -> list[float]:
    def difference(values: Array) -> Array | None:
        decisions: dict[Any, Decision] = {}
        prepared.evaluate([values.reshape(shape)], decisions)
        seen = decisions[place].difference
        return seen.reshape(-1) if seen.shape == shape else None

    seen = difference(grid)
    if seen is None:
        return []
    with np.errstate(invalid="ignore"):
        turns = np.flatnonzero(np.sign(seen[:-1]) * np.sign(seen[1:]) < 0)[:8]
    if not len(turns):
        return []
    low, high = np.resize(grid[turns], len(grid)), np.resize(grid[turns + 1], len(grid))
    start = np.sign(difference(low))  # type: ignore[arg-type]
    for _ in range(_BISECTIONS):
        middle = (low / 2 + high / 2).astype(grid.dtype)
        if np.all((middle == low) | (middle == high)):
            break
        same = np.sign(difference(middle)) == start  # type: ignore[arg-type]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return [float(v) for v in np.unique(high[: len(turns)])]
