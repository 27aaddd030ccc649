"""Layouts that convolutions like, carried from kernel to kernel, with no kernel added.

A convolution is fast when a vector holds neighbouring channels.  So the images that flow between kernels are kept as
``(n, c / lanes, h, w, lanes)`` from the first convolution to the last, and the weights of convolutions are packed once,
at compile time.  What enters and leaves the model keeps its layout: the first and the last kernel read and write it.
Every kernel keeps its meaning, since only the places of its elements are exchanged, in its TIR.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tvmlab.pipeline.convolution import find_convolution
from tvmlab.pipeline.kernel import blocks_of
from tvmlab.pipeline.packing import Packed, lanes_for, pack_kernel

__all__ = ["carry_layouts"]

_IMAGE = 4


def carry_layouts(module: Any) -> Any:
    """A module whose convolutions work on blocks of channels.

    Parameters
    ----------
    module : tvm.IRModule
        Fused and inlined.  Is not changed.

    Returns
    -------
    tvm.IRModule
        With as many kernel calls.
    """
    if _calls_elsewhere(module):
        return module
    calls = list(_calls(module["main"]))
    plan = _Plan(module, calls, {call.kernel.name_hint for call in calls if _convolves(module[call.kernel])})
    plan.decide()
    return plan.rewrite()


@dataclass(frozen=True)
class _Call:
    """A call of a kernel in main."""

    variable: Any
    kernel: Any
    arguments: tuple[Any, ...]
    outputs: tuple[Any, ...]

    @property
    def images(self) -> tuple[Any, ...]:
        """Arguments, and the output if it is a single tensor."""
        return (*self.arguments, self.variable) if len(self.outputs) == 1 else self.arguments


def _calls(function: Any) -> Iterator[_Call]:
    for binding in _bindings(function):
        call = _kernel_call(getattr(binding, "value", None))
        if call is not None:
            (kind,) = call.ty_args
            yield _Call(binding.var, call.args[0], tuple(call.args[1].fields), tuple(getattr(kind, "fields", (kind,))))


def _bindings(function: Any) -> Iterator[Any]:
    for block in function.body.blocks:
        yield from block.bindings


def _kernel_call(value: Any) -> Any:
    """The value if it is a plain ``call_tir`` of a kernel of the module, on tensors alone."""
    from tvm import ir, relax

    if not isinstance(value, relax.Call) or getattr(value.op, "name", "") != "relax.call_tir":
        return None
    plain = len(value.args) == 2 and isinstance(value.args[0], ir.GlobalVar) and isinstance(value.args[1], relax.Tuple)
    return value if plain else None


def _convolves(function: Any) -> bool:
    import tvm

    return find_convolution(blocks_of(tvm.s_tir.Schedule(tvm.IRModule({"main": function})))) is not None


def _calls_elsewhere(module: Any) -> bool:
    """Whether anything but a binding of main calls a function of the module, a branch of an If for example."""
    from tvm import ir, relax

    found = []

    def visit(expression: Any) -> None:
        found.extend([expression] if isinstance(expression, ir.GlobalVar) else [])

    for binding in _bindings(module["main"]):
        if _kernel_call(getattr(binding, "value", None)) is None:
            relax.analysis.post_order_visit(getattr(binding, "value", binding.var), visit)
    return bool(found) or sum(isinstance(f, relax.Function) for f in module.functions.values()) > 1


@dataclass
class _Plan:
    """How many channels stand together in each variable of main; 0 where the layout stays."""

    module: Any
    calls: list[_Call]
    convolutions: set[str]
    lanes: dict[Any, int] = field(default_factory=dict)
    packed: dict[Any, Packed | None] = field(default_factory=dict)

    def decide(self) -> None:
        """Start at the convolutions, carry the layout on, and take it back where a kernel cannot be packed."""
        fixed = _fixed_variables(self.module["main"])
        while True:
            self.lanes = self._spread(fixed)
            refused = [call for call in self.calls if self._pack(call) is None]
            carried = {v for call in refused for v in call.images if self.lanes.get(v)}
            if not carried:
                return
            fixed |= carried

    def _spread(self, fixed: set[Any]) -> dict[Any, int]:
        lanes: dict[Any, int] = {}

        def take(expression: Any) -> None:
            if expression not in fixed and _is_variable(expression):
                found = _image_lanes(expression.ty)
                if found:
                    lanes[expression] = found

        for call in self.calls:
            if call.kernel.name_hint in self.convolutions:
                for image in call.images:
                    take(image)
        for call in self.calls:
            if any(lanes.get(argument) for argument in call.arguments) and len(call.outputs) == 1:
                take(call.variable)
        return lanes

    def _pack(self, call: _Call) -> Packed | None:
        key = self._key(call)
        if key not in self.packed:
            self.packed[key] = pack_kernel(self.module[call.kernel], *key[1:])
        return self.packed[key]

    def _key(self, call: _Call) -> tuple[Any, ...]:
        """A kernel, the lanes of its parameters, and which of them are known at compile time."""
        from tvm import ir

        lanes = tuple(self.lanes.get(a, 0) for a in call.arguments)
        after = (self.lanes.get(call.variable, 0),) if len(call.outputs) == 1 else (0,) * len(call.outputs)
        constants = tuple(i for i, a in enumerate(call.arguments) if isinstance(a, ir.GenericConst))
        return call.kernel, (*lanes, *after), constants

    def rewrite(self) -> Any:
        """The module with the packed kernels, and main calling them."""
        import tvm
        from tvm import relax

        main = self.module["main"]
        builder = relax.BlockBuilder()  # gives each version of a kernel a name, the first one the kernel's own
        calls = {call.variable: call for call in self.calls}
        variables: dict[Any, Any] = {}
        constants = _Constants()

        def rebound(binding: Any) -> Any:
            call = calls.get(binding.var)
            packed = None if call is None else self._pack(call)
            if call is None or packed is None:
                return binding
            given = [constants.packed(a, packed.constants.get(i)) for i, a in enumerate(call.arguments)]
            given = [variables.get(argument, argument) for argument in given]
            outputs = list(call.outputs)
            if self.lanes.get(binding.var):
                outputs = [_blocked_type(outputs[0], self.lanes[binding.var])]
                variables[binding.var] = relax.DataflowVar(binding.var.name, outputs[0])
            kernel = builder.add_func(packed.function, call.kernel.name_hint)
            made = builder.normalize(relax.call_tir(kernel, relax.Tuple(given), outputs))
            return relax.VarBinding(variables.get(binding.var, binding.var), made)

        blocks = [type(block)([rebound(b) for b in block.bindings]) for block in main.body.blocks]
        body = builder.normalize(relax.SeqExpr(blocks, main.body.body))
        changed = relax.Function(main.params, body, main.ret_ty, main.is_pure, main.attrs)
        return tvm.IRModule(
            {self.module.get_global_var("main"): changed, **dict(builder.get().functions.items())},
            attrs=self.module.attrs,
            global_infos=self.module.global_infos,
        )


class _Constants:
    """Packed constants, each made once."""

    def __init__(self) -> None:
        self.made: dict[tuple[Any, Any], Any] = {}

    def packed(self, argument: Any, pack: Any) -> Any:
        from tvm import relax

        if pack is None:
            return argument
        if (argument, pack) not in self.made:
            self.made[argument, pack] = relax.const(pack(argument.value.numpy()), str(argument.value.dtype))
        return self.made[argument, pack]


def _is_variable(expression: Any) -> bool:
    from tvm import relax

    return isinstance(expression, relax.Var)


def _image_lanes(kind: Any) -> int:
    """How many channels of an image stand together; 0 if its type is not that of images of a known size."""
    from tvm import tirx

    shape = getattr(getattr(kind, "shape", None), "values", None)
    if shape is None or len(shape) != _IMAGE or not all(isinstance(size, tirx.IntImm) for size in shape[1:]):
        return 0
    return lanes_for(int(shape[1]), str(kind.dtype))


def _blocked_type(kind: Any, lanes: int) -> Any:
    from tvm import relax

    n, c, h, w = kind.shape.values
    return relax.TensorType([n, int(c) // lanes, h, w, lanes], str(kind.dtype))


def _fixed_variables(function: Any) -> set[Any]:
    """Variables that something else than a kernel reads or makes, or that come from outside."""
    from tvm import relax

    fixed = set(function.params)

    def visit(expression: Any) -> None:
        if isinstance(expression, relax.Var):
            fixed.add(expression)

    for binding in _bindings(function):
        value = getattr(binding, "value", None)
        if _kernel_call(value) is None and value is not None:
            relax.analysis.post_order_visit(value, visit)
            fixed.add(binding.var)
        if not isinstance(binding.var, relax.DataflowVar):
            fixed.add(binding.var)
    relax.analysis.post_order_visit(function.body.body, visit)
    return fixed
