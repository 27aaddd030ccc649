from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tvmlab import pipeline, runtime
from tvmlab.errors import CallError, PipelineError
from tvmlab.pipeline import stages

# Kernels before and after fusion: as imported; with TVM's clean-up; and after ours.
KERNELS = {
    "bvlc_alexnet": ((64, 34), (48, 21), (46, 21)),
    "densenet121": ((791, 544), (1032, 242), (731, 242)),
    "inception_v1": ((334, 206), (217, 91), (216, 91)),
    "inception_v2": ((445, 269), (581, 97), (374, 97)),
    "resnet50": ((282, 232), (386, 92), (179, 60)),
    "shufflenet": ((298, 205), (393, 104), (206, 78)),
    "squeezenet": ((146, 93), (94, 41), (93, 41)),
    "vgg19": ((105, 63), (67, 28), (65, 28)),
    "zfnet512": ((62, 34), (46, 21), (46, 21)),
}
QUICK = ("squeezenet", "zfnet512")  # TVM's own clean-up compiles a kernel for each constant


def counted(model, cleanup):
    partition = pipeline.fuse(model, cleanup=cleanup)
    assert sum(len(group.nodes) for group in partition.groups) == partition.kernels_before
    assert len(partition.groups) == partition.kernels_after
    return partition.kernels_before, partition.kernels_after


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_the_nine_networks(network, name):
    raw, canonical, ours = KERNELS[name]
    model = pipeline.load(network(name))
    assert counted(model, "none") == raw
    assert counted(model, "tvmlab") == ours
    assert ours[1] <= canonical[1]
    if name in QUICK:
        assert counted(model, "tvm") == canonical


STAGES = {
    "legalize": stages.legalize,
    "fold": stages.fold_constants,
    "annotate": stages.annotate,
    "groups": stages.fuse_groups,
    "merge": stages.merge_groups,
    "inline": stages.inline,
    "schedule": stages.schedule,
    "build": stages.build,
}


@pytest.mark.parametrize("cleanup", stages.CLEANUPS)
def test_no_stage_changes_its_input(small, unchanged, cleanup, capfd):
    model = pipeline.load(small)
    before = unchanged(model.module)
    module = stages.import_model(model, cleanup).module
    assert unchanged(model.module) == before
    for name, stage in STAGES.items():
        before, text = unchanged(module), module.script()
        result = stage(module)
        assert unchanged(module) == before, name
        assert module.script() == text, name
        module = result
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("cleanup", stages.CLEANUPS)
@pytest.mark.parametrize("engine", stages.ENGINES)
def test_values_do_not_change_on_the_way(small, cleanup, engine):
    trace = pipeline.trace(pipeline.load(small), cleanup=cleanup, engine=engine)
    x = np.random.default_rng(2).standard_normal((1, 3, 12, 12)).astype("f4")
    want = ReferenceEvaluator(small).run(None, {"x": x})[0]
    for stage in pipeline.STAGES:
        got = trace.compiled(stage).run(x)
        assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max(), stage


def unoptimised(model, x):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.onnx.SerializeToString(), options)
    return session.run(None, {model.inputs[0].name: x})[0]


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "resnet50", "inception_v2"])
def test_networks_give_what_onnxruntime_gives(network, name):
    model = pipeline.load(network(name), weights="random")
    x = np.random.default_rng(0).standard_normal(model.inputs[0].shape, "f4")
    want = unoptimised(model, x)
    trace = pipeline.trace(model)
    for stage in ("annotate", "build") if name == "squeezenet" else ("build",):
        got = trace.compiled(stage).run(x)
        assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max(), stage


def one_node(nodes, constants, inputs, outputs):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "case",
        [value(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [value(n, TensorProto.FLOAT, s) for n, s in outputs.items()],
        [numpy_helper.from_array(v, n) for n, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def training_batchnorm():
    random = np.random.default_rng(0)
    constants = {n: random.uniform(0.5, 1.5, 3).astype("f4") for n in "gbmv"}
    constants["w"] = random.standard_normal((3, 2, 1, 1)).astype("f4")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("BatchNormalization", ["c", *"gbmv"], ["y", "r1", "r2"], training_mode=1, momentum=0.5),
    ]
    return one_node(nodes, constants, {"x": [2, 2, 4, 4]}, {"y": [2, 3, 4, 4], "r1": [3]})


def lonely_batchnorm():
    constants = {n: np.random.default_rng(0).uniform(0.5, 1.5, 3).astype("f4") for n in "gbmv"}
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("BatchNormalization", ["e", *"gbmv"], ["y"], epsilon=0.01),
    ]
    return one_node(nodes, constants, {"x": [2, 3, 4]}, {"y": [2, 3, 4]})


def branches_that_capture():
    def branch(op, result):
        value = helper.make_tensor_value_info(result, TensorProto.FLOAT, [3])
        return helper.make_graph([helper.make_node(op, ["r"], [result])], op, [], [value])

    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Greater", ["s", "zero"], ["c"]),
        helper.make_node("If", ["c"], ["i"], then_branch=branch("Neg", "n"), else_branch=branch("Exp", "p")),
        helper.make_node("Add", ["i", "r"], ["y"]),
    ]
    return one_node(nodes, {"zero": np.float32(0)}, {"x": [3]}, {"y": [3]})


def split_with_an_unused_part():
    nodes = [
        helper.make_node("Split", ["x"], ["a", "b", "unused"], axis=0, num_outputs=3),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    proto = one_node(nodes, {}, {"x": [3, 4]}, {"y": [1, 4]})
    proto.opset_import[0].version = 18
    return proto


def output_that_is_used_inside():
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["m"]),
        helper.make_node("Relu", ["m"], ["r"]),
        helper.make_node("Identity", ["x"], ["i"]),
    ]
    return one_node(nodes, {}, {"x": [3, 4]}, {"m": [3, 4], "r": [3, 4], "i": [3, 4]})


def opaque_between():
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("CumSum", ["r", "axis"], ["c"]),
        helper.make_node("Add", ["r", "c"], ["y"]),
    ]
    return one_node(nodes, {"axis": np.int64(0)}, {"x": [3, 4]}, {"y": [3, 4]})


@pytest.mark.parametrize(
    "build",
    [
        training_batchnorm,
        lonely_batchnorm,
        branches_that_capture,
        split_with_an_unused_part,
        output_that_is_used_inside,
        opaque_between,
    ],
)
@pytest.mark.parametrize("cleanup", stages.CLEANUPS)
def test_awkward_graphs(build, cleanup):
    proto = build()
    model = pipeline.load(proto)
    arrays = {t.name: np.random.default_rng(1).standard_normal(t.shape).astype("f4") for t in model.inputs}
    got = pipeline.trace(model, cleanup=cleanup).executable.run(*arrays.values())
    want = ReferenceEvaluator(proto).run(None, arrays)
    for one, other in zip(got if isinstance(got, tuple) else [got], want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_lonely_batchnorm_is_two_kernels_in_one():
    partition = pipeline.fuse(pipeline.load(lonely_batchnorm()))
    assert (partition.kernels_before, partition.kernels_after) == (3, 1)


def test_options_are_checked(small):
    model = pipeline.load(small)
    for wrong in ({"cleanup": "both"}, {"engine": "java"}):
        with pytest.raises(CallError, match="is not known"):
            pipeline.trace(model, **wrong)
    with pytest.raises(CallError, match="level='tir' is not known"):
        pipeline.fuse(model, level="tir")
    with pytest.raises(CallError, match="TVM fuses on the level"):
        pipeline.fuse(model, level="onnx", engine="tvm")
    with pytest.raises(CallError, match='max_depth is for engine="python"'):
        pipeline.fuse(model, engine="tvm", max_depth=3)


def test_a_stage_that_fails_says_which(small, monkeypatch):
    def fails(_):
        raise RuntimeError("boom")

    monkeypatch.setattr(stages, "inline_kernel", fails)
    with pytest.raises(PipelineError, match="the stage inline failed: RuntimeError: boom"):
        pipeline.trace(pipeline.load(small))


def test_building_goes_to_the_host_by_default(small):
    trace = pipeline.trace(pipeline.load(small))
    assert isinstance(trace.executable, runtime.Executable)
    assert trace.executable is trace.compiled("build")
