"""Which configurations are tried: attributes away from their defaults and each other; sizes prime, one and zero."""

from __future__ import annotations

import ast
import itertools
import typing
from collections.abc import Iterator, Sequence
from types import NoneType
from typing import Any

from tvmlab.checks.subject import Configuration, Refused, Subject
from tvmlab.errors import TvmlabError
from tvmlab.ops import guards

__all__ = ["attribute_variants", "configurations", "other_ranks", "shape_variants"]

_FLOATS = (0.375, -0.75, 2.5, 0.0, 1.0, -1.5, 3.25, 0.1)
_INTS = (0, 1, 2, 3, -1, -2)
_TUPLES: tuple[tuple[int, ...], ...] = ((0,), (1,), (-1,), (0, 1), (1, 0), (-1, 0), (2, 1), (0, 2), (1, 2, 0), ())
_PRIMES = (5, 7, 11, 13, 3)
_WIDE = (11, 13, 7, 5, 3)


def attribute_variants(subject: Subject, limit: int = 16) -> list[dict[str, Any]]:
    """Attribute values to try, the base's first; all are accepted by the operator's own ``validate``.

    One attribute at a time leaves its default; then all leave it, each for a value of its own.
    """
    base = dict(subject.base.attributes)
    options = {a.name: _options(a.annotation, base[a.name], subject) for a in subject.spec.attributes}
    singles = [{**base, name: value} for name, values in options.items() for value in values]
    found = [base]
    for candidate in [*_asymmetric(base, options), *_round_robin(singles, len(options))]:
        accepted = _accepted(subject, candidate)
        if accepted is not None and all(repr(accepted) != repr(f) for f in found):
            found.append(accepted)
        if len(found) >= limit:
            break
    return found


def _round_robin(singles: list[dict[str, Any]], attributes: int) -> list[dict[str, Any]]:
    """First values of every attribute before second ones."""
    if attributes < 2:
        return singles
    size = len(singles)
    step = max(1, size // attributes)
    return [singles[i] for start in range(step) for i in range(start, size, step)]


def _asymmetric(base: dict[str, Any], options: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """All attributes away from their defaults, and from each other."""
    if len(options) < 2:
        return
    names = list(options)
    for shift in range(6):
        values = [options[n][(shift + 2 * k) % len(options[n])] if options[n] else base[n] for k, n in enumerate(names)]
        yield dict(zip(names, values, strict=True))
    floats = [n for n in names if isinstance(base[n], float)]
    for order in itertools.islice(itertools.permutations(range(len(floats))), 6):
        spread = (-0.625, 1.75, 0.375, 2.25, -1.25)
        yield base | {n: spread[k % 5] for n, k in zip(floats, order, strict=True)}


def _accepted(subject: Subject, values: dict[str, Any]) -> dict[str, Any] | None:
    schema = subject.spec.schema
    try:
        return schema.values(schema.make(values))
    except TvmlabError:
        return None


def _options(annotation: Any, default: Any, subject: Subject) -> list[Any]:
    """Values for an attribute of that type, without its default."""
    kinds = {k for k in (typing.get_args(annotation) or (annotation,)) if k is not Ellipsis}
    if typing.get_origin(annotation) in (tuple, list):
        values: list[Any] = [t for t in _TUPLES if not isinstance(default, tuple) or len(t) == len(default)]
        values += _grown(default)
    elif bool in kinds:
        values = [True, False]
    elif float in kinds:
        near = [default * 4, default + 0.5] if isinstance(default, float) and default else []
        values = [*near, *_FLOATS]
    elif int in kinds:
        values = list(_INTS)
    elif str in kinds:
        values = _strings(subject)
    else:
        values = [t for t in _TUPLES if t] if any(typing.get_origin(k) in (tuple, list) for k in kinds) else []
    if NoneType in kinds:
        values.append(None)
    return [v for v in values if repr(v) != repr(default)]


def _grown(default: Any) -> list[Any]:
    if not isinstance(default, tuple) or not all(isinstance(v, int | float) for v in default):
        return []
    return [tuple(v + k for k, v in enumerate(default, 1)), tuple(reversed(default))]


def _strings(subject: Subject) -> list[Any]:
    """Strings that the cell compares with: the modes of an attribute that names one."""
    found = []
    for node in ast.walk(subject.spec.source.tree()):
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
            for part in parts:
                inner = part.elts if isinstance(part, ast.Tuple | ast.List | ast.Set) else [part]
                found += [c.value for c in inner if isinstance(c, ast.Constant) and isinstance(c.value, str)]
    return list(dict.fromkeys(found))


def shape_variants(subject: Subject) -> list[tuple[tuple[int, ...], ...]]:
    """Shapes to try, the base's first: its sizes replaced by primes, by one and by zero, and other ranks.

    Sizes that are equal in the base stay equal, since an operator may need that; one stays one.
    """
    base = subject.base.shapes
    sizes = list(dict.fromkeys(d for shape in base for d in shape if d > 1))
    maps: list[dict[int, int]] = [{}]
    maps.append(dict(zip(sizes, itertools.cycle(_WIDE), strict=False)))
    maps.append(dict(zip(sizes, itertools.cycle(_PRIMES), strict=False)))
    maps.append(dict.fromkeys(sizes, 4))  # axes that are exchanged read inside, and elsewhere
    maps += [{s: 1} for s in sizes] + [dict.fromkeys(sizes, 1)]
    maps += [{s: 0} for s in sizes] + [dict.fromkeys(sizes, 0)]
    maps += [{s: s + 1} for s in sizes] + [{s: s * 2 + 1} for s in sizes]
    found = [tuple(tuple(m.get(d, d) for d in shape) for shape in base) for m in maps]
    found += list(guards.shapes_for(subject.spec)) if not subject.spec.examples else []
    return list(dict.fromkeys(found))


def configurations(subject: Subject, limit: int, *, failing: bool = False) -> list[Configuration]:
    """Configurations that the operator takes: the base, attribute variants, shapes, and both together.

    Parameters
    ----------
    failing : bool
        Whether those are wanted, too, on which compute fails without refusing them.

    Raises
    ------
    Refused
        If the guards found no example.
    """
    base = subject.base
    shapes, attributes = shape_variants(subject), attribute_variants(subject)
    declared = _declared(subject)
    wide = shapes[1] if len(shapes) > 1 and subject.takes(_at(base, shapes[1], base.attributes)) else base.shapes
    wanted = [*declared, base, _at(base, wide, base.attributes)]
    wanted += [_at(base, wide, a) for a in attributes[1:]]
    wanted += [_at(base, s, base.attributes) for s in [*_square(shapes), *shapes]]
    wanted += [_at(base, s, a) for s in shapes for a in attributes[1:5]]
    unique = {c.key: c for c in wanted}
    taken: list[Configuration] = []
    for candidate in unique.values():
        if subject.takes(candidate, failing=failing):
            taken.append(candidate)
        if len(taken) >= limit:
            break
    if not taken:
        raise Refused("it takes no inputs")
    return taken


def other_ranks(subject: Subject) -> list[Configuration]:
    """Configurations of one to four axes, whether the operator takes them or not."""
    base = subject.base
    shapes = [] if subject.spec.examples else guards.shapes_for(subject.spec)
    return [_at(base, s, base.attributes) for s in shapes]


def _square(shapes: Sequence[tuple[tuple[int, ...], ...]]) -> list[tuple[tuple[int, ...], ...]]:
    """Of every number of axes, all of one size: there axes that are exchanged read inside, and elsewhere."""
    made: dict[tuple[int, ...], tuple[tuple[int, ...], ...]] = {}
    for several in shapes:
        if any(len(shape) > 1 for shape in several):
            square = tuple(tuple(4 if d > 1 else d for d in shape) for shape in several)
            ranks = tuple(map(len, several))
            made[ranks] = max(made.get(ranks, square), square)  # no size of 0 or 1, if there is such a one
    return list(made.values())[:4]


def _at(base: Configuration, shapes: Sequence[tuple[int, ...]], attributes: Any) -> Configuration:
    return Configuration(tuple(shapes), base.dtypes, attributes)


def _declared(subject: Subject) -> list[Configuration]:
    """The configurations of the cell's own ``examples``."""
    made = []
    for types, attributes in guards.declared_examples(subject.spec):
        shapes = tuple(tuple(int(d) for d in t.shape) for t in types)
        made.append(Configuration(shapes, tuple(str(t.dtype) for t in types), attributes))
    return made
