"""The fusion stepper's side in Python: what the page gets, and what it is answered."""

from __future__ import annotations

import json

import pytest

from tvmlab.errors import CallError
from tvmlab.fusion import Graph, impose, partition
from tvmlab.fusion.replay import replayed, turns
from tvmlab.fusion.templates import Match
from tvmlab.records import Group, Partition
from tvmlab.show import explorers, stepping

LABELS = ["conv", "relu", "scale", "sum"]


def chain():
    return Graph.from_kinds(["oef", "elem", "bcast", "reduce"], [[], [0], [0, 1], [2]], [3], labels=LABELS)


@pytest.fixture
def opened(monkeypatch):
    """Explore a record: what the page gets, and a function that asks as the page does."""

    def open_(record):
        seen = {}

        def widget(bundle, shown, facts, answer, position):
            seen.update(bundle=bundle, record=shown, facts=json.loads(json.dumps(facts)), position=position)

            def ask(what, kinds=None, max_depth=256, without=(), **more):
                changes = {"kinds": kinds or {}, "max_depth": max_depth, "without": list(without)}
                return json.loads(json.dumps(answer({"what": what, "changes": changes, **more})))

            return ask

        monkeypatch.setattr(stepping, "widget", widget)
        return seen, record.explore()

    return open_


def groups_after(answer):
    """The groups that the page makes of an answer in the end."""
    group_of = {node: group for group in map(list, answer["start"]) for node in group}
    for _, node, into, inner, rule in answer["turns"]:
        for member in [node, *inner] if rule == "MERGED" else []:
            if group_of[member] is not group_of[into]:
                taken = group_of[member]
                group_of[into] += taken
                group_of.update(dict.fromkeys(taken, group_of[into]))
    return sorted({tuple(sorted(group)) for group in group_of.values()}, key=max)


def test_the_page_gets_the_decisions_of_the_partition(opened):
    grouping = partition(chain())
    record = grouping.record("block", "python", "relax")
    seen, ask = opened(record)
    assert (seen["bundle"], seen["record"], seen["position"]) == ("stepper", record, len(turns(grouping)))
    assert [node["label"] for node in seen["facts"]["nodes"]] == LABELS
    scene = ask("scene", folded=False)
    assert [tuple(group) for group in grouping.groups] == groups_after(scene)
    assert scene["kernels"] == [4, len(grouping.groups)]
    assert {tile["node"] for tile in scene["scene"]["tiles"]} == {0, 1, 2, 3}
    assert {(a["start"], a["end"]) for a in scene["tree"]["arrows"]} == {(0, 2), (1, 2), (2, 3), (3, -1)}
    first = ask("turn", turn=0)
    assert first["culprits"] == [2]
    assert first["path"][0] == 0
    assert first["path"][-1] == 2
    assert first["text"].startswith("Not merged: scale on the path")
    assert ask("why", a=2, b=3) == record.why("scale", "sum")


@pytest.mark.parametrize(
    "changes",
    [{"kinds": {2: "ELEM"}}, {"max_depth": 1}, {"without": ["phase0"]}, {"kinds": {3: "OPAQUE"}, "max_depth": 2}],
)
def test_what_if_is_that_of_the_grouping(opened, changes):
    grouping = partition(chain())
    _, ask = opened(grouping.record("block", "python", "relax"))
    expected = grouping.what_if(
        **{k: {n: s.lower() for n, s in v.items()} if k == "kinds" else v for k, v in changes.items()}
    )
    assert groups_after(ask("scene", folded=False, **changes)) == [tuple(group) for group in expected.groups]


def test_phases_that_were_left_out_can_be_switched_on(opened):
    graph = chain()
    _, ask = opened(partition(graph).what_if(without=["phase0", "phase1"]).record("block", "python", "relax"))
    again = ask("scene", folded=False, without=[])
    assert groups_after(again) == [tuple(group) for group in partition(graph).groups]


def test_what_a_template_matched_is_together_before_the_first_decision(opened):
    grouping = impose(chain(), [Match("two", (0, 1))])
    _, ask = opened(grouping.record("block", "python", "onnx"))
    scene = ask("scene", folded=False)
    assert scene["start"] == [[0, 1], [2], [3]]
    assert groups_after(scene) == [tuple(group) for group in replayed(grouping, turns(grouping))]


def test_nodes_that_are_folded_away_are_told(opened):
    graph = Graph.from_kinds(["oef", "elem", "elem"] * 20, [[at - 1] if at else [] for at in range(60)], [59])
    seen, ask = opened(partition(graph, 2).record("line", "python", "relax"))
    assert seen["facts"]["folded"]
    scene = ask("scene", folded=True, max_depth=2)
    tiles = {tile["node"] for tile in scene["scene"]["tiles"]}
    assert tiles | set(map(int, scene["hidden"])) == set(range(60))
    assert not tiles & set(map(int, scene["hidden"]))
    assert scene["hidden"]
    assert not ask("scene", folded=False, max_depth=2)["hidden"]


def test_a_graph_is_explored_from_before_the_first_decision(opened):
    seen, _ = opened(chain())
    assert seen["position"] == 0


def test_a_grouping_is_explored_from_after_the_last_decision(opened):
    seen, _ = opened(partition(chain()))
    assert seen["position"] > 0


def test_what_cannot_be_explored_says_why(opened):
    with pytest.raises(CallError, match="has groups but no graph"):
        opened(Partition("x", "tvm", "relax", (Group("k", ("a",), ("kElemWise",)),), 1, 1))
    with pytest.raises(CallError, match="what can be explored has 1 to 3,000"):
        opened(Graph.from_kinds([], []))


def test_wrong_changes_are_answered_with_an_error(opened):
    _, ask = opened(chain())
    assert "is no whole number" in explorers._reply(lambda _: ask("scene", folded=False, max_depth=-1), {})["error"]
    assert "is no kind" in explorers._reply(lambda _: ask("scene", folded=False, kinds={0: "soft"}), {})["error"]


def test_the_widget_carries_its_script_and_the_static_picture():
    record = partition(chain()).record("block", "python", "relax")
    made = record.explore()
    data, _ = made._repr_mimebundle_()
    assert data["text/html"] == record._repr_mimebundle_()["text/html"]
    assert made._esm == explorers._file("stepper.js")
    assert "http" not in made._esm.replace("http://www.w3.org", "")
    made.close()
