"""The groups: known ones, the literal account, and TVM's own."""

from __future__ import annotations

import importlib
import random
import re
import sys
import types

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tvmlab import fusion
from tvmlab.fusion import Graph
from tvmlab.fusion.families import FAMILIES
from tvmlab.fusion.partition import _inner, literally
from tvmlab.fusion.postdom import post_dominators
from tvmlab.pipeline.abstract import groups_by_tvm

DEPTHS = (*range(1, 11), 256)


@st.composite
def unstructured(draw, kinds, largest=14):
    """Nodes that read up to three of the nodes before; what nobody reads is an output, like a few others."""
    nodes = draw(st.integers(1, largest))
    given_kinds = draw(st.lists(st.sampled_from(kinds), min_size=nodes, max_size=nodes))
    inputs = [draw(st.lists(st.integers(-1, v - 1), min_size=1, max_size=3)) for v in range(nodes)]
    escaping = draw(st.sets(st.integers(0, nodes - 1), max_size=2))
    return complete(given_kinds, inputs, escaping)


@st.composite
def structured(draw, kinds):
    """A graph of a family, with random kinds."""
    name = draw(st.sampled_from([name for name in FAMILIES if name != "random wide"]))
    seed, nodes = draw(st.integers(0, 2**16)), draw(st.integers(2, 40))
    rng = random.Random(seed)
    made, inputs = FAMILIES[name](nodes, rng)
    chosen = rng.choices(kinds, k=len(made)) if draw(st.booleans()) else made
    return complete(chosen, inputs, draw(st.sets(st.integers(0, len(made) - 1), max_size=1)))


def complete(kinds, inputs, escaping):
    read = {operand for operands in inputs for operand in operands}
    return Graph.from_kinds(kinds, inputs, escaping | {v for v in range(len(kinds)) if v not in read})


def parts(graph):
    return graph.kinds, [list(edge) for edge in graph.edges()], list(graph.external)


RELAX_KINDS = (0, 0, 0, 1, 1, 2, 2, 3, 4, 8)
ALL_KINDS = (0, 0, 0, 1, 1, 2, 2, 3, 4, 7, 7, 8)
QUICK = settings(
    max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@QUICK
@given(unstructured(RELAX_KINDS), st.sampled_from(DEPTHS))
def test_unstructured_graphs_are_grouped_as_by_tvm(graph, max_depth):
    assert fusion.partition(graph, max_depth).groups == groups_by_tvm(graph, max_depth)


@QUICK
@given(structured(RELAX_KINDS), st.sampled_from(DEPTHS))
def test_graphs_of_families_are_grouped_as_by_tvm(graph, max_depth):
    assert fusion.partition(graph, max_depth).groups == groups_by_tvm(graph, max_depth)


@QUICK
@given(st.one_of(unstructured(ALL_KINDS, largest=20), structured(ALL_KINDS)), st.sampled_from(DEPTHS))
def test_quick_and_literal_groups_are_equal_with_tuples_too(graph, max_depth):
    assert fusion.partition(graph, max_depth).groups == literally(graph, max_depth)


@settings(QUICK, max_examples=200)
@given(st.one_of(unstructured(ALL_KINDS), structured(ALL_KINDS)), st.sampled_from(DEPTHS))
def test_groups_part_the_nodes_and_only_the_last_of_each_is_read_outside(graph, max_depth):
    found = fusion.partition(graph, max_depth)
    assert sorted(node for group in found.groups for node in group) == list(range(len(graph)))
    assert [group[-1] for group in found.groups] == sorted(group[-1] for group in found.groups)
    for group in found.groups:
        members = set(group)
        assert group == sorted(group)
        assert all(not graph.external[v] and members.issuperset(graph.readers(v)) for v in group[:-1])
    assert len(found) == len(found.groups)


def test_the_path_kind_is_the_largest_kind_on_all_ways_and_the_weight_counts_no_node_twice():
    rng = random.Random(5)
    for _ in range(500):
        inputs = [[rng.randint(max(-1, v - 8), v - 1) for _ in range(rng.randint(1, 3))] for v in range(16)]
        graph = Graph.from_kinds(rng.choices(ALL_KINDS, k=16), inputs, [15])
        tree = post_dominators(graph)
        for node in range(16):
            into = tree.of(node)
            if into is not None:
                inner = _inner(graph, node, into)
                assert tree.path_kind[node] == max(graph.kinds[at] for at in (*inner, into))
                assert 1 <= tree.weight[node] - tree.weight[into] <= 1 + len(inner)


@pytest.mark.parametrize(
    ("nodes", "groups"), [(20_000, 79), (300, 2)], ids=["as many as TVM makes", "the first 256, then the rest"]
)
def test_a_long_chain_is_cut_at_the_limit(nodes, groups):
    graph = Graph.from_kinds([0] * nodes, [[v - 1] for v in range(nodes)])
    assert len(fusion.partition(graph).groups) == groups


def test_no_recursion():
    limit = sys.getrecursionlimit()
    chain = Graph.from_kinds([0] * 100_000, [[v - 1] for v in range(100_000)])
    fan = Graph.from_kinds([0] * 100_001, [*([v - 1] for v in range(100_000)), range(100_000)])
    sys.setrecursionlimit(200)
    try:
        sizes = [len(fusion.partition(graph)) for graph in (chain, fan)]
    finally:
        sys.setrecursionlimit(limit)
    assert sizes == [391, 99_746]


def test_the_examples_of_the_text_are_right():
    text = " ".join(importlib.import_module("tvmlab.fusion.partition").__doc__.split())
    examples = re.findall(r"``(0 [^`]*)``(?: with max_depth (\d+))? gives ``([^`]*)``", text)
    assert len(examples) == 7
    for nodes, max_depth, right in examples:
        parts = [re.fullmatch(r"(\d+) (\w+) \((.*)\)", node).groups() for node in nodes.split("; ")]
        assert [int(number) for number, _, _ in parts] == list(range(len(parts)))
        inputs = [[int(i) for i in operands.split(", ")] if operands else [-1] for _, _, operands in parts]
        graph = Graph.from_kinds([kind for _, kind, _ in parts], inputs, [len(parts) - 1])
        groups = fusion.partition(graph, int(max_depth or 256)).groups
        assert " ".join("{" + ", ".join(map(str, group)) + "}" for group in groups) == right


def test_the_function_is_not_hidden_by_the_module_of_its_name():
    assert isinstance(importlib.import_module("tvmlab.fusion.partition"), types.ModuleType)
    assert callable(fusion.partition)
    assert not isinstance(fusion.partition, types.ModuleType)
