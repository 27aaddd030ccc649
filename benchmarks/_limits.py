"""How near to memory's speed a kernel comes: against loops that do nothing but move as many bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tvmlab import pipeline, runtime
from tvmlab.measure.inputs import make_inputs
from tvmlab.measure.rounds import run_rounds
from tvmlab.records import quantile

LIMITS = {"chains": ("y = 2 x",), "moves": ("y = 2 x", "copy")}


def limit_of(group: str, model: Any, threads: int, budget: float) -> dict[str, Any]:
    """Time a model and its limits, interleaved: a loop y = 2 x over as many elements as it writes, and a plain copy.

    Returns
    -------
    dict
        ``limit``: the quicker of them; ``gb_per_second``: what it read and wrote; ``share``: of that speed, what the
        model reaches, median of the rounds.
    """
    feeds = make_inputs(model.inputs, None, 0)
    with runtime.threads(threads):
        call = pipeline.trace(model).executable.bind(*feeds.arrays)
        elements = int(np.prod(call().shape))
        makers: dict[str, Callable[[int], Callable[[], Any]]] = {"y = 2 x": _scaling, "copy": _copying}
        rounds = run_rounds(
            {"model": call, **{name: makers[name](elements) for name in LIMITS[group]}}, budget=budget
        ).seconds
    middle = {name: quantile(sorted(rounds[name]), 0.5) for name in LIMITS[group]}
    quickest = min(middle, key=middle.__getitem__)
    shares = sorted(limit / own for limit, own in zip(rounds[quickest], rounds["model"], strict=True))
    moved = 2 * 4 * elements
    return {"limit": quickest, "gb_per_second": 1e-9 * moved / middle[quickest], "share": quantile(shares, 0.5)}


def _scaling(elements: int) -> Callable[[], Any]:
    """The loop is called and scheduled as the model is."""
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "two"], ["y"])],
        "scale",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [elements])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [elements])],
        [numpy_helper.from_array(np.float32(2), "two")],
    )
    made: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    model = pipeline.load(made, name="scale")
    call: Callable[[], Any] = pipeline.trace(model).executable.bind(np.ones(elements, "f4"))
    return call


def _copying(elements: int) -> Callable[[], Any]:
    source, target = np.ones(elements, "f4"), np.zeros(elements, "f4")
    return lambda: np.copyto(target, source)
