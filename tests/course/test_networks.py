"""The graphs of the nine networks are kept in a file; their groups are TVM's own."""

from __future__ import annotations

import numpy as np
import pytest

from tvmlab import course, fusion, pipeline
from tvmlab.course import networks
from tvmlab.course.grouping import groups_as_tvm
from tvmlab.pipeline.abstract import groups_by_tvm

RANDOM = np.random.default_rng(0)


def kept(name):
    return next(graph for graph in networks.network_graphs(RANDOM) if graph.label(0) == f"{name}:0")


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_what_is_kept_is_what_the_pipeline_makes(name):
    assert networks.to_data(networks.graph_of_network(name)) == networks.to_data(kept(name))


def test_all_nine_are_kept_and_make_as_many_kernels_as_the_pipeline_says():
    sizes = {graph.label(0).split(":")[0]: len(graph) for graph in networks.network_graphs(RANDOM)}
    assert tuple(sizes) == networks.NETWORKS
    model = pipeline.load("light_squeezenet.onnx")
    assert len(groups_by_tvm(kept("squeezenet"))) == pipeline.fuse(model, engine="tvm").kernels_after


def test_what_is_wrong_in_a_large_graph_is_cut_out_of_it():
    def fuse(graph):
        return [[node] for node in range(len(graph))]

    property_ = groups_as_tvm(lambda random: [kept("resnet50")], "one")
    mismatch = property_.check(fuse, RANDOM)
    assert len(mismatch.graph) < 12
    assert mismatch.what == "you have nodes resnet50:0 and resnet50:1 apart, and TVM fuses them"
    assert mismatch.graph.label(mismatch.edge[0]) == "resnet50:0"
    assert fusion.partition(kept("resnet50")).together(0, 1)


def test_the_naive_fuser_stops_at_the_first_network(teacher):
    verdict = course.judge(course.find("08f"), teacher("08f").WRONG[0][0])
    assert {r.name: r.state for r in verdict.results}[
        "the nine networks of the onnx package are grouped as by FuseOps"
    ] == "fails"
