"""The two oracles run what they should, in silence, and refuse in words."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, parser

from tvmlab.errors import BackendError, PipelineError
from tvmlab.measure import onnx_engines
from tvmlab.measure.onnx_engines import onnxruntime_engine, open_session, reference_engine, with_distinct_names

ENGINES = [onnxruntime_engine(), reference_engine("onnxruntime is not installed")]
ids = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name.split()[0])
X = np.array([-1, 2], np.float32)


def parse(text):
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}')


@ids
def test_runs(engine, capfd):
    y, z = engine.run(parse("g (float[2] x) => (float[2] y, float[2] z) { y = Relu(x) z = Neg(y) }"), {"x": X})
    assert (y.tolist(), z.tolist()) == ([0, 2], [0, -2])
    assert capfd.readouterr().err == ""


@ids
@pytest.mark.parametrize(
    "text",
    [
        "g (float[2] x) => (float[2] y) { y = NoSuchOperator(x) }",
        "g (float[2] x) => (float[2] y) { a = Reshape(x, x) y = Relu(a) }",
    ],
)
def test_what_it_cannot_run_is_an_error_in_words(engine, text, capfd):
    with pytest.raises(PipelineError, match=r"onnxruntime|reference evaluator"):
        engine.run(parse(text), {"x": X})
    assert capfd.readouterr().err == ""


def test_a_missing_input_is_an_error():
    with pytest.raises(PipelineError, match="could not run"):
        ENGINES[0].run(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }"), {})


def test_outputs_that_are_no_tensors():
    with pytest.raises(PipelineError, match="output y is no tensor"):
        ENGINES[0].run(parse("g (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x) }"), {"x": X})


def test_the_optimiser_is_off_for_the_oracle_and_on_for_the_race():
    # Two transposes that undo each other: an optimiser removes both.
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("Transpose", [a], [b], perm=[1, 0]) for a, b in ("xa", "ay")]
    graph = helper.make_graph(
        nodes, "g", [info("x", TensorProto.FLOAT, [2, 3])], [info("y", TensorProto.FLOAT, [2, 3])]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    levels = [
        open_session(model, optimise=o).get_session_options().graph_optimization_level.name for o in (False, True)
    ]
    assert levels == ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"]
    options = open_session(model, optimise=True, threads=1).get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)


def test_two_nodes_of_one_name():
    model = parse("g (float[2] x) => (float[2] y) { a = Relu(x) y = Neg(a) }")
    assert with_distinct_names(model) is model
    for node in model.graph.node:
        node.name = "twin"
    with_names = [node.name for node in model.graph.node]
    assert ENGINES[0].run(model, {"x": X})[0].tolist() == [0, -2]
    assert [node.name for node in model.graph.node] == with_names


def test_without_onnxruntime(monkeypatch):
    monkeypatch.setattr(onnx_engines, "has_onnxruntime", lambda: False)
    with pytest.raises(BackendError, match="pip install onnxruntime"):
        open_session(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }"), optimise=False)


def test_the_reference_evaluator_owns_up():
    (note,) = ENGINES[1].notes
    assert "onnxruntime is not installed" in note
    assert "of old opsets, it is wrong" in note
