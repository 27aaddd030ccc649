"""An abstract graph as a Relax module, so that TVM's own FuseOps can be asked about it.

The kernels add their inputs; what counts is only the kind that is written on them, since FuseOps looks at nothing else.
"""

from __future__ import annotations

import functools
from typing import Any

from tvmlab import runtime, tvm_api
from tvmlab.fusion import Graph

__all__ = ["fuse_ops", "groups_by_tvm", "module_of_graph"]

_SHAPE = (2,)


def groups_by_tvm(graph: Graph, max_depth: int = 256) -> list[list[int]]:
    """The groups that TVM's FuseOps makes of a graph, as `tvmlab.fusion.partition` gives them.

    Parameters
    ----------
    graph : Graph
        Each node is read or external; FuseOps drops others.  No kind is tuple: Relax has none.
    max_depth : int
    """
    from tvm import relax

    with runtime.quiet():
        fused = fuse_ops(module_of_graph(graph), max_depth)
    functions = {v.name_hint: f for v, f in fused.functions.items() if isinstance(f, relax.Function)}
    main = functions.pop("main")
    groups = []
    for binding in _bindings(main):
        if not isinstance(binding.value, relax.Call):
            continue  # the tuple of outputs
        inner = functions.get(getattr(binding.value.op, "name_hint", ""))
        calls = [binding.value] if inner is None else [b.value for b in _bindings(inner)]
        groups.append(sorted(int(call.args[0].name_hint[1:]) for call in calls))
    return sorted(groups, key=lambda group: group[-1])


def fuse_ops(module: Any, max_depth: int = 256) -> Any:
    """Run FuseOps alone."""
    import tvm
    from tvm.relax import transform

    with tvm.transform.PassContext(opt_level=3, config={"relax.FuseOps.max_depth": max_depth}):
        return transform.FuseOps()(module)


def module_of_graph(graph: Graph, *, share_kernels: bool = False) -> Any:
    """A Relax module whose main calls a kernel for each node.

    Parameters
    ----------
    share_kernels : bool
        Whether nodes of one kind and number of inputs call the same kernel; else node i calls one of its own, ``n<i>``.
    """
    import tvm
    from tvm import relax

    kind = relax.TensorType(_SHAPE, "float32")
    given = relax.Var("x", kind)
    operands: list[list[int]] = [[] for _ in graph.kinds]
    for edge in graph.edges():
        operands[edge.consumer].append(edge.producer)
    kernels: dict[str, Any] = {}
    functions: dict[Any, Any] = {}
    values: list[Any] = []
    bindings = []
    for node, code in enumerate(graph.kinds):
        arity = max(1, len(operands[node]))
        name = f"k{code}_{arity}" if share_kernels else f"n{node}"
        if name not in kernels:
            kernels[name] = tvm_api.typed_global_var(name, relax.FuncType.opaque_func(ret=kind, purity=True))
            functions[kernels[name]] = _kernel(code, arity)
        arguments = relax.Tuple([values[p] for p in operands[node]] or [given])
        variable = (relax.Var if graph.external[node] else relax.DataflowVar)(f"v{node}", kind)
        bindings.append(relax.VarBinding(variable, relax.call_tir(kernels[name], arguments, kind)))
        values.append(variable)
    outputs = [value for value, external in zip(values, graph.external, strict=True) if external]
    result = relax.Var("result", relax.TupleType([kind] * len(outputs)))
    bindings.append(relax.VarBinding(result, relax.Tuple(outputs)))
    body = relax.SeqExpr([relax.DataflowBlock(bindings)], result)
    main = relax.Function([given], body, result.ty).with_attr("global_symbol", "main")
    # FuseOps looks functions up by their hash, which types that are filled in later would change
    return relax.transform.Normalize()(tvm.IRModule({"main": main, **functions}))


@functools.cache
def _kernel(kind: int, arity: int) -> Any:
    """A kernel with a kind written on it."""
    from tvm import te

    inputs = [te.placeholder(_SHAPE, name=f"x{i}") for i in range(arity)]
    total = te.compute(_SHAPE, lambda i: sum((x[i] for x in inputs[1:8]), inputs[0][i]), name="total")
    return te.create_prim_func([*inputs, total]).with_attr("op_pattern", kind)


def _bindings(function: Any) -> list[Any]:
    return [binding for block in function.body.blocks for binding in block.bindings]
