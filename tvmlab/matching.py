"""Which lines of a program are those of another, where variables may have been renamed.

A pass often numbers all variables anew, and a difference line by line then shows the whole program as changed.  Here
two lines match if they are equal once the variables that the program binds itself are renamed, each to one name of its
own.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Block", "Matching", "match_lines", "rename", "without_boilerplate"]

# A string, or a name that is no attribute and no keyword of a call.
_TOKEN = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<![\w.])([^\W\d]\w*)(?!\w|=(?!=))""")
_ANY = "\0"
# What stands at the head of each function, or follows from the rest of it.
_BOILERPLATE = ("# from tvm.", "T.reads(", "T.writes(")


@dataclass(frozen=True)
class Block:
    """Lines ``before[start:stop]`` and ``after[from:to]``: the same but for names, or one in place of the other."""

    same: bool
    before: range
    after: range


@dataclass(frozen=True)
class Matching:
    """How one program becomes another.

    Parameters
    ----------
    before, after : tuple of str
        The lines of both.
    blocks : tuple of Block
        Same and changed ones in turn, over all lines of both.
    renamed : dict of str to str
        The variables that are called otherwise in the lines that are the same.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    blocks: tuple[Block, ...]
    renamed: dict[str, str]

    @property
    def added(self) -> int:
        """How many lines came."""
        return sum(len(block.after) for block in self.blocks if not block.same)

    @property
    def removed(self) -> int:
        """How many lines went."""
        return sum(len(block.before) for block in self.blocks if not block.same)


def without_boilerplate(source: str) -> str:
    """TVMScript without blank lines, heads, and what blocks read and write."""
    lines = source.splitlines()
    return "\n".join(line for line in lines if line.strip() and not line.lstrip().startswith(_BOILERPLATE))


def match_lines(before: str, after: str) -> Matching:
    """Match the lines of two programs, as many as can be under one renaming of the variables that they bind.

    Parameters
    ----------
    before, after : str
        Python or TVMScript.  In a text that is neither, no variable is renamed.

    Notes
    -----
    Lines are first aligned without regard to names.  The pairs propose a renaming, from the first to the last, and the
    lines that are then equal decide whether it is better than none.
    """
    old, new = before.splitlines(), after.splitlines()
    plain = _matched(old, new, {})
    names = _proposed(old, new) if _alike_but_for_names(plain) else {}
    if not names:
        return plain
    renamed = _matched(old, new, names)
    return renamed if renamed.added < plain.added else plain


def _alike_but_for_names(plain: Matching) -> bool:
    """Whether there is anything to gain: of the changed lines some differ in names alone."""
    gone, come = (
        {_TOKEN.sub(lambda found: found[1] or _ANY, lines[i]) for part in parts for i in part}
        for lines, parts in (
            (plain.before, [b.before for b in plain.blocks if not b.same]),
            (plain.after, [b.after for b in plain.blocks if not b.same]),
        )
    )
    return bool(gone & come)


def _matched(old: list[str], new: list[str], names: dict[str, str]) -> Matching:
    pairs = _common([rename(line, names) for line in old] if names else old, new)
    kept: dict[str, str] = {}
    if names:  # two variables that become one are no renaming
        backwards: dict[str, str] = {}
        pairs = [(i, j) for i, j in pairs if _extend(kept, backwards, _names(old[i]), _names(new[j]))]
    renamed = {a: b for a, b in kept.items() if a != b}
    return Matching(tuple(old), tuple(new), tuple(_blocks(pairs, len(old), len(new))), renamed)


def _names(line: str) -> list[str]:
    return [found[2] for found in _TOKEN.finditer(line) if found[2]]


def _proposed(old: list[str], new: list[str]) -> dict[str, str]:
    """The variables that would be called otherwise."""
    shapes = []
    for lines in (old, new):
        bound = _bound_names("\n".join(lines))
        shapes.append([_shape(line, bound) for line in lines])
    names: dict[str, str] = {}
    backwards: dict[str, str] = {}
    for i, j in _common(*([shape for shape, _ in side] for side in shapes)):
        _extend(names, backwards, shapes[0][i][1], shapes[1][j][1])
    return {a: b for a, b in names.items() if a != b}


def rename(line: str, names: dict[str, str]) -> str:
    """A line with other names for its variables."""
    return _TOKEN.sub(lambda found: found[1] or names.get(found[2], found[2]), line)


@functools.lru_cache(maxsize=256)
def _bound_names(source: str) -> frozenset[str]:
    """Variables that a program binds: by assignment, as a parameter, of a loop, in ``with … as``."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    stored = (n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return frozenset([*stored, *(n.arg for n in ast.walk(tree) if isinstance(n, ast.arg))])


def _shape(line: str, bound: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """The line with a mark for each variable, and the variables."""
    names: list[str] = []

    def mark(found: re.Match[str]) -> str:
        if found[2] not in bound:
            return found[0]
        names.append(found[2])
        return _ANY

    return _TOKEN.sub(mark, line), tuple(names)


def _extend(names: dict[str, str], backwards: dict[str, str], old: Sequence[str], new: Sequence[str]) -> bool:
    """Let a renaming grow by the variables of two lines; False if it does not agree with them."""
    pairs = set(zip(old, new, strict=True))
    one_to_one = len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    if not one_to_one or any(names.get(a, b) != b or backwards.get(b, a) != a for a, b in pairs):
        return False
    names.update(pairs)
    backwards.update((b, a) for a, b in pairs)
    return True


def _common(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """A longest common subsequence, as pairs of positions in ascending order.

    Rows of the table are bit vectors (Hyyrö 2004): thousands of lines take milliseconds.
    """
    start = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    middle_old, middle_new = old[start:], new[start:]
    places: dict[str, int] = {}
    for j, line in enumerate(middle_new):
        places[line] = places.get(line, 0) | 1 << j
    full = (1 << len(middle_new)) - 1
    rows = [full]  # a bit is 0 where the length grows
    for line in middle_old:
        matches = rows[-1] & places.get(line, 0)
        rows.append((rows[-1] + matches | rows[-1] - matches) & full)
    pairs = []
    i, j = len(middle_old), len(middle_new)
    while i and j:
        if rows[i] >> (j - 1) & 1:
            j -= 1
        elif not rows[i - 1] >> (j - 1) & 1:
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((start + i, start + j))
    return [*((k, k) for k in range(start)), *reversed(pairs)]


def _blocks(pairs: Sequence[tuple[int, int]], old: int, new: int) -> Iterator[Block]:
    """Runs of matching lines, and what lies between them."""
    at_old = at_new = 0
    runs = itertools.groupby(enumerate(pairs), key=lambda item: (item[1][0] - item[0], item[1][1] - item[0]))
    for _, run in runs:
        matched = [pair for _, pair in run]
        (first_old, first_new), (last_old, last_new) = matched[0], matched[-1]
        if first_old > at_old or first_new > at_new:
            yield Block(same=False, before=range(at_old, first_old), after=range(at_new, first_new))
        at_old, at_new = last_old + 1, last_new + 1
        yield Block(same=True, before=range(first_old, at_old), after=range(first_new, at_new))
    if at_old < old or at_new < new:
        yield Block(same=False, before=range(at_old, old), after=range(at_new, new))
