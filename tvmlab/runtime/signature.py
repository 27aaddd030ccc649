"""What a compiled function takes and gives, in plain Python, and what is wrong with given arguments."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Parameter", "Signature", "dtype_of", "parameter_of", "signature_of"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a compiled function.

    Parameters
    ----------
    name : str
    shape : tuple of int or str, or None
        Symbolic dimensions as text; None if the rank is unknown.
    dtype : numpy.dtype, or None
        None if it is unknown.
    tensor : bool
        False for a tuple, shape or scalar parameter, which is passed on as it is.
    """

    name: str
    shape: tuple[int | str, ...] | None
    dtype: np.dtype[Any] | None
    tensor: bool = True

    def __str__(self) -> str:
        return _text(self.dtype, self.shape)

    def mismatch(self, array: Array, dimensions: dict[str, int]) -> str:
        """What is wrong with `array`, or an empty text; `dimensions` collects the values of symbolic ones."""
        if self.dtype is not None and array.dtype.newbyteorder("=") != self.dtype:
            return f"expected {self.dtype}, got {_text(array.dtype, array.shape)}"
        if self.shape is None:
            return ""
        if len(self.shape) != array.ndim:
            return f"expected {self}, got {_text(array.dtype, array.shape)}"
        for want, have in zip(self.shape, array.shape, strict=True):
            if isinstance(want, str) and not want.isidentifier():
                continue  # an expression over dimensions: TVM checks it
            known = want if isinstance(want, int) else dimensions.setdefault(want, have)
            if known != have:
                because = f" with {want} = {known}" if isinstance(want, str) else ""
                return f"expected {self}{because}, got {_text(array.dtype, array.shape)}"
        return ""


@dataclass(frozen=True)
class Signature:
    """Parameters of a compiled function.

    Parameters
    ----------
    name : str
    parameters : tuple of Parameter
    fresh : bool
        Whether every result is memory of its own.  If not, a result may be a constant of the module or an
        argument, and is copied before the caller gets it.
    """

    name: str
    parameters: tuple[Parameter, ...]
    fresh: bool

    @functools.cached_property
    def dtypes(self) -> list[np.dtype[Any] | None]:
        """Dtype of each parameter."""
        return [p.dtype for p in self.parameters]

    @functools.cached_property
    def tensors_only(self) -> bool:
        """Whether every parameter is a tensor."""
        return all(p.tensor for p in self.parameters)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{p.name}: {p}' for p in self.parameters)})"

    def converted(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as arrays; Python numbers and lists take the parameter's dtype where no value is lost.

        Raises
        ------
        CallError
            Their number is wrong, or one is no array.
        """
        if len(arguments) != len(self.parameters):
            raise CallError(
                f"{self.name} takes {len(self.parameters)} arguments, got {len(arguments)}",
                mend=f"call {self}",
            )
        return tuple(self._array(p, a) if p.tensor else a for p, a in zip(self.parameters, arguments, strict=True))

    def _array(self, parameter: Parameter, argument: Any) -> Array:
        array = np.from_dlpack(argument) if _is_foreign_tensor(argument) else np.asarray(argument)
        if array.dtype == object or array.dtype.kind in "USMm":
            raise self._error(parameter, f"expected {parameter}, got {type(argument).__name__}")
        wanted = parameter.dtype
        if wanted is not None and isinstance(argument, bool | int | float | list | tuple):
            if np.can_cast(array.dtype, wanted, "same_kind"):
                return array.astype(wanted)
            raise self._error(parameter, f"expected {parameter}, got {_text(array.dtype, array.shape)}")
        return array

    def problem(self, arrays: tuple[Any, ...]) -> CallError | None:
        """What is wrong with the arrays' dtypes and shapes."""
        dimensions: dict[str, int] = {}
        for parameter, array in zip(self.parameters, arrays, strict=True):
            wrong = parameter.mismatch(array, dimensions) if parameter.tensor else ""
            if wrong:
                return self._error(parameter, wrong)
        return None

    def _error(self, parameter: Parameter, wrong: str) -> CallError:
        if "expected" in wrong and parameter.dtype is not None and f"got {parameter.dtype}[" not in wrong:
            mend = f"convert it: np.asarray(…, {str(parameter.dtype)!r})"
        else:
            mend = f"call {self}"
        return CallError(f"argument {parameter.name!r}: {wrong}", where=f"a call of {self.name}", mend=mend)


def signature_of(name: str, function: Any) -> Signature:
    """Read the signature of a `tvm.relax.Function`."""
    parameters = tuple(parameter_of(v.name, v.ty) for v in function.params)
    return Signature(name, parameters, _returns_fresh_memory(function))


def parameter_of(name: str, kind: Any) -> Parameter:
    """A name and a Relax type in plain Python."""
    from tvm import relax

    if not isinstance(kind, relax.TensorType):
        return Parameter(name, None, None, tensor=False)
    return Parameter(name, _shape(kind), dtype_of(str(kind.dtype)) if kind.dtype is not None else None)


def _shape(kind: Any) -> tuple[int | str, ...] | None:
    from tvm import relax, tirx

    if isinstance(kind.shape, relax.ShapeExpr):
        return tuple(int(d) if isinstance(d, tirx.IntImm) else str(d) for d in kind.shape.values)
    return None if kind.ndim < 0 else tuple("?" for _ in range(kind.ndim))


def dtype_of(name: str) -> np.dtype[Any] | None:
    """NumPy's dtype of that name, bfloat16 and its kin included; None if there is none."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        extra = getattr(ml_dtypes, name, None)
        return None if extra is None else np.dtype(extra)


def _returns_fresh_memory(function: Any) -> bool:
    """Whether every result comes out of a kernel call, which allocates it."""
    from tvm import relax

    bound: Mapping[Any, Any] = {
        binding.var: getattr(binding, "value", None)
        for block in getattr(function.body, "blocks", [])
        for binding in block.bindings
    }

    def fresh(expression: Any) -> bool:
        while expression in bound:
            expression = bound[expression]
        if isinstance(expression, relax.Tuple):
            return all(map(fresh, expression.fields))
        if isinstance(expression, relax.TupleGetItem):
            return fresh(expression.tuple_value)
        name = getattr(getattr(expression, "op", None), "name", "")
        return isinstance(expression, relax.Call) and name in ("relax.call_tir", "relax.call_dps_packed")

    return fresh(getattr(function.body, "body", function.body))


def _is_foreign_tensor(value: Any) -> bool:
    return not isinstance(value, np.ndarray | np.generic) and hasattr(value, "__dlpack__")


def _text(dtype: Any, shape: tuple[int | str, ...] | None) -> str:
    dims = "..." if shape is None else ", ".join(map(str, shape))
    return f"{dtype if dtype is not None else 'tensor'}[{dims}]"
