"""What a Relax module computes from constants alone is computed here, in NumPy.

TVM's FoldConstant compiles and runs a kernel for each constant.  What networks leave after the clean-up on the ONNX
level is only data movement (the bias of a convolution, reshaped; a weight, transposed) and the parameters of
BatchNormalizations that follow no convolution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["evaluate_constants"]

Array = NDArray[Any]

# Operators that only move data: from the first argument's value, the result's shape and the call to the result.
_MOVES: dict[str, Callable[[Array, tuple[int, ...], Any], Array]] = {
    "relax.reshape": lambda array, shape, _: array.reshape(shape),
    "relax.flatten": lambda array, shape, _: array.reshape(shape),
    "relax.expand_dims": lambda array, shape, _: array.reshape(shape),
    "relax.squeeze": lambda array, shape, _: array.reshape(shape),
    "relax.broadcast_to": lambda array, shape, _: np.broadcast_to(array, shape),
    "relax.permute_dims": lambda array, _, call: array.transpose(
        None if call.attrs.axes is None else tuple(map(int, call.attrs.axes))
    ),
}


def evaluate_constants(module: Any) -> Any:
    """A module whose main moves no constants, and whose inference BatchNormalizations are a scale and a shift.

    Parameters
    ----------
    module : tvm.IRModule
        Is not changed.
    """
    import tvm
    from tvm import relax
    from tvm.relax.expr_functor import PyExprMutator, mutator

    @mutator
    class Evaluator(PyExprMutator):  # type: ignore[misc]
        def visit_call_(self, call: Any) -> Any:
            kind, shape = call.ty, static_shape(call.ty)
            call = self.visit_expr_post_order(call)
            move = _MOVES.get(getattr(call.op, "name", ""))
            if move is None or shape is None:
                return call
            array = self.constant(call.args[0])
            if array is None:
                return call
            return relax.const(np.ascontiguousarray(move(array, shape, call)), str(kind.dtype))

        def visit_tuple_getitem_(self, item: Any) -> Any:
            item = self.visit_expr_post_order(item)
            call: Any = self.lookup_binding(item.tuple_value) if isinstance(item.tuple_value, relax.Var) else None
            if item.index != 0 or getattr(getattr(call, "op", None), "name", "") != "relax.nn.batch_norm":
                return item
            parameters = [p for p in map(self.constant, call.args[1:]) if p is not None]
            if call.attrs.training or len(parameters) < len(call.args) - 1 or call.args[0].ty.ndim < 0:
                return item
            scale, shift = _affine(call, parameters)
            scaled = self.builder_.emit(relax.op.multiply(call.args[0], relax.const(scale)))
            return self.builder_.normalize(relax.op.add(scaled, relax.const(shift)))

        def constant(self, expression: Any) -> Array | None:
            while isinstance(expression, relax.Var):
                expression = self.lookup_binding(expression)
            return expression.value.numpy() if isinstance(expression, tvm.ir.GenericConst) else None

    evaluated = module.clone()
    evaluated["main"] = Evaluator(module).visit_expr(module["main"])
    return evaluated


def _affine(call: Any, parameters: list[Array]) -> tuple[Array, Array]:
    """Scale and shift of an inference BatchNormalization, in the shape that broadcasts against its data."""
    gamma, beta, mean, variance = (p.astype(np.float64) for p in parameters)
    scale = (gamma if call.attrs.scale else 1.0) / np.sqrt(variance + float(call.attrs.epsilon))
    shift = (beta if call.attrs.center else 0.0) - mean * scale
    after = call.args[0].ty.ndim - 1 - int(call.attrs.axis) % call.args[0].ty.ndim
    shape = (-1, *[1] * after)
    return tuple(v.astype(parameters[0].dtype).reshape(shape) for v in (scale, shift))  # type: ignore[return-value]


def static_shape(kind: Any) -> tuple[int, ...] | None:
    """The shape of a tensor type; None if it is no tensor, or has a symbolic dimension."""
    from tvm import relax, tirx

    shape = kind.shape if isinstance(kind, relax.TensorType) else None
    if not isinstance(shape, relax.ShapeExpr) or not all(isinstance(d, tirx.IntImm) for d in shape.values):
        return None
    return tuple(int(d) for d in shape.values)
