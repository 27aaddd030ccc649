"""Two things that run ONNX models and share no code with TVM: onnxruntime, and onnx's own reference evaluator."""

from __future__ import annotations

import collections
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from tvmlab.errors import BackendError, PipelineError
from tvmlab.runtime import quiet

__all__ = ["Engine", "has_onnxruntime", "onnxruntime_engine", "open_session", "reference_engine"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Engine:
    """Runs an ONNX model.

    Parameters
    ----------
    name : str
        What a report calls it.
    run : callable
        From a ModelProto and its inputs by name to its outputs in order.
    notes : tuple of str
        What a reader of its results must know.
    """

    name: str
    run: Callable[[onnx.ModelProto, Mapping[str, Array]], list[Array]]
    notes: tuple[str, ...] = ()


def has_onnxruntime() -> bool:
    """Whether onnxruntime is installed."""
    return importlib.util.find_spec("onnxruntime") is not None


def open_session(model: onnx.ModelProto, *, optimise: bool, threads: int | None = None, spinning: bool = False) -> Any:
    """An onnxruntime session on the CPU.

    Parameters
    ----------
    model : onnx.ModelProto
    optimise : bool
        All of its optimisations, or none.
    threads : int, optional
        Threads within an operator.  Default: onnxruntime's own choice.
    spinning : bool
        Whether threads that wait for work within a run keep their processors busy: quicker to wake where processors
        are idle, and in everybody's way where they are not.  Between runs they sleep.

    Raises
    ------
    BackendError
        onnxruntime is not installed.
    PipelineError
        onnxruntime refuses the model.
    """
    if not has_onnxruntime():
        raise BackendError("onnxruntime is not installed", mend="pip install onnxruntime")
    with quiet():  # its import may print about devices it looks for
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # fatal only: whatever goes wrong also raises
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
        if threads is not None:
            options.intra_op_num_threads = threads
            options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
        # Between runs they would take the processors from whoever is timed next.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        try:
            data = with_distinct_names(model).SerializeToString()
            return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise PipelineError(
                f"onnxruntime refuses the model: {error}", where=f"graph {model.graph.name!r}"
            ) from error


def onnxruntime_engine() -> Engine:
    """Onnxruntime with its optimiser off; optimised, it is wrong on some models (BatchNormalization in training)."""

    def run(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
        session = open_session(model, optimise=False)
        try:
            with quiet():
                return _tensors(model, session.run(None, dict(feeds)))
        except PipelineError:
            raise
        except Exception as error:
            raise PipelineError(f"onnxruntime could not run the model: {error}") from error

    with quiet():
        import onnxruntime
    return Engine(f"onnxruntime {onnxruntime.__version__}, optimiser off", run)


def reference_engine(why: str) -> Engine:
    """The evaluator of the onnx package, in NumPy."""

    def run(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
        from onnx.reference import ReferenceEvaluator

        from tvmlab.measure.corrections import CORRECTIONS

        try:
            with quiet(), np.errstate(all="ignore"):
                evaluator = ReferenceEvaluator(model, new_ops=CORRECTIONS)
                return _tensors(model, evaluator.run(None, dict(feeds)))
        except PipelineError:
            raise
        except Exception as error:
            raise PipelineError(f"onnx's reference evaluator could not run the model: {error}") from error

    faults = (
        "it is slow; on LRN, Erf, and Softmax and BatchNormalization of old opsets, it is wrong: these are tvmlab's own"
    )
    return Engine(
        f"onnx {onnx.__version__}'s reference evaluator", run, (f"{why}: onnx's evaluator was used; {faults}",)
    )


def with_distinct_names(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model itself, or a copy with nameless nodes if two bear one name: legal, but onnxruntime refuses it."""
    names = collections.Counter(node.name for node in model.graph.node if node.name)
    if all(times == 1 for times in names.values()):
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for node in copy.graph.node:
        node.ClearField("name")
    return copy


def _tensors(model: onnx.ModelProto, values: Any) -> list[Array]:
    for output, value in zip(model.graph.output, values, strict=True):
        if not isinstance(value, np.ndarray | np.generic):
            raise PipelineError(f"output {output.name} is no tensor but a {type(value).__name__}")
    return [np.asarray(value) for value in values]
