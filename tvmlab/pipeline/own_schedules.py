"""Live operators that bring a schedule of their own: their blocks carry a mark through fusion.

Attributes of a kernel are lost when kernels are fused, but annotations of its blocks stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tvmlab import ops

if TYPE_CHECKING:
    from tvmlab.ops import OpSpec

__all__ = ["MARK", "mark_blocks", "spec_of_mark"]

MARK = "tvmlab.op"

_specs: dict[str, OpSpec] = {}


def spec_of_mark(mark: str) -> OpSpec:
    """The version of the operator that a block with this mark comes from."""
    return _specs[mark]


def mark_blocks(module: Any, legal: Any) -> Any:
    """Mark the blocks of live operators that bring a schedule.

    Parameters
    ----------
    module : tvm.IRModule
        Before it was legalized.
    legal : tvm.IRModule
        The same one, legalized.

    Returns
    -------
    tvm.IRModule
        `legal` itself if there are none.
    """
    import tvm

    wanted = {binding.var.name: spec for binding, spec in _own_schedules(module)}
    marked: dict[Any, Any] = {}
    for binding in _bindings(legal) if wanted else ():
        spec, call = wanted.get(binding.var.name), binding.value
        if spec is None or getattr(getattr(call, "op", None), "name", "") != "relax.call_tir":
            continue
        mark = f"{spec.name}@{spec.fingerprint}"
        _specs[mark] = spec
        marked[call.args[0]] = _marked(legal[call.args[0]], mark)
    if not marked:
        return legal
    functions = {variable: marked.get(variable, function) for variable, function in legal.functions.items()}
    return tvm.IRModule(functions, attrs=legal.attrs, global_infos=legal.global_infos)


def _own_schedules(module: Any) -> Iterator[tuple[Any, OpSpec]]:
    """Bindings of main that call a live operator with a schedule, and its version."""
    from tvm import relax

    for binding in _bindings(module):
        spec = ops.spec_of(binding.value) if isinstance(binding.value, relax.Call) else None
        if spec is not None and spec.schedule is not None:
            yield binding, spec


def _bindings(module: Any) -> Iterator[Any]:
    for block in module["main"].body.blocks:
        yield from (binding for binding in block.bindings if hasattr(binding, "value"))


def _marked(function: Any, mark: str) -> Any:
    """The kernel with a mark on the block that writes its result."""
    import tvm

    schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": function}))
    schedule.annotate(schedule.get_child_blocks(schedule.get_sblock("root"))[-1], MARK, mark)
    return schedule.mod["main"]
