"""An operator that is live in TVM, and how it is called."""

from __future__ import annotations

import os
import threading
import traceback
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm
from tvm import relax

from tvmlab import tvm_api
from tvmlab.errors import CallError, ComputeError, PipelineError, TvmlabError
from tvmlab.ops import lowering
from tvmlab.ops.crossing import original
from tvmlab.ops.guards import Examination
from tvmlab.ops.source import caller
from tvmlab.ops.spec import OpSpec
from tvmlab.records import CheckReport, Record, Written
from tvmlab.runtime import POLICY, Executable, Isolated, compile_module, is_proved_safe, quiet

if TYPE_CHECKING:
    from onnx import FunctionProto

    from tvmlab.ops.card import OpCard

_CACHED_KERNELS = 256
_kernels: OrderedDict[Any, Executable | Isolated] = OrderedDict()
_compiling = threading.RLock()
"""Held while a kernel is compiled: TVM's block builders know of each other, whatever thread they are in."""


@dataclass(frozen=True, repr=False, eq=False)
class Op(Record):
    """One version of an operator, live in TVM under ``relax.<namespace>.<name>``.

    Calling it with NumPy arrays compiles a kernel (once for each combination of shapes, dtypes and attributes) and
    runs it; calling it with a Relax expression among its arguments builds a Relax call.
    """

    spec: OpSpec
    examination: Examination = field(repr=False)
    quick_check: CheckReport | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """``namespace.name``."""
        return self.spec.name

    @property
    def full_name(self) -> str:
        """The operator's name in TVM."""
        return f"relax.{self.spec.name}"

    @property
    def headline(self) -> str:
        return self.spec.signature

    def __call__(self, *tensors: Any, **attributes: Any) -> Any:
        """Call the operator.

        Parameters
        ----------
        *tensors : array_like or relax.Expr
            The inputs, by position.
        **attributes
            Its attributes, by name.

        Returns
        -------
        ndarray, tuple of ndarray, or relax.Call
            A Relax call if any input is a Relax expression.

        Raises
        ------
        CallError
            For a wrong number of inputs.
        AttributeSchemaError
            For an attribute that is unknown, missing or of a wrong type.
        TypeRuleError, ComputeError
            If the operator refuses the inputs.
        """
        if any(isinstance(t, relax.Expr) for t in tensors):
            return self.bind(*tensors, **attributes)
        return self._run([np.asarray(t) for t in tensors], attributes)

    def bind(self, *tensors: Any, **attributes: Any) -> relax.Call:
        """Build a Relax call; arrays and numbers among the tensors become constants."""
        self.spec.check_count(len(tensors))
        attrs = self.spec.schema.make(attributes)
        return relax.Call(tvm_api.get_op(self.full_name), [_expression(t, self.spec) for t in tensors], attrs)

    def reference(self, *arrays: Any, **attributes: Any) -> Any:
        """What the operator should give, computed by the NumPy reference of its cell.

        Raises
        ------
        CallError
            If the cell gave none.
        ComputeError
            If the reference raises.
        """
        spec = self.spec
        if spec.reference is None:
            raise CallError(
                f"{spec.name} has no reference",
                where=caller() or spec.signature,
                mend="add def reference(x, …) in NumPy to its cell",
            )
        spec.check_count(len(arrays))
        values = spec.schema.values(spec.schema.make(attributes))
        try:
            return spec.reference([np.asarray(a) for a in arrays], values)
        except TvmlabError:
            raise
        except Exception as error:
            raise lowering.user_error(spec, spec.reference, error, ComputeError) from error

    def export(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Written:
        """Write a module that makes the operator live when it is imported, and beside it a test of it.

        Parameters
        ----------
        path : path
            The module, such as ``my_op.py``; the test is then ``test_my_op.py`` in the same folder.
        overwrite : bool
            Put them in the place of files of these names.

        Raises
        ------
        CallError
            A file of that name exists, cannot be written, or could not be imported.
        NotWritable
            The operator uses something that cannot be written down as Python.
        """
        from tvmlab.ops.exporting import export

        return export(self, path, overwrite=overwrite)

    def to_onnx_function(
        self, *, domain: str | None = None, name: str | None = None, opset: int = 18, **attributes: Any
    ) -> FunctionProto:
        """The operator as an ONNX function, for whoever runs ONNX without it.

        Parameters
        ----------
        domain, name : str, optional
            Of the function; the operator's namespace and name by default.
        opset : int
            Version of ONNX's operators in it, from 15: that of the model it is for.
        **attributes
            Values to fix in it.  Those of type float that are not given stay attributes of the function, with their
            defaults, and are float32 as all of ONNX's; all others are fixed at their defaults.

        Returns
        -------
        onnx.FunctionProto
            Add it to ``model.functions``.

        Raises
        ------
        NotExpressible
            ONNX has no counterpart for something that the operator does; it is named.
        AttributeSchemaError
            An attribute is unknown or refused.
        """
        from tvmlab.ops.onnx_function import onnx_function

        return onnx_function(self, attributes, domain, name, opset)

    def legalized(self, types: Sequence[relax.TensorType], attributes: Mapping[str, Any]) -> tvm.IRModule:
        """A module whose main calls the operator once, lowered by TVM for the current target; TVM's errors as they are.

        Parameters
        ----------
        types : sequence of TensorType
            Of the inputs.
        attributes : mapping
            Other than the defaults.
        """
        inputs = lowering.parameters(self.spec, types)
        builder = relax.BlockBuilder()
        with builder.function("main", inputs):
            with builder.dataflow():
                result = builder.emit_output(builder.emit(self.bind(*inputs, **attributes)))
            builder.emit_func_output(result)
        return relax.transform.LegalizeOps()(builder.get())

    def card(self) -> OpCard:
        """The operator's card: what is set and what is missing, and the TIR that it lowers to."""
        from tvmlab.ops.card import card_of

        return card_of(self)

    def to_dict(self) -> dict[str, Any]:
        checked = {} if self.quick_check is None else {"quick_check": self.quick_check.to_dict()}
        return {**self.card().to_dict(), **checked}

    def _run(self, arrays: list[Any], attributes: dict[str, Any]) -> Any:
        try:
            # 0.0 equals -0.0, and False equals 0; as text they differ.
            given = tuple((name, value or repr(value)) for name, value in attributes.items())
            key = (self.spec, POLICY.safe, given, *[(a.shape, a.dtype) for a in arrays])
            kernel = _kernels.get(key)
        except TypeError:  # an attribute is a list or a dict
            key = (self.spec, POLICY.safe, _frozen(attributes), *[(a.shape, a.dtype) for a in arrays])
            kernel = _kernels.get(key)
        if kernel is None:
            self.spec.check_count(len(arrays))
            with _compiling:
                kernel = _kernels.get(key) or self._compile(arrays, attributes)
                _kernels[key] = kernel
                while len(_kernels) > _CACHED_KERNELS:
                    _kernels.popitem(last=False)
        try:
            return kernel.run(*arrays)
        except PipelineError as error:
            if isinstance(kernel, Isolated) and (place := caller()):
                raise PipelineError(f"{self.name}: {error.what}", place, error.mend) from error
            raise

    def _compile(self, arrays: list[Any], attributes: dict[str, Any]) -> Executable | Isolated:
        types = [_type_of(a, self.spec) for a in arrays]
        with quiet():
            try:
                module = self.legalized(types, attributes)
            except Exception as error:  # noqa: BLE001  TVM raises whatever it likes
                failure = original(error) if isinstance(error, TvmlabError) else self._not_legalized(error, types)
                # The frames hold a block builder, which complains on stderr when it dies unfinished: let it die here.
                for each in (*_chain(error), *_chain(failure)):
                    traceback.clear_frames(each.__traceback__)
                module = None
        if module is None:
            raise failure from failure.__cause__
        return Isolated(module) if POLICY.safe and not is_proved_safe(module) else compile_module(module)

    def _not_legalized(self, error: Exception, types: list[relax.TensorType]) -> TvmlabError:
        spec = self.spec
        failure = lowering.user_error(spec, spec.compute, error, ComputeError, types)
        failure.__cause__ = error
        return failure


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, what it was raised from, and what that was raised from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _type_of(array: Any, spec: OpSpec) -> relax.TensorType:
    if array.dtype == object or array.dtype.kind not in "biuf":
        raise CallError(
            f"{spec.name} is called with an array of dtype {array.dtype}",
            where=caller() or spec.signature,
            mend="give arrays of floats, integers or booleans",
        )
    return relax.TensorType(array.shape, array.dtype.newbyteorder("=").name)


def _expression(value: Any, spec: OpSpec) -> Any:
    if isinstance(value, relax.Expr):
        return value
    array = np.asarray(value)
    _type_of(array, spec)
    return relax.const(array if not isinstance(value, float) else np.float32(value))


def _frozen(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return tuple((k, _frozen(v)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return tuple(_frozen(v) for v in value)
    return value
