"""Scenes: every node in the box of its group, and every arrow between the nodes that it stands for."""

from __future__ import annotations

import base64
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvmlab import pipeline
from tvmlab.fusion import Graph, Kind, fuse_onnx, partition, read_onnx
from tvmlab.pipeline import stages
from tvmlab.pipeline.grouping import groups_of
from tvmlab.show import graphs, node_words, palette, scene_svg
from tvmlab.show.trees import tree_scene

NETWORKS = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("light_*.onnx"))
HOSTILE = ["<script>alert(1)</script>", "relu" * 2500, "加算ノード", "مرحبا\u202e", "out\"'&\x00\ud800"]


def boxes_of(scene):
    """By geometry alone: for each box that is drawn, the nodes whose tiles lie in it."""
    found = defaultdict(set)
    for tile in scene.tiles:
        around = [
            at
            for at, box in enumerate(scene.boxes)
            if box.x <= tile.x - tile.width / 2
            and tile.x + tile.width / 2 <= box.x + box.width
            and box.y <= tile.y - 11
            and tile.y + 11 <= box.y + box.height
        ]
        assert len(around) == 1
        found[around[0]].add(tile.node)
    return found


@st.composite
def partitions(draw):
    count = draw(st.integers(1, 16))
    kinds = draw(st.lists(st.sampled_from([0, 1, 2, 3, 4, 7, 8]), min_size=count, max_size=count))
    inputs = [draw(st.lists(st.integers(0, node - 1), max_size=3)) if node else [] for node in range(count)]
    return partition(Graph.from_kinds(kinds, inputs, draw(st.sets(st.integers(0, count - 1), max_size=2))))


@settings(deadline=None, max_examples=50)
@given(partitions(), st.booleans())
def test_tiles_lie_in_the_boxes_of_their_groups_and_arrows_end_at_tiles(grouping, folded):
    scene = graphs.nodes_scene(grouping.graph, grouping.groups, folded=folded)
    found = boxes_of(scene)
    for at, nodes in found.items():
        assert sorted(nodes) == grouping.groups[scene.boxes[at].group]
    if not folded:
        assert sorted(map(sorted, found.values())) == sorted(grouping.groups)
        assert {(a.start, a.end) for a in scene.arrows} == set(graphs.paths(grouping.graph))
    tiles = {tile.node: tile for tile in scene.tiles}
    for arrow in scene.arrows:
        for node, point, side in ((arrow.start, arrow.points[0], 11), (arrow.end, arrow.points[-1], -11)):
            if node >= 0:
                assert point == pytest.approx((tiles[node].x, tiles[node].y + side))
        if arrow.start >= 0 and arrow.end >= 0:
            assert arrow.inside == grouping.together(arrow.start, arrow.end)


@settings(deadline=None, max_examples=30)
@given(partitions())
def test_the_lines_of_the_tree_are_the_post_dominators_and_what_was_decided(grouping):
    scene = tree_scene(grouping)
    lines = {arrow.start: arrow for arrow in scene.arrows}
    for node in range(len(grouping.graph)):
        into = grouping.tree.of(node)
        assert lines[node].end == (-1 if into is None else into)
        merged = into is not None and grouping.together(node, into)
        assert lines[node].style == ("end" if into is None else "merged" if merged else "refused")


@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.stem)
def test_what_is_drawn_is_what_tvm_made_of_the_module(path):
    module = stages.import_model(pipeline.load(path), "none").module
    annotated = stages.annotate(stages.legalize(module))
    made = {group.nodes for group in groups_of(annotated, stages.fuse_groups(annotated), {})}
    record = pipeline.fuse(annotated)
    graph = record.grouping.graph
    scene = graphs.nodes_scene(graph, graphs.members(record), folded=False)
    drawn = set()
    for at, nodes in boxes_of(scene).items():
        computing = [node for node in sorted(nodes) if graph.computes[node]]
        assert (scene.boxes[at].number is None) == (not computing)
        drawn |= {tuple(graph.label(node) for node in computing)} if computing else set()
    assert drawn == made


@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.stem)
def test_every_node_is_in_a_box_or_in_a_block_that_is_the_same_as_one_that_is_drawn(path):
    record = fuse_onnx(str(path))
    graph, groups = record.grouping.graph, graphs.members(record)
    scene = graphs.nodes_scene(graph, groups, folded=True)
    hidden = [node for block in scene.blocks if block.folded for at in block.vertices for node in groups[at]]
    assert sorted([*(tile.node for tile in scene.tiles), *hidden]) == list(range(len(graph)))
    drawn = {
        b.name: [graph.operations[n] for at in b.vertices for n in groups[at]] for b in scene.blocks if not b.folded
    }
    for block in scene.blocks:
        if block.folded:
            inside = [graph.operations[node] for at in block.vertices for node in groups[at]]
            assert inside == drawn[block.name] * block.times
    kernels = {at: group.kernel for at, group in enumerate(record.groups, 1)}
    after = graphs.kernels_scene(graph, groups, scene, kernels)
    for box, kernel in zip(scene.boxes, after.boxes, strict=True):
        assert (kernel.y, kernel.height) == pytest.approx((box.y, box.height))
        assert box.folded or kernel.text[0] == record.groups[box.number - 1].kernel


def test_resnet_50_is_small(page):
    record = fuse_onnx(str(next(path for path in NETWORKS if "resnet" in path.stem)))
    drawn = record._repr_mimebundle_()["text/html"]
    assert len(drawn) < 200_000
    (image,) = page(drawn).images
    assert "176 nodes in 58 groups" in image["alt"]


def test_names_of_all_sorts_are_in_the_svg_and_do_not_break_it():
    graph = Graph.from_kinds(["elem"] * 5, [[], [0], [0], [1, 2], [3]], [4], labels=HOSTILE)
    scene = graphs.nodes_scene(graph, partition(graph).groups)
    titles = {node: node_words.title_of(graph, node) for node in range(5)}
    data, width, _ = scene_svg.svg([("<b>", scene)], titles, {"ELEM"})
    root = ET.fromstring(data)
    assert width < 1000
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"<b>", "<script>alert(1)</script>", "加算ノード", "out\"'&��"} <= set(texts)
    assert any(text.startswith("relurelu") and text.endswith("…") and len(text) < 40 for text in texts)
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))


def test_a_title_says_kind_type_attributes_and_bytes():
    (pool,) = [node for node in NETWORKS if "alexnet" in node.stem]
    reading = read_onnx(str(pool))
    title = node_words.title_of(reading.graph, reading.graph.operations.index("MaxPool"))
    assert "MaxPool\nkind oef (kOutEWiseFusable)\nfloat[1, 96, 26, 26]\n" in title
    assert "kernel_shape=[3, 3]" in title
    assert "253.5 KiB written" in title


def test_small_partitions_tell_every_decision(page):
    graph = Graph.from_kinds(["oef", "elem", "reduce"], [[], [0], [1]], [2], labels=["conv", "relu", "sum"])
    shown = page(partition(graph).record("block", "python", "relax")._repr_mimebundle_()["text/html"])
    assert "3 decisions, 1 of them merges, and the tree of post-dominators" in shown.text
    assert "Merged: everything made from conv (oef) flows into relu, and phase 0 merged the two." in shown.text
    assert len(shown.images) == 2
    tree = base64.b64decode(shown.images[1]["src"].partition(",")[2]).decode()
    assert 'class="merged"' in tree
    assert 'class="refused"' in tree


def test_a_grouping_draws_the_graph_beside_its_tree_and_tells_every_decision(page):
    graph = Graph.from_kinds(["oef", "elem", "reduce"], [[], [0], [1]], [2], labels=["conv", "relu", "sum"])
    bundle = partition(graph)._repr_mimebundle_()
    shown = page(bundle["text/html"])
    assert bundle["text/plain"].splitlines() == ["3 nodes in 2 groups", "conv · relu", "sum"]
    assert "3 decisions, 1 of them merges" in shown.text
    (drawn,) = shown.images
    tree = base64.b64decode(drawn["src"].partition(",")[2]).decode()
    for text in ("the graph, in groups", "post-dominators", 'class="merged"', 'class="refused"'):
        assert text in tree
    assert partition(graph).to_dict()["groups"] == [[0, 1], [2]]


def test_a_large_grouping_is_counted(page):
    graph = Graph.from_kinds(["opaque"] * 700, [[]] * 700, range(700))
    bundle = partition(graph)._repr_mimebundle_()
    assert "700 nodes in 700 groups" in page(bundle["text/html"]).text
    assert not page(bundle["text/html"]).images
    assert bundle["text/plain"].endswith("…")


def test_what_is_too_large_is_not_drawn_but_counted(page):
    graph = Graph.from_kinds(["opaque"] * 700, [[]] * 700, range(700))
    shown = page(partition(graph).record("wide", "python", "relax")._repr_mimebundle_()["text/html"])
    assert "700 nodes are too many for a picture." in shown.text
    assert not shown.images


def test_a_graph_draws_itself(page):
    graph = Graph.from_kinds(["elem", "elem"], [[], [0]], [1])
    shown = page(graph._repr_mimebundle_()["text/html"])
    assert shown.images[0]["alt"] == "Graph of 2 nodes, 1 edges"
    assert graph.to_dict()["edges"] == [[0, 0, 1, 0]]


def test_every_kind_has_a_letter_of_its_own_and_the_colour_of_its_name():
    assert list(scene_svg.LETTERS) == [kind.name for kind in Kind]
    assert len(set(scene_svg.LETTERS.values())) == len(Kind)
    for kind in Kind:
        assert scene_svg.colour_of(kind.name) == palette.kind_colour(kind.title)
