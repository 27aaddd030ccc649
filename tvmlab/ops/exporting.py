"""An operator as a Python module that makes it live when it is imported, and a test of it.

The module holds the operator's own text, and beside it what the text takes from around it: imports, numbers, arrays and
functions of the notebook.  What cannot be written down as Python is named, and refused.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import keyword
import os
import re
import symtable
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tvmlab.errors import CallError, CellError, TvmlabError
from tvmlab.ops import prelude
from tvmlab.ops.cell import PARTS, is_part
from tvmlab.ops.spec import OpSpec
from tvmlab.records import Written

if TYPE_CHECKING:
    from tvmlab.ops.op import Op

__all__ = ["NotWritable", "export", "module_text"]

_MOST_ELEMENTS = 1000
_HIDDEN = ("ml_dtypes", "numpy", "onnx", "pytest", "tvm", "tvm_ffi", "tvmlab")
_SENTENCE = "Importing this module makes the operator live."


class NotWritable(CellError):
    """Something that an operator uses cannot be written down as Python."""


def module_text(spec: OpSpec) -> str:
    """The text of a module that defines an operator.

    Raises
    ------
    NotWritable
        Its text is not known, or it uses something that cannot be written down.
    """
    if _is_exported(spec):
        return spec.source.text
    written = _written(spec)
    around = _Around(spec)
    for name, value in _taken(written.body, spec).items():
        around.need(name, value)
    title = f"{spec.name}: {' '.join(spec.doc.split())}" if spec.doc else spec.name
    head = [_docstring(f"{title}\n\n{_SENTENCE}\n")]
    head += [f"from __future__ import {', '.join(sorted(written.future))}"] if written.future else []
    imports = ["import tvmlab as tl", *sorted(around.imports)]
    if around.prelude:
        imports.append(f"from tvmlab.prelude import {', '.join(sorted(around.prelude))}")
    blocks = ["\n\n".join([*head, "\n".join(imports)]), *around.blocks, written.body.strip("\n"), written.tail]
    return "\n\n\n".join(block for block in blocks if block) + "\n"


def name_of_op(spec: OpSpec) -> str:
    """The name under which the module of `module_text` has the operator."""
    return _written(spec).name


def _is_exported(spec: OpSpec) -> bool:
    """Whether the operator comes from a module that was exported, which then says all there is to say."""
    text = spec.source.text
    return f"\n{_SENTENCE}\n" in text and text.count("@tl.op(") == 1


def _written(spec: OpSpec) -> _Written:
    function = inspect.unwrap(spec.compute.function)
    in_cell = getattr(function, "__globals__", {}).get("__name__") == "tvmlab_cell"
    return _of_cell(spec) if in_cell else _of_class(spec)


class _Written:
    """An operator's own text, what to write below it, its name in the module, and features of __future__."""

    def __init__(self, body: str, tail: str, name: str, future: set[str]) -> None:
        self.body, self.tail, self.name, self.future = body, tail, name, future


def _tree(spec: OpSpec) -> ast.Module:
    try:
        return spec.source.tree()
    except SyntaxError as error:
        raise _unknown_text(spec) from error


def _unknown_text(spec: OpSpec) -> NotWritable:
    return NotWritable(
        f"the text of {spec.name} is not known any more",
        where=spec.source.label,
        mend="define it in a cell with %%tvm_op, or in a file with @tl.op, and export it then",
    )


def _of_class(spec: OpSpec) -> _Written:
    """For an operator that a class declares: the class."""
    tree = _tree(spec)
    compute = spec.source.node_of(spec.compute.function)
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and compute is not None and _holds(node, compute):
            found = node
    if found is None:
        raise _unknown_text(spec)
    lines = spec.source.text.splitlines()[found.lineno - 1 : found.end_lineno]
    body = f'@tl.op("{spec.name}")\n' + textwrap.dedent("\n".join(lines))
    return _Written(body, "", found.name, _future(tree))


def _holds(declared: ast.ClassDef, compute: ast.AST) -> bool:
    """Whether a function is a part of a class: defined in it, or given another name there."""
    name = getattr(compute, "name", "")
    for each in declared.body:
        if isinstance(each, ast.FunctionDef) and (each.lineno, each.name) == (getattr(compute, "lineno", 0), name):
            return True
        given = each.value if isinstance(each, ast.Assign) else None
        if given is compute or (isinstance(given, ast.Name) and given.id == name and _assigns(each, "compute")):
            return True
    return False


def _assigns(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in getattr(node, "targets", ()))


def _of_cell(spec: OpSpec) -> _Written:
    """For an operator of a cell: its text, and a class that collects the parts."""
    tree = _tree(spec)
    bound = _bound(spec.source.text)
    parts = sorted((name for name in bound if is_part(name)), key=_order)
    if "compute" not in parts:
        raise _unknown_text(spec)
    lines = spec.source.text.splitlines()
    for node in tree.body:
        if _is_docstring(node, tree) or _is_future(node):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    short = spec.name.partition(".")[2]
    camel = "".join(word.capitalize() for word in short.split("_"))
    name = next(n for n in (short, camel, f"{short}_op", f"{short}_operator") if n not in bound and not is_part(n))
    doc = [textwrap.indent(_docstring(spec.doc), "    "), ""] if spec.doc else []
    tail = "\n".join([f'@tl.op("{spec.name}")', f"class {name}:", *doc, *(f"    {part} = {part}" for part in parts)])
    return _Written("\n".join(lines), tail, name, _future(tree))


def _order(part: str) -> tuple[int, str]:
    return (PARTS.index(part) if part in PARTS else len(PARTS), part)


def _is_docstring(node: ast.stmt, tree: ast.Module) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return node is tree.body[0] and isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_future(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _future(tree: ast.Module) -> set[str]:
    return {each.name for node in tree.body if _is_future(node) for each in node.names}  # type: ignore[attr-defined]


def _docstring(text: str) -> str:
    safe = text.replace("\\", "\\\\").replace('"""', '\\"""')
    return f'"""{safe}"""' if not safe.endswith('"') else f'"""{safe[:-1]}\\""""'


def _bound(text: str) -> set[str]:
    table = symtable.symtable(text, "operator", "exec")
    return {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}


def _global_names(text: str) -> Iterator[str]:
    """Names that a text takes from around it, in the order in which it has them."""
    top = symtable.symtable(text, "operator", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    found: set[str] = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    waiting = list(top.get_children())
    while waiting:
        table = waiting.pop()
        # In a class, ``compute = compute`` takes one from around it.
        in_class = table.get_type() == "class"
        found |= {s.get_name() for s in table.get_symbols() if s.is_referenced() and (s.is_global() or in_class)}
        waiting += table.get_children()
    order = {n.id: at for at, n in enumerate(ast.walk(ast.parse(text))) if isinstance(n, ast.Name)}
    yield from sorted(found - bound, key=lambda name: (order.get(name, 0), name))


def _taken(text: str, spec: OpSpec) -> dict[str, Any]:
    """What an operator's text takes from around it, by name."""
    return _values(text, spec.compute.function, "tl")


def _values(text: str, function: Callable[..., Any], *apart: str) -> dict[str, Any]:
    function = inspect.unwrap(function)
    around = {**getattr(function, "__globals__", {}), **_closed_over(function)}
    return {name: around[name] for name in _global_names(text) if name in around and name not in apart}


def _closed_over(function: Any) -> Mapping[str, Any]:
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found = {}
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return found


class _Around:
    """What stands above the operator in its module."""

    def __init__(self, spec: OpSpec) -> None:
        self.spec = spec
        self.imports: set[str] = set()
        self.prelude: set[str] = set()
        self.blocks: list[str] = []
        self._values: dict[str, Any] = {}
        # What stands beside the operator goes with it.
        own = getattr(inspect.unwrap(spec.compute.function), "__module__", "")
        self._apart = {"__main__", "tvmlab_cell", own}

    def need(self, name: str, value: Any) -> None:
        """Write down what a name stands for."""
        if name in self._values:
            if self._values[name] is not value and not _same(self._values[name], value):
                raise self._refused(name, "is two different things in the functions that it uses")
            return
        if name.startswith("__") or getattr(builtins, name, None) is value:
            return
        self._values[name] = value
        if name in prelude.NAMES and getattr(prelude, name) is value:
            self.prelude.add(name)
        elif (imported := _import_of(name, value, self._apart)) is not None:
            self.imports.add(imported)
        elif (literal := _literal(value)) is not None:
            self.blocks.append(f"{name} = {literal}")
            self._import_numpy(literal)
        elif isinstance(value, types.FunctionType | type):
            self._define(name, value)
        else:
            raise self._refused(name, f"is a {type(value).__name__}, which cannot be written down as Python")

    def _define(self, name: str, value: Any) -> None:
        try:
            text = textwrap.dedent(inspect.getsource(value))
            (node,) = ast.parse(text).body
        except (OSError, TypeError, KeyError, SyntaxError, ValueError) as error:
            raise self._refused(name, "is a function or class whose text is not known") from error
        if name not in _bound(text):
            raise self._refused(name, f"is another name of {value.__name__}")
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Lambda):
            raise self._refused(name, "is made by a call, which would have to be made again")
        inner = value if isinstance(value, types.FunctionType) else _any_method(value)
        for each, needed in _values(text, inner, name).items() if inner is not None else ():
            self.need(each, needed)
        self.blocks.append(text.strip("\n"))

    def _import_numpy(self, literal: str) -> None:
        if "np." in literal:
            self.need("np", np)

    def _refused(self, name: str, why: str) -> NotWritable:
        return NotWritable(
            f"{self.spec.name} uses {name}, which {why}",
            where=self.spec.source.of_function(self.spec.compute.function) or self.spec.source.label,
            mend=f"define {name} inside of the operator's cell, or put it into a module and import it",
        )


def _any_method(kind: type) -> Any:
    return next((each for each in vars(kind).values() if isinstance(each, types.FunctionType)), None)


def _same(one: Any, other: Any) -> bool:
    literal = _literal(one)
    return literal is not None and literal == _literal(other)


def _import_of(name: str, value: Any, apart: set[str]) -> str | None:
    """The statement that imports a value under a name; None if no module has it under its own name."""
    if isinstance(value, types.ModuleType):
        full = value.__name__
        if full in apart:
            return None
        return f"import {full}" if full == name else f"import {full} as {name}"
    own = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    module = getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else None)
    if not isinstance(own, str) or not isinstance(module, str) or module in apart or "." in own:
        return None
    try:
        found = getattr(importlib.import_module(module), own, None)
    except Exception:  # noqa: BLE001 - a module that cannot be imported is no place to import from
        return None
    if found is not value:
        return None
    return f"from {module} import {own}" if own == name else f"from {module} import {own} as {name}"


def _literal(value: Any) -> str | None:
    """Python that makes the value anew; None if there is none."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufc" or value.size > _MOST_ELEMENTS or not np.isfinite(value).all():
            return None
        return f"np.array({value.tolist()!r}, {value.dtype.name!r})" + (
            f".reshape{value.shape}" if value.size == 0 else ""
        )
    if isinstance(value, np.generic):
        plain = _literal(value.item())
        return None if plain is None else f"np.{type(value).__name__}({plain})"
    if isinstance(value, np.dtype):
        return f"np.dtype({value.name!r})"
    if isinstance(value, float) and type(value) is float and not np.isfinite(value):
        return f'float("{value}")'
    if type(value) in (tuple, list):
        inner = [_literal(each) for each in value]
        if any(each is None for each in inner):
            return None
        joined = ", ".join(map(str, inner))
        if type(value) is list:
            return f"[{joined}]"
        return f"({joined},)" if len(inner) == 1 else f"({joined})"
    if type(value) is dict:
        pairs = [(_literal(key), _literal(each)) for key, each in value.items()]
        if any(None in pair for pair in pairs):
            return None
        return f"{{{', '.join(f'{key}: {each}' for key, each in pairs)}}}"
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return repr(value)
    return None


def export(op: Op, path: str | os.PathLike[str], *, overwrite: bool = False) -> Written:
    """See `Op.export`."""
    if not isinstance(path, str | os.PathLike):
        raise CallError(f"{path!r} is no path of a file", mend=f'op.export("{op.spec.kernel_name}.py")')
    file = Path(path)
    if file.stem in sys.stdlib_module_names or file.stem in _HIDDEN:
        raise CallError(
            f"a module {file.name} would hide the module {file.stem}",
            str(file),
            f'name it otherwise: op.export("{op.spec.kernel_name}.py")',
        )
    if file.suffix != ".py" or not file.stem.isidentifier() or keyword.iskeyword(file.stem):
        raise CallError(
            f"{file.name!r} is no name of a module that can be imported",
            str(file),
            f'op.export("{_module_name(file.stem, op)}.py")',
        )
    if not file.parent.is_dir():
        raise CallError(f"there is no folder {file.parent}", str(file), "make it first, or name another")
    texts = {file: module_text(op.spec), file.with_name(f"test_{file.name}"): _test_text(op, file.stem)}
    taken = [each for each in texts if each.exists() or each.is_symlink()]
    if taken and not overwrite:
        raise CallError(
            f"{' and '.join(each.name for each in taken)} would be overwritten",
            str(file),
            "name another file, or say overwrite=True",
        )
    try:
        for each, text in texts.items():
            each.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CallError(
            f"it cannot be written: {error.strerror or error}", str(file), "name a file where you may write"
        ) from error
    sizes = {each.name: len(text.encode()) for each, text in texts.items()}
    return Written(op.name, str(file.parent), sizes, (f"pytest {file.with_name(f'test_{file.name}')} runs its tests",))


def _module_name(stem: str, op: Op) -> str:
    name = re.sub(r"\W", "_", stem, flags=re.ASCII).strip("_")
    return name if name.isidentifier() and not keyword.iskeyword(name) else op.spec.kernel_name


def _test_text(op: Op, module: str) -> str:
    """A test of the module: all checks, and values as they are today."""
    cases = _cases(op)
    lines = [
        f'"""Tests of {op.name}: run pytest on this file."""',
        "",
        *(["import numpy as np"] if cases else []),
        f"from {module} import {name_of_op(op.spec)} as op",
        "",
        "from tvmlab.testing import assert_op_ok",
        "",
        "",
        "def test_it_passes_every_check():",
        "    assert_op_ok(op)",
    ]
    return "\n".join([*lines, "", "", *cases] if cases else lines) + "\n"


def _cases(op: Op) -> list[str]:
    """A test with arrays and what the operator makes of them; nothing if no inputs for it are known."""
    example = op.examination.example
    if example is None:
        return []
    random = np.random.default_rng(0)
    arrays = [_some(random, kind) for kind in example.types]
    if any(array is None for array in arrays):
        return []
    try:
        got = op(*arrays, **example.attributes)
    except TvmlabError:
        return []
    results = got if isinstance(got, tuple) else (got,)
    written = [_literal(array) for array in [*arrays, *results]]
    if None in written:
        return []
    names = [f"x{at}" for at in range(len(arrays))]
    given = ", ".join([*names, *(f"{name}={_literal(value)}" for name, value in example.attributes.items())])
    return [
        "def test_it_gives_what_it_gave_when_it_was_exported():",
        *(f"    {name} = {text}" for name, text in zip(names, written, strict=False)),
        f"    got = op({given})",
        f"    wanted = [{', '.join(map(str, written[len(arrays) :]))}]",
        "    for one, other in zip(got if isinstance(got, tuple) else (got,), wanted, strict=True):",
        "        assert one.dtype == other.dtype",
        "        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)",
    ]


def _some(random: Any, kind: Any) -> Any:
    """A small array of a type; None if it has symbols, or a dtype that NumPy does not write."""
    dtype = np.dtype(str(kind.dtype)) if str(kind.dtype) in np.sctypeDict else None
    if kind.shape is None or dtype is None or not all(isinstance(d, int) or hasattr(d, "value") for d in kind.shape):
        return None
    shape = tuple(int(d) for d in kind.shape)
    if dtype.kind == "f":
        return random.integers(-8, 9, shape).astype(dtype) / dtype.type(4)
    return random.integers(0, 2 if dtype.kind == "b" else 4, shape).astype(dtype)
