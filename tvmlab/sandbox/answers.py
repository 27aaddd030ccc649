"""From the text of a cell to the answer in it, an operator or a function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tvmlab.errors import Location, TvmlabError

if TYPE_CHECKING:
    from tvmlab.ops.source import Source

__all__ = ["Cache", "Refused", "answer_of", "unwritten"]

Cache = Callable[[str], str]


class Refused(Exception):
    """TVM or a quick check refuses the operator."""

    def __init__(self, error: TvmlabError) -> None:
        super().__init__(str(error))
        self.error = error


def answer_of(
    asks: str, body: str, names: Mapping[str, Any], *, label: str, first_line: int = 2, cache: Cache | None = None
) -> tuple[Any, Source]:
    """What the cell defines, and its source.

    Parameters
    ----------
    asks : str
        The name of an operator if there is a dot in it, else that of a function.
    body : str
        The cell without its magic line.
    names : mapping
        Those of the notebook.
    label, first_line, cache
        As for `tvmlab.api.define`.

    Raises
    ------
    CellError
        The cell is no Python, fails while it runs, or does not define what is asked for.
    Refused
        It defines an operator that TVM or a quick check does not take.
    """
    from tvmlab import ops
    from tvmlab.ops.source import source_of

    given: dict[str, Any] = {"label": label, "first_line": first_line, "cache": cache}
    if "." not in asks:
        function = ops.read_function(asks, body, user_namespace=names, **given)
        return function, _labelled(source_of(function), label)
    parts = ops.read_cell(body, user_namespace=names, **given)
    try:
        return ops.define(asks, parts), parts.source
    except NotImplementedError:
        raise
    except TvmlabError as error:
        raise Refused(error) from error


def _labelled(source: Source, label: str) -> Source:
    return type(source)(source.filename, label, source.text)


def unwritten(body: str, label: str, first_line: int = 2) -> str:
    """The first line that has ``...`` where a statement or a value belongs; empty if there is none."""
    try:
        tree = ast.parse(body)
    except (SyntaxError, ValueError):
        return ""  # running it says more
    lines = [
        node.value.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return)
        and isinstance(node.value, ast.Constant)
        and node.value.value is ...
    ]
    if not lines:
        return ""
    return str(Location(label, min(lines) + first_line - 1, -1, body.splitlines()[min(lines) - 1]))
