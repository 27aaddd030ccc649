"""Groups of kernels as functions, written one by one: the way for groups that FuseOps makes of no marks.

Such a group has several values that are read outside, or members of which none reads another.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any

from tvmlab.errors import PipelineError
from tvmlab.fusion import Grouping
from tvmlab.pipeline.grouping import callee
from tvmlab.pipeline.relax_reader import RelaxReading

__all__ = ["outline"]

_LONGEST_NAME = 80


def outline(module: Any, reading: RelaxReading, grouping: Grouping) -> Any:
    """A module in which each group of more than one kernel is a function that FuseTIR makes one kernel.

    Parameters and errors are those of `bridge.fuse_as`.
    """
    from tvm import relax

    main = module["main"]
    if len(main.body.blocks) != 1 or not isinstance(main.body.blocks[0], relax.DataflowBlock):
        raise PipelineError(
            "groups with several outputs are made in one dataflow block alone",
            where=f"main has {len(main.body.blocks)} blocks",
            mend="run relax.transform.ConvertToDataflow first",
        )
    groups = _live_groups(reading, grouping)
    live = {node for group in groups for node in group}
    builder = relax.BlockBuilder(module)
    bindings = []
    for group in _in_order(reading, groups):
        if sum(map(bool, (reading.graph.computes[node] for node in group))) < 2:
            bindings += [reading.bindings[node] for node in group]
        else:
            bindings += _Function(builder, reading, group, live).bindings()
    block = relax.DataflowBlock(bindings)
    made = relax.Function(main.params, relax.SeqExpr([block], main.body.body), main.ret_ty, main.is_pure, main.attrs)
    fused = builder.get()
    fused["main"] = made
    return fused


def _live_groups(reading: RelaxReading, grouping: Grouping) -> list[list[int]]:
    """The groups without nodes that compute nothing and that nobody reads."""
    graph = reading.graph
    dead = {at for at in range(len(graph)) if not (graph.computes[at] or graph.external[at] or graph.readers(at))}
    groups = ([node for node in group if node not in dead] for group in grouping.groups)
    return [group for group in groups if group]


def _in_order(reading: RelaxReading, groups: Sequence[list[int]]) -> Iterator[list[int]]:
    """The groups so that each comes after those that it reads."""
    place = {node: at for at, group in enumerate(groups) for node in group}
    waits: list[set[int]] = [set() for _ in groups]
    readers: list[set[int]] = [set() for _ in groups]
    for edge in reading.graph.edges():
        ends = place.get(edge.producer), place.get(edge.consumer)
        if ends[0] is not None and ends[1] is not None and ends[0] != ends[1]:
            waits[ends[1]].add(ends[0])
            readers[ends[0]].add(ends[1])
    ready = [(group[-1], at) for at, group in enumerate(groups) if not waits[at]]
    heapq.heapify(ready)
    done = 0
    while ready:
        _, at = heapq.heappop(ready)
        done += 1
        yield groups[at]
        for reader in readers[at]:
            waits[reader].discard(at)
            if not waits[reader]:
                heapq.heappush(ready, (groups[reader][-1], reader))
    if done < len(groups):
        stuck = next(group for at, group in enumerate(groups) if waits[at])
        names = " and ".join(reading.graph.label(node) for node in (stuck[0], stuck[-1]))
        raise PipelineError(
            f"the groups wait for one another: the one of {names} reads what is made from its own values",
            where="stage fuse",
            mend="put everything between two nodes of a group into it, too",
        )


class _Function:
    """One group as a function."""

    def __init__(self, builder: Any, reading: RelaxReading, group: Sequence[int], live: set[int]) -> None:
        self.builder, self.reading, self.group = builder, reading, group
        graph, elsewhere = reading.graph, live - set(group)
        self.escaping = [at for at in group if graph.external[at] or elsewhere.intersection(graph.readers(at))]
        self.escaping = self.escaping or [group[-1]]
        self.parameters: list[Any] = []
        self.arguments: list[Any] = []
        self.inside: dict[Any, Any] = {}

    def bindings(self) -> Iterator[Any]:
        """What stands in main in the place of the group."""
        from tvm import relax

        outputs = [self.reading.bindings[node].var for node in self.escaping]
        call = self.builder.normalize(relax.Call(self._made(outputs), self.arguments))
        if len(outputs) == 1:
            yield relax.VarBinding(outputs[0], call)
            return
        several = relax.DataflowVar(f"{outputs[-1].name}_all", call.ty)
        yield relax.VarBinding(several, call)
        for at, variable in enumerate(outputs):
            yield relax.VarBinding(variable, self.builder.normalize(relax.TupleGetItem(several, at)))

    def _made(self, outputs: Sequence[Any]) -> Any:
        """The function itself, in the builder's module."""
        from tvm import relax

        bodies = [self._inner(self.reading.bindings[node]) for node in self.group]
        free = self._symbols(bodies)
        if free:
            self.parameters.append(relax.Var("tir_vars", relax.ShapeType(free)))
            self.arguments.append(relax.ShapeExpr(free))
        inner = relax.DataflowBlock([relax.VarBinding(self.inside[variable], value) for variable, value in bodies])
        results = [self.inside[variable] for variable in outputs]
        body = results[0] if len(results) == 1 else self.builder.normalize(relax.Tuple(results))
        function = relax.Function(self.parameters, relax.SeqExpr([inner], body), body.ty)
        return self.builder.add_func(function.with_attr("Primitive", True), self._name())

    def _symbols(self, bodies: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Symbolic dimensions that no parameter has by itself."""
        from tvm import relax

        types = [parameter.ty for parameter in self.parameters]
        defined = {symbol for kind in types for symbol in relax.analysis.definable_tir_vars_in_type(kind)}
        used: dict[Any, None] = {}
        for variable, value in bodies:
            for kind in (variable.ty, *(a.ty for a in getattr(value, "args", ()) if hasattr(a, "ty"))):
                used |= dict.fromkeys(relax.analysis.tir_vars_in_type(kind))
        return [symbol for symbol in used if symbol not in defined]

    def _inner(self, binding: Any) -> tuple[Any, Any]:
        """A binding of main as it stands in the function."""
        from tvm import relax

        value = binding.value if hasattr(binding, "value") else None
        if isinstance(value, relax.TupleGetItem):
            changed = relax.TupleGetItem(self._operand(value.tuple_value), value.index)
        elif isinstance(value, relax.Call) and getattr(value.op, "name", "") == "relax.call_tir":
            changed = relax.Call(
                value.op, [value.args[0], self._operand(value.args[1]), *value.args[2:]], value.attrs, value.ty_args
            )
        else:
            what = callee(value)[0] if isinstance(value, relax.Call) else type(value or binding).__name__
            raise PipelineError(
                f"{binding.var.name} ({what}) is no kernel, and can be in no group with others",
                where="stage fuse",
                mend="leave it alone, as its kind, opaque, says",
            )
        outside = any(self.reading.bindings[node].var.same_as(binding.var) for node in self.escaping)
        made = (relax.Var if outside else relax.DataflowVar)(binding.var.name, binding.var.ty)
        self.inside[binding.var] = made
        return binding.var, self.builder.normalize(changed)

    def _operand(self, expression: Any) -> Any:
        from tvm import relax

        if isinstance(expression, relax.Tuple):
            return self.builder.normalize(relax.Tuple([self._operand(part) for part in expression.fields]))
        if expression in self.inside:
            return self.inside[expression]
        at = next((i for i, given in enumerate(self.arguments) if given.same_as(expression)), None)
        if at is None:
            at = len(self.arguments)
            name = getattr(expression, "name", f"constant_{at}")
            self.parameters.append(relax.Var(name, expression.ty))
            self.arguments.append(expression)
        return self.parameters[at]

    def _name(self) -> str:
        graph = self.reading.graph
        whole = "_".join(["fused", *(graph.operations[node] for node in self.group if graph.computes[node])])
        return whole[:_LONGEST_NAME]
