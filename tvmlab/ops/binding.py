"""How a user's function takes an operator's tensors and attributes: tensors by position, attributes by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from tvmlab.errors import CellError
from tvmlab.ops.naming import did_you_mean
from tvmlab.ops.source import Source


@dataclass(frozen=True)
class Binding:
    """A function of the user, and which of its parameters are what.

    Parameters
    ----------
    tensors : tuple of str
        Parameters that take a tensor each.
    variadic : bool
        Whether ``*xs`` takes any number of further tensors.
    takes : tuple of str
        Attributes that it takes by name.
    """

    part: str
    function: Callable[..., Any]
    tensors: tuple[str, ...]
    variadic: bool
    takes: tuple[str, ...]

    def __call__(self, tensors: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        """Call the function; what it does not take of the attributes is left out."""
        return self.function(*tensors, **{name: attributes[name] for name in self.takes})

    @property
    def signature(self) -> str:
        """``compute(x, lower, upper)``."""
        return f"{self.part}{inspect.signature(self.function)}"

    def accepts(self, count: int) -> bool:
        """Whether it can take that many tensors."""
        return count == len(self.tensors) or (self.variadic and count >= len(self.tensors))


def bind(part: str, function: Any, attributes: Sequence[str], source: Source) -> Binding:
    """Find out which parameters of a function are tensors and which are attributes.

    Raises
    ------
    CellError
        If it is not callable, or a parameter is neither a tensor nor an attribute.
    """
    if not callable(function):
        raise CellError(
            f"{part} is {type(function).__name__}, not a function",
            where=source.of_name(part),
            mend=f"write def {part}(…):",
        )
    where = source.of_function(function) or source.of_name(part)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise CellError(
            f"{part} has no readable signature: {error}", where=where, mend=f"write def {part}(…):"
        ) from error
    tensors: list[str] = []
    takes: list[str] = []
    variadic = takes_all = False
    for p in parameters:
        if p.kind is Parameter.VAR_KEYWORD:
            takes_all = True
        elif p.kind is Parameter.VAR_POSITIONAL:
            variadic = True
        elif p.name in attributes:
            takes.append(p.name)
        elif takes or variadic or p.kind is Parameter.KEYWORD_ONLY:
            raise CellError(
                f"{part}: parameter {p.name!r} is neither a tensor (those come first) nor an attribute",
                where=where,
                mend=did_you_mean(p.name, set(attributes) - {q.name for q in parameters})
                or "declare it in class Attrs",
            )
        elif p.default is not Parameter.empty:
            raise CellError(
                f"{part}: the tensor parameter {p.name!r} cannot have a default",
                where=where,
                mend=f"declare {p.name} in class Attrs if it is an attribute, else remove the default",
            )
        else:
            tensors.append(p.name)
    return Binding(part, function, tuple(tensors), variadic, tuple(attributes) if takes_all else tuple(takes))


def require_all(binding: Binding, attributes: Sequence[str], source: Source) -> None:
    """Every attribute must be a parameter of `compute`: an attribute that nothing reads is a slip."""
    for name in attributes:
        if name not in binding.takes:
            spare = [t for t in binding.tensors if did_you_mean(name, [t]).startswith("did you mean")]
            raise CellError(
                f"attribute {name!r} is not a parameter of {binding.signature}",
                where=source.of_function(binding.function) or source.of_name(binding.part),
                mend=f"rename the parameter {spare[0]!r} to {name!r}" if spare else f"add the parameter {name!r}",
            )


def require_tensors(binding: Binding, like: Binding, source: Source) -> None:
    """A type rule, a reference or a lowering must take as many tensors as `compute` does."""
    fits = binding.variadic if like.variadic else binding.accepts(len(like.tensors))
    if not fits:
        tensors = f"{', '.join(like.tensors) or 'none'}{', *more' if like.variadic else ''}"
        raise CellError(
            f"{binding.signature} does not take the tensors of {like.signature}",
            where=source.of_function(binding.function) or source.of_name(binding.part),
            mend=f"give it the tensor parameters {tensors} first",
        )
