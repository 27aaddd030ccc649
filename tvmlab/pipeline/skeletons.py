"""What to write for the operators of a model that nobody knows: Python that defines and registers each."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import onnx

from tvmlab.errors import LoadError, NameRefused, UnknownOperators
from tvmlab.fusion.foreign import versions_of
from tvmlab.fusion.onnx_graph import label
from tvmlab.ops.registry import refuse_taken
from tvmlab.pipeline.foreign_attributes import is_plain, value_of

if TYPE_CHECKING:
    from onnx import AttributeProto, NodeProto

__all__ = ["skeleton", "unknown_operators"]

_HEAD = "import tvmlab as tl\nfrom tvmlab.prelude import *\n"
_TENSORS = ("x", "y", "z")


def unknown_operators(nodes: Sequence[NodeProto], versions: Mapping[str, int]) -> UnknownOperators:
    """The error that lists all operators of these nodes, with what to write for them.

    Parameters
    ----------
    versions : mapping of str to int
        Versions of the domains, as the model imports them.
    """
    found = _by_operator(nodes)
    names = ", ".join(_named(domain, op_type, versions) for domain, op_type in found)
    more = f" and {len(nodes) - 1} more" if len(nodes) > 1 else ""
    return UnknownOperators(
        f"TVM's importer does not know {names}",
        f"node {label(nodes[0])!r}{more}",
        "define and register live operators for them: tl.onnx.skeleton(…) or %tvm_why writes what is needed",
        skeleton(nodes),
    )


def _by_operator(nodes: Iterable[NodeProto]) -> dict[tuple[str, str], list[NodeProto]]:
    found: dict[tuple[str, str], list[NodeProto]] = {}
    for node in nodes:
        found.setdefault((node.domain, node.op_type), []).append(node)
    return dict(sorted(found.items()))


def _named(domain: str, op_type: str, versions: Mapping[str, int]) -> str:
    name = f"{domain}::{op_type}" if domain else op_type
    known = sorted(versions_of(domain, op_type))
    return f"{name} of version {versions.get(domain, 1)} (registered since {known[0]})" if known else name


def skeleton(nodes: Sequence[NodeProto]) -> str:
    """Python that defines and registers a live operator for each operator of these nodes.

    Types and defaults of attributes are those of the first node that has them.
    """
    parts = [_HEAD]
    taken: set[str] = set()
    for (domain, op_type), own in _by_operator(nodes).items():
        name = _name(domain, op_type, taken)
        taken.add(name)
        parts.append(_definition(name, domain, op_type, own))
    return "\n\n".join(parts)


@dataclass(frozen=True)
class _Attribute:
    """An attribute as nodes give it: the operator's name of it, its type and value; no type if it is not plain."""

    given: str
    name: str
    annotation: str
    value: Any


def _definition(name: str, domain: str, op_type: str, nodes: Sequence[NodeProto]) -> str:
    attributes = _attributes(nodes)
    plain = [a for a in attributes if a.annotation]
    tensors = _tensor_names(max(len(node.input) for node in nodes), {a.name for a in plain})
    absent = [t for at, t in enumerate(tensors) if any(at >= len(n.input) or not n.input[at] for n in nodes)]
    outputs = max(len(node.output) for node in nodes)
    takes = ", ".join([*tensors, *(a.name for a in plain)])
    first = tensors[0] if tensors else "…"
    gives = f"te.compute({first}.shape, lambda *i: …)" if tensors else "te.compute(…)"
    result = gives if outputs == 1 else f"a tuple of {outputs} of te.compute(…)"
    full = _one_line(f"{domain}::{op_type}" if domain else op_type)
    lines = [
        f'@tl.op("{name}")',
        f"class {_class_name(op_type)}:",
        f"    # {full}: {_count(nodes)}, such as {_one_line(label(nodes[0]))}",
    ]
    if plain:
        lines += ["    class Attrs:", *(f"        {a.name}: {a.annotation} = {a.value!r}" for a in plain), ""]
    lines += [
        f"    def compute({takes}):",
        f"        raise NotImplementedError({f'write what {op_type} computes: return {result}'!r})",
        "",
        f"    def reference({takes}):  # the same in NumPy",
        f"        raise NotImplementedError({f'write what {op_type} should be, in NumPy'!r})",
    ]
    renamed = {a.given: a.name if a.annotation else None for a in attributes}
    renamed = {given: own for given, own in renamed.items() if given != own}
    options = f", attributes={renamed!r}" if renamed else ""
    if absent:
        options += f", absent={dict.fromkeys(absent, 0.0)!r}"
    return "\n".join([*lines, "", "", f"tl.onnx.register({domain!r}, {op_type!r}, {name!r}{options})", ""])


def _attributes(nodes: Iterable[NodeProto]) -> list[_Attribute]:
    found: dict[str, _Attribute] = {}
    for attribute in (attribute for node in nodes for attribute in node.attribute):
        if attribute.name not in found:
            used = {each.name for each in found.values()}
            found[attribute.name] = _described(attribute, used)
    return list(found.values())


def _described(attribute: AttributeProto, used: set[str]) -> _Attribute:
    name = _identifier(attribute.name, "attribute")
    while name in used or name in ("self", "attrs", *_TENSORS):
        name += "_"
    try:
        value = value_of(attribute, "") if is_plain(attribute) else None
    except LoadError:  # bytes that are no text
        value = None
    return _Attribute(attribute.name, name, "" if value is None else _annotation(value, attribute.type), value)


def _annotation(value: Any, kind: Any) -> str:
    elements = {
        onnx.AttributeProto.FLOATS: "float",
        onnx.AttributeProto.INTS: "int",
        onnx.AttributeProto.STRINGS: "str",
    }
    return f"tuple[{elements[kind]}, ...]" if kind in elements else type(value).__name__


def _tensor_names(count: int, taken: set[str]) -> list[str]:
    names = list(_TENSORS[:count]) if count <= len(_TENSORS) else [f"x{at}" for at in range(count)]
    return [f"{name}_in" if name in taken else name for name in names]


def _name(domain: str, op_type: str, taken: set[str]) -> str:
    """A name that an operator may have."""
    short = _identifier(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", op_type).lower(), "operator")
    namespace = _identifier(domain.replace(".", "_").lower(), "lab") if domain else "lab"
    for name in (f"{namespace}.{short}", f"{namespace}_ops.{short}", *(f"lab.{short}_{at}" for at in range(2, 99))):
        try:
            refuse_taken(name)
        except NameRefused:
            continue
        if name not in taken:
            return name
    return f"lab.{short}"


def _identifier(text: str, otherwise: str) -> str:
    made = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_") or otherwise
    return f"{otherwise}_{made}" if made[0].isdigit() or keyword.iskeyword(made) else made


def _class_name(op_type: str) -> str:
    made = _identifier(op_type, "Operator")
    return made[0].upper() + made[1:]


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _count(nodes: Sequence[NodeProto]) -> str:
    return f"{len(nodes)} nodes" if len(nodes) > 1 else "1 node"
