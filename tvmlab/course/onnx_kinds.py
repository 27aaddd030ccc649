"""Properties of classifications of ONNX nodes: right is what TVM makes of a model with that node alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tvmlab.course.kernels import kind_said, tir_of
from tvmlab.fusion import Kind
from tvmlab.records import KindMismatch, Mismatch, Property

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["NodeCase", "classifies_nodes"]

Shape = tuple[int, ...]


class NodeCase(NamedTuple):
    """One ONNX node.

    Parameters
    ----------
    op : str
    inputs : tuple of Shape
        Of the operands that the model gets.
    output : Shape
        Of the first output.
    attributes : mapping
    constants : tuple of ndarray
        Further operands.
    domain : str
    outputs : int
        How many.
    """

    op: str
    inputs: tuple[Shape, ...]
    output: Shape
    attributes: Mapping[str, Any] = {}
    constants: tuple[Any, ...] = ()
    domain: str = ""
    outputs: int = 1

    def model(self) -> ModelProto:
        """A model of this node alone."""
        given = [f"x{i}" for i in range(len(self.inputs))]
        fixed = [numpy_helper.from_array(array, f"c{i}") for i, array in enumerate(self.constants)]
        made = [f"y{i}" for i in range(self.outputs)]
        operands = [*given, *(tensor.name for tensor in fixed)]
        node = helper.make_node(self.op, operands, made, domain=self.domain, **self.attributes)
        graph = helper.make_graph(
            [node],
            "one",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip(given, self.inputs, strict=True)],
            [helper.make_tensor_value_info("y0", TensorProto.FLOAT, self.output)],
            fixed,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def classifies_nodes(cases: Callable[[np.random.Generator], Iterable[NodeCase]], name: str) -> Property:
    """A property: ``answer(domain, op, attributes, inputs, output)`` is the kind of the node's last kernel in TVM."""

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        for case in cases(random):
            shapes = [*case.inputs, *(array.shape for array in case.constants)]
            got = kind_said(answer(case.domain, case.op, dict(case.attributes), shapes, case.output))
            if isinstance(got, Mismatch):
                return got
            right, tir = kind_by_tvm(case)
            if got is not right:
                return KindMismatch(f"{_told(case)}: you say {got.name}, and it is {right.name}", code=tir)
        return None

    return Property(name, check)


def kind_by_tvm(case: NodeCase) -> tuple[Kind, str]:
    """The kind of the last kernel that TVM lowers a node to, and its loops; opaque without one."""
    from tvmlab.pipeline import load, stages

    if case.domain:
        return Kind.OPAQUE, f"# nothing is known of an operator of the domain {case.domain}"
    module = stages.annotate(stages.legalize(stages.import_model(load(case.model()), "tvm").module))
    kernels = {v.name_hint: f for v, f in module.functions.items()}
    name = _last_kernel(module)
    if name is None:
        return Kind.OPAQUE, "# TVM makes no kernel of it, but calls a function that it knows nothing of"
    return Kind(int(kernels[name].attrs["op_pattern"])), tir_of(kernels[name], name)


def _last_kernel(module: Any) -> str | None:
    from tvmlab.pipeline.relax_reader import read_relax

    graph = read_relax(module, {}).graph
    named = {str(v.name_hint) for v in module.functions}
    return next((name for name in reversed(graph.operations) if name in named), None)


def _told(case: NodeCase) -> str:
    attributes = "".join(f", {name}={value}" for name, value in case.attributes.items())
    operator = f"{case.domain}::{case.op}" if case.domain else case.op
    return f"{operator} of {', '.join(map(str, case.inputs))}{attributes}"
