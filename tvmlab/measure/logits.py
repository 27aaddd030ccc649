"""Look behind a last softmax: it squeezes all but the largest logits to almost nothing, and their errors with them.

A softmax forgets a constant that all logits share, and nothing else.  So the logits of the network under test are read
off its probabilities (their logarithm, plus the constant of the oracle's logits): what is run stays what is verified.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from numpy.typing import NDArray

from tvmlab.fusion.onnx_graph import OnnxGraph, attributes, is_standard
from tvmlab.measure.ulp import compare
from tvmlab.records import OutputError

__all__ = ["Logits", "find_logits"]

Array = NDArray[Any]

_LAYOUT = ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze")  # the elements keep their order
_ONE_AXIS_SINCE = 13  # before this operator set, Softmax took all axes from `axis` on as one
_SAFETY = 64  # probabilities down to here times the smallest normal number have all their digits


@dataclass(frozen=True)
class Logits:
    """A softmax whose result is an output of the model, but for its shape.

    Parameters
    ----------
    output : int
        Position of the output.
    name : str
        Name of the value that goes into the softmax.
    axis : int
        Axis of the softmax.
    to_the_end : bool
        Whether it goes over all axes from there on, as one.
    """

    output: int
    name: str
    axis: int
    to_the_end: bool

    def compare(self, logits: Array, probabilities: Array) -> tuple[OutputError, int]:
        """Compare the logits behind probabilities with the oracle's.

        Parameters
        ----------
        logits : ndarray
            The oracle's.
        probabilities : ndarray
            The model's output, in any shape with the same elements in the same order.

        Returns
        -------
        OutputError
            Its ``max_ulp`` is NaN.
        int
            How many logits were left out, since their probability is too small for the dtype.
        """
        axis = self.axis % logits.ndim
        axes = tuple(range(axis, logits.ndim)) if self.to_the_end else (axis,)
        exact = logits.astype(np.float64)
        top = exact.max(axis=axes, keepdims=True)
        total = top + np.log(np.exp(exact - top).sum(axis=axes, keepdims=True))
        least = float(ml_dtypes.finfo(probabilities.dtype).smallest_normal)  # type: ignore[no-untyped-call]
        visible = exact - total > math.log(least * _SAFETY)
        with np.errstate(divide="ignore", invalid="ignore"):
            behind = np.log(probabilities.reshape(logits.shape).astype(np.float64)) + total
        # What is not visible counts as equal: the probabilities themselves are compared too.
        seen = np.where(visible, behind, exact).astype(logits.dtype)
        error = compare(logits, seen, f"{self.name} (logits)")
        # A logarithm has an absolute error, so that units of small logits would count nothing but its rounding.
        return dataclasses.replace(error, max_ulp=math.nan), int(np.count_nonzero(~visible))


def find_logits(model: onnx.ModelProto) -> Iterator[Logits]:
    """The softmaxes that end a model."""
    graph = OnnxGraph.of(model)
    makers = {name: node for node in graph.nodes for name in node.output}
    for position, output in enumerate(graph.outputs):
        node = makers.get(output.name)
        while node is not None and is_standard(node) and node.op_type in _LAYOUT:
            node = makers.get(node.input[0])
        if node is not None and is_standard(node) and node.op_type == "Softmax":
            one_axis = graph.opset >= _ONE_AXIS_SINCE
            axis = attributes(node).get("axis", -1 if one_axis else 1)
            yield Logits(position, node.input[0], axis, to_the_end=not one_axis)
