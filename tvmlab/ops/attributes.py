"""Attributes of an operator: the identity card.

The user's ``class Attrs`` declares fields; each definition of the operator makes its own TVM attributes class from
them.  The class of a call's attributes therefore says with which version of the operator the call was built.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tvmlab import tvm_api
from tvmlab.errors import AttributeSchemaError
from tvmlab.ops.naming import did_you_mean
from tvmlab.ops.source import Source, caller

RESERVED = ("self", "attrs")


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()
"""The default of an attribute that has none."""


@dataclass(frozen=True)
class Attribute:
    """One attribute: its name, its type, its default (or `REQUIRED`)."""

    name: str
    annotation: Any
    default: Any

    @property
    def type_name(self) -> str:
        """The type as the user writes it: ``float``, ``tuple[int, ...]``."""
        if isinstance(self.annotation, type) and not typing.get_args(self.annotation):
            return self.annotation.__name__
        return str(self.annotation).replace("typing.", "")

    def __str__(self) -> str:
        head = f"{self.name}: {self.type_name}"
        return head if self.default is REQUIRED else f"{head} = {self.default!r}"


@dataclass(frozen=True)
class Schema:
    """All attributes of one version of an operator, and the TVM class that carries them.

    Parameters
    ----------
    op_name : str
        ``namespace.name`` of the operator.
    attributes : tuple of Attribute
        In declared order.
    declared : type or None
        The user's ``class Attrs``.
    tvm_class : type
        The class whose instances are ``call.attrs``.
    """

    op_name: str
    attributes: tuple[Attribute, ...]
    declared: type | None
    tvm_class: type

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes, in declared order."""
        return tuple(a.name for a in self.attributes)

    def make(self, given: Mapping[str, Any]) -> Any:
        """Build the TVM attributes of a call.

        Parameters
        ----------
        given : mapping
            Values by attribute name; absent ones take their defaults.

        Returns
        -------
        tvm.ir.Attrs
            An instance of `tvm_class`, validated.

        Raises
        ------
        AttributeSchemaError
            If a name is unknown, a required value is absent, a value has the wrong type or ``validate()`` refuses.
        """
        for name in given:
            if name not in self.names:
                raise AttributeSchemaError(
                    f"{self.op_name} has no attribute {name!r}",
                    where=caller() or self.signature,
                    mend=f"{did_you_mean(name, self.names) or 'call it without attributes'} {self._shown}",
                )
        missing = [a.name for a in self.attributes if a.default is REQUIRED and a.name not in given]
        if missing:
            raise AttributeSchemaError(
                f"{self.op_name} needs the attribute {missing[0]!r}",
                where=caller() or self.signature,
                mend=f"give {missing[0]}=… {self._shown}",
            )
        attrs = self.construct(given)
        values = self.values(attrs)
        validated = self.validated(values)
        return attrs if validated == values else self.construct(validated)

    def construct(self, given: Mapping[str, Any]) -> Any:
        """As `make`, but without ``validate()``."""
        try:
            return self.tvm_class(**{k: _native(v) for k, v in given.items()})
        except (TypeError, ValueError, OverflowError, RuntimeError) as error:
            raise AttributeSchemaError(
                f"{self.op_name}: {_type_complaint(str(error))}",
                where=caller() or self.signature,
                mend=f"the signature is {self.signature}",
            ) from error

    @property
    def _shown(self) -> str:
        return f"({self.signature})"

    def values(self, attrs: Any) -> dict[str, Any]:
        """The values of a call's attributes as plain Python: floats, ints, strings, tuples, dicts."""
        return {name: as_python(getattr(attrs, name)) for name in self.names}

    def validated(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Run the user's ``validate()`` on values; it may also normalise them by assigning to ``self``."""
        check = getattr(self.declared, "validate", None)
        if self.declared is None or check is None:
            return dict(values)
        carrier: Any = object.__new__(self.declared)
        carrier.__dict__.update(values)
        try:
            check(carrier)
        except (Exception, SystemExit) as error:
            shown = ", ".join(f"{k}={v!r}" for k, v in values.items())
            reason = str(error) if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: {error}"
            raise AttributeSchemaError(
                f"{self.op_name} refuses {shown}: {reason or 'validate() raised ' + type(error).__name__}",
                where=caller() or self.signature,
                mend=f"give values that validate() of its Attrs accepts {self._shown}",
            ) from error
        return {name: as_python(carrier.__dict__.get(name, values[name])) for name in self.names}

    @property
    def signature(self) -> str:
        """``lab.leaky_clamp(…, lower: float = -1.0)``."""
        return f"{self.op_name}(…{''.join(f', {a}' for a in self.attributes)})"


def read_attributes(
    declared: type | None, op_name: str, source: Source, namespace: Mapping[str, Any]
) -> tuple[Attribute, ...]:
    """Read the fields of a ``class Attrs``.

    Raises
    ------
    AttributeSchemaError
        If a field has no type, a type that TVM cannot store, a default of another type, or a reserved name.
    """
    if declared is None:
        return ()
    if not inspect.isclass(declared):
        raise AttributeSchemaError(
            f"{op_name}: Attrs is a {type(declared).__name__}, not a class",
            where=source.of_name("Attrs"),
            mend="write class Attrs: with one field a line, such as lower: float = -1.0",
        )
    hints = _hints(declared, op_name, source, namespace)
    for name, value in vars(declared).items():
        if not name.startswith("_") and name not in hints and not _is_method(value):
            raise AttributeSchemaError(
                f"{op_name}: attribute {name!r} has no type",
                where=source.of_name(name),
                mend=f"write {name}: {type(value).__name__} = {value!r}",
            )
    return tuple(_read_field(declared, name, hint, op_name, source) for name, hint in hints.items())


def _read_field(declared: type, name: str, hint: Any, op_name: str, source: Source) -> Attribute:
    if name.startswith("_") or name in RESERVED:
        raise AttributeSchemaError(
            f"{op_name}: an attribute cannot be called {name!r}",
            where=source.of_name(name),
            mend="give it another name",
        )
    default = _native(getattr(declared, name, REQUIRED))
    return Attribute(name, hint, default)


def _hints(declared: type, op_name: str, source: Source, namespace: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(declared, globalns=dict(namespace))
    except Exception as error:
        fields = declared.__dict__.get("__annotations__", {})
        culprit = next((n for n, h in fields.items() if isinstance(h, str) and h in str(error)), "Attrs")
        raise AttributeSchemaError(
            f"{op_name}: a type in Attrs cannot be read: {error}",
            where=source.of_name(culprit),
            mend="use float, int, bool, str, tuple[int, ...], list[…], dict[str, …] or Optional[…]",
        ) from error


def build_schema(
    op_name: str, attributes: tuple[Attribute, ...], declared: type | None, fingerprint: str, source: Source
) -> Schema:
    """Make the TVM attributes class of one version of an operator.

    Parameters
    ----------
    fingerprint : str
        Hash of the operator's source: it is part of the class's type key, so that saved JSON depends on what the
        cell says and not on how often it was run.
    """
    try:
        tvm_class = tvm_api.make_attrs_class(
            op_name, fingerprint, [(a.name, a.annotation, a.default) for a in attributes], REQUIRED
        )
    except (TypeError, ValueError) as error:
        raise AttributeSchemaError(
            f"{op_name}: {_culprit(error, attributes)}",
            where=source.of_name(_culprit_name(attributes)) or source.of_name("Attrs"),
            mend="use float, int, bool, str, tuple[int, ...], list[…], dict[str, …] or Optional[…]",
        ) from error
    schema = Schema(op_name, attributes, declared, tvm_class)
    for attribute in attributes:
        if attribute.default is not REQUIRED:
            _check_default(schema, attribute, source)
    return schema


def _check_default(schema: Schema, attribute: Attribute, source: Source) -> None:
    others = {a.name: a.default for a in schema.attributes if a.default is not REQUIRED}
    if len(others) < len(schema.attributes):
        return
    try:
        schema.construct(others)
    except AttributeSchemaError as error:
        if f"'{attribute.name}'" in error.what:
            raise AttributeSchemaError(
                error.what.replace(": ", ": the default of ", 1),
                where=source.of_name(attribute.name),
                mend=f"write {attribute.name}: {type(attribute.default).__name__} = {attribute.default!r}",
            ) from error


def _culprit_name(attributes: tuple[Attribute, ...]) -> str:
    for attribute in attributes:
        if not tvm_api.storable(attribute.annotation):
            return attribute.name
    return "Attrs"


def _culprit(error: Exception, attributes: tuple[Attribute, ...]) -> str:
    name = _culprit_name(attributes)
    for attribute in attributes:
        if attribute.name == name:
            return f"attribute {name!r} has the type {attribute.type_name}, which TVM cannot store"
    return " ".join(str(error).split())


def _type_complaint(message: str) -> str:
    found = re.search(r"field '(\w+)':\s*(.+)", message, re.DOTALL)
    if found:
        return f"attribute {found[1]!r}: {' '.join(found[2].split())}"
    return " ".join(message.split())


def _is_method(value: Any) -> bool:
    return isinstance(value, Callable | classmethod | staticmethod | property)  # type: ignore[arg-type]


def _native(value: Any) -> Any:
    """NumPy scalars and arrays as Python numbers and lists; sets stay what they are, and are refused by TVM."""
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return value.tolist()
    return value


def as_python(value: Any) -> Any:
    """A value that went through TVM's FFI, as plain Python: containers become tuples and dicts."""
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping) or hasattr(value, "items"):
        return {as_python(k): as_python(v) for k, v in value.items()}
    if isinstance(value, list | tuple) or (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
        return tuple(as_python(v) for v in value)
    return value
