"""A Python function over operators becomes a model."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlab import diagnosis
from tvmlab.errors import LoadError, Location
from tvmlab.ops.source import source_of
from tvmlab.pipeline.guarded import guarded
from tvmlab.pipeline.model import Model, model_of_module
from tvmlab.runtime.executable import first_line
from tvmlab.runtime.signature import dtype_of

__all__ = ["graph"]

_MAX_DEPTH = 1000
_ANNOTATION = re.compile(r"\s*(?P<dtype>[a-z_]+\d*(?:_\w+)?)\s*\[(?P<shape>[^\[\]]*)\]\s*")
_EXAMPLE = 'x: "float32[n, 64]"'


def graph(function: Callable[..., Any], *, name: str | None = None) -> Model:
    """Make a model of a Python function over operators.

    Parameters
    ----------
    function : callable
        Its parameters are annotated with types: ``x: "float32[n, 64]"``, a dimension being a number or a name; equal
        names are equal dimensions.  It is called once, with Relax variables, and returns a Relax expression or a tuple
        of them: calls of ``tl.ops`` and of ``relax.op``, nested as one likes.  NumPy arrays and numbers may be returned
        too, as constants.
    name : str, optional
        Default: the function's name.

    Raises
    ------
    LoadError
        A parameter has no readable type, or the function fails or returns something else; it names the line.

    Examples
    --------
    >>> def block(x: "float32[n, 64]", w: "float32[64, 64]"):
    ...     return relax.op.nn.relu(relax.op.matmul(x, w))
    >>> model = tl.graph(block)
    """
    source = source_of(function)
    line = source.of_function(function)
    variables = _variables(function, line)
    called = getattr(function, "__name__", "function")

    def explain(error: Exception) -> LoadError:
        general = f"{called} is called once with Relax variables: use tl.ops and relax.op on them, no NumPy"
        known = diagnosis.explain(error)
        known = known if known is not None and known.stage == "type rule" else None
        return LoadError(
            f"{called} failed: {known.meaning if known else first_line(error)}",
            source.of_exception(error) or line,
            _advice(error) or (known.mend if known else general),
        )

    module = guarded(lambda: _built(function, variables, line), explain)
    return model_of_module(module, name or called)


def _advice(error: Exception) -> str:
    """What to do about a slip that is usual where a graph is built; empty for others."""
    text = str(error)
    if "with `const` first" in text:
        return 'a number has to be made an expression: relax.const(0.5, "float32")'
    if "must have the same datatype" in text:
        return 'give both the same dtype: relax.const(2.0, "float32") makes a number one'
    if isinstance(error, AttributeError) and "module 'tvm.relax" in text:
        return "it has another name, or is elsewhere: dir(relax.op) and dir(relax.op.nn) list what there is"
    return ""


def _variables(function: Callable[..., Any], line: Location | None) -> list[Any]:
    """A Relax variable for each parameter."""
    from tvm import relax

    dimensions: dict[str, Any] = {}
    made = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise LoadError(f"{parameter} stands for any number of inputs", line, f"name each input: {_EXAMPLE}")
        if parameter.annotation is parameter.empty:
            raise LoadError(f"parameter {parameter.name!r} has no type", line, _like(parameter.name))
        made.append(relax.Var(parameter.name, _type(parameter.name, parameter.annotation, dimensions, line)))
    return made


def _like(name: str) -> str:
    return f'write {name}: "float32[n, 64]"'


def _type(name: str, annotation: Any, dimensions: dict[str, Any], line: Location | None) -> Any:
    from tvm import relax, tirx

    if isinstance(annotation, relax.TensorType):
        return annotation
    text = annotation.strip("\"' ") if isinstance(annotation, str) else ""
    found = _ANNOTATION.fullmatch(text)
    parts = [p.strip() for p in found["shape"].split(",")] if found and found["shape"].strip() else []
    if found is None or not all(p.isidentifier() or p.isdecimal() for p in parts):
        raise LoadError(f"parameter {name!r} has the type {text or annotation!r}, which is none", line, _like(name))
    shape = [int(p) if p.isdecimal() else dimensions.setdefault(p, tirx.Var(p, "int64")) for p in parts]
    if dtype_of(found["dtype"]) is None:
        raise LoadError(f"parameter {name!r} has the unknown dtype {found['dtype']!r}", line, _like(name))
    return relax.TensorType(shape, found["dtype"])


def _built(function: Callable[..., Any], variables: list[Any], line: Location | None) -> Any:
    from tvm import relax

    builder = relax.BlockBuilder()
    with builder.function("main", variables):
        with builder.dataflow():
            returned = function(*variables)
            _refuse_too_deep(returned, line)
            if isinstance(returned, tuple | list):
                value = relax.Tuple([_expression(v, function, line) for v in returned])
            else:
                value = _expression(returned, function, line)
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder.get()


def _refuse_too_deep(returned: Any, line: Location | None) -> None:
    """Refuse calls nested so deep that TVM, which recurses into them, would overflow its stack and end the process."""
    from tvm import relax

    level, levels = (list(returned) if isinstance(returned, tuple | list) else [returned]), 0
    while level:
        levels += 1
        if levels > _MAX_DEPTH:
            raise LoadError(
                f"calls are nested more than {_MAX_DEPTH} deep",
                line,
                "give a part of them to relax.BlockBuilder.current().emit, or use fewer",
            )
        inside = [n for node in level for n in (*getattr(node, "args", ()), *getattr(node, "fields", ()))]
        level = list({id(node): node for node in inside if isinstance(node, relax.Call | relax.Tuple)}.values())


def _expression(value: Any, function: Callable[..., Any], line: Location | None) -> Any:
    from tvm import relax

    if isinstance(value, relax.Expr):
        return value
    if isinstance(value, np.ndarray | np.generic | bool | int | float):
        return relax.const(np.float32(value) if isinstance(value, float) else value)
    raise LoadError(
        f"{getattr(function, '__name__', 'function')} returns {type(value).__name__}, not a Relax expression",
        line,
        "return what an operator gave, or a tuple of such; was a return forgotten?",
    )
