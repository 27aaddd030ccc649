"""Read off two modules, before and after fusion, which kernels were put together.

Fusion keeps neither names nor order, so each call after is found among those before by what it calls and on which
values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from tvmlab.records import Group

__all__ = ["KINDS", "callee", "groups_of", "labels_of_calls", "variables_by_group"]

KINDS = {
    0: "kElemWise",
    1: "kBroadcast",
    2: "kInjective",
    3: "kCommReduce",
    4: "kOutEWiseFusable",
    7: "kTuple",
    8: "kOpaque",
}

Value = Hashable


def groups_of(before: Any, after: Any, provenance: Mapping[str, str]) -> tuple[Group, ...]:
    """The groups, in the order of their last node.

    Parameters
    ----------
    before : tvm.IRModule
        Legalized and annotated.
    after : tvm.IRModule
        After FuseOps, or the same module if nothing was fused.
    provenance : mapping of str to str
        From the names of Relax variables to labels of ONNX nodes.
    """
    nodes = _Nodes(before, provenance)
    found = [(sorted(members), kernel) for kernel, members in _Reader(after, nodes).groups() if members]
    found.sort(key=lambda group: group[0][-1])
    return tuple(
        Group(kernel, tuple(nodes.labels[m] for m in members), tuple(nodes.kinds[m] for m in members))
        for members, kernel in found
    )


def variables_by_group(before: Any, after: Any) -> list[tuple[str, list[str]]]:
    """Name of each group after FuseOps or FuseOpsByPattern, and the variables of `before` that are in it."""
    nodes = _Nodes(before, {})
    return [
        (kernel, [nodes.variables[m] for m in sorted(members)]) for kernel, members in _Reader(after, nodes).groups()
    ]


class _Nodes:
    """The calls of main before fusion."""

    def __init__(self, module: Any, provenance: Mapping[str, str]) -> None:
        self.kinds: list[str] = []
        self.kernels: list[str] = []
        variables: list[str] = []
        self.positions: defaultdict[Value, list[int]] = defaultdict(list)
        functions = {v.name_hint: f for v, f in module.functions.items()}
        values = _Values(module["main"])
        for variable, call in values.calls():
            position = len(self.kernels)
            name, arguments = callee(call)
            self.kernels.append(name)
            variables.append(variable.name)
            self.positions[name, values.of(arguments)].append(position)
            self.positions[name].append(position)
            self.kinds.append(_kind(functions.get(name)))
            values[variable] = ("node", position)
        self.variables = variables
        self.labels, _ = labels_of_calls(self.kernels, variables, provenance)
        self.taken: set[int] = set()

    def take(self, name: str, arguments: Value) -> int | None:
        """The first node not taken yet that calls this on these values; else the first that calls it at all."""
        candidates = [*self.positions.get((name, arguments), ()), *self.positions.get(name, ())]
        position = next((p for p in candidates if p not in self.taken), None)
        if position is not None:
            self.taken.add(position)
        return position


class _Values:
    """What each variable of a function stands for, in terms that do not depend on names."""

    def __init__(self, function: Any, arguments: list[Value] | None = None) -> None:
        self.function = function
        given = arguments if arguments is not None else [("parameter", i) for i in range(len(function.params))]
        self.known: dict[Any, Value] = dict(zip(function.params, given, strict=True))

    def __setitem__(self, variable: Any, value: Value) -> None:
        self.known[variable] = value

    def calls(self) -> Iterator[tuple[Any, Any]]:
        """Variable and value of each binding that is a call; the others are noted on the way."""
        from tvm import relax

        for block in self.function.body.blocks:
            for binding in block.bindings:
                value = getattr(binding, "value", None)
                if isinstance(value, relax.Call):
                    yield binding.var, value
                elif value is not None:
                    self.known[binding.var] = self.of(value)

    def of(self, expression: Any) -> Value:
        from tvm import relax

        if isinstance(expression, relax.Var):
            return self.known.get(expression, ("variable", expression.name))
        if isinstance(expression, relax.Tuple | list | tuple):
            return tuple(self.of(f) for f in getattr(expression, "fields", expression))
        if isinstance(expression, relax.TupleGetItem):
            whole = self.of(expression.tuple_value)
            fields = isinstance(whole, tuple) and whole[:1] not in (("node",), ("item",), ("parameter",))
            return whole[expression.index] if fields else ("item", whole, int(expression.index))  # type: ignore[index]
        if isinstance(expression, relax.ShapeExpr):
            return str(expression)
        return ("object", hash(expression))


class _Reader:
    """The calls of main after fusion, group by group."""

    def __init__(self, module: Any, nodes: _Nodes) -> None:
        self.functions = {v.name_hint: f for v, f in module.functions.items()}
        self.nodes = nodes

    def groups(self) -> Iterator[tuple[str, list[int]]]:
        """Kernel and members of each group."""
        from tvm import relax

        values = _Values(self.functions["main"])
        for variable, call in values.calls():
            name, arguments = callee(call)
            inner = self.functions.get(name)
            if isinstance(inner, relax.Function):
                members, result = self._inside(inner, [values.of(a) for a in call.args])
                values[variable] = result
                yield name, members
            else:
                position = self.nodes.take(name, values.of(arguments))
                values[variable] = ("node", position)
                yield name, [] if position is None else [position]

    def _inside(self, function: Any, arguments: list[Value]) -> tuple[list[int], Value]:
        """Members of a group, and the value that it returns."""
        values = _Values(function, arguments)
        members = []
        for variable, call in values.calls():
            name, given = callee(call)
            position = self.nodes.take(name, values.of(given))
            values[variable] = ("node", position)
            members += [] if position is None else [position]
        return members, values.of(function.body.body)


def callee(call: Any) -> tuple[str, Any]:
    """Name and arguments of what a call calls: of the kernel, if it is a ``call_tir``."""
    import tvm

    if isinstance(call.op, tvm.ir.GlobalVar):
        return call.op.name_hint, list(call.args)
    if call.op.name in ("relax.call_tir", "relax.call_tir_inplace") and isinstance(call.args[0], tvm.ir.GlobalVar):
        return call.args[0].name_hint, call.args[1]
    return getattr(call.op, "name", str(call.op)), list(call.args)


def _kind(function: Any) -> str:
    attributes = getattr(function, "attrs", None) or {}
    return KINDS.get(int(attributes["op_pattern"]), "kOpaque") if "op_pattern" in attributes else "kOpaque"


def labels_of_calls(
    kernels: list[str], variables: list[str], provenance: Mapping[str, str]
) -> tuple[tuple[str, ...], list[str]]:
    """A label for each call, unique: the ONNX node it belongs to (else its variable), and its kernel; and those nodes.

    A variable that legalization made is not known; it belongs to the node of the next one that is.
    """
    owners: list[str] = []
    owner = next((provenance[v] for v in reversed(variables) if v in provenance), "")
    for variable in reversed(variables):
        owner = provenance.get(variable, owner)
        owners.append(owner or variable)
    owners.reverse()
    labels = [f"{owner}: {kernel}" for owner, kernel in zip(owners, kernels, strict=True)]
    counted = Counter(labels)
    seen: Counter[str] = Counter()
    for position, label in enumerate(labels):
        if counted[label] > 1:
            seen[label] += 1
            labels[position] = f"{label} #{seen[label]}"
    return tuple(labels), owners
