"""Live operators inside ONNX models: nodes of our own domain, and the calls behind them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from tvmlab import ops
from tvmlab.fusion.onnx_graph import attributes

if TYPE_CHECKING:
    from onnx import NodeProto

__all__ = ["DOMAIN", "VERSION", "LiveCall", "call_of", "live_call", "node_of"]

DOMAIN = "tvmlab"
VERSION = 1


@dataclass(frozen=True)
class LiveCall:
    """A call of one version of a live operator.

    Parameters
    ----------
    op : tvmlab.ops.Op
        The version that the model was built with, whatever its cell says now.
    attributes : mapping of str to value
    """

    op: Any
    attributes: Mapping[str, Any]

    def bind(self, inputs: Sequence[Any]) -> Any:
        """The call as a Relax expression."""
        return self.op.bind(*inputs, **self.attributes)

    def reference(self, *arrays: Any) -> Any:
        """What the operator's NumPy reference makes of arrays."""
        return self.op.reference(*arrays, **self.attributes)


def live_call(op: Any, given: Mapping[str, Any]) -> LiveCall:
    """A call with all attributes filled in and checked.

    Raises
    ------
    AttributeSchemaError
        An attribute is unknown, absent or refused.
    """
    schema = op.spec.schema
    return LiveCall(op, schema.values(schema.make(given)))


def node_of(call: LiveCall, like: NodeProto) -> NodeProto:
    """An ONNX node that stands for the call, with name, inputs and outputs of another node.

    Its attributes are there for files and for readers: what ONNX has no exact type for is written as JSON text.
    """
    node = helper.make_node(call.op.name, list(like.input), list(like.output), name=like.name, domain=DOMAIN)
    for attribute in call.op.spec.attributes:
        node.attribute.append(
            helper.make_attribute(attribute.name, _encoded(call.attributes[attribute.name], attribute.annotation))
        )
    return node


def call_of(node: NodeProto) -> LiveCall:
    """The live call that a node of our own domain, read from a file, stands for.

    Raises
    ------
    NameRefused, AttributeSchemaError
        The operator is not live, or does not take those attributes.
    """
    op = ops.find(node.op_type)
    annotations = {a.name: a.annotation for a in op.spec.attributes}
    return live_call(op, {name: _decoded(value, annotations.get(name)) for name, value in attributes(node).items()})


def _encoded(value: Any, annotation: Any) -> Any:
    if annotation in (int, bool):
        return int(value)
    if annotation is str or (annotation is float and float(np.float32(value)) == value):
        return value
    return json.dumps(value)


def _decoded(value: Any, annotation: Any) -> Any:
    if isinstance(value, bytes):
        text = value.decode()
        return text if annotation is str else json.loads(text)
    return bool(value) if annotation is bool else value
