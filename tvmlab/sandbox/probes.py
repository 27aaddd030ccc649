"""Functions that look at an answer, sent to where the answer is.

A probe goes as its own byte code with what it mentions, and nothing else of its module: so what stands beside it there,
a reference above all, does not come along.
"""

from __future__ import annotations

import builtins
import dis
import functools
import importlib
import marshal
import sys
import types
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["pack", "unpack"]

_COURSE = "tvmlab.course"


@functools.cache
def pack(probe: Callable[..., Any]) -> dict[str, Any]:
    """A function and what it mentions, as plain data for a Python of the same version.

    Raises
    ------
    TypeError
        It is no plain function of a module, or it mentions something that cannot be sent.
    """
    functions: dict[str, Any] = {}
    modules: dict[str, str] = {}
    objects: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    waiting = [_function(probe)]
    while waiting:
        function = waiting.pop()
        functions[function.__name__] = [marshal.dumps(function.__code__).hex(), list(function.__defaults__ or ())]
        for name, value in _mentioned(function):
            if name in functions:
                continue
            if isinstance(value, ModuleType):
                modules[name] = value.__name__
            elif _is_importable(value):
                objects[name] = [value.__module__, value.__qualname__]
            elif isinstance(value, FunctionType):
                waiting.append(_function(value, name))
            elif _is_plain(value):
                values[name] = value
            else:
                raise TypeError(
                    f"the probe {probe.__name__} mentions {name}, a {type(value).__name__}: it may mention modules, "
                    "functions, numbers and texts, and gets the rest as arguments"
                )
    return {"name": probe.__name__, "functions": functions, "modules": modules, "objects": objects, "values": values}


def unpack(packed: dict[str, Any]) -> Callable[..., Any]:
    """The function that `pack` was given."""
    namespace: dict[str, Any] = {"__builtins__": builtins, "__name__": "tvmlab_probe", **packed["values"]}
    for name, module in packed["modules"].items():
        namespace[name] = importlib.import_module(module)
    for name, (module, attribute) in packed["objects"].items():
        namespace[name] = getattr(importlib.import_module(module), attribute)
    for name, (code, defaults) in packed["functions"].items():
        namespace[name] = types.FunctionType(marshal.loads(bytes.fromhex(code)), namespace, name, tuple(defaults))  # noqa: S302 - it comes from the judge
    probe: Callable[..., Any] = namespace[packed["name"]]
    return probe


def _function(value: Callable[..., Any], name: str | None = None) -> FunctionType:
    if not isinstance(value, FunctionType) or value.__closure__ or (name or value.__name__) != value.__name__:
        raise TypeError(
            f"{getattr(value, '__name__', value)!s:.80} is no plain function of a module, and so no probe: define it "
            "with def at the top of a file, and give it what it needs as arguments"
        )
    return value


def _mentioned(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name in dict.fromkeys(_globals_of(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _globals_of(code: CodeType) -> Iterator[str]:
    """Names that are looked up as globals; an attribute of the same name is none."""
    yield from (each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_of(constant)


def _is_importable(value: Any) -> bool:
    """Whether it is to be had where nothing of the course is."""
    name = str(getattr(value, "__module__", None))
    module = sys.modules.get(name)
    if not isinstance(value, type | FunctionType) or module is None or name.startswith(_COURSE):
        return False
    return getattr(module, value.__qualname__, None) is value


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str)
