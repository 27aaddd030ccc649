"""Every rule decides some graph: change any one of them, and a known group comes out wrong.

The rules are changed in the source text, and the changed algorithm is run on the graphs below.  What is asked of each
change is that at least one graph notices it; what is asked of the graphs, that the unchanged algorithm and TVM agree.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types

import pytest

from tvmlab import fusion
from tvmlab.fusion import Graph, postdom, quick
from tvmlab.pipeline.abstract import groups_by_tvm

literal = importlib.import_module("tvmlab.fusion.partition")

ELEM, BCAST, INJ, REDUCE, OEF, TUPLE, OPAQUE = fusion.Kind

# kinds, inputs, max_depth, right groups
GRAPHS = {
    "phase 1 comes after phase 0, and an anchor raises its sink's kind": (
        [OEF, ELEM, BCAST], [[-1], [0], [1]], 256, [[0, 1], [2]],
    ),
    "a group's kind is not the largest of its members'": (
        [INJ, TUPLE, ELEM], [[-1], [0], [1]], 256, [[0, 1, 2]],
    ),
    "path kinds are collected along the tree": (
        [OEF, ELEM, ELEM, BCAST], [[-1], [0], [0], [2, 1]], 256, [[0], [1, 2, 3]],
    ),
    "inner nodes are merged too": (
        [ELEM, INJ, REDUCE], [[-1], [0], [0, 1]], 256, [[0, 1, 2]],
    ),
    "an anchor needs an elem way": ([OEF, BCAST], [[-1], [0]], 256, [[0], [1]]),
    "records that were merged away are still counted": (
        [INJ, ELEM, ELEM], [[-1], [0], [0, 1]], 3, [[0], [1, 2]],
    ),
    "elem goes before inj": ([ELEM, INJ], [[-1], [0]], 256, [[0, 1]]),
    "elem goes before reduce": ([ELEM, REDUCE], [[-1], [0]], 256, [[0, 1]]),
    "bcast goes before reduce": ([BCAST, REDUCE], [[-1], [0]], 256, [[0, 1]]),
    "elem does not go before oef": ([ELEM, OEF], [[-1], [0]], 256, [[0], [1]]),
    "elem goes into a group that became oef": (
        [OEF, ELEM, ELEM], [[-1], [-1], [0, 1]], 256, [[0, 1, 2]],
    ),
    "inj does not go before reduce": ([INJ, REDUCE], [[-1], [0]], 256, [[0], [1]]),
    "inj goes before inj": ([INJ, INJ], [[-1], [0]], 256, [[0, 1]]),
    "inj does not go into a group with an anchor": (
        [OEF, INJ, ELEM], [[-1], [-1], [0, 1]], 256, [[1], [0, 2]],
    ),
    "inj waits until the anchors are done": (
        [INJ, OEF, ELEM, ELEM], [[-1], [-1], [0], [1, 2]], 256, [[0], [1, 2, 3]],
    ),
    "reduce starts nothing": ([REDUCE, ELEM], [[-1], [0]], 256, [[0], [1]]),
    "opaque starts nothing": ([OPAQUE, ELEM], [[-1], [0]], 256, [[0], [1]]),
    "nothing goes into opaque": ([ELEM, OPAQUE], [[-1], [0]], 256, [[0], [1]]),
    "two anchors never share a group": (
        [OEF, OEF, ELEM], [[-1], [-1], [0, 1]], 256, [[1], [0, 2]],
    ),
    "an opaque node on one of two ways": (
        [ELEM, OPAQUE, ELEM], [[-1], [0], [0, 1]], 256, [[0], [1], [2]],
    ),
    "an inner node may be in a group with an anchor": (
        [ELEM, OEF, ELEM, ELEM], [[-1], [-1], [0, 1], [0, 2]], 256, [[0, 1, 2, 3]],
    ),
    "a reduce on one of two ways": (
        [ELEM, REDUCE, ELEM], [[-1], [0], [0, 1]], 256, [[0], [1], [2]],
    ),
    "an output in the middle": ([ELEM, ELEM, ELEM], [[-1], [0], [1]], 256, [[0, 1], [2]]),
    "two readers that never meet": ([ELEM, ELEM, ELEM], [[-1], [0], [0]], 256, [[0], [1], [2]]),
    "a value that is read twice by one": ([ELEM, ELEM], [[-1], [0, 0]], 256, [[0, 1]]),
    "no larger than the limit": ([ELEM] * 3, [[-1], [0], [1]], 2, [[0, 1], [2]]),
    "exactly as large as the limit": ([ELEM] * 3, [[-1], [0], [1]], 3, [[0, 1, 2]]),
    "the limit counts inner nodes": ([ELEM] * 4, [[-1], [0], [0], [1, 2]], 3, [[0], [1, 2, 3]]),
    "an anchor takes a diamond of elem": (
        [OEF, ELEM, ELEM, ELEM], [[-1], [0], [0], [1, 2]], 256, [[0, 1, 2, 3]],
    ),
    "an anchor does not take elem that a bcast follows": (
        [OEF, ELEM, BCAST, ELEM], [[-1], [0], [0], [1, 2]], 256, [[0], [1, 2, 3]],
    ),
    "elem before tuple waits": ([ELEM, TUPLE, OPAQUE], [[-1], [0], [1]], 256, [[0], [1], [2]]),
    "fields go in after the tuple": (
        [ELEM, INJ, TUPLE, INJ], [[-1], [-1], [0, 1], [2]], 256, [[0, 1, 2, 3]],
    ),
    "fields do not go into a tuple that was taken by nobody": (
        [INJ, TUPLE, OPAQUE], [[-1], [0], [1]], 256, [[0], [1], [2]],
    ),
    "no anchor into a tuple": ([OEF, TUPLE, INJ], [[-1], [0], [1]], 256, [[0], [1, 2]]),
    "path kinds are collected from the first reader on": (
        [OEF, ELEM, ELEM, BCAST, ELEM], [[-1], [0], [0], [1], [2, 3]], 256, [[0], [1, 2, 3, 4]],
    ),
    "path kinds are collected from every other reader on": (
        [OEF, ELEM, ELEM, BCAST, ELEM], [[-1], [0], [0], [2], [1, 3]], 256, [[0], [1, 2, 3, 4]],
    ),
    "an inner node counts as what its group has become": (
        [ELEM, OEF, ELEM, ELEM, ELEM], [[-1], [-1], [-1], [0, 2], [0, 1, 2, 3]], 256, [[2], [0, 1, 3, 4]],
    ),
    "two inj ways that never meet": ([INJ, ELEM, INJ], [[-1], [0], [0]], 256, [[0], [1], [2]]),
    "the limit counts inner groups": (
        [BCAST, OEF, ELEM, ELEM], [[-1], [-1], [0, 1], [1, 2]], 3, [[1], [0, 2, 3]],
    ),
    "the limit counts the whole group of the post-dominator": (
        [INJ, ELEM, BCAST], [[-1], [0], [1]], 2, [[0], [1, 2]],
    ),
    "an inner node counts once, by however many ways": (
        [ELEM, BCAST, INJ, INJ], [[-1], [0], [0, 1], [0, 2]], 4, [[0, 1, 2, 3]],
    ),
    "groups grow by whole groups": (
        [ELEM, ELEM, INJ, INJ], [[-1], [0, 0], [0, 1], [2]], 3, [[0, 1, 2], [3]],
    ),
    "elem that took an anchor in does not go into a tuple": (
        [OEF, ELEM, TUPLE, ELEM], [[-1], [0], [1], [2]], 256, [[0, 1], [2, 3]],
    ),
    "elem before an anchor's sink, through it": (
        [OEF, ELEM, INJ], [[-1], [0], [1]], 256, [[0, 1], [2]],
    ),
}  # fmt: skip
OUTPUTS = {
    "an output in the middle": [1, 2],
    "two readers that never meet": [1, 2],
    "two inj ways that never meet": [1, 2],
}


def graph_of(name):
    kinds, inputs, _, _ = GRAPHS[name]
    return Graph.from_kinds(kinds, inputs, OUTPUTS.get(name, [len(kinds) - 1]))


@pytest.mark.parametrize("name", GRAPHS)
def test_the_groups_are_right(name):
    _, _, max_depth, right = GRAPHS[name]
    graph = graph_of(name)
    assert fusion.partition(graph, max_depth).groups == right
    assert literal.literally(graph, max_depth) == right
    if TUPLE not in graph.kinds:
        assert groups_by_tvm(graph, max_depth) == right


# one line of the source, and what it is changed to
CHANGES_OF_THE_TEXT = [
    ("for phase in phases:", "for phase in 1, 0, 2:"),
    ("for phase in phases:", "for phase in 1, 2:"),
    ("for phase in phases:", "for phase in 0, 2:"),
    ("for phase in phases:", "for phase in 0, 1:"),
    ("count = groups.size[groups.find(parent)] + sum(", "count = sum("),
    ("count = groups.size[groups.find(parent)] + sum(", "count = groups.size[parent] + sum("),
    ("groups.size[own] for own in (node, *inner)", "groups.size[own] for own in (node,)"),
    ("groups.size[own] for own in (node, *inner)", "groups.size[own] for own in inner"),
    ("groups.size[own] for own in (node, *inner)", "1 for own in (node, *inner)"),
    ("count <= max_depth and", "count < max_depth and"),
    ("count <= max_depth and", ""),
    ("for member in (node, *inner):", "for member in (node,):"),
    ("groups.kind[groups.find(member)] for member in inner", "groups.kind[member] for member in inner"),
    ("parent_kind = groups.kind[groups.find(parent)]", "parent_kind = groups.kind[parent]"),
    ("return own <= INJ and taken_in and all(", "return taken_in and all("),
    ("return own <= INJ and taken_in and all(kind <= INJ for kind in (*inner_kinds, parent_kind))", "return False"),
    ("return phase == 0 and path_kind == ELEM and all(", "return phase == 0 and path_kind <= BCAST and all("),
    ("return phase == 0 and path_kind == ELEM and all(", "return phase == 0 and all("),
    ("all(kind <= BCAST for kind in (*inner_kinds, parent_kind))", "True"),
    ("if own <= BCAST:", "if own <= ELEM:"),
    ("if own <= BCAST:", "if own <= BCAST and phase == 1:"),
    ("path_fits = path_kind <= INJ or path_kind == REDUCE", "path_fits = True"),
    ("path_fits = path_kind <= INJ or path_kind == REDUCE", "path_fits = path_kind <= INJ"),
    ("path_fits = path_kind <= INJ or path_kind == REDUCE", "path_fits = path_kind == REDUCE"),
    ("path_fits = path_kind <= INJ or path_kind == REDUCE", "path_fits = path_kind <= BCAST or path_kind == REDUCE"),
    ("all(kind <= INJ for kind in inner_kinds) and parent_kind <= OEF", "parent_kind <= OEF"),
    ("all(kind <= INJ for kind in inner_kinds)", "all(kind <= BCAST for kind in inner_kinds)"),
    ("and parent_kind <= OEF", "and parent_kind <= REDUCE"),
    ("if own in (INJ, TUPLE):", "if own in (INJ,):"),
    ("if own in (INJ, TUPLE):", "if own in (TUPLE,):"),
    ("return phase == 1 and all(", "return all("),
    ("return phase == 1 and all(kind <= INJ", "return phase == 1 and all(kind <= OEF"),
    ("return phase == 1 and all(kind <= INJ", "return phase == 1 and all(kind <= BCAST"),
    ("return False  # reduce, opaque", "return True"),
    ("return False  # reduce, opaque", "return own == REDUCE"),
    ("if graph.external[node] or not readers:", "if not readers:"),
    ("path_kind = max(graph.kinds[reader] for reader in readers)", "path_kind = graph.kinds[readers[0]]"),
    ("path_kind = max(path_kind, path_kinds[meet])", "pass"),
    ("path_kind = max(path_kind, path_kinds[other])", "pass"),
    ("meet = meet if meet == other else None", "meet = meet if meet == other else reader"),
    ("self.size[group] += self.size[child]", "pass"),
    ("self.kind[group] = max(self.kind[child], self.kind[group])", "pass"),
    ("if self.has_anchor[child]:", "if True:"),
]  # fmt: skip

CHANGES_OF_THE_QUICK_ONE = [
    ("(path_kinds > REDUCE)", "(path_kinds > INJ)"),
    ("(path_kinds > REDUCE)", "(path_kinds > OEF)"),
    ("(path_kinds > REDUCE)", "(path_kinds > TUPLE)"),
    ("way_limit, sink_limit = INJ, OEF", "way_limit, sink_limit = BCAST, OEF"),
    ("way_limit, sink_limit = INJ, OEF", "way_limit, sink_limit = OEF, OEF"),
    ("way_limit, sink_limit = INJ, OEF", "way_limit, sink_limit = INJ, REDUCE"),
    ("if path_kind[node]:", "if path_kind[node] > BCAST:"),
    ("way_limit = sink_limit = BCAST", "way_limit = sink_limit = OEF"),
    ("((kinds <= BCAST) | (kinds == OEF))", "(kinds <= BCAST)"),
    ("((kinds <= BCAST) | (kinds == OEF))", "(kinds != BCAST)"),
    ("(kinds == INJ) | (kinds == TUPLE)", "(kinds == INJ)"),
    ("(kinds == INJ) | (kinds == TUPLE)", "(kinds == TUPLE)"),
    ("inside & (kinds <= INJ)", "inside & (kinds <= BCAST)"),
    ("inside & (kinds <= INJ)", "inside & (kinds == INJ)"),
    ("kinds[parents[into_tuple]] == TUPLE", "False"),
    ("if kind[sink] > sink_limit:", "if False:"),
    ("total = size[sink] + size[node]", "total = size[node]"),
    ("total = size[sink] + size[node]", "total = size[sink]"),
    ("total = size[sink] + size[node]", "total = size[into] + size[node]"),
    ("if seen[reader] == search or reader == into:", "if reader == into:"),
    ("total += size[reader]", "total += 1"),
    ("if total > max_depth:\n                    rule", "if total >= max_depth:\n                    rule"),
    ("if total > max_depth:\n                            rule", "if False:\n                            rule"),
    ("for member in inner[1:]:", "for member in ():"),
    ("size[sink] += size[child]", "pass"),
    ("size[sink] += size[node]", "pass"),
    ("kind[sink] = OEF", "pass"),
    ("if kind[group] > way_limit:", "if False:"),
    ("if kind[group] > way_limit:", "if kind[reader] > way_limit:"),
]

CHANGES_OF_POST_DOMINATORS = [
    ("or external[node]:", ":"),
    ("if answer_kind > kind:", "if False:"),
    ("if kinds[reader] > kind:", "if False:"),
    ("meet = answer\n", "pass\n"),
    ("over = max(path_kind[a], path_kind[b])", "over = 0"),
    ("over, a = path_kind[a], parent[a]", "over, a = 0, parent[a]"),
]


def changed(module, line, to):
    """The module with a line changed, under a name of its own."""
    source = inspect.getsource(module)
    assert line in source, f"the line is no longer there: {line}"
    made = types.ModuleType("changed")
    sys.modules["changed"] = made
    try:
        exec(compile(source.replace(line, to), "changed", "exec"), made.__dict__)
    finally:
        del sys.modules["changed"]
    return made


def notices(group):
    """Whether some graph is grouped wrongly."""
    return any(group(graph_of(name), GRAPHS[name][2]) != GRAPHS[name][3] for name in GRAPHS)


@pytest.mark.parametrize(("line", "to"), CHANGES_OF_THE_TEXT)
def test_a_changed_rule_of_the_text_is_noticed(line, to):
    assert notices(changed(literal, line, to).literally)


@pytest.mark.parametrize(("line", "to"), CHANGES_OF_THE_QUICK_ONE)
def test_a_changed_rule_of_the_quick_one_is_noticed(line, to):
    made = changed(quick, line, to)
    assert notices(lambda graph, max_depth: made.group_quickly(graph, max_depth).groups)


@pytest.mark.parametrize(("line", "to"), CHANGES_OF_POST_DOMINATORS)
def test_a_changed_post_dominator_is_noticed(line, to, monkeypatch):
    made = changed(postdom, line, to)
    monkeypatch.setattr(quick, "post_dominators", made.post_dominators)
    assert notices(lambda graph, max_depth: fusion.partition(graph, max_depth).groups)
