"""Refuse an ONNX model whose tensors are not what they claim to be, before anything is allocated for them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import onnx

from tvmlab.errors import LoadError
from tvmlab.fusion.onnx_graph import OnnxGraph, label

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

__all__ = ["refuse_false_claims"]

_LARGEST_TENSOR = 1 << 33  # elements: 32 GiB of float32
# Where typed data is kept: TensorProto's field, and how many of its items an element takes.
_FIELDS: dict[int, tuple[str, int]] = {
    onnx.TensorProto.FLOAT: ("float_data", 1),
    onnx.TensorProto.DOUBLE: ("double_data", 1),
    onnx.TensorProto.INT64: ("int64_data", 1),
    onnx.TensorProto.UINT32: ("uint64_data", 1),
    onnx.TensorProto.UINT64: ("uint64_data", 1),
    onnx.TensorProto.STRING: ("string_data", 1),
    onnx.TensorProto.COMPLEX64: ("float_data", 2),
    onnx.TensorProto.COMPLEX128: ("double_data", 2),
}
_PACKED = {
    getattr(onnx.TensorProto, name)
    for name in ("INT4", "UINT4", "FLOAT4E2M1", "INT2", "UINT2")
    if hasattr(onnx.TensorProto, name)
}


def refuse_false_claims(graph: OnnxGraph, proto: ModelProto, where: str) -> None:
    """Compare each initializer's shape with its data, and refuse constants of absurd size.

    Raises
    ------
    LoadError
    """
    for tensor in proto.graph.initializer:
        _check(tensor, f"{where}, initializer {tensor.name!r}")
    if proto.graph.sparse_initializer:
        name = proto.graph.sparse_initializer[0].values.name
        raise LoadError("sparse weights cannot be imported", f"{where}, {name!r}", "store them dense")
    for node in graph.nodes:
        if node.op_type != "ConstantOfShape":
            continue
        shape = graph.constant(node.input[0])
        if shape is not None and math.prod(map(int, shape)) > _LARGEST_TENSOR:
            raise LoadError(
                f"node {label(node)!r} makes a constant of shape {tuple(map(int, shape))}: too large for any memory",
                where,
                "correct the shape; the file may be broken",
            )


def _check(tensor: TensorProto, where: str) -> None:
    dims = tuple(tensor.dims)
    if any(d < 0 for d in dims):
        raise LoadError(f"a tensor claims the shape {dims}", where, "the file is broken: export it again")
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise LoadError("the weights are in another file", where, "load the model by its path, so that they are found")
    elements = math.prod(dims)
    if tensor.HasField("raw_data"):
        held, claimed = len(tensor.raw_data), _raw_bytes(tensor, elements)
    else:
        name, items = _FIELDS.get(tensor.data_type, ("int32_data", 1))
        held, claimed = len(getattr(tensor, name)), elements * items
    if held != claimed and tensor.data_type not in _PACKED:
        raise LoadError(
            f"a tensor claims the shape {dims}, but its data is {held} long, not {claimed}",
            where,
            "the file is broken: download or export it again",
        )


def _raw_bytes(tensor: TensorProto, elements: int) -> int:
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    except KeyError as error:
        raise LoadError(f"a tensor has the unknown type {tensor.data_type}", tensor.name, "export it again") from error
    return elements * dtype.itemsize
