"""From the text of a cell, or a decorated class, to the parts of an operator.

A cell runs in a private namespace: a plain dict that holds, of the user's names, only those that the text mentions
(and those that the mentioned functions mention in turn), and the prelude.  So only what the cell binds counts, a
later change of a helper does not change the operator, and nothing leaks back.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
import linecache
import symtable
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from tvmlab.diagnosis import mend_of
from tvmlab.errors import CellError, Location, nearest
from tvmlab.ops.naming import did_you_mean
from tvmlab.ops.source import Source, source_of

PARTS = ("Attrs", "type_rule", "compute", "reference", "gradient", "schedule", "pattern", "examples")
LOWERING = "lower_for_"

Cache = Callable[[str], str]


@dataclass(frozen=True)
class Parts:
    """What a cell or a class says of an operator.

    Parameters
    ----------
    values : mapping
        The parts by name: those of `PARTS` and ``lower_for_<target>``.
    namespace : mapping
        The globals of its functions: where types in annotations are looked up.
    fingerprint : str
        Hash of the text, 8 hexadecimal digits.
    """

    doc: str
    values: Mapping[str, Any]
    namespace: Mapping[str, Any]
    source: Source
    fingerprint: str


def read_cell(
    body: str,
    *,
    user_namespace: Mapping[str, Any] | None = None,
    label: str = "cell",
    first_line: int = 2,
    cache: Cache | None = None,
) -> Parts:
    """Run the text of a cell and collect the parts of an operator.

    Parameters
    ----------
    body : str
        The cell without its magic line.
    user_namespace : mapping, optional
        The names of the notebook; read, never written.
    label : str
        What the user calls the cell: ``Cell In[3]``.
    first_line : int
        The cell's line on which `body` starts.
    cache : callable, optional
        Stores the text and returns the file name to compile it under, so that tracebacks and `inspect.getsource`
        find it.

    Raises
    ------
    CellError
        If the text has a syntax error, raises, or defines no ``compute``.
    """
    namespace, source, docstring = run_privately(
        body, user_namespace=user_namespace or {}, label=label, first_line=first_line, cache=cache
    )
    bound = _assigned(source)
    values = {name: namespace[name] for name in bound if name in namespace and is_part(name)}
    _refuse_misspelt(bound, values, source)
    _require_compute(values, source, f"the cell {label}")
    return Parts(docstring, values, namespace, source, fingerprint(body))


def read_class(declared: type) -> Parts:
    """Collect the parts of an operator from a class body whose functions are written without ``self``."""
    if not isinstance(declared, type):
        raise CellError(
            f"tl.op decorates a class, not {type(declared).__name__}",
            mend="write the parts of the operator in the body of a class: class MyOp: def compute(x): …",
        )
    source = source_of(declared)
    body = {k: v for k, v in vars(declared).items() if not k.startswith("__")}
    plain = {k: v.__func__ if isinstance(v, staticmethod) else v for k, v in body.items()}
    values = {k: v for k, v in plain.items() if is_part(k)}
    _refuse_misspelt(set(plain), values, source)
    _require_compute(values, source, f"class {declared.__name__}")
    compute = values["compute"]
    namespace = getattr(compute, "__globals__", {})
    return Parts(declared.__doc__ or "", values, namespace, source, fingerprint(_class_text(declared)))


def is_part(name: str) -> bool:
    """Whether a name is looked for in an operator cell."""
    return name in PARTS or (name.startswith(LOWERING) and name != LOWERING)


def fingerprint(text: str) -> str:
    """Eight hexadecimal digits of a text's hash."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def run_privately(
    body: str, *, user_namespace: Mapping[str, Any], label: str, first_line: int, cache: Cache | None
) -> tuple[dict[str, Any], Source, str]:
    """Run a text in a private namespace; return that, the source and the docstring."""
    if not body.strip():
        raise CellError("the cell is empty", where=label, mend="write at least def compute(x): return te.compute(…)")
    text = "\n" * (first_line - 1) + body
    filename = (cache or _cache_in_linecache)(text)
    source = Source(filename, label, text)
    try:
        code = compile(text, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        at = Location(
            label, error.lineno or first_line, (error.offset or 1) - 1, source.line(error.lineno or first_line)
        )
        raise CellError(f"SyntaxError: {error.msg}", where=at, mend="mend the Python of this line") from error
    except ValueError as error:
        raise CellError(f"the cell is not Python: {error}", where=label, mend="remove the null bytes") from error
    namespace = private_namespace(code, user_namespace)
    try:
        exec(code, namespace)
    except (Exception, SystemExit) as error:
        raise _failed_to_run(error, source, namespace) from error
    return namespace, source, str(namespace.get("__doc__") or "")


def private_namespace(code: CodeType, user_namespace: Mapping[str, Any]) -> dict[str, Any]:
    """A dict with the prelude and those of the user's names that the code mentions, functions re-bound to it.

    It must be a plain dict: a subclass with ``__missing__`` is not consulted inside class bodies.
    """
    from tvmlab.ops import prelude

    namespace: dict[str, Any] = {"__builtins__": builtins, "__name__": "tvmlab_cell", "__doc__": None}
    wanted = [code]
    while wanted:
        for name in mentioned(wanted.pop()):
            if name in namespace:
                continue
            if name in user_namespace:
                value = user_namespace[name]
                if isinstance(value, FunctionType) and value.__globals__ is user_namespace:
                    wanted.append(value.__code__)
                    value = _rebound(value, namespace)
                namespace[name] = value
            elif name in prelude.NAMES:
                namespace[name] = getattr(prelude, name)
    return namespace


def mentioned(code: CodeType) -> Iterator[str]:
    """Global names that a code object, or one inside it, mentions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from mentioned(constant)


def _rebound(function: FunctionType, namespace: dict[str, Any]) -> FunctionType:
    copy = types.FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__doc__ = function.__doc__
    copy.__dict__.update(function.__dict__)
    return copy


def _cache_in_linecache(text: str) -> str:
    filename = f"<tvmlab cell {fingerprint(text)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    return filename


def _assigned(source: Source) -> set[str]:
    table = symtable.symtable(source.text, source.filename, "exec")
    return {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}


def _failed_to_run(error: BaseException, source: Source, namespace: Mapping[str, Any]) -> CellError:
    mend = mend_of(error)
    if isinstance(error, NameError) and error.name:
        close = did_you_mean(error.name, {*namespace, *dir(builtins)})
        mend = f"{close} Else {mend}" if close.startswith("did") else mend
    return CellError(
        f"{type(error).__name__}: {error}",
        where=source.of_exception(error) or source.label,
        mend=mend or "mend this line; %tb shows the whole traceback",
    )


def _refuse_misspelt(bound: set[str], values: Mapping[str, Any], source: Source) -> None:
    for name in sorted(bound - set(values)):
        close = nearest(name, [p for p in PARTS if p not in values], cutoff=0.8)
        if close and not _is_used(source, name):
            raise CellError(
                f"{name!r} is not a part of an operator, and nothing uses it",
                where=source.of_name(name),
                mend=f"did you mean {close!r}?",
            )


def _is_used(source: Source, name: str) -> bool:
    names = (node for node in ast.walk(source.tree()) if isinstance(node, ast.Name))
    return any(node.id == name and isinstance(node.ctx, ast.Load) for node in names)


def _require_compute(values: Mapping[str, Any], source: Source, what: str) -> None:
    if "compute" not in values:
        raise CellError(
            f"{what} defines no compute",
            where=source.label,
            mend="add def compute(x, …): return te.compute(x.shape, lambda *i: …)",
        )


def _class_text(declared: type) -> str:
    try:
        return inspect.getsource(declared)
    except (OSError, TypeError, KeyError):
        return repr(sorted(vars(declared)))


def read_function(
    name: str,
    body: str,
    *,
    user_namespace: Mapping[str, Any] | None = None,
    label: str = "cell",
    first_line: int = 2,
    cache: Cache | None = None,
) -> Callable[..., Any]:
    """Run the text of a cell privately and return the function it defines: the one called `name`, else the only one.

    Raises
    ------
    CellError
        If it fails, or there is no such function.
    """
    namespace, source, _ = run_privately(
        body, user_namespace=user_namespace or {}, label=label, first_line=first_line, cache=cache
    )
    functions = {n: namespace[n] for n in _assigned(source) if isinstance(namespace.get(n), FunctionType)}
    if len(functions) == 1:
        (name,) = functions
    if name in functions:
        found: Callable[..., Any] = functions[name]
        return found
    raise CellError(
        f"the cell defines {len(functions)} functions, and none is called {name!r}",
        where=label,
        mend=f'write def {name}(x: "float32[n, 64]"): return …',
    )
