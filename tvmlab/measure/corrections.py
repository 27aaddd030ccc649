"""Operators as ONNX defines them, for onnx's reference evaluator, which is wrong on them.

Before opset 13, Softmax, LogSoftmax and Hardmax took their input as a matrix, its rows the dimensions before `axis`,
which was 1 by default.  Before opset 14, BatchNormalization trained only where its node asked for statistics as
further outputs.  These the evaluator runs by newer rules; LRN it computes for the first channels alone, Erf to eight
digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_batch_normalization import BatchNormalization_6, BatchNormalization_14

__all__ = ["CORRECTIONS"]

Array = NDArray[Any]

_BY_AXIS = 13  # the opset from which Softmax and its kin work along one axis
_BY_OUTPUTS = range(7, 14)  # opsets in which the number of outputs says whether BatchNormalization trains


class _OfItsOpset(OpRun):
    """An operator whose attributes have the defaults of the opset that its model imports."""

    op_domain = ""

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:  # noqa: ARG002
        self.opset = int(run_params["opsets"][onnx_node.domain])
        super().__init__(onnx_node, run_params, onnx.defs.get_schema(onnx_node.op_type, self.opset, onnx_node.domain))


class Softmax(_OfItsOpset):
    """Of each row, or along one axis."""

    def _run(self, x: Array, axis: int) -> tuple[Array]:
        return (_by_rows(_softmax, x, axis, self.opset),)


class LogSoftmax(_OfItsOpset):
    """The logarithm of the softmax."""

    def _run(self, x: Array, axis: int) -> tuple[Array]:
        return (_by_rows(_log_softmax, x, axis, self.opset),)


class Hardmax(_OfItsOpset):
    """1 at the first of the largest values, 0 elsewhere."""

    def _run(self, x: Array, axis: int) -> tuple[Array]:
        return (_by_rows(_hardmax, x, axis, self.opset),)


class BatchNormalization(_OfItsOpset):
    """With the statistics that it is given, unless its node asks for new ones."""

    def _run(self, *arrays: Array, **attributes: Any) -> tuple[Any, ...]:
        if self.opset not in _BY_OUTPUTS:
            newest = BatchNormalization_14 if self.opset > max(_BY_OUTPUTS) else BatchNormalization_6
            evaluate = newest(self.onnx_node, self.run_params, self._schema)._run  # noqa: SLF001 - what evaluators call
            results: tuple[Any, ...] = evaluate(*arrays, **attributes)
            return results
        x, scale, bias, mean, variance = arrays
        if attributes.get("spatial", 1) == 0 or len(self.onnx_node.output) > 1:
            raise NotImplementedError(f"BatchNormalization of opset {self.opset} that trains, or is not spatial")
        shape = (-1, *[1] * (x.ndim - 2))
        factor = scale.reshape(shape) / np.sqrt(variance.reshape(shape) + attributes["epsilon"])
        return ((factor * (x - mean.reshape(shape)) + bias.reshape(shape)).astype(x.dtype),)


class LRN(_OfItsOpset):
    """Each element over a power of the sum of squares around it, along the channels."""

    def _run(self, x: Array, alpha: float, beta: float, bias: float, size: int) -> tuple[Array]:
        before, after = (size - 1) // 2, size // 2
        padded = np.pad(x**2, [(0, 0), (before, after), *[(0, 0)] * (x.ndim - 2)])
        squares = np.lib.stride_tricks.sliding_window_view(padded, size, axis=1).sum(-1)
        return (np.asarray(x / (bias + alpha / size * squares) ** beta, x.dtype),)


class Erf(_OfItsOpset):
    """The error function, to the last digits of float64."""

    def _run(self, x: Array) -> tuple[Array]:
        return (np.asarray(_erf(x.astype(np.float64)), x.dtype).reshape(x.shape),)


CORRECTIONS: list[type[OpRun]] = [Softmax, LogSoftmax, Hardmax, BatchNormalization, LRN, Erf]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _by_rows(function: Any, x: Array, axis: int, opset: int) -> Array:
    """Apply a function to the rows of a matrix: those along `axis`, or all dimensions from it on in an old opset."""
    if not x.size:
        return x
    if opset < _BY_AXIS:
        at = axis % x.ndim if x.ndim else 0
        rows = function(x.reshape(math.prod(x.shape[:at]), -1))
        return np.asarray(rows.reshape(x.shape), x.dtype)
    moved = np.moveaxis(x, axis, -1) if x.ndim else x.reshape(1)
    result = function(moved)
    return np.asarray(np.moveaxis(result, -1, axis) if x.ndim else result.reshape(()), x.dtype)


def _softmax(rows: Array) -> Array:
    parts = np.exp(rows - rows.max(-1, keepdims=True))
    return np.asarray(parts / parts.sum(-1, keepdims=True))


def _log_softmax(rows: Array) -> Array:
    shifted = rows - rows.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))


def _hardmax(rows: Array) -> Array:
    return np.asarray(np.arange(rows.shape[-1]) == rows.argmax(-1)[..., None])
