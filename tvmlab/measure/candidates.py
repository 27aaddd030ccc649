"""TVM's own operators as candidates: which could be equal to an operator of ours, and with which attributes."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

__all__ = ["Candidate", "candidates"]

_MOST_VARIANTS = 24
_MOST_TENSORS = 3
_AXES: tuple[Any, ...] = (-1, 0, 1)
_GUESSES: dict[str, tuple[Any, ...]] = {"int": (0, 1, -1), "float": (0.0, 1.0)}
# What their names say is no operator on tensors, or not of a fixed result.
_NOT_OPERATORS = ("call_", "invoke_", "make_", "register_", "print", "assert_", "hint_", "to_vdevice", "dropout")


@dataclass(frozen=True)
class Candidate:
    """One call of one of TVM's operators.

    Parameters
    ----------
    library : {"relax.op", "topi"}
    name : str
        ``nn.gelu``.
    order : tuple of int
        Which tensor goes where.
    arguments : mapping
        What is given by keyword.
    """

    library: str
    name: str
    order: tuple[int, ...]
    arguments: Mapping[str, Any]

    def text(self, tensors: Sequence[str]) -> str:
        """As one writes it, with names for the tensors."""
        given = [*(tensors[i] for i in self.order), *(f"{k}={v!r}" for k, v in self.arguments.items())]
        return f"{self.library}.{self.name}({', '.join(given)})"

    def emit(self, builder: Any, tensors: Sequence[Any]) -> Any:
        """The call, emitted into a block builder."""
        given = [tensors[i] for i in self.order]
        if self.library == "topi":
            return builder.emit_te(self.function, *given, **self.arguments)
        return builder.emit(self.function(*given, **self.arguments))

    @property
    def function(self) -> Callable[..., Any]:
        """The function that makes it."""
        from tvm import relax, topi

        found: Any = topi if self.library == "topi" else relax.op
        for part in self.name.split("."):
            found = getattr(found, part)
        function: Callable[..., Any] = found
        return function


def candidates(library: str, tensors: int, attributes: Mapping[str, Any]) -> Iterator[Candidate]:
    """Every call of an operator of the installed TVM that takes so many tensors first.

    Parameters
    ----------
    library : {"relax.op", "topi"}
    tensors : int
    attributes : mapping
        Of our operator: these values are tried beside the defaults.
    """
    orders = [tuple(range(tensors)), *([(1, 0)] if tensors == 2 else [])]
    for name, function in _functions(library):
        parameters = list(inspect.signature(function).parameters.values())
        for arguments in _arguments(parameters, tensors, attributes):
            yield from (Candidate(library, name, order, arguments) for order in orders)


def _functions(library: str) -> Iterator[tuple[str, FunctionType]]:
    from tvm import relax, topi

    rooms: dict[str, Any]
    if library == "topi":
        rooms = {"": topi, "nn.": topi.nn}
    else:
        rooms = {"": relax.op, "nn.": relax.op.nn, "image.": relax.op.image}
    for prefix, room in rooms.items():
        for name in sorted(vars(room)):
            function = getattr(room, name)
            if isinstance(function, FunctionType) and not name.startswith(("_", *_NOT_OPERATORS)):
                yield prefix + name, function


def _arguments(
    parameters: Sequence[inspect.Parameter], tensors: int, attributes: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """What the parameters after the tensors may be."""
    first, rest = parameters[:tensors], parameters[tensors:]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if len(first) < tensors or any(p.kind not in positional or not _may_be_tensor(p) for p in first):
        return
    if any(p.kind in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} for p in rest):
        return
    options = [_options(p, attributes) for p in rest]
    seen: set[str] = set()
    for values in itertools.product(*options):
        given = {p.name: v for p, v in zip(rest, values, strict=True) if p.default is p.empty or v is not p.default}
        if repr(given) not in seen:
            seen.add(repr(given))
            yield given
        if len(seen) >= _MOST_VARIANTS:
            return


def _may_be_tensor(parameter: inspect.Parameter) -> bool:
    annotated = parameter.annotation is not parameter.empty
    return (not annotated or "Expr" in str(parameter.annotation)) and parameter.default in (parameter.empty, None)


def _options(parameter: inspect.Parameter, attributes: Mapping[str, Any]) -> list[Any]:
    """Values to try for a parameter, the likeliest first; none if it is required and nothing fits."""
    default = parameter.default
    options: list[Any] = [] if default is parameter.empty else [default]
    if parameter.name in attributes:
        options.insert(0, attributes[parameter.name])
    options += [value for value in attributes.values() if _fits(value, parameter)]
    if parameter.name in {"axis", "axes", "dim"}:
        options += _AXES
    if isinstance(default, bool):
        options.append(not default)
    if not options:
        kinds = str(parameter.annotation)
        options = [value for kind, values in _GUESSES.items() if kind in kinds for value in values]
    return [value for i, value in enumerate(options) if repr(value) not in map(repr, options[:i])]


def _fits(value: Any, parameter: inspect.Parameter) -> bool:
    """Whether an attribute's value could be meant for a parameter."""
    default = parameter.default
    if default is parameter.empty:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if default is None:
        return isinstance(value, int | tuple | list) and not isinstance(value, bool)
    return type(value) is type(default) and not isinstance(value, str)
