"""tvmlab's own partition as a module of TVM's: the same groups as FuseOps makes, and any others that one likes."""

from __future__ import annotations

import numpy as np
import pytest
import tvm_ffi
from onnx import parser

from tvmlab import fusion, pipeline
from tvmlab.errors import PipelineError
from tvmlab.pipeline import bridge, stages
from tvmlab.pipeline.grouping import groups_of
from tvmlab.pipeline.relax_reader import read_relax

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
SPLIT = (
    '<ir_version: 8, opset_import: ["": 17]> g (float[2,6] x) => (float[2,2] y, float[2,2] z)'
    "<int64[3] sizes = {2,2,2}> { p, q, unused = Split<axis=1>(x, sizes) r = Relu(p) y = Add(r, q) e = Exp(y)"
    " f = Neg(e) z = Mul(e, f) }"
)


def annotated(model, cleanup="tvmlab"):
    imported = stages.import_model(model, cleanup)
    module = stages.annotate(stages.legalize(imported.module))
    return module, imported.provenance


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_is_grouped_as_by_tvm_down_to_the_module(name):
    module, provenance = annotated(pipeline.load(f"light_{name}.onnx"))
    reading = read_relax(module, provenance)
    grouping = fusion.partition(reading.graph)
    by_tvm = stages.fuse_groups(module)
    right = groups_of(module, by_tvm, provenance)
    assert [g.nodes for g in grouping.record(name, "python", "relax").groups] == [g.nodes for g in right]
    assert tvm_ffi.structural_equal(stages.fuse_as(module, reading, grouping), by_tvm)


def test_tuples_of_values_are_read_as_tvm_does():
    module, provenance = annotated(pipeline.load(parser.parse_model(SPLIT)), cleanup="none")
    reading = read_relax(module, provenance)
    assert not all(reading.graph.computes)
    grouping = fusion.partition(reading.graph)
    by_tvm = stages.fuse_groups(module)
    assert tvm_ffi.structural_equal(stages.fuse_as(module, reading, grouping), by_tvm)


def test_any_partition_becomes_kernels_and_computes_the_same():
    model = pipeline.load(parser.parse_model(SPLIT))
    module, provenance = annotated(model)
    reading = read_relax(module, provenance)
    x = np.random.default_rng(0).normal(size=(2, 6)).astype(np.float32)
    right = pipeline.trace(model, engine="none").executable.run(x)
    whole = fusion.partition(reading.graph)
    counts = set()
    for changes in ({}, {"max_depth": 2}, {"kinds": {"y": "opaque"}}, {"without": ["phase0", "phase1"]}):
        grouping = whole.what_if(**changes)
        fused = stages.fuse_as(module, reading, grouping)
        counts.add(stages.count_kernels(fused))
        for got, wanted in zip(stages.build(stages.merge_groups(fused)).run(x), right, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
    assert len(counts) > 2


def test_groups_that_tvm_does_not_make_are_refused():
    module, provenance = annotated(pipeline.load(parser.parse_model(SPLIT)))
    reading = read_relax(module, provenance)
    grouping = fusion.partition(reading.graph)
    siblings = grouping.sinks.copy()
    siblings[:] = len(siblings) - 1
    with pytest.raises(PipelineError, match="the partition has 1 groups, but TVM made"):
        bridge.fuse_as(module, reading, fusion.Grouping(**{**vars(grouping), "sinks": siblings}))


def test_nodes_of_onnx_and_variables_name_kernels_too():
    partition = pipeline.fuse(pipeline.load("light_squeezenet.onnx"))
    assert "share a kernel" in partition.why("n0", "n1")
    assert "stay apart" in partition.why("n1", "n2")


def test_what_if_takes_a_kind_by_a_label_and_leaves_the_model_alone():
    model = pipeline.load("light_squeezenet.onnx")
    partition = pipeline.fuse(model)
    other = pipeline.fuse(model, kinds={"n1": "opaque"})
    assert other.kernels_after == partition.kernels_after + 1
    assert other.groups == partition.what_if(kinds={"n1": "opaque"}).groups
    difference = partition.diff(other)
    assert not difference.ok
    assert difference.edges_apart == (("n0: add", "n1: relu"),)
    assert pipeline.fuse(model).diff(partition).ok


def test_the_level_of_onnx_has_the_models_own_nodes():
    model = pipeline.load("light_squeezenet.onnx")
    partition = pipeline.fuse(model, level="onnx")
    assert (partition.kernels_before, partition.kernels_after, partition.level) == (66, 39, "onnx")
    assert partition.groups[0].nodes == ("n0", "n1")
    assert partition.groups[0].kernel == "fused_Conv_Relu"
    assert partition.bytes_saved > 1e7
    assert pipeline.fuse(model, level="onnx", engine="none").kernels_after == 66


def test_a_live_operator_has_the_kind_of_its_kernel_on_both_levels(clamp):
    model = pipeline.load("light_squeezenet.onnx").replace("Relu", clamp.name)
    onnx_level, relax_level = (pipeline.fuse(model, level=level) for level in ("onnx", "relax"))
    assert onnx_level.groups[0].nodes == ("n0", "n1")
    assert onnx_level.groups[0].kinds == ("kOutEWiseFusable", "kElemWise")
    assert relax_level.kernels_after == 41
    assert relax_level.diff(pipeline.fuse(model, engine="tvm")).ok
