"""Why TVM fuses nothing, without a word: the causes are recognised on the module."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax

from tvmlab import fusion, pipeline
from tvmlab.errors import CallError
from tvmlab.pipeline.relax_reader import read_relax

KIND = relax.TensorType((4, 4), "float32")


def built(*, dataflow=True, emitted=False, opaque=False):
    """exp, then relu."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", KIND)
    attributes = {"op_pattern": 8} if opaque else None

    def body():
        first = builder.call_te(tvm.topi.exp, x, primfunc_name_hint="exp", primfunc_attrs=attributes)
        first = builder.emit_output(first) if emitted else builder.emit(first)
        second = builder.call_te(tvm.topi.nn.relu, first, primfunc_name_hint="relu")
        return builder.emit_output(second) if dataflow else builder.emit(second)

    with builder.function("main", [x]):
        if dataflow:
            with builder.dataflow():
                result = body()
        else:
            result = body()
        builder.emit_func_output(result)
    return builder.get()


def annotated(module):
    return relax.transform.AnnotateTIROpPattern()(module)


def not_legalized():
    builder = relax.BlockBuilder()
    x = relax.Var("x", KIND)
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(relax.op.nn.relu(builder.emit(relax.op.exp(x))))
        builder.emit_func_output(result)
    return builder.get()


CAUSES = {
    "not legalized": (not_legalized, "is opaque, since it is not legalized (LegalizeOps)"),
    "not annotated": (built, "is opaque, since no kind is written on its kernel (AnnotateTIROpPattern)"),
    "outside of dataflow": (lambda: annotated(built(dataflow=False)), "is bound outside of a dataflow block"),
    "emitted": (lambda: annotated(built(emitted=True)), "is emitted from its dataflow block (R.output, emit_output)"),
    "marked opaque": (lambda: annotated(built(opaque=True)), "is opaque, as its kernel says (op_pattern 8)"),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_the_cause_is_named_and_tvm_does_not_fuse_either(cause):
    make, told = CAUSES[cause]
    module = make()
    partition = pipeline.fuse(module)
    assert (partition.kernels_before, partition.kernels_after) == (2, 2)
    assert told in partition.why(*(group.nodes[0] for group in partition.groups))
    fused = relax.transform.FuseOps()(module)
    assert not any(v.name_hint.startswith("fused") for v in fused.functions)


def test_the_limit_of_the_group_size_is_named():
    partition = pipeline.fuse(annotated(built()), max_depth=1)
    assert "would have more than 1 nodes" in partition.why(*(group.nodes[0] for group in partition.groups))


def test_without_a_cause_they_are_fused():
    module = annotated(built())
    partition = pipeline.fuse(module)
    assert partition.kernels_after == 1
    with pytest.raises(CallError, match="as it is"):
        pipeline.fuse(module, engine="tvm")


def test_an_output_that_is_read_again_is_named_as_an_output():
    builder = relax.BlockBuilder()
    x = relax.Var("x", KIND)
    with builder.function("main", [x]):
        with builder.dataflow():
            first = builder.emit_output(builder.call_te(tvm.topi.exp, x, primfunc_name_hint="exp"))
            second = builder.emit_output(builder.call_te(tvm.topi.nn.relu, first, primfunc_name_hint="relu"))
            result = builder.emit_output(relax.Tuple([first, second]))
        builder.emit_func_output(result)
    reading = read_relax(annotated(builder.get()), {})
    grouping = fusion.partition(reading.graph)
    nodes = [node for node, computes in enumerate(reading.graph.computes) if computes]
    assert grouping.groups[:2] == [[0], [1]]
    assert "is emitted from its dataflow block" in grouping.why(*nodes)
