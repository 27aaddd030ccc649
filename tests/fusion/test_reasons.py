"""Reasons agree with the groups, and what they name is what has to change."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tvmlab import fusion
from tvmlab.errors import GraphError
from tvmlab.fusion import Graph, Kind, read_onnx
from tvmlab.fusion.partition import literally
from tvmlab.fusion.reasons import removal
from tvmlab.fusion.rule import Rule

NETWORKS = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)


def random_graph(rng, kinds=(0, 0, 0, 1, 2, 2, 3, 4, 7, 8)):
    nodes = rng.randint(2, 16)
    inputs = [[rng.randint(max(-1, v - 5), v - 1) for _ in range(rng.randint(1, 2))] for v in range(nodes)]
    read = {operand for operands in inputs for operand in operands}
    external = [v for v in range(nodes) if v not in read or rng.random() < 0.05]
    return Graph.from_kinds(rng.choices(kinds, k=nodes), inputs, external)


def check(grouping, a, b):
    """The decision agrees with the groups, and its removal with its rule; returns the rule."""
    decision = grouping.decision(a, b)
    assert decision.merged == grouping.together(a, b)
    words = "share a kernel" if decision.merged else "stay apart"
    assert words in grouping.why(a, b)
    if decision.path:
        assert decision.path[0] == decision.node
        assert decision.path[-1] == decision.into
        steps = zip(decision.path, decision.path[1:], strict=False)
        assert all(after in grouping.graph.readers(before) for before, after in steps)
    if not decision.merged and decision.rule is not Rule.UNREAD:
        again = grouping.changed(removal(grouping, decision)).decision(decision.node)
        assert again.rule is not decision.rule
    return decision.rule


def test_two_hundred_pairs_of_the_networks():
    rng = random.Random(0)
    for name in NETWORKS:
        grouping = fusion.partition(read_onnx(f"light_{name}.onnx").graph)
        graph = grouping.graph
        refused = [(e.producer, e.consumer) for e in graph.edges() if not grouping.together(e.producer, e.consumer)]
        pairs = rng.sample(refused, min(12, len(refused)))
        pairs += [tuple(sorted(rng.sample(range(len(graph)), 2))) for _ in range(12)]
        for a, b in pairs:
            check(grouping, a, b)


def test_every_pair_of_random_graphs_and_every_rule():
    rng = random.Random(1)
    rules = set()
    for _ in range(150):
        graph = random_graph(rng)
        grouping = fusion.partition(graph, rng.choice((2, 3, 5, 256)))
        rules |= {check(grouping, a, b) for b in range(len(graph)) for a in range(b)}
    assert rules == {*Rule} - {Rule.NOT_ITS_TURN, Rule.ALREADY, Rule.UNREAD}


CASES = [
    (
        "conv1 and add1 stay apart: cumsum1 on the path conv1 → cumsum1 → add1 is opaque",
        [("conv1", "oef", []), ("cumsum1", "opaque", ["conv1"]), ("add1", "elem", ["conv1", "cumsum1"])],
        ("conv1", "add1"),
    ),
    (
        "If cumsum1 was elem, this would not stand in the way.",
        [("conv1", "oef", []), ("cumsum1", "opaque", ["conv1"]), ("add1", "elem", ["conv1", "cumsum1"])],
        ("conv1", "add1"),
    ),
    (
        "add is in one group with conv1 already, which is oef, and conv2 (oef) is not fused into that",
        [("conv1", "oef", []), ("conv2", "oef", []), ("add", "elem", ["conv1", "conv2"])],
        ("conv2", "add"),
    ),
    (
        "sum is reduce, and reductions are not fused into what follows",
        [("sum", "reduce", []), ("relu", "elem", ["sum"])],
        ("sum", "relu"),
    ),
    (
        "the group of conv ends with relu; pool is oef, and nothing is fused in front of that",
        [("conv", "oef", []), ("relu", "elem", ["conv"]), ("pool", "oef", ["relu"])],
        ("conv", "pool"),
    ),
    (
        "everything made from conv (oef) flows into relu, and phase 0 merged the two",
        [("conv", "oef", []), ("relu", "elem", ["conv"])],
        ("conv", "relu"),
    ),
    (
        "sum is reduce, and view (inj) is not fused into that",
        [("view", "inj", []), ("sum", "reduce", ["view"])],
        ("view", "sum"),
    ),
    (
        "it leaves the graph at b and c",
        [("a", "elem", []), ("b", "elem", ["a"]), ("c", "elem", ["a"])],
        ("a", "b"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("told", "nodes", "pair"), CASES)
def test_sentences(told, nodes, pair):
    names = [name for name, _, _ in nodes]
    inputs = [[names.index(i) for i in given] or [-1] for _, _, given in nodes]
    read = {i for operands in inputs for i in operands}
    graph = Graph.from_kinds(
        [kind for _, kind, _ in nodes], inputs, [v for v in range(len(nodes)) if v not in read], labels=names
    )
    assert told in fusion.partition(graph).why(*pair)
    assert told in fusion.partition(graph).why(*reversed(pair))


def test_an_output_in_the_middle_and_a_limit_are_named():
    graph = Graph.from_kinds([0] * 4, [[-1], [0], [1], [2]], [1, 3])
    assert "1 is needed outside of the graph" in fusion.partition(graph).why(1, 2)
    assert "more than 2 nodes" in fusion.partition(Graph.from_kinds([0] * 3, [[-1], [0], [1]]), 2).why(1, 2)


def test_what_if_a_kind_a_limit_or_a_phase_were_different():
    graph = Graph.from_kinds([4, 0, 2], [[-1], [0], [1]], labels=["conv", "relu", "view"])
    grouping = fusion.partition(graph)
    assert grouping.groups == [[0, 1], [2]]
    assert grouping.what_if(kinds={"conv": "elem"}).groups == [[0, 1, 2]]
    assert grouping.what_if(kinds={"relu": "opaque"}, max_depth=5).groups == [[0], [1], [2]]
    assert grouping.what_if(max_depth=1).groups == [[0], [1], [2]]
    assert grouping.what_if(without=["phase0"]).groups == [[0], [1, 2]]
    assert grouping.groups == [[0, 1], [2]]
    for options in ({"kinds": {"konv": "elem"}}, {"kinds": {"conv": "elm"}}, {"without": ["phase3"]}):
        with pytest.raises(GraphError):
            grouping.what_if(**options)


def test_phases_that_are_left_out_are_left_out_of_the_literal_account_too():
    rng = random.Random(2)
    for _ in range(600):
        graph = random_graph(rng)
        grouping = fusion.partition(graph)
        for phases in ((), (0,), (1,), (2,), (0, 1), (1, 2), (0, 2)):
            without = [f"phase{p}" for p in (0, 1, 2) if p not in phases]
            assert grouping.what_if(without=without).groups == literally(graph, phases=phases)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"max_depth": "8"}, "max_depth='8' is no whole number"),
        ({"max_depth": 8.0}, "max_depth=8.0 is no whole number"),
        ({"max_depth": True}, "max_depth=True is no whole number"),
        ({"kinds": ["relu"]}, "kinds=\\['relu'\\] is no mapping"),
        ({"without": 2}, "without=2 is no list of phases"),
        ({"without": [["phase2"]]}, "is not known"),
        ({"without": "phase9"}, "without='phase9' is not known"),
    ],
)
def test_what_if_of_what_is_no_change_is_refused(options, complaint):
    grouping = fusion.partition(Graph.from_kinds([4, 0], [[-1], [0]], labels=["conv", "relu"]))
    with pytest.raises(GraphError, match=complaint):
        grouping.what_if(**options)


def test_one_phase_needs_no_list_and_a_number_may_be_numpys():
    grouping = fusion.partition(Graph.from_kinds([4, 0, 2], [[-1], [0], [1]]))
    assert grouping.what_if(without="phase0").groups == grouping.what_if(without=["phase0"]).groups == [[0], [1, 2]]
    assert grouping.what_if(max_depth=np.int64(1)).groups == [[0], [1], [2]]
    assert fusion.partition(grouping.graph, np.int32(1)).groups == [[0], [1], [2]]


def test_a_group_is_asked_for_by_a_number_or_a_label_of_a_node():
    grouping = fusion.partition(Graph.from_kinds([4, 0, 2], [[-1], [0], [1]], labels=["conv", "relu", "view"]))
    assert grouping.group_of("conv") == [0, 1]
    assert grouping.kind("relu") is Kind.OEF
    assert grouping.together("conv", 1)
    for ask in (grouping.group_of, grouping.kind, lambda node: grouping.together(0, node)):
        for node in (-1, 3, "konv"):
            with pytest.raises(GraphError, match="there is no node"):
                ask(node)
