"""Graphs: what is read by whom, and what is refused."""

from __future__ import annotations

import pytest

from tvmlab.errors import GraphError
from tvmlab.fusion import Edge, Graph, Kind, kind, partition


def test_edges_come_by_consumer_and_operand_and_keep_duplicates():
    graph = Graph.from_kinds([2, 0, 0], [[-1], [0, 0], [-1, 1, 0]])
    assert list(graph.edges()) == [Edge(0, 0, 1, 0), Edge(0, 0, 1, 1), Edge(1, 0, 2, 1), Edge(0, 0, 2, 2)]
    assert [graph.readers(node) for node in range(3)] == [[1, 1, 2], [2], []]


def test_kinds_may_be_numbers_or_names_of_either_sort():
    graph = Graph.from_kinds([Kind.OEF, 0, "opaque", "kBroadcast"], [[-1], [0], [1], [2]])
    assert list(graph.kinds) == [4, 0, 8, 1]
    assert Kind.of("inj").title == "kInjective"


def test_an_empty_graph_is_a_graph():
    graph = Graph.from_kinds([], [])
    assert (len(graph), list(graph.edges())) == (0, [])


@pytest.mark.parametrize(
    ("kinds", "inputs", "external", "complaint"),
    [
        ([0, 0], [[-1], [1]], (), "node 1 reads node 1, which does not come before it"),
        ([0, 0], [[1], [-1]], (), "node 0 reads node 1, which does not come before it"),
        ([0, 5], [[-1], [0]], (), "5 is no kind"),
        (["elm"], [[-1]], (), "'elm' is no kind"),
        ([0, 0], [[-1]], (), "2 kinds, 1 lists of inputs"),
        ([0], [[-1]], (3,), "no node 3 whose value could escape"),
        ([0], [[7]], (), "node 0 reads node 7"),
    ],
)
def test_what_is_no_graph_is_refused(kinds, inputs, external, complaint):
    with pytest.raises(GraphError, match=complaint):
        Graph.from_kinds(kinds, inputs, external)


def test_nodes_are_found_by_number_and_by_label():
    graph = Graph.from_kinds([0, 0], [[-1], [0]], labels=["conv1", "relu1"])
    assert (graph.index("relu1"), graph.index(0), graph.label(1)) == (1, 0, "relu1")
    with pytest.raises(GraphError, match="no node 'relu2'") as refused:
        graph.index("relu2")
    assert refused.value.mend == "did you mean 'relu1'?"
    with pytest.raises(GraphError, match="no node 2"):
        graph.index(2)


def test_an_unknown_node_is_told_what_nodes_are_called():
    graph = Graph.from_kinds([0, 0], [[-1], [0]], external={1})
    with pytest.raises(GraphError, match=r"nodes are called 0, 1"):
        graph.index("conv1")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"inputs": [[], 0]}, "the inputs of node 1 are 0, no list of numbers of nodes"),
        ({"inputs": [[], ["a"]]}, r"the inputs of node 1 are \['a'\]"),
        ({"inputs": [[], [0.5]]}, r"the inputs of node 1 are \[0\.5\]"),
        ({"inputs": ["", "0"]}, "the inputs of node 1 are '0'"),
        ({"inputs": [[], [2**40]]}, "there is no such node"),
        ({"external": 0}, "external=0 is no list of nodes"),
        ({"external": ["b"]}, "there is no node 'b' whose value could escape"),
        ({"inputs": 5}, "inputs=5 is no list"),
        ({"labels": 5}, "labels=5 is no list"),
        ({"labels": ["a", "a"]}, "two nodes are called 'a'"),
        ({"labels": [1, 2]}, "1 is no label"),
    ],
)
def test_what_is_no_graph_is_told_in_words(given, words):
    with pytest.raises(GraphError, match=words):
        Graph.from_kinds([0, 0], **{"inputs": [[], [0]], **given})


@pytest.mark.parametrize("node", [None, 1.0, True, -1, 2, "c"])
def test_what_names_no_node_is_told_in_words(node):
    with pytest.raises(GraphError, match=f"there is no node {node!r}"):
        Graph.from_kinds([0, 0], [[], [0]], labels=["a", "b"]).index(node)


def test_an_empty_graph_has_no_groups_and_says_that_it_is_empty():
    grouping = partition(Graph.from_kinds([], []))
    assert grouping.groups == []
    with pytest.raises(GraphError, match="the graph is empty"):
        grouping.why(0, 0)


@pytest.mark.parametrize(("graph", "depth", "words"), [([1], 8, "a list is no graph"), (None, "8", "max_depth='8'")])
def test_what_cannot_be_partitioned_is_told_in_words(graph, depth, words):
    with pytest.raises(GraphError, match=words):
        partition(graph or Graph.from_kinds([0], [[]]), depth)


def test_a_kind_is_of_an_operator_that_has_a_name():
    for domain, operator in (("my.domain", 3), ("my.domain", ""), (None, "Op")):
        with pytest.raises(GraphError, match="name no operator"):
            kind(domain, operator, "elem")


def test_a_piece_keeps_labels_and_edges_and_its_borders_escape():
    graph = Graph.from_kinds([4, 0, 1, 0], [[-1], [0, 0], [1], [1, 2]], [3], labels="abcd")
    piece, place = graph.piece([3, 1, 0])
    assert place == {0: 0, 1: 1, 3: 2}
    assert [piece.label(node) for node in range(3)] == ["a", "b", "d"]
    assert [(e.producer, e.consumer) for e in piece.edges()] == [(0, 1), (0, 1), (1, 2)]
    assert (list(piece.kinds), list(piece.external)) == ([4, 0, 0], [0, 1, 1])
