"""From a Relax module to the graph that is partitioned: the very graph that TVM's FuseOps sees.

Every binding of main is a node.  Calls of kernels have the kind that is written on the kernel; taking a field of a
tuple is inj; all else is opaque.  A value that is bound to no dataflow variable is external.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tvmlab.fusion import Graph, Kind
from tvmlab.pipeline.constants import static_shape
from tvmlab.pipeline.grouping import callee, labels_of_calls

__all__ = ["RelaxReading", "read_relax"]


@dataclass(frozen=True, eq=False, repr=False)
class RelaxReading:
    """The graph of a module's main.

    Parameters
    ----------
    graph : Graph
    bindings : tuple
        The binding behind each node.
    owners : mapping of int to str
        The label of the ONNX node, or else the variable, that each node that computes belongs to.
    """

    graph: Graph
    bindings: tuple[Any, ...] = field(repr=False)
    owners: Mapping[int, str] = field(repr=False)


def read_relax(module: Any, provenance: Mapping[str, str]) -> RelaxReading:
    """Read main.

    Parameters
    ----------
    module : tvm.IRModule
        Legalized; kernels without ``op_pattern`` are opaque.
    provenance : mapping of str to str
        From the names of Relax variables to labels of ONNX nodes.
    """
    from tvm import relax

    main = module["main"]
    functions = {v.name_hint: f for v, f in module.functions.items()}
    bindings = tuple(binding for block in main.body.blocks for binding in block.bindings)
    number = {binding.var: at for at, binding in enumerate(bindings)}
    packed = set(main.params[_number_of_inputs(main) :])
    kinds = bytes(_kind(binding, functions, packed) for binding in bindings)
    edges = [
        (number[variable], 0, at, place)
        for at, binding in enumerate(bindings)
        for place, variable in enumerate(_operands(binding))
        if variable in number
    ]
    external = [at for at, binding in enumerate(bindings) if not isinstance(binding.var, relax.DataflowVar)]
    computes = bytes(isinstance(getattr(binding, "value", None), relax.Call) for binding in bindings)
    producers, places, consumers, operands = np.ascontiguousarray(np.array(edges, np.int32).reshape(-1, 4).T)
    labels, owners = _labels(bindings, computes, provenance)
    graph = Graph.of_edges(kinds, producers, places, consumers, operands, external, labels, computes)
    graph = replace(
        graph,
        aliases=_aliases(owners, bindings, labels, computes),
        operations=tuple(callee(b.value)[0] if c else "" for b, c in zip(bindings, computes, strict=True)),
        sizes=tuple(_bytes(binding.var.ty) for binding in bindings),
        notes=dict(_notes(main, functions, bindings)),
        describe=lambda at: str(bindings[at].var.ty),
    )
    calls = (at for at, computing in enumerate(computes) if computing)
    return RelaxReading(graph, bindings, dict(zip(calls, owners, strict=True)))


def _bytes(kind: Any) -> int | None:
    """Size of a value; None if a dimension is symbolic, or it is no tensor."""
    from tvm import relax

    if isinstance(kind, relax.TupleType):
        sizes = [_bytes(part) for part in kind.fields]
        return None if None in sizes else sum(size for size in sizes if size is not None)
    shape = static_shape(kind)
    if shape is None:
        return None
    name = str(kind.dtype)
    return int(np.prod(shape, dtype=np.int64)) * (np.dtype(name).itemsize if name in np.sctypeDict else 2)


def _number_of_inputs(main: Any) -> int:
    attributes = main.attrs or {}
    return int(attributes["num_input"]) if "num_input" in attributes else len(main.params)


def _kind(binding: Any, functions: Mapping[str, Any], packed: set[Any]) -> Kind:
    from tvm import relax

    value = getattr(binding, "value", None)
    if isinstance(value, relax.TupleGetItem):
        return Kind.OPAQUE if value.tuple_value in packed else Kind.INJ
    if isinstance(value, relax.Call) and getattr(value.op, "name", "").startswith("relax.call_tir"):
        attributes = functions[callee(value)[0]].attrs or {}
        return Kind(int(attributes["op_pattern"])) if "op_pattern" in attributes else Kind.OPAQUE
    return Kind.OPAQUE


def _notes(main: Any, functions: Mapping[str, Any], bindings: tuple[Any, ...]) -> Iterator[tuple[int, str]]:
    """Why nodes are opaque or external where they need not be; TVM says none of it."""
    from tvm import relax

    results: set[Any] = set()
    relax.analysis.post_order_visit(main.body.body, results.add)
    loose = {b.var for block in main.body.blocks if not isinstance(block, relax.DataflowBlock) for b in block.bindings}
    for at, binding in enumerate(bindings):
        if binding.var in results:
            yield at, "is an output of main"
        elif binding.var in loose:
            yield at, "is bound outside of a dataflow block (R.dataflow, ConvertToDataflow)"
        elif not isinstance(binding.var, relax.DataflowVar):
            yield at, "is emitted from its dataflow block (R.output, emit_output)"
        else:
            opaque = _why_opaque(getattr(binding, "value", None), functions)
            yield from [(at, opaque)] if opaque else []


def _why_opaque(value: Any, functions: Mapping[str, Any]) -> str:
    from tvm import relax

    if not isinstance(value, relax.Call):
        return ""
    name = callee(value)[0]
    if not getattr(value.op, "name", "").startswith("relax.call_tir"):
        legal = getattr(value.op, "name", "").startswith(("relax.call_", "relax.vm."))
        return "since FuseOps looks only at calls of kernels" if legal else "since it is not legalized (LegalizeOps)"
    attributes = functions[name].attrs or {}
    if "op_pattern" not in attributes:
        return "since no kind is written on its kernel (AnnotateTIROpPattern)"
    return "as its kernel says (op_pattern 8)" if int(attributes["op_pattern"]) == Kind.OPAQUE else ""


def _operands(binding: Any) -> Iterator[Any]:
    """The variables that a binding reads, in order; one that is read twice by a call is there twice."""
    from tvm import relax

    value = getattr(binding, "value", None)
    if isinstance(binding, relax.MatchCast) or value is None:
        return
    if isinstance(value, relax.Call):
        for argument in callee(value)[1]:
            yield from _leaves(argument)
    elif isinstance(value, relax.TupleGetItem):
        yield from _leaves(value.tuple_value)
    else:
        found: list[Any] = []
        relax.analysis.post_order_visit(value, lambda e: found.append(e) if isinstance(e, relax.Var) else None)
        yield from dict.fromkeys(found)


def _leaves(expression: Any) -> Iterator[Any]:
    from tvm import relax

    if isinstance(expression, relax.Tuple):
        for part in expression.fields:
            yield from _leaves(part)
    elif isinstance(expression, relax.Var):
        yield expression


def _labels(
    bindings: tuple[Any, ...], computes: bytes, provenance: Mapping[str, str]
) -> tuple[tuple[str, ...], list[str]]:
    """A label for each binding, that of `grouping` for calls; and the ONNX node that each call belongs to."""
    calls = [binding for binding, computing in zip(bindings, computes, strict=True) if computing]
    names = [callee(binding.value)[0] for binding in calls]
    labels, owners = labels_of_calls(names, [binding.var.name for binding in calls], provenance)
    of_calls = dict(zip((binding.var for binding in calls), labels, strict=True))
    found = [of_calls.get(binding.var, f"({binding.var.name})") for binding in bindings]
    counted = Counter(found)
    unique = [label if counted[label] == 1 else f"{label} {at}" for at, label in enumerate(found)]
    return tuple(unique), owners


def _aliases(owners: list[str], bindings: tuple[Any, ...], labels: tuple[str, ...], computes: bytes) -> dict[str, int]:
    """Other names of nodes: their variables, and for an ONNX node its last kernel."""
    calls = [at for at, computing in enumerate(computes) if computing]
    aliases = {binding.var.name: at for at, binding in enumerate(bindings)}
    aliases |= dict(zip(owners, calls, strict=True))
    return {name: at for name, at in aliases.items() if name not in labels}
