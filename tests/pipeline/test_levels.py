"""Why ONNX's nodes are grouped otherwise than TVM's kernels: all is accounted for, and each difference has a reason."""

from __future__ import annotations

from collections import defaultdict

import pytest
from onnx import parser

import tvmlab as tl
from tvmlab.errors import CallError
from tvmlab.fusion import OnnxGraph, read_onnx

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


def load(text):
    return tl.load(parser.parse_model(f'<ir_version: 8, opset_import: ["": 20]> g {text}'))


def of(record, node):
    return next(found for found in record.nodes if found.node == node)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_node_is_accounted_for_and_where_no_difference_is_told_there_is_none(name):
    model = tl.load(f"light_{name}.onnx")
    record = tl.compare_levels(model)
    assert len(record.nodes) == len(OnnxGraph.of(model.onnx).nodes)
    assert {node.node for node in record.nodes} >= set(read_onnx(model.onnx).graph.labels)
    assert all(node.became for node in record.nodes)
    assert all(difference.reason for difference in record.differences)
    kernels = tl.fuse(model)
    assert sum(len(node.kernels) for node in record.nodes) == kernels.kernels_before == record.relax[0]
    owners = [{node.partition(": ")[0] for node in group.nodes} for group in kernels.groups]
    groups_of = defaultdict(set)
    for at, group in enumerate(owners):
        for owner in group:
            groups_of[owner].add(at)
    onnx = tl.fuse(model, level="onnx")
    touched = {node for found in record.differences if found.how != "gone" for node in found.nodes}
    untouched = [group for group in onnx.groups if not touched & set(group.nodes)]
    assert len(untouched) > len(onnx.groups) / 3
    for group in untouched:
        alive = {node for node in group.nodes if of(record, node).kernels}
        if not alive:
            assert len(group.nodes) == 1
            continue
        (place,) = {place for node in alive for place in groups_of[node]}
        assert owners[place] == alive


def test_what_the_clean_up_made_of_nodes_is_told_by_the_rule_that_did_it(small):
    record = tl.compare_levels(tl.load(small))
    assert of(record, "bn1").became == "is folded into conv1 by the clean-up (fold_batchnorm_into_conv)"
    assert of(record, "bn1").kernels == ()
    assert of(record, "sum").became.startswith(
        "is written as Add by the clean-up (sum_of_two_to_add), and is the kernel"
    )
    assert of(record, "flatten").became == "is the kernel reshape"
    assert of(record, "dense").became == "is 2 kernels: matmul, add2"
    assert record.differences == ()


def test_without_the_clean_up_the_same_model_has_differences_with_reasons(small):
    record = tl.compare_levels(tl.load(small), cleanup="none")
    reasons = {(found.how, found.nodes): found.reason for found in record.differences}
    assert "bn1: batch_norm on the path conv1: conv2d → bn1: batch_norm is inj" in reasons["split", ("conv1", "bn1")]
    assert "reductions are not fused into what follows; sum is" in reasons["split", ("sum", "relu2")]
    assert tl.fuse(tl.load(small), cleanup="none").kernels_after == record.relax[1]


def test_one_node_of_several_kernels_says_which_of_them_are_apart():
    record = tl.compare_levels(load("(float[1,4] x) => (float[1,1] y) { y = ReduceLogSumExp(x) }"))
    assert {(found.how, found.nodes) for found in record.differences} == {("inside", ("y", "y"))}
    assert "it is 6 kernels: max, subtract, tir_exp, sum, tir_log, add; max and subtract are apart" in (
        record.differences[0].reason
    )


def test_groups_that_are_one_in_tvm_alone():
    text = "(float[2,3] x, float[3,3] w) => (float[2,3] y) { u = MatMul(x, w) t = Concat<axis=0>(u) y = Relu(t) }"
    (found,) = tl.compare_levels(load(text)).differences
    assert (found.how, found.nodes) == ("joined", ("u", "t"))
    assert "apart among ONNX's nodes: t on the path u → t is inj" in found.reason
    assert "t hands on what it reads, and is left out by the clean-up (remove_no_ops)" in found.reason


def test_what_is_known_before_the_run_or_another_name_needs_no_kernel():
    text = "(float[2,4] x) => (int64[2] s, float[2,4] y) { s = Shape(x) q = Dropout(x) i = Identity(q) y = Relu(i) }"
    record = tl.compare_levels(load(text))
    assert of(record, "s").became == "needs no kernel: what it makes is known before the run"
    assert of(record, "q").became == "hands on what it reads, and is left out by the clean-up (remove_no_ops)"
    assert of(record, "y").kernels == ("relu",)


def test_a_model_that_is_not_from_onnx_has_one_level(small):
    with pytest.raises(CallError, match="does not come from ONNX"):
        tl.compare_levels(tl.load(tl.load(small).module))


def test_the_picture_sums_up_and_holds_every_node(small):
    shown = tl.compare_levels(tl.load(small))._repr_mimebundle_()
    assert "bn1 is folded into conv1" in shown["text/plain"]
    assert all(name in shown["text/html"] for name in ("conv1", "relu2", "dense", "flatten"))
