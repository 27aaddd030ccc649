"""What a model should give, from something that shares as little of its code as can be had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tvmlab.errors import PipelineError
from tvmlab.measure.cutting import cut, live_nodes, run_cut
from tvmlab.measure.logits import Logits, find_logits
from tvmlab.measure.onnx_engines import Engine, has_onnxruntime, onnxruntime_engine, reference_engine
from tvmlab.measure.plain_build import run_plain_build
from tvmlab.measure.references import run_reference

if TYPE_CHECKING:
    import onnx

    from tvmlab.pipeline import Model

__all__ = ["Answer", "ask"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Answer:
    """What an oracle says.

    Parameters
    ----------
    oracle : str
        Who says it.
    outputs : tuple of ndarray
        The model's outputs.
    logits : tuple of (Logits, ndarray)
        What goes into the softmaxes that end the model.
    notes : tuple of str
        What the reader must know of it.
    inner : mapping of str to ndarray
        Values inside of the model that were asked for.
    """

    oracle: str
    outputs: tuple[Array, ...]
    logits: tuple[tuple[Logits, Array], ...] = ()
    notes: tuple[str, ...] = ()
    inner: Mapping[str, Array] = field(default_factory=dict)


def ask(model: Model, inputs: Sequence[Array], inner: Sequence[str] = ()) -> Answer:
    """What the model's outputs should be.

    Parameters
    ----------
    model : Model
    inputs : sequence of ndarray
    inner : sequence of str
        Names of values inside of an ONNX model that are wanted too.

    Returns
    -------
    Answer
        For a model from ONNX: of onnxruntime with its optimiser off, or else of onnx's reference evaluator; live
        operators run as their NumPy references between segments of it.  For other models: of their own plainest
        build, with the references in it.

    Raises
    ------
    PipelineError
        No oracle can run the model.
    CallError, ComputeError
        A reference is missing or fails.
    """
    return _ask_onnx(model, model.onnx, inputs, inner) if model.onnx is not None else _ask_plain_build(model, inputs)


def _ask_onnx(model: Model, network: onnx.ModelProto, inputs: Sequence[Array], inner: Sequence[str]) -> Answer:
    feeds = {tensor.name: array for tensor, array in zip(model.inputs, inputs, strict=True)}
    logits = list(find_logits(network))

    def run(engine: Engine) -> Answer:
        values = run_cut(
            network,
            feeds,
            engine,
            lambda node, arrays: run_reference(model.live[node.output[0]], arrays),
            also=[*(each.name for each in logits), *inner],
        )
        outputs = len(network.graph.output)
        behind = tuple(zip(logits, values[outputs:], strict=False))
        within = dict(zip(inner, values[outputs + len(logits) :], strict=True))
        return Answer(engine.name, tuple(values[:outputs]), behind, (*engine.notes, *_on_cuts(network)), within)

    if not has_onnxruntime():
        return run(reference_engine("onnxruntime is not installed"))
    try:
        return run(onnxruntime_engine())
    except PipelineError as refused:
        try:
            return run(reference_engine(refused.what))
        except PipelineError as error:
            raise PipelineError(f"no oracle can run the model: {refused.what}; {error.what}", refused.where) from error


def _on_cuts(network: onnx.ModelProto) -> Iterator[str]:
    live = live_nodes(network)
    if live:
        names = ", ".join(sorted({node.op_type for node in live}))
        parts = cut(network, [output.name for output in network.graph.output])
        segments = len(parts) - len(live)
        yield f"{len(live):,} nodes of {names} ran as their NumPy reference, between {segments:,} segments of the rest"


def _ask_plain_build(model: Model, inputs: Sequence[Array]) -> Answer:
    plain = run_plain_build(model, inputs)
    referred, missing = ", ".join(plain.referred), ", ".join(plain.without)
    notes = ["not from ONNX: TVM's own operators are the same code on both sides, so nothing is said of them"]
    if missing:
        notes.append(f"{missing} has no reference and was compared with its own unfused kernel")
    oracle = "its own unfused, unscheduled build" + (f" with the NumPy reference of {referred}" if referred else "")
    return Answer(oracle, plain.outputs, notes=tuple(notes))
