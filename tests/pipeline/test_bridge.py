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


def with_sinks(grouping, groups):
    """The grouping with these groups in place of its own; nodes in none are alone."""
    sinks = np.arange(len(grouping.graph), dtype=np.int32)
    for group in groups:
        sinks[list(group)] = max(group)
    return fusion.Grouping(**{**vars(grouping), "sinks": sinks})


def test_a_group_with_several_outputs_is_one_kernel():
    model = pipeline.load(parser.parse_model(SPLIT))
    module, provenance = annotated(model)
    reading = read_relax(module, provenance)
    whole = fusion.partition(reading.graph)
    inner = [at for at, binding in enumerate(reading.bindings) if reading.graph.computes[at] or "[" in str(binding)]
    fused = stages.fuse_as(module, reading, with_sinks(whole, [inner[:-1]]))
    assert (
        stages.count_kernels(fused)
        == sum(reading.graph.computes) - sum(reading.graph.computes[n] for n in inner[:-1]) + 1
    )
    x = np.random.default_rng(0).normal(size=(2, 6)).astype(np.float32)
    right = pipeline.trace(model, engine="none").executable.run(x)
    for got, wanted in zip(stages.build(stages.merge_groups(fused)).run(x), right, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def random_model(seed):
    """Unary and binary operators on values of before, two to four of them outputs."""
    random = np.random.default_rng(seed)
    values, lines = ["x"], []
    for at in range(int(random.integers(5, 12))):
        first, second = random.choice(values[-4:], 2)
        name = f"v{at}"
        lines.append(
            f"{name} = {random.choice(['Neg', 'Relu', 'Tanh'])}({first})"
            if random.random() < 0.5
            else f"{name} = {random.choice(['Add', 'Sub'])}({first}, {second})"
        )
        values.append(name)
    outputs = sorted(set(values[-2:]) | set(random.choice(values[1:], 2)))
    given = ", ".join(f"float[n,4] {name}" for name in outputs)
    return (
        f'<ir_version: 8, opset_import: ["": 17]> g (float[n,4] x) => ({given}) {{ {" ".join(lines)} }}',
        lines,
        outputs,
    )


def in_numpy(lines, outputs, x):
    known = {"x": x}
    operators = {
        "Neg": np.negative,
        "Relu": lambda v: np.maximum(v, 0),
        "Tanh": np.tanh,
        "Add": np.add,
        "Sub": np.subtract,
    }
    for line in lines:
        name, operator, arguments = line.replace(")", "").replace("=", "(").split("(")
        known[name.strip()] = operators[operator.strip()](*(known[a.strip()] for a in arguments.split(",")))
    return [known[name] for name in outputs]


@pytest.mark.parametrize("seed", range(8))
def test_any_runs_of_nodes_of_random_graphs_are_kernels_of_as_many_outputs_as_need_be(seed):
    text, lines, outputs = random_model(seed)
    module, provenance = annotated(pipeline.load(parser.parse_model(text)))
    reading = read_relax(module, provenance)
    nodes = [at for at in range(len(reading.graph)) if reading.graph.computes[at]]
    random = np.random.default_rng(seed)
    cuts = sorted(random.choice(len(nodes), min(3, len(nodes)), replace=False))
    groups = [run.tolist() for run in np.split(np.array(nodes), cuts) if len(run)]  # neighbours in order: no cycle
    fused = stages.fuse_as(module, reading, with_sinks(fusion.partition(reading.graph), groups))
    assert stages.count_kernels(fused) == len(groups)
    merged = stages.merge_groups(fused)
    assert stages.count_kernels(merged) == len(groups)
    x = random.normal(size=(3, 4)).astype(np.float32)
    by_tvm = stages.build(stages.merge_groups(stages.fuse_groups(module))).run(x)
    got = stages.build(stages.schedule(stages.inline(merged))).run(x)
    for mine, theirs, right in zip(got, by_tvm, in_numpy(lines, outputs, x), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(theirs, right, rtol=1e-5, atol=1e-6)


def test_a_convolution_whose_value_is_also_an_output_of_its_kernel_is_scheduled():
    text = (
        '<ir_version: 8, opset_import: ["": 17]> g (float[1,16,6,6] x, float[16,16,3,3] w) =>'
        " (float[1,16,6,6] r, float[1,16,6,6] s) { c = Conv<pads=[1,1,1,1]>(x, w) r = Relu(c)"
        " d = Conv<pads=[1,1,1,1]>(r, w) s = Add(d, c) }"
    )
    model = pipeline.load(parser.parse_model(text))
    module, provenance = annotated(model)
    reading = read_relax(module, provenance)
    first, second, third, last = [at for at in range(len(reading.graph)) if reading.graph.computes[at]]
    pairs = with_sinks(fusion.partition(reading.graph), [[first, second], [third, last]])
    merged = stages.merge_groups(stages.fuse_as(module, reading, pairs))
    assert stages.count_kernels(merged) == 2
    x, w = (np.random.default_rng(0).normal(size=i.shape).astype(np.float32) for i in model.inputs)
    right = pipeline.trace(model, engine="none").executable.run(x, w)
    for got, wanted in zip(stages.build(stages.schedule(stages.inline(merged))).run(x, w), right, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_siblings_that_only_read_the_same_are_one_kernel():
    text = (
        '<ir_version: 8, opset_import: ["": 17]> g (float[8] x) => (float[8] a, float[8] b) { a = Exp(x) b = Neg(x) }'
    )
    module, provenance = annotated(pipeline.load(parser.parse_model(text)))
    reading = read_relax(module, provenance)
    pair = [at for at in range(len(reading.graph)) if reading.graph.computes[at]]
    fused = stages.merge_groups(stages.fuse_as(module, reading, with_sinks(fusion.partition(reading.graph), [pair])))
    assert stages.count_kernels(fused) == 1
    x = np.arange(8, dtype=np.float32)
    for got, right in zip(stages.build(fused).run(x), (np.exp(x), -x), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-6)


def test_groups_that_wait_for_one_another_are_refused():
    text = (
        '<ir_version: 8, opset_import: ["": 17]> g (float[8] x) => (float[8] c) { a = Exp(x) b = Neg(a) c = Add(a, b) }'
    )
    module, provenance = annotated(pipeline.load(parser.parse_model(text)))
    reading = read_relax(module, provenance)
    first, _, last = [at for at in range(len(reading.graph)) if reading.graph.computes[at]]
    with pytest.raises(PipelineError, match="the groups wait for one another"):
        bridge.fuse_as(module, reading, with_sinks(fusion.partition(reading.graph), [[first, last]]))


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
