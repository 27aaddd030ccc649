"""Put a live operator in the place of other operators of a model."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import onnx

from tvmlab import ops
from tvmlab.errors import LoadError, nearest
from tvmlab.fusion.onnx_graph import OnnxGraph, label
from tvmlab.pipeline.guarded import guarded
from tvmlab.pipeline.live import DOMAIN, VERSION, LiveCall, live_call, node_of
from tvmlab.pipeline.model import Model, Where, model_of_module, model_of_onnx
from tvmlab.runtime.executable import first_line

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["replace"]


def replace(model: Model, old: str, new: Any, where: Where | None, attributes: Mapping[str, Any]) -> Model:
    """See `Model.replace`."""
    op = ops.find(new) if isinstance(new, str) else new
    call = live_call(op, attributes)
    put = _replace_nodes if model.onnx is not None else _replace_calls
    return dataclasses.replace(put(model, old, call, where), original=model.original or model)


def _replace_nodes(model: Model, old: str, call: LiveCall, where: Where | None) -> Model:
    """On the ONNX level, where an oracle can cut the model at the node."""
    assert model.onnx is not None
    graph = OnnxGraph.of(model.onnx)
    found = _nodes_of(model, graph, old)
    chosen = set(_chosen([label(node) for node in found], where, old))
    targets = [node for position, node in enumerate(found) if position in chosen]
    for node in targets:
        call.op.spec.check_count(len(node.input))
    live = {**model.live, **{node.output[0]: call for node in targets}}
    copy = onnx.ModelProto()
    copy.CopyFrom(model.onnx)
    del copy.graph.node[:]
    outputs = {node.output[0] for node in targets}
    copy.graph.node.extend(node_of(call, n) if n.output[0] in outputs else n for n in graph.nodes)
    if DOMAIN not in {o.domain for o in copy.opset_import}:
        copy.opset_import.append(onnx.helper.make_opsetid(DOMAIN, VERSION))
    return model_of_onnx(copy, model.name, live)


def _nodes_of(model: Model, graph: OnnxGraph, old: str) -> list[NodeProto]:
    """The nodes of an ONNX type, of a live operator, or that became one call of a Relax operator and nothing else."""
    named = [node for node in graph.nodes if node.op_type == old]
    if named:
        return named
    calls = _relax_operators(model)
    nodes = {label(node): node for node in graph.nodes}
    alone = [nodes[name] for name, operators in calls.items() if set(operators) == {old} and len(operators) == 1]
    if alone:
        return alone
    for name, operators in calls.items():
        if old in operators:
            kind = nodes[name].op_type
            raise LoadError(
                f"{old} stands in the model only as one of several operators that a {kind} node became",
                f"node {name!r}: {', '.join(operators)}",
                f"replace the whole node: replace({kind!r}, …)",
            )
    known = {node.op_type for node in graph.nodes} | {o for operators in calls.values() for o in operators}
    raise _absent(model, old, known)


def _relax_operators(model: Model) -> dict[str, list[str]]:
    """For each ONNX node's label, the Relax operators that it became."""
    found: dict[str, list[str]] = {}
    for variable, operator in _calls(model.module):
        if variable in model.provenance:
            found.setdefault(model.provenance[variable], []).append(operator)
    return found


def _calls(module: Any) -> Iterable[tuple[str, str]]:
    """Variable and operator of each call that main binds."""
    from tvm import relax

    for block in module["main"].body.blocks:
        for binding in block.bindings:
            value = getattr(binding, "value", None)
            if isinstance(value, relax.Call) and hasattr(value.op, "name"):
                yield binding.var.name, value.op.name


def _replace_calls(model: Model, old: str, call: LiveCall, where: Where | None) -> Model:
    """On the Relax level, for a model that did not come from ONNX."""
    operator = old if old.startswith("relax.") else f"relax.{old}"
    names = [variable for variable, name in _calls(model.module) if name == operator]
    if not names:
        raise _absent(model, old, {name for _, name in _calls(model.module)})
    chosen = {names[position] for position in _chosen(names, where, old)}

    def explain(error: Exception) -> LoadError:
        return LoadError(
            f"{call.op.name} does not fit in the place of {old}: {first_line(error)}",
            f"model {model.name!r}",
            "the new operator must give the type that its readers expect",
        )

    module = guarded(lambda: _rebuilt(model.module, chosen, call), explain)
    return model_of_module(module, model.name)


def _rebuilt(module: Any, chosen: set[str], call: LiveCall) -> Any:
    from tvm.relax.expr_functor import PyExprMutator, mutator

    @mutator
    class Replacer(PyExprMutator):  # type: ignore[misc]
        def visit_var_binding_(self, binding: Any) -> None:
            if binding.var.name not in chosen:
                super().visit_var_binding_(binding)
                return
            arguments = [self.visit_expr(a) for a in binding.value.args]
            made = self.builder_.emit(call.bind(arguments), name_hint=binding.var.name)
            self.set_var_remap(binding.var, made)

    replacer = Replacer(module)
    main = replacer.visit_expr(module["main"])
    rebuilt = module.clone()
    rebuilt["main"] = main
    return rebuilt


def _chosen(names: Sequence[str], where: Where | None, old: str) -> list[int]:
    """Positions that `where` selects."""
    if where is None:
        return list(range(len(names)))
    if callable(where):
        predicate = _predicate(where)
        found = [position for position, name in enumerate(names) if predicate(name, position)]
    else:
        wanted = [where] if isinstance(where, str | int) else list(where)
        for each in wanted:
            known = each in names if isinstance(each, str) else -len(names) <= each < len(names)
            if not known:
                close = nearest(each, names)
                raise LoadError(
                    f"where: there is no {old} called {each!r}" if isinstance(each, str) else f"where: no {old} {each}",
                    f"{len(names)} of them: {', '.join(names[:8])}{' …' if len(names) > 8 else ''}",
                    f"did you mean {close!r}?" if close else f"give names, or indices from 0 to {len(names) - 1}",
                )
        indices = {each % len(names) for each in wanted if not isinstance(each, str)}
        found = [position for position, name in enumerate(names) if name in wanted or position in indices]
    if not found:
        raise LoadError(
            f"where selects none of the {len(names)} {old}",
            f"their names: {', '.join(names[:8])}{' …' if len(names) > 8 else ''}",
            "leave where out to replace all",
        )
    return found


def _predicate(where: Callable[..., bool]) -> Callable[[str, int], bool]:
    parameters = list(inspect.signature(where).parameters.values())
    takes = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty]
    return where if len(takes) > 1 else lambda name, _: where(name)


def _absent(model: Model, old: str, known: set[str]) -> LoadError:
    close = nearest(old, sorted(known), cutoff=0.5)
    counted = ", ".join(sorted(known))
    return LoadError(
        f"there is no {old} in the model",
        f"model {model.name!r}, which has {counted}",
        f"did you mean {close!r}?" if close else "take one of these",
    )
