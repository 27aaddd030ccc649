"""Families of graphs of any size, on which partitioners are compared and timed.

Each function takes a number of nodes and a random generator, and returns kinds and inputs for
`tvmlab.fusion.Graph.from_kinds`; node 0 reads a parameter, and the last node is the output.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tvmlab.fusion.graph import Graph

__all__ = ["FAMILIES", "family"]

Parts = tuple[list[int], list[list[int]]]
_RANDOM_KINDS = (0, 0, 0, 1, 1, 2, 2, 3, 4, 8)
_RESIDUAL_KINDS = (0, 4, 0, 0, 4, 0, 0)


def chain(nodes: int, _rng: random.Random) -> Parts:
    """Each node reads the one before it."""
    return [0] * nodes, [[node - 1] for node in range(nodes)]


def ladder(nodes: int, _rng: random.Random) -> Parts:
    """One node, read by eight, read by one, read by eight …"""
    inputs: list[list[int]] = [[-1]]
    while len(inputs) < nodes:
        top = len(inputs) - 1
        rungs = min(8, nodes - len(inputs))
        inputs += [[top]] * rungs
        if len(inputs) < nodes:
            inputs.append(list(range(top + 1, top + 1 + rungs)))
    return [0] * nodes, inputs


def residual(nodes: int, _rng: random.Random) -> Parts:
    """Blocks as in ResNet: conv, batch norm, relu, conv, batch norm, add of what went in, relu."""
    inputs = [[node - 1] for node in range(nodes)]
    period = len(_RESIDUAL_KINDS)
    for add in range(5, nodes, period):
        inputs[add].append(add - 6 if add >= period else -1)
    return [_RESIDUAL_KINDS[node % period] for node in range(nodes)], inputs


def near(nodes: int, rng: random.Random) -> Parts:
    """One to three inputs from the 64 nodes before."""
    inputs = [[rng.randint(max(0, node - 64), node - 1) for _ in range(rng.randint(1, 3))] for node in range(1, nodes)]
    return rng.choices(_RANDOM_KINDS, k=nodes), [[-1], *inputs]


def wide(nodes: int, rng: random.Random) -> Parts:
    """Two inputs from anywhere before."""
    inputs = [[int(rng.random() * node), int(rng.random() * node)] for node in range(1, nodes)]
    return rng.choices(_RANDOM_KINDS, k=nodes), [[-1], *inputs]


def fan(nodes: int, _rng: random.Random) -> Parts:
    """A chain whose every node is also read by the last one, as in DenseNet."""
    inputs = [[node - 1] for node in range(nodes)]
    inputs[-1] = list(range(nodes - 1)) or [-1]
    return [0] * nodes, inputs


def comb(nodes: int, _rng: random.Random) -> Parts:
    """Many sources, all read by the heads of the same two long chains: the worst case for climbing step by step."""
    third = max(1, (nodes - 1) // 3)
    sources = list(range(third))
    inputs: list[list[int]] = [[-1] for _ in sources]
    for _ in range(2):
        inputs.append(sources)
        inputs += [[len(inputs) + extra - 1] for extra in range(third - 1)]
    inputs += [[len(inputs) - 1, len(inputs) - third - 1]]
    inputs += [[len(inputs) + extra - 1] for extra in range(nodes - len(inputs))]
    return [0] * len(inputs), inputs


def series_parallel(nodes: int, rng: random.Random) -> Parts:
    """Edges doubled and divided at random: every two ways that part meet again."""
    edges = [(0, 1)]
    made = 2
    while made < nodes:
        at = rng.randrange(len(edges))
        start, end = edges[at]
        edges[at] = (start, made)
        edges.append((made, end))
        made += 1
        if rng.random() < 0.4:
            edges.append((start, end))
    readers: list[list[int]] = [[] for _ in range(made)]
    waits = [0] * made
    for start, end in edges:
        readers[start].append(end)
        waits[end] += 1
    order, ready = [], [0]
    while ready:
        node = ready.pop(rng.randrange(len(ready)))
        order.append(node)
        for reader in readers[node]:
            waits[reader] -= 1
            if not waits[reader]:
                ready.append(reader)
    number = {node: place for place, node in enumerate(order)}
    inputs: list[list[int]] = [[] for _ in range(made)]
    for start, end in edges:
        inputs[number[end]].append(number[start])
    return rng.choices(_RANDOM_KINDS, k=made), [operands or [-1] for operands in inputs]


FAMILIES: dict[str, Callable[[int, random.Random], Parts]] = {
    "chain": chain,
    "ladder": ladder,
    "residual": residual,
    "random": near,
    "random wide": wide,
    "series-parallel": series_parallel,
    "fan": fan,
    "comb": comb,
}


def family(name: str, nodes: int, seed: int = 0) -> Graph:
    """A graph of a family: about so many nodes, the last one its output."""
    kinds, inputs = FAMILIES[name](nodes, random.Random(seed))  # noqa: S311 - reproducible, not secret
    return Graph.from_kinds(kinds, inputs, [len(kinds) - 1])
