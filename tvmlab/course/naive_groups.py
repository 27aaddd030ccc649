"""The naive fuser on a graph of kinds, so that it can be compared with TVM on the same graphs as a student's."""

from __future__ import annotations

from onnx import helper

from tvmlab.course.naive_fuser import REPAIRS, NaiveFuser
from tvmlab.fusion import Graph, Kind

__all__ = ["naive_groups"]

_OPERATORS = {
    Kind.ELEM: "Relu",
    Kind.BCAST: "Add",
    Kind.INJ: "Transpose",
    Kind.REDUCE: "ReduceSum",
    Kind.OEF: "Conv",
    Kind.OPAQUE: "CumSum",
}


def naive_groups(graph: Graph) -> list[list[int]]:
    """Groups that the article's fuser makes, with the faults repaired that keep it from running: wrong ones."""
    operands: list[list[str]] = [[] for _ in graph.kinds]
    for edge in graph.edges():
        operands[edge.consumer].append(f"v{edge.producer}")
    nodes = [
        helper.make_node(_OPERATORS[graph.kind(node)], operands[node] or ["x"], [f"v{node}"], name=str(node))
        for node in range(len(graph))
    ]
    outputs = [
        helper.make_tensor_value_info(f"v{node}", 1, None) for node, escapes in enumerate(graph.external) if escapes
    ]
    made = helper.make_model(helper.make_graph(nodes, "graph", [], outputs))
    return [[int(name) for name in group] for group in NaiveFuser(made, REPAIRS).partition()]
