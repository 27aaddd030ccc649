"""An operator's gradient: from the user's function to TVM's FPrimalGradient.

The function is called with the gradient of the result (a tuple of them for several outputs), then the tensors, then
attributes by name, and returns a Relax expression for each tensor, or None for one that has no gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relax
from tvm.relax import TensorType

from tvmlab.errors import CallError, CellError, ComputeError, TvmlabError
from tvmlab.ops import lowering, rules
from tvmlab.ops.binding import Binding
from tvmlab.ops.source import Source, caller
from tvmlab.ops.spec import OpSpec

__all__ = ["require_upstream", "run_gradient"]


def require_upstream(gradient: Binding, compute: Binding, source: Source) -> None:
    """A gradient takes the gradient of the result, then the tensors of `compute`.

    Raises
    ------
    CellError
    """
    fits = gradient.variadic if compute.variadic else gradient.accepts(len(compute.tensors) + 1)
    if not fits:
        tensors = f"{', '.join(compute.tensors)}{', *more' if compute.variadic else ''}"
        raise CellError(
            f"{gradient.signature} does not take the gradient of the result and the tensors of {compute.signature}",
            where=source.of_function(gradient.function) or source.of_name("gradient"),
            mend=f"write def gradient(dy, {tensors}{''.join(f', {a}' for a in gradient.takes)}):",
        )


def run_gradient(
    spec: OpSpec, builder: Any, upstream: Any, args: Sequence[Any], attributes: Mapping[str, Any]
) -> list[Any]:
    """Call the user's gradient on Relax expressions, and check what it returns; TVM does not.

    Parameters
    ----------
    builder : relax.BlockBuilder
        In which the partial gradients are emitted.
    upstream : relax.Expr
        Gradient of the result.
    args : sequence of relax.Expr
        The tensors.
    attributes : mapping
        All attributes, by name.

    Returns
    -------
    list of relax.Expr
        One for each tensor.

    Raises
    ------
    CallError
        If the operator has no gradient.
    ComputeError
        If the gradient raises, or returns another number, kind, shape or dtype than the tensors have.
    """
    binding = spec.gradient
    if binding is None:
        raise CallError(
            f"{spec.name} has no gradient",
            where=caller() or spec.signature,
            mend=f"add def gradient(dy, {', '.join(spec.tensors)}): to its cell; it returns one expression a tensor",
        )
    try:
        result = binding([_parts(upstream), *args], attributes)
    except TvmlabError:
        raise
    except lowering.USER_FAILURES as error:
        raise lowering.user_error(spec, binding, error, ComputeError) from error
    where = spec.source.of_result(binding.function)
    if result is None:
        raise ComputeError(
            f"{spec.name}: gradient returns nothing (a return is missing)",
            where=where,
            mend="return one Relax expression for each tensor, such as relax.op.multiply(dy, …)",
        )
    partials = list(result) if isinstance(result, list | tuple | tvm.ir.Array) else [result]
    if len(partials) != len(args):
        raise ComputeError(
            f"{spec.name}: gradient returns {len(partials)} expressions for {len(args)} tensors",
            where=where,
            mend="return one for each tensor, in their order; None for one that has no gradient",
        )
    names = [*spec.tensors, *(f"tensor{i}" for i in range(len(args)))]
    return [
        relax.op.grad.no_grad(arg) if partial is None else _checked(spec, builder, partial, arg, name)
        for partial, arg, name in zip(partials, args, names, strict=False)
    ]


def _parts(upstream: Any) -> Any:
    """The gradient of the result; of several outputs, a Python tuple with one for each."""
    if isinstance(upstream.ty, relax.TupleType):
        return tuple(relax.TupleGetItem(upstream, i) for i in range(len(upstream.ty.fields)))
    return upstream


def _checked(spec: OpSpec, builder: Any, partial: Any, arg: Any, name: str) -> Any:
    assert spec.gradient is not None
    where = spec.source.of_result(spec.gradient.function)
    if not isinstance(partial, relax.Expr):
        raise ComputeError(
            f"{spec.name}: gradient returns {type(partial).__name__} for {name}, not a Relax expression",
            where=where,
            mend="use relax.op and tl.ops on dy and the tensors: relax.op.multiply(dy, x); NumPy and te do not go here",
        )
    lowering.calls_in(spec, partial, where)
    try:
        emitted = builder.emit(partial)
    except TvmlabError:
        raise
    except Exception as error:
        raise lowering.user_error(spec, spec.gradient, error, ComputeError) from error
    if isinstance(arg.ty, TensorType) and not lowering.agree(arg.ty, emitted.ty):
        raise ComputeError(
            f"{spec.name}: the gradient of {name} is {rules.show(emitted.ty)}, but {name} is {rules.show(arg.ty)}",
            where=where,
            mend=f"sum over what was broadcast: relax.op.collapse_sum_like(…, {name})",
        )
    return emitted
