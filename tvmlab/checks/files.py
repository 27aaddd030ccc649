"""Operators in files: a module that uses ``tl.op``, a notebook, or the text of one operator cell."""

from __future__ import annotations

import ast
import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tvmlab import ops
from tvmlab.errors import LoadError, TvmlabError
from tvmlab.ops import Op
from tvmlab.ops.naming import did_you_mean

__all__ = ["op_of_file", "run_module"]

_CELL = re.compile(r"%%tvm_op\s+(\S+)")
_PERCENT = re.compile(r"^# %%(?!tvm_).*$", re.MULTILINE)


def op_of_file(path: Path, name: str | None = None) -> Op:
    """Define the operators of a file, and give the one of that name.

    Parameters
    ----------
    path : Path
        A notebook (``.ipynb`` or ``py:percent``), a Python module, or the text of one operator cell.
    name : str, optional
        ``namespace.name``, or the name alone; not needed where there is one.

    Raises
    ------
    LoadError
        The file cannot be read, fails, or has no such operator.
    TvmlabError
        What is wrong with the operator.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LoadError(f"{path} cannot be read: {error}", mend="give a Python file or a notebook: FILE::OP") from error
    cells = list(_cells(path, text))
    if cells:
        return _of_cells(path, cells, name)
    if _is_cell_body(text):
        full = name if name and "." in name else f"lab.{name or path.stem}"
        return ops.define(full, ops.read_cell(text, label=path.name, first_line=1))
    return _of_module(path, name)


def _cells(path: Path, text: str) -> Iterator[tuple[str, str, str]]:
    """Name, text and label of every operator cell of a notebook."""
    if path.suffix == ".ipynb":
        try:
            notebook = json.loads(text)["cells"]
            sources = ["".join(c["source"]) for c in notebook if c["cell_type"] == "code"]
        except (ValueError, KeyError, TypeError) as error:
            raise LoadError(f"{path} is no notebook: {error}", mend="save it again from Jupyter") from error
    else:
        sources = [_uncommented(part) for part in _PERCENT.split(text)]
    for number, source in enumerate(sources, 1):
        stripped = source.strip("\n")
        found = _CELL.match(stripped)
        if found:
            yield found[1], stripped.partition("\n")[2], f"{path.name}, cell {number}"


def _uncommented(part: str) -> str:
    """A cell magic of a ``py:percent`` notebook, which is written as a comment."""
    lines = part.strip("\n").splitlines()
    if lines and lines[0].startswith("# %%tvm_op"):
        return "\n".join(line.removeprefix("# ").removeprefix("#") for line in lines)
    return part


def _of_cells(path: Path, cells: list[tuple[str, str, str]], name: str | None) -> Op:
    wanted = _one(path, [full for full, _, _ in cells], name)
    body, label = next((b, at) for full, b, at in reversed(cells) if full == wanted)
    return ops.define(wanted, ops.read_cell(body, label=label))


def _is_cell_body(text: str) -> bool:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return any(isinstance(node, ast.FunctionDef) and node.name == "compute" for node in tree.body)


def _of_module(path: Path, name: str | None) -> Op:
    before = set(ops.live_names())
    values = run_module(path).values()
    made = [*(set(ops.live_names()) - before), *(value.name for value in values if isinstance(value, Op))]
    return ops.find(_one(path, sorted(set(made)), name))


def run_module(path: Path) -> dict[str, Any]:
    """Run a Python file; returns its globals.

    Raises
    ------
    LoadError
        It cannot be read, is no Python, or fails.
    TvmlabError
        What is wrong with an operator in it.
    """
    if not path.is_file():
        raise LoadError(f"there is no file {path}", mend="give a Python file that defines operators with @tl.op")
    if path.suffix != ".py":
        raise LoadError(f"{path} is no Python file", mend="give a .py file that defines operators with @tl.op")
    try:
        return runpy.run_path(str(path))
    except TvmlabError:
        raise
    except (Exception, SystemExit) as error:
        raise LoadError(
            f"{path} failed: {type(error).__name__}: {error}", mend=f"python {path} shows the whole traceback"
        ) from error


def _one(path: Path, names: list[str], name: str | None) -> str:
    if name is None:
        if len(set(names)) == 1:
            return names[0]
        what = f"{path} defines {', '.join(sorted(set(names)))}" if names else f"{path} defines no operator"
        raise LoadError(what, mend=f"name one: {path}::{names[0]}" if names else "use @tl.op or %%tvm_op in it")
    found = [n for n in names if name in (n, n.rpartition(".")[2])]
    if not found:
        raise LoadError(f"{path} defines no operator {name!r}", mend=did_you_mean(name, names))
    return found[0]
