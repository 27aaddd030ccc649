"""Exercise 08a: a parser that survives what ONNX allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tvmlab.course.parsing import connects, parsed, random_models
from tvmlab.records import Exercise

if TYPE_CHECKING:
    from onnx import ModelProto


def plain(_random: np.random.Generator) -> Iterator[ModelProto]:
    """A chain, a diamond, and a value that is read twice by one node; with weights and inputs, which are no nodes."""
    yield parsed("c = Conv(x, w) r = Relu(c) y = Add(r, four)")
    yield parsed("c = Conv(x, w) a = Relu(c) b = Exp(c) y = Add(a, b)")
    yield parsed("r = Relu(x) y = Mul(r, r)")


def nameless(_random: np.random.Generator) -> Iterator[ModelProto]:
    """The same without names: ONNX demands none of nodes."""
    yield parsed("c = Conv(x, w) r = Relu(c) y = Add(r, four)", named=False)
    yield parsed("c = Conv(x, w) a = Relu(c) b = Exp(c) y = Add(a, b)", named=False)


def absent(_random: np.random.Generator) -> Iterator[ModelProto]:
    """An operand that is absent is an empty name, and so is an output that nobody wants."""
    yield parsed("r = Relu(x) y = Clip(r, , four)")
    model = parsed("p = MaxPool<kernel_shape=[1,1]>(x) y = Clip(p, , four)")
    model.graph.node[0].output.append("")
    yield model


def several(_random: np.random.Generator) -> Iterator[ModelProto]:
    """A node with two outputs, both of which are read; and nodes in an order in which they could not run."""
    yield parsed("a, b = Split<axis=1>(x) y = Concat<axis=1>(b, a)")
    model = parsed("r = Relu(x) e = Exp(r) y = Add(r, e)")
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    yield model


def many(random: np.random.Generator) -> Iterator[ModelProto]:
    """Anything of the above at once."""
    return random_models(random, 60)


EXERCISE = Exercise(
    id="08a",
    title="a parser that survives",
    grade=1,
    statement=(
        "edges(model) returns who reads what in an ONNX model: one tuple (producer, output, consumer, input) for each "
        "use of a value by a node. Nodes are counted as they stand in model.graph.node, outputs and inputs as they "
        "stand in node.output and node.input. Inputs and initializers of the graph are no nodes. Names of nodes may be "
        "empty or the same; an empty name of a value means that it is absent."
    ),
    starter='''\
def edges(model):
    """For each use of a value (producer, output, consumer, input), all numbers."""
    makers = {}
    for number, node in enumerate(model.graph.node):
        for place, value in enumerate(node.output):
            makers[value] = ...
    return [
        (*makers[value], number, place)
        for number, node in enumerate(model.graph.node)
        for place, value in enumerate(node.input)
    ]
''',
    asks="edges",
    properties=(
        connects(plain, "chains, diamonds and values that are read twice are right"),
        connects(nameless, "nodes need no names"),
        connects(absent, "what is absent connects nobody"),
        connects(several, "which output is read is kept, and the order does not matter"),
        connects(many, "60 random models are right"),
    ),
    hints=(
        "A value has exactly one maker, but any number of readers. What do you want to know of the maker?",
        (
            "Not every value that a node reads has a maker among the nodes: some are inputs, some are initializers, "
            "and some are not there at all."
        ),
        (
            "Outline: keep the number of the node and the place of the output under the name of each value that is not "
            "empty. In the list, take only values that are in the dictionary."
        ),
    ),
    lesson="08_own_fuser",
)
