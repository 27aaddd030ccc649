"""A model: a Relax module, where it came from, and the live operators in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tvmlab import ops
from tvmlab.errors import LoadError
from tvmlab.fusion.onnx_graph import OnnxGraph
from tvmlab.pipeline.foreign import settled, with_live_nodes
from tvmlab.pipeline.live import LiveCall
from tvmlab.pipeline.onnx_import import import_graph
from tvmlab.records import Record, TensorInfo
from tvmlab.runtime.signature import parameter_of

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["Model", "Where", "model_of_module", "model_of_onnx"]

Where = Callable[..., bool] | Collection[str | int]


@dataclass(frozen=True, repr=False, eq=False)
class Model(Record):
    """A model as it was given, before any clean-up.

    Parameters
    ----------
    name : str
    module : tvm.IRModule
        Its function ``main`` is the model.
    inputs, outputs : tuple of TensorInfo
        By ONNX's names where the model came from ONNX.
    onnx : onnx.ModelProto or None
        The ONNX model; live operators are nodes of the domain ``tvmlab`` in it.
    ops : tuple of str
        Names of the live operators it calls.
    provenance : mapping of str to str
        From the name of a Relax variable to the label of the ONNX node that it belongs to.
    live : mapping of str to LiveCall
        For each ONNX node of a live operator, by its first output: the operator in the version that the model was
        built with, and its attributes.
    original : Model or None
        What it was before `replace` first put a live operator into it.
    """

    name: str
    module: Any = field(repr=False)
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    onnx: ModelProto | None = field(default=None, repr=False)
    ops: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict, repr=False)
    live: Mapping[str, LiveCall] = field(default_factory=dict, repr=False)
    original: Model | None = field(default=None, repr=False)

    @property
    def headline(self) -> str:
        taken = ", ".join(map(str, self.inputs))
        given = ", ".join(map(str, self.outputs))
        return f"{self.name}: {taken} → {given}" + (f"; live: {', '.join(self.ops)}" if self.ops else "")

    def replace(self, old: str, new: Any, where: Where | None = None, **attributes: Any) -> Model:
        """Put a live operator in the place of another operator.

        Parameters
        ----------
        old : str
            A Relax operator (``relax.nn.relu``), an ONNX operator type (``Relu``) or a live operator (``lab.x``).
        new : str or Op
            The live operator.
        where : callable or collection, optional
            Which of them: a predicate on the name of the ONNX node or Relax variable (on name and index, if it takes
            two arguments), or their names or indices.  Default: all.
        **attributes
            Of the new operator.

        Returns
        -------
        Model
            Another one; this one stays as it is.

        Raises
        ------
        LoadError
            `old` is not in the model, or `where` selects none of them.
        CallError, AttributeSchemaError
            The new operator takes another number of tensors, or does not take the attributes.
        """
        from tvmlab.pipeline.replacing import replace

        return replace(self, old, new, where, attributes)


def model_of_onnx(proto: ModelProto, name: str, live: Mapping[str, LiveCall] | None = None) -> Model:
    """Make a model of an ONNX model.

    Parameters
    ----------
    live : mapping, optional
        See `Model`; default: what the nodes of our own domain, and of registered operators, say.

    Raises
    ------
    LoadError
        The graph is broken, or TVM cannot import it.
    """
    if live is None:
        proto, live = with_live_nodes(proto)
    graph = OnnxGraph.of(proto)
    imported = import_graph(graph, live)
    proto, live = settled(proto, live)
    inputs, outputs = interface(imported.module)
    return Model(
        name=name,
        module=imported.module,
        inputs=tuple(TensorInfo(v.name, i.shape, i.dtype) for v, i in zip(graph.inputs, inputs, strict=True)),
        outputs=tuple(TensorInfo(v.name, o.shape, o.dtype) for v, o in zip(graph.outputs, outputs, strict=True)),
        onnx=proto,
        ops=tuple(sorted({call.op.name for call in live.values()})),
        provenance=imported.provenance,
        live=dict(live),
    )


def model_of_module(module: Any, name: str) -> Model:
    """Make a model of a Relax module.

    Raises
    ------
    LoadError
        It has no Relax function ``main``.
    """
    from tvm import relax

    functions = {v.name_hint: f for v, f in module.functions.items()}
    if not isinstance(functions.get("main"), relax.Function):
        raise LoadError(
            "the module has no Relax function called main",
            where=f"a module with {', '.join(sorted(functions)) or 'no functions'}",
            mend="call the function that is the model main",
        )
    inputs, outputs = interface(module)
    return Model(name, module, inputs, outputs, ops=live_names(module))


def interface(module: Any) -> tuple[tuple[TensorInfo, ...], tuple[TensorInfo, ...]]:
    """Inputs and outputs of a module's main."""
    from tvm import relax

    main = module["main"]
    given = main.ret_ty
    fields = given.fields if isinstance(given, relax.TupleType) else [given]
    names = ["output"] if len(fields) == 1 else [f"output_{i}" for i in range(len(fields))]
    inputs = [_info(v.name, v.ty) for v in main.params]
    return tuple(inputs), tuple(map(_info, names, fields))


def live_names(module: Any) -> tuple[str, ...]:
    """Names of the live operators that a module's Relax functions call."""
    from tvm import relax

    found: set[str] = set()

    def visit(expression: Any) -> None:
        spec = ops.spec_of(expression) if isinstance(expression, relax.Call) else None
        if spec is not None:
            found.add(spec.name)

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return tuple(sorted(found))


def _info(name: str, kind: Any) -> TensorInfo:
    read = parameter_of(name, kind)
    return TensorInfo(name, read.shape, "" if read.dtype is None else read.dtype.name)
