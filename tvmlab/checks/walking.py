"""What stands in an operator's te expressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm import te
from tvm.ir import Call

from tvmlab.checks.subject import Prepared
from tvmlab.ops.evaluate import children

__all__ = ["data_reads", "nodes", "opaque_calls"]

_OPAQUE = ("call_packed", "call_cpacked", "call_extern", "call_pure_extern", "call_llvm_intrin", "tvm_call_packed")


def nodes(prepared: Prepared) -> Iterator[Any]:
    """Every expression in every te.compute."""
    for tensor in prepared.stages:
        queue = list(tensor.op.body)
        while queue:
            node = queue.pop()
            yield node
            queue.extend(children(node))


def opaque_calls(prepared: Prepared) -> list[str]:
    """Functions outside of TVM that the kernel calls, as they are named."""
    found = [_name(node) for node in nodes(prepared) if isinstance(node, Call) and _op_name(node) in _OPAQUE]
    for tensor in _externs(prepared):
        found += [_name(call) for call in _calls_of(tensor.op.body)]
    return found


def _externs(prepared: Prepared) -> list[te.Tensor]:
    seen, queue = {}, list(prepared.outputs)
    while queue:
        tensor = queue.pop()
        if tensor.op in seen:
            continue
        seen[tensor.op] = tensor
        queue.extend(tensor.op.input_tensors)
    return [t for t in seen.values() if isinstance(t.op, te.ExternOp)]


def _calls_of(body: Any) -> list[Any]:
    import tvm_ffi

    found: list[Any] = []

    def keep(call: Any) -> None:
        if _op_name(call) in _OPAQUE:
            found.append(call)

    tvm_ffi.structural_walk(body, (Call, keep), order="post")
    return found


def _op_name(call: Any) -> str:
    return str(getattr(call.op, "name", "")).rsplit(".", 1)[-1]


def _name(call: Any) -> str:
    first = call.args[0] if len(call.args) else ""
    return repr(str(getattr(first, "value", first)))


def data_reads(prepared: Prepared) -> list[str]:
    """Tensors that are read at an index which depends on data."""
    found = []
    for node in nodes(prepared):
        if isinstance(node, Call) and _op_name(node) == "tensor_load":
            source, *index = node.args
            if any(_loads(i) for i in index):
                found.append(str(source.op.name))
    return list(dict.fromkeys(found))


def _loads(node: Any) -> bool:
    if isinstance(node, Call) and _op_name(node) == "tensor_load":
        return True
    return any(map(_loads, children(node)))
