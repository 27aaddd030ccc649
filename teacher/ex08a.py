"""What only teachers see of 08a."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import ModelProto

from tvmlab.course.parsing import connects, random_models

SOLUTION = '''
def edges(model):
    """For each use of a value (producer, output, consumer, input), all numbers."""
    makers = {}
    for number, node in enumerate(model.graph.node):
        for place, value in enumerate(node.output):
            if value:
                makers[value] = (number, place)
    return [
        (*makers[value], number, place)
        for number, node in enumerate(model.graph.node)
        for place, value in enumerate(node.input)
        if value in makers
    ]
'''

BY_NAME = """
def edges(model):
    nodes = model.graph.node
    number = {node.name: at for at, node in enumerate(nodes)}
    return [
        (number[a.name], output, number[b.name], place)
        for a in nodes for output, value in enumerate(a.output)
        for b in nodes for place, read in enumerate(b.input) if value == read
    ]
"""

WRONG = (
    (BY_NAME, "missing: operand 0 of node 1 is output 0 of node 0; nodes need no names"),
    (
        SOLUTION.replace("            if value:\n                makers[value]", "            makers[value]"),
        "too many: you say that operand 1 of node 1 is output 1 of node 0; what is absent connects nobody",
    ),
    (
        SOLUTION.replace("(number, place)\n    return", "(number, 0)\n    return"),
        "missing: operand 0 of node 1 is output 1",
    ),
    (SOLUTION.replace("        if value in makers\n", ""), "KeyError: 'x'"),
    (
        SOLUTION.replace("        if value in makers\n", "        if value in makers and place == 0\n"),
        "missing: operand 1",
    ),
)


def large(random: np.random.Generator) -> Iterator[ModelProto]:
    """More of them."""
    return random_models(random, 200)


HIDDEN = (connects(large, "200 other models are right"),)
