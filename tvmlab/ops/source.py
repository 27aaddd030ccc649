"""Where a thing stands in the user's own text.

Code objects of a cell are compiled so that their line numbers are the cell's own (see `tvmlab.ops.cell`); a file name
is then all that is needed to tell the user's frames from everybody else's.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

from tvmlab.errors import Location

_NOT_THE_USER = frozenset(("tvmlab", "tvm", "tvm_ffi", "IPython", "traitlets", "decorator"))


@dataclass(frozen=True)
class Source:
    """The text in which an operator is written.

    Parameters
    ----------
    filename : str
        The file name that its code objects carry.
    label : str
        What the user calls it: ``Cell In[3]``, ``my_ops.py``.
    text : str
        The whole text, as compiled: line n of it is line n of the code objects.
    """

    filename: str
    label: str
    text: str

    def line(self, number: int) -> str:
        """Text of a 1-based line; empty if there is none."""
        lines = self.text.splitlines()
        if 0 < number <= len(lines) and lines[number - 1].strip():
            return lines[number - 1]
        return linecache.getline(self.filename, number).rstrip("\n")

    def at(self, line: int, column: int = -1) -> Location:
        """Location of a line and a column of this source."""
        return Location(self.label, line, column, self.line(line))

    def at_node(self, node: ast.AST) -> Location:
        """Location where a syntax node starts."""
        return self.at(getattr(node, "lineno", 1), getattr(node, "col_offset", -1))

    def of_exception(self, error: BaseException) -> Location | None:
        """The deepest line of this source in the error's traceback, with the column of the failing expression."""
        found: Location | None = None
        for frame, position in _frames(error):
            if frame.co_filename == self.filename:
                line, column = position
                found = self.at(line, column)
        return found

    def of_function(self, function: Callable[..., Any]) -> Location | None:
        """Line of a function's ``def`` or ``lambda``; None if it was not written here."""
        code = code_of(function)
        if code is None or code.co_filename != self.filename:
            return None
        node = self.node_of(function)
        return self.at_node(node) if node is not None else self.at(code.co_firstlineno)

    def of_result(self, function: Callable[..., Any]) -> Location | None:
        """Line of a function's only ``return``, else of the function itself."""
        node = self.node_of(function)
        if isinstance(node, ast.FunctionDef):
            returns = [n for n in walk_own(node) if isinstance(n, ast.Return)]
            if len(returns) == 1:
                return self.at_node(returns[0].value or returns[0])
        return self.of_function(function)

    def of_name(self, name: str) -> Location | None:
        """Line where a top-level name, or a name in the body of a top-level class, is bound."""
        for node in _bindings(self.tree()):
            if name in _bound_names(node):
                return self.at_node(node)
        return None

    def tree(self) -> ast.Module:
        """The syntax tree of the text."""
        return ast.parse(self.text)

    def node_of(self, function: Callable[..., Any]) -> ast.FunctionDef | ast.Lambda | None:
        """The syntax node of a function that was written here."""
        code = code_of(function)
        if code is None or code.co_filename != self.filename:
            return None
        for node in ast.walk(self.tree()):
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                decorators = getattr(node, "decorator_list", [])
                first = min([node.lineno, *(d.lineno for d in decorators)])
                if first == code.co_firstlineno and getattr(node, "name", "<lambda>") == code.co_name:
                    return node
        return None


def source_of(function: Callable[..., Any] | type) -> Source:
    """The source of something defined in a module, a script or a notebook cell."""
    try:
        filename = inspect.getsourcefile(function) or inspect.getfile(function)
        lines = linecache.getlines(filename)
    except (OSError, TypeError, KeyError):  # KeyError: TVM's own getfile, of a class whose module is not loaded
        filename, lines = "<unknown>", []
    return Source(filename, label_of(filename), "".join(lines))


def label_of(filename: str) -> str:
    """What a person calls a file: ``Cell In[3]`` for a notebook cell, else its last component."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        name = shell.compile.format_code_name(filename)
        if name is not None:
            return " ".join(name)
    return filename.replace("\\", "/").rsplit("/", 1)[-1]


def caller() -> Location | None:
    """The line outside tvmlab, TVM and IPython that called us, through any frames of C++; None if there is none."""
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.split(".", maxsplit=1)[0] not in _NOT_THE_USER:
            code = frame.f_code
            source = Source(code.co_filename, label_of(code.co_filename), "")
            column = _column(code, frame.f_lasti)
            return source.at(frame.f_lineno, column) if source.line(frame.f_lineno) else None
        frame = frame.f_back
    return None


def code_of(function: Callable[..., Any]) -> CodeType | None:
    """The code object behind a Python function; None for a builtin or a callable object."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code if isinstance(code, CodeType) else None


def walk_own(function: ast.FunctionDef | ast.Lambda) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions inside it."""
    body = function.body if isinstance(function.body, list) else [function.body]
    queue: list[ast.AST] = list(body)
    while queue:
        node = queue.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            queue.extend(ast.iter_child_nodes(node))


def _frames(error: BaseException) -> Iterator[tuple[CodeType, tuple[int, int]]]:
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        yield code, (trace.tb_lineno, _column(code, trace.tb_lasti))
        trace = trace.tb_next


def _column(code: CodeType, instruction: int) -> int:
    positions = list(code.co_positions())
    index = instruction // 2
    if 0 <= index < len(positions):
        column = positions[index][2]
        return -1 if column is None else column
    return -1


def _bindings(tree: ast.Module) -> Iterator[ast.AST]:
    for node in tree.body:
        yield node
        if isinstance(node, ast.ClassDef):
            yield from node.body


def _bound_names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.AnnAssign):
        return {node.target.id} if isinstance(node.target, ast.Name) else set()
    if isinstance(node, ast.Assign):
        return {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return set()
