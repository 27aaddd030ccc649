"""From the attributes of an ONNX node to those of a live operator, by name, with their types checked."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import onnx

from tvmlab.errors import LoadError
from tvmlab.ops.naming import did_you_mean

if TYPE_CHECKING:
    from onnx import AttributeProto, NodeProto

    from tvmlab.ops import Op

__all__ = ["given_attributes", "is_plain", "value_of"]

_TYPES = onnx.AttributeProto
_PLAIN = (_TYPES.FLOAT, _TYPES.INT, _TYPES.STRING, _TYPES.FLOATS, _TYPES.INTS, _TYPES.STRINGS)


def given_attributes(node: NodeProto, op: Op, names: Mapping[str, str | None], where: str) -> dict[str, Any]:
    """The attributes that a node gives to an operator, by the operator's names.

    Parameters
    ----------
    names : mapping of str to str or None
        The operator's names of those that the node calls otherwise; None leaves one out.
    where : str
        What errors call the node.

    Raises
    ------
    LoadError
        One is unknown, given twice, of another type than declared, or no number, text or list of them.
    """
    declared = {a.name: a for a in op.spec.attributes}
    given: dict[str, Any] = {}
    for attribute in node.attribute:
        name = names.get(attribute.name, attribute.name)
        if name is None:
            continue
        if name not in declared:
            raise LoadError(
                f"{op.name} has no attribute {name!r}",
                where,
                f"{did_you_mean(name, declared) or 'declare it in class Attrs;'} "
                f"register(…, attributes={{{attribute.name!r}: …}}) gives it another name, None leaves it out",
            )
        if name in given:
            raise LoadError(
                f"two attributes of the node are {name!r} of {op.name}", where, "leave one of them out: None"
            )
        given[name] = _fitting(value_of(attribute, where), declared[name].annotation, attribute, op, name, where)
    return given


def is_plain(attribute: AttributeProto) -> bool:
    """Whether it is a number, a text, or a list of one of them."""
    return attribute.type in _PLAIN and not attribute.ref_attr_name


def value_of(attribute: AttributeProto, where: str) -> Any:
    """The value of a plain attribute: bytes as the text that they are in UTF-8, lists as tuples.

    Raises
    ------
    LoadError
        It is not plain, or no text in UTF-8.
    """
    if attribute.ref_attr_name:
        raise LoadError(
            f"the attribute {attribute.name!r} stands for one of a function, which is not there",
            where,
            "export the model again: only nodes of a function may refer to its attributes",
        )
    if not is_plain(attribute):
        raise LoadError(
            f"the attribute {attribute.name!r} is a {_type_name(attribute)}; those of a live operator are numbers, "
            "texts and lists of them",
            where,
            f"make it an input of the node, or leave it out: register(…, attributes={{{attribute.name!r}: None}})",
        )
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type == _TYPES.STRING:
        return _text(value, attribute, where)
    if attribute.type == _TYPES.STRINGS:
        return tuple(_text(each, attribute, where) for each in value)
    return tuple(value) if attribute.type in (_TYPES.FLOATS, _TYPES.INTS) else value


def _text(value: bytes, attribute: AttributeProto, where: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise LoadError(
            f"the attribute {attribute.name!r} is no text in UTF-8: {value[:20]!r}",
            where,
            "export the model with another text, or with a list of whole numbers",
        ) from error


def _type_name(attribute: AttributeProto) -> str:
    return _TYPES.AttributeType.Name(attribute.type).lower() if attribute.type else "thing without a type"


class _Misfit(Exception):
    """A value is not of the declared type."""


def _fitting(value: Any, annotation: Any, attribute: AttributeProto, op: Op, name: str, where: str) -> Any:
    try:
        return _fit(value, annotation)
    except _Misfit:
        declared = next(a.type_name for a in op.spec.attributes if a.name == name)
        raise LoadError(
            f"the attribute {attribute.name!r} is {value!r}, of ONNX's type {_type_name(attribute)}; "
            f"{op.name} declares {name}: {declared}",
            where,
            f"declare {name} otherwise in class Attrs, or export the node with a {declared}",
        ) from None


def _fit(value: Any, annotation: Any) -> Any:
    """The value as the annotation has it; _Misfit if it is another kind of thing."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _fit_one_of(value, [a for a in arguments if a is not type(None)])
    if annotation is bool:
        if isinstance(value, int) and value in (0, 1):
            return bool(value)
        raise _Misfit
    if annotation is float and isinstance(value, int | float):
        return float(value)
    if annotation in (int, str):
        if type(value) is annotation:
            return value
        raise _Misfit
    container = origin or annotation
    if container in (tuple, list):
        return _fit_elements(value, container, arguments)
    if annotation is Any:
        return value
    raise _Misfit


def _fit_one_of(value: Any, annotations: list[Any]) -> Any:
    for each in annotations:
        try:
            return _fit(value, each)
        except _Misfit:
            continue
    raise _Misfit


def _fit_elements(value: Any, container: type, arguments: tuple[Any, ...]) -> Any:
    if not isinstance(value, tuple):
        raise _Misfit
    if container is tuple and arguments and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            raise _Misfit
        return tuple(map(_fit, value, arguments))
    element = arguments[0] if arguments else Any
    return container(_fit(each, element) for each in value)
