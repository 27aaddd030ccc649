"""The names that an answer takes from the other cells of its notebook, found without running all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tvmlab.errors import CellError

__all__ = ["names_for"]

_MAGIC = re.compile(r"\s*%%(\w+)\s+(\S+)")
_LINE_MAGIC = re.compile(r"^\s*[%!].*$", re.MULTILINE)


@dataclass(frozen=True)
class _Statement:
    """One statement at the top of a cell."""

    cell: int
    node: ast.stmt
    binds: frozenset[str]
    mentions: frozenset[str]


def names_for(body: str, before: Sequence[str]) -> dict[str, Any]:
    """What a cell mentions of the cells before it: imports, functions, classes and values, and what these need.

    Parameters
    ----------
    body : str
        The cell.
    before : sequence of str
        The code cells before it, with their magic lines.

    Raises
    ------
    CellError
        One of these statements fails.
    """
    statements = [statement for at, text in enumerate(before) for statement in _statements(at, text)]
    wanted, chosen = list(_mentioned(_parsed(body))), set()
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        for at, statement in enumerate(statements):
            if name in statement.binds and at not in chosen:
                chosen.add(at)
                wanted += statement.mentions
    namespace: dict[str, Any] = {"__name__": "tvmlab_notebook"}
    _define_operators(body, before)
    for at in sorted(chosen):
        _run(statements[at], namespace)
    return namespace


def _statements(at: int, text: str) -> Iterator[_Statement]:
    magic = _MAGIC.match(text)
    if magic and magic[1] != "tvm_exercise":
        return
    lines = text.split("\n", 1)[1] if magic and "\n" in text else text
    for node in _parsed(_LINE_MAGIC.sub("pass", lines)).body:
        binds = frozenset(_bound(node))
        if binds:
            yield _Statement(at, node, binds, frozenset(_mentioned(node)))


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _bound(node: ast.stmt) -> Iterator[str]:
    """Names that a statement binds; of what only does something, none."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _mentioned(node: ast.AST) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name))


def _run(statement: _Statement, namespace: dict[str, Any]) -> None:
    module = ast.Module([statement.node], [])
    try:
        exec(compile(module, f"<cell {statement.cell + 1}>", "exec", dont_inherit=True), namespace)  # noqa: S102 - a cell
    except (Exception, SystemExit) as error:
        raise CellError(
            f"{type(error).__name__}: {error}",
            where=f"code cell {statement.cell + 1}, which binds {', '.join(sorted(statement.binds))}",
            mend="the answer needs it: mend that cell, or write the answer without it",
        ) from error


def _define_operators(body: str, before: Sequence[str]) -> None:
    """Define the operators of other cells that a cell names."""
    from tvmlab import ops

    for text in before:
        magic = _MAGIC.match(text)
        if magic and magic[1] == "tvm_op" and magic[2] in body and "\n" in text:
            ops.define(magic[2], ops.read_cell(text.split("\n", 1)[1], label=f"%%tvm_op {magic[2]}"))
