"""The decisions of a partition, one after the other."""

from __future__ import annotations

import importlib

from hypothesis import given, settings
from hypothesis import strategies as st

from tvmlab.fusion import Graph, Kind, impose, partition
from tvmlab.fusion.reasons import decision_at, verdict
from tvmlab.fusion.replay import first_groups, replayed, turns
from tvmlab.fusion.rule import Rule
from tvmlab.fusion.templates import Match

literally = importlib.import_module("tvmlab.fusion.partition").literally
KINDS = [kind.value for kind in Kind]


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 14))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=count, max_size=count))
    inputs = [draw(st.lists(st.integers(0, node - 1), max_size=2)) if node else [] for node in range(count)]
    return Graph.from_kinds(kinds, inputs, draw(st.sets(st.integers(0, count - 1), max_size=2)))


@settings(deadline=None, max_examples=50)
@given(graphs(), st.sampled_from([2, 4, 256]))
def test_the_groups_after_each_phase_are_those_of_the_plain_algorithm(graph, max_depth):
    grouping = partition(graph, max_depth)
    made = turns(grouping)
    assert [turn.phase for turn in made] == sorted(turn.phase for turn in made)
    for phase in range(3):
        until = [turn for turn in made if turn.phase <= phase]
        assert replayed(grouping, until) == literally(graph, max_depth, range(phase + 1))
    assert replayed(grouping, []) == [[node] for node in range(len(graph))]


@settings(deadline=None, max_examples=50)
@given(graphs())
def test_every_turn_has_a_verdict_of_its_own_rule(graph):
    grouping = partition(graph)
    for turn in turns(grouping):
        decision = decision_at(grouping, turn.phase, turn.node)
        assert (decision.rule, decision.node, decision.into) == (turn.rule, turn.node, turn.into)
        assert set(decision.path[1:-1]) <= set(turn.inner)
        assert verdict(grouping, decision).startswith("Merged: " if turn.merged else "Not merged: ")


def test_each_node_that_starts_no_merge_has_one_turn_with_the_reason():
    grouping = partition(Graph.from_kinds(["opaque", "elem", "elem", "elem"], [[], [0], [1], [1]], [2]))
    assert [(turn.node, turn.rule) for turn in turns(grouping)] == [
        (0, Rule.OWN_KIND),
        (1, Rule.NO_MEETING),
        (2, Rule.EXTERNAL),
        (3, Rule.UNREAD),
    ]


def test_what_a_template_put_together_is_there_from_the_start():
    graph = Graph.from_kinds(["oef", "bcast", "elem"], [[], [0], [1]], [2])
    grouping = impose(graph, [Match("two", (0, 1), {})])
    assert first_groups(grouping) == [[0, 1], [2]]
    assert replayed(grouping, turns(grouping)) == grouping.groups


def test_phases_that_are_left_out_have_no_turns():
    graph = Graph.from_kinds(["oef", "elem", "reduce"], [[], [0], [1]], [2])
    made = turns(partition(graph).what_if(without=["phase0"]))
    assert {turn.phase for turn in made} == {1}
