"""Post-dominators, against networkx."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from tvmlab.fusion import Graph
from tvmlab.fusion.families import FAMILIES, family
from tvmlab.fusion.partition import _post_dominators
from tvmlab.fusion.postdom import post_dominators


def by_networkx(graph):
    """Dominators of the reversed graph, from the end that reads what escapes and what nobody reads."""
    reverse = nx.DiGraph()
    reverse.add_nodes_from([*range(len(graph)), "end"])
    reverse.add_edges_from((edge.consumer, edge.producer) for edge in graph.edges())
    reverse.add_edges_from(("end", v) for v in range(len(graph)) if graph.external[v] or not graph.readers(v))
    found = nx.immediate_dominators(reverse, "end")
    return [None if found[node] == "end" else found[node] for node in range(len(graph))]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_agrees_with_networkx(name):
    for nodes in (1, 2, 7, 60, 700):
        graph = family(name, nodes) if name != "series-parallel" or nodes > 1 else family(name, 2)
        tree = post_dominators(graph)
        assert [tree.of(node) for node in range(len(graph))] == by_networkx(graph)


def test_random_graphs_agree_with_networkx_and_with_climbing_step_by_step():
    rng = random.Random(3)
    for _ in range(400):
        nodes = rng.randint(1, 30)
        inputs = [[rng.randint(max(-1, v - 8), v - 1) for _ in range(rng.randint(1, 3))] for v in range(nodes)]
        kinds = [rng.choice((0, 0, 1, 2, 3, 4, 7, 8)) for _ in range(nodes)]
        graph = Graph.from_kinds(kinds, inputs, [v for v in range(nodes) if rng.random() < 0.05])
        tree = post_dominators(graph)
        parents, path_kinds = _post_dominators(graph)
        assert [tree.of(node) for node in range(nodes)] == parents == by_networkx(graph)
        inside = [node for node in range(nodes) if parents[node] is not None]
        assert [tree.path_kind[node] for node in inside] == [path_kinds[node] for node in inside]


def test_a_node_without_a_meeting_point_has_none_whatever_its_number_of_readers():
    for readers in range(2, 6):
        graph = Graph.from_kinds([0] * (readers + 1), [[-1], *[[0]] * readers], range(1, readers + 1))
        assert post_dominators(graph).of(0) is None


def test_chain_of_post_dominators():
    graph = Graph.from_kinds([0] * 5, [[-1], [0], [0], [1, 2], [3]], [4])
    assert post_dominators(graph).chain(0) == [3, 4]
