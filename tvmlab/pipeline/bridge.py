"""A partition of tvmlab's own fuser becomes machine code: TVM is made to put together just these groups.

TVM's FuseOps merges a value into what reads it unless the value escapes, its kind forbids it or the group would be too
large.  So it makes any groups one likes that are read outside at their last value only: all kernels are called bcast
for the time being, no group is too large, and just the last value of each group escapes, being bound to a variable that
is no dataflow variable.  That FuseOps did as it was told is counted, since where it does not, it says nothing.

Groups of any other form, with several outputs or of nodes that do not read each other, are written as functions here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tvmlab.errors import PipelineError
from tvmlab.fusion import Grouping, Kind
from tvmlab.pipeline.outlining import outline
from tvmlab.pipeline.relax_reader import RelaxReading

__all__ = ["fuse_as"]

_ANY = 1 << 30


def fuse_as(module: Any, reading: RelaxReading, grouping: Grouping) -> Any:
    """A module in which each group of more than one kernel is a function, as after FuseOps.

    Parameters
    ----------
    module : tvm.IRModule
        Legalized and annotated; is not changed.
    reading : RelaxReading
        Of that module.
    grouping : Grouping
        Of ``reading.graph``.

    Raises
    ------
    PipelineError
        TVM made other groups than it was told; groups wait for one another; or one holds what is no kernel.
    """
    by_marks = _can_be_marked(reading, grouping)
    fused = _by_marks(module, reading, grouping) if by_marks else outline(module, reading, grouping)
    _count(fused, reading, grouping)
    return fused


def _can_be_marked(reading: RelaxReading, grouping: Grouping) -> bool:
    """Whether of every group the last value alone is read outside, and is made from all others."""
    graph, sinks = reading.graph, grouping.sinks
    starts, readers = graph.distinct_readers()
    for node, sink in enumerate(sinks.tolist()):
        if node == sink:
            continue
        theirs = readers[starts[node] : starts[node + 1]]
        if graph.external[node] or not theirs or any(sinks[reader] != sink for reader in theirs):
            return False
    return True


def _by_marks(module: Any, reading: RelaxReading, grouping: Grouping) -> Any:
    import tvm
    from tvm import tirx
    from tvm.relax import transform

    escaping = {reading.bindings[node].var for node in _last_values(reading, grouping)}
    kernels = {v: f for v, f in module.functions.items() if isinstance(f, tirx.PrimFunc)}
    marked = module.clone()
    marked["main"] = _rebound(module, module["main"], escaping)
    for variable, kernel in kernels.items():
        marked[variable.name_hint] = kernel.with_attr("op_pattern", int(Kind.BCAST))
    with tvm.transform.PassContext(opt_level=3, config={"relax.FuseOps.max_depth": _ANY}):
        fused = transform.FuseOps()(marked)
    for variable in fused.functions:
        if variable in kernels:
            fused[variable.name_hint] = kernels[variable]
    fused["main"] = _rebound(fused, fused["main"], _results(fused["main"]))
    return fused


def _last_values(reading: RelaxReading, grouping: Grouping) -> set[int]:
    """The last node of each group; every node of groups that compute nothing."""
    last = set()
    for group in grouping.groups:
        computing = [node for node in group if reading.graph.computes[node]]
        last.update([group[-1]] if computing else group)
    return last


def _results(main: Any) -> set[Any]:
    """Variables that are read outside of their dataflow block."""
    from tvm import relax

    found: set[Any] = set()
    inside = {b.var for block in main.body.blocks if isinstance(block, relax.DataflowBlock) for b in block.bindings}

    def visit(expression: Any) -> None:
        if isinstance(expression, relax.Var) and expression in inside:
            found.add(expression)

    relax.analysis.post_order_visit(main.body.body, visit)
    for block in main.body.blocks:
        if not isinstance(block, relax.DataflowBlock):
            for binding in block.bindings:
                relax.analysis.post_order_visit(binding.value, visit)
    return found


def _rebound(module: Any, main: Any, escaping: Collection[Any]) -> Any:
    """The function with those values of its dataflow blocks in plain variables, the others in dataflow variables."""
    from tvm import relax
    from tvm.relax.expr_functor import PyExprMutator, mutator

    blocks = [block for block in main.body.blocks if isinstance(block, relax.DataflowBlock)]
    inside = {binding.var for block in blocks for binding in block.bindings}
    wanted = set(escaping)

    @mutator
    class Rebinder(PyExprMutator):  # type: ignore[misc]
        def visit_var_def_(self, variable: Any) -> Any:
            sort = relax.Var if variable in wanted else relax.DataflowVar
            if variable not in inside or type(variable) is sort:
                return variable
            made = sort(variable.name, variable.ty)
            self.set_var_remap(variable, made)
            return made

        def visit_dataflow_var_def_(self, variable: Any) -> Any:
            return self.visit_var_def_(variable)

    return Rebinder(module).visit_expr(main)


def _count(fused: Any, reading: RelaxReading, grouping: Grouping) -> None:
    from tvm import relax

    values = [getattr(b, "value", None) for block in fused["main"].body.blocks for b in block.bindings]
    made = sum(isinstance(value, relax.Call) for value in values)
    wanted = sum(any(reading.graph.computes[node] for node in group) for group in grouping.groups)
    if made != wanted:
        raise PipelineError(
            f"the partition has {wanted} groups, but TVM made {made} kernels of them",
            where="stage fuse",
            mend='take engine="tvm", and tell us of the model',
        )
