"""Properties of parsers: the edges of an ONNX model are those that its values say."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tvmlab.fusion import Graph
from tvmlab.records import EdgeMismatch, Mismatch, Property
from tvmlab.sandbox import beside

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["connects", "parsed", "random_models"]

Edge = tuple[int, int, int, int]

_HEAD = (
    '<ir_version: 8, opset_import: ["": 17]> g (float[1,4,8,8] x) => ({})'
    " <float[4,4,1,1] w = {{0}}, float four = {{4}}>"
)


def parsed(body: str, outputs: str = "y", *, named: bool = True) -> ModelProto:
    """A model of ONNX's text form, over the input x and the initializers w and four.

    Parameters
    ----------
    body : str
        The nodes.
    outputs : str
        Names of the outputs, separated by commas.
    named : bool
        Whether nodes have names: those of their first outputs.
    """
    head = _HEAD.format(", ".join(f"float[1,4,8,8] {name.strip()}" for name in outputs.split(",")))
    made = onnx.parser.parse_model(f"{head} {{ {body} }}")
    for node in made.graph.node:
        node.name = node.output[0] if named else ""
    return made


def random_models(random: np.random.Generator, count: int) -> Iterator[ModelProto]:
    """Models of up to 12 nodes: without names, or with one name for all; with absent operands and several outputs."""
    for at in range(count):
        values, nodes = ["x"], []
        for node in range(2 + at % 11):
            operands = [_operand(random, values) for _ in range(random.integers(1, 4))]
            made = [f"v{node}_{k}" for k in range(random.integers(1, 4))]
            name = ("", "same", f"v{node}_0", f"n{node}")[random.integers(4)]
            nodes.append(helper.make_node("Op", [*operands, values[-1]], made, name=name))
            values += made
        output = helper.make_tensor_value_info(values[-1], TensorProto.FLOAT, None)
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, None)
        weight = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
        order = random.permutation(len(nodes)) if at % 3 == 2 else range(len(nodes))
        graph = helper.make_graph([nodes[k] for k in order], "g", [given], [output], [weight])
        yield helper.make_model(graph)


def _operand(random: np.random.Generator, values: list[str]) -> str:
    """A value made before, and now and then an absent one or an initializer."""
    return str(random.choice([*values[-6:], "", "w"]))


def connects(models: Callable[[np.random.Generator], Iterable[ModelProto]], name: str) -> Property:
    """A property: the answer gives the edges of every model, each as producer, its output, consumer, its input."""

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        for model in models(random):
            found = _compare(model, beside(answer, edges_of, np.frombuffer(model.SerializeToString(), np.uint8)))
            if found is not None:
                return found
        return None

    return Property(name, check)


def edges_of(answer: Any, serialized: Any) -> Any:
    """What the answer says of a model that is given as bytes."""
    made = answer(onnx.load_from_string(serialized.tobytes()))
    return made if isinstance(made, str | dict) or not hasattr(made, "__iter__") else list(made)


def _edges(model: ModelProto) -> list[Edge]:
    nodes = model.graph.node
    return [
        (producer, output, consumer, place)
        for consumer, reading in enumerate(nodes)
        for place, value in enumerate(reading.input)
        for producer, making in enumerate(nodes)
        for output, made in enumerate(making.output)
        if value and value == made
    ]


def _compare(model: ModelProto, answer: Any) -> Mismatch | None:
    try:
        got = [(int(a), int(b), int(c), int(d)) for a, b, c, d in answer]
    except (TypeError, ValueError):
        mend = "return tuples of four numbers: (producer, output, consumer, input)"
        return Mismatch(f"the answer is {answer!r:.80}, which is no list of edges", mend=mend)
    right = _edges(model)
    if sorted(got) == sorted(right):
        return None
    missing, extra = _more(right, got), _more(got, right)
    if missing:
        a, output, b, place = missing[0]
        what = f"missing: operand {place} of node {b} is output {output} of node {a}"
    else:
        a, output, b, place = extra[0]
        what = f"too many: you say that operand {place} of node {b} is output {output} of node {a}"
    texts = (onnx.printer.to_text(node).strip() for node in model.graph.node)
    code = "\n".join(f"node {at}: {text}" for at, text in enumerate(texts))
    return _drawn(EdgeMismatch(what, code=code), model, missing, extra)


def _more(these: list[Edge], those: list[Edge]) -> list[Edge]:
    """Edges that are here oftener than there."""
    left = list(those)
    return [edge for edge in these if edge not in left or left.remove(edge)]  # type: ignore[func-returns-value]


def _drawn(mismatch: EdgeMismatch, model: ModelProto, missing: list[Edge], extra: list[Edge]) -> EdgeMismatch:
    """With the right graph, in topological order."""
    nodes, right = model.graph.node, _edges(model)
    order: list[int] = []
    while len(order) < len(nodes):
        ready = (n for n in range(len(nodes)) if n not in order and all(a in order for a, _, c, _ in right if c == n))
        order.append(next(ready))
    place = {node: at for at, node in enumerate(order)}
    inputs = [[place[a] for a, _, c, _ in right if c == node] for node in order]
    outputs = {value.name for value in model.graph.output}
    ends = [place[n] for n, node in enumerate(nodes) if outputs & set(node.output)]
    labels = [f"{n} {nodes[n].op_type}" for n in order]
    graph = Graph.from_kinds(["opaque"] * len(order), inputs, ends, labels=labels)
    pairs = [
        tuple((place[a], place[c]) for a, _, c, _ in edges if a in place and c in place) for edges in (missing, extra)
    ]
    return dataclasses.replace(mismatch, graph=graph, missing=pairs[0], extra=pairs[1])
