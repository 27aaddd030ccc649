"""From a module to an executable, and from NumPy arrays to results."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.errors import CallError, PipelineError, TvmlabError
from tvmlab.runtime.empty_sums import set_before_summing
from tvmlab.runtime.memory import Demand, demand_of
from tvmlab.runtime.mends import is_out_of_memory, mend_of_compiling
from tvmlab.runtime.signature import Signature, signature_of
from tvmlab.runtime.silence import quiet
from tvmlab.runtime.target import host_target
from tvmlab.runtime.threads import prepare_pool

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Executable", "compile_module", "tensor_of"]

Array = NDArray[Any]

_POOLED_BYTES = 4 << 20
_POOLED_SHAPES = 8


def compile_module(module: Any, target: Any = None) -> Executable:
    """Compile a module whose operators are all legalized.  No fusion, no schedule: what is in it is what runs.

    Parameters
    ----------
    module : tvm.IRModule
        Is not changed.
    target : tvm.target.Target, optional
        Default: `host_target`.

    Returns
    -------
    Executable

    Raises
    ------
    PipelineError
        TVM refuses the module.
    """
    tvm = prepare_pool()
    from tvm import relax

    started = time.perf_counter()
    functions = {v.name_hint: f for v, f in module.functions.items() if isinstance(f, relax.Function)}
    signatures = {name: signature_of(name, function) for name, function in functions.items()}
    try:
        with quiet():
            module = set_before_summing(module)
            built = relax.build(module.clone(), host_target() if target is None else target)
            machine = relax.VirtualMachine(built, tvm.cpu())
    except TvmlabError:
        raise
    except Exception as error:
        raise PipelineError(
            f"TVM could not compile the module: {first_line(error)}",
            where=f"the module with the functions {', '.join(sorted(signatures)) or '(none)'}",
            mend=mend_of_compiling(error),
        ) from error
    demands = {name: demand_of(function) for name, function in functions.items()}
    return Executable(machine, signatures, time.perf_counter() - started, demands)


def first_line(error: BaseException) -> str:
    """What an error of TVM's says: its first line, and the call it blames."""
    said, *more = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    blamed = next((more[i : i + 2] for i, line in enumerate(more) if line.startswith("Offending call")), [])
    return " ".join([f"{type(error).__name__}:", said, *blamed])


@dataclass(frozen=True)
class _Slot:
    """Input tensors of one set of shapes, aligned as TVM's kernels need them, and how to write into each."""

    tensors: tuple[Any, ...]
    writers: tuple[Callable[[Any, Array], None], ...]


class Executable:
    """A compiled module.

    Parameters
    ----------
    vm : tvm.relax.VirtualMachine
    signatures : dict
        `Signature` of each function.
    seconds_to_compile : float
    demands : dict, optional
        `Demand` of each function, for errors to say what it asked for.

    Notes
    -----
    A kernel that is vectorised reads 64-byte aligned memory and dies on any other; NumPy aligns to 16.  So
    arguments are always copied, into tensors that are kept for the next call with the same shapes.
    """

    def __init__(
        self,
        vm: Any,
        signatures: dict[str, Signature],
        seconds_to_compile: float,
        demands: dict[str, Demand] | None = None,
    ) -> None:
        self.vm = vm
        self.signatures = signatures
        self.seconds_to_compile = seconds_to_compile
        self._demands = demands or {}
        self._slots: dict[tuple[Any, ...], list[_Slot]] = {}
        self._functions: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<Executable: {', '.join(self.signatures)}, compiled in {self.seconds_to_compile:.2f} s>"

    def run(self, *arrays: Any, function: str = "main") -> Any:
        """Run on NumPy arrays.

        Parameters
        ----------
        *arrays : ndarray
            One per parameter, of its dtype and shape; any memory layout and byte order, read-only ones too.  Python
            numbers and nested lists are converted.
        function : str
            Which function of the module.

        Returns
        -------
        ndarray or tuple of ndarray

        Raises
        ------
        CallError
            Number, dtype or shape of the arguments is wrong.
        PipelineError
            The kernel failed while it ran.
        """
        signature = self._signature(function)
        slot, home = self._fill(signature, arrays)
        try:
            result = self._functions[function](*slot.tensors)
        except Exception as error:
            raise _failure(signature, arrays, error, self._demands.get(function)) from error
        made = _to_numpy(result, copy=not signature.fresh)
        if home is not None:
            made = _apart_from(slot, made)
            home.append(slot)
        return made

    def run_in_place(self, *arrays: Any, function: str = "main") -> Any:
        """As `run`, on arrays of the right dtypes and shapes that are aligned to 64 bytes, without a copy of them."""
        signature = self._signature(function)
        try:
            result = self._functions[function](*map(_as_tensor, arrays))
        except Exception as error:
            raise _failure(signature, arrays, error, self._demands.get(function)) from error
        return _to_numpy(result, copy=False)

    def bind(self, *arrays: Any, function: str = "main") -> Callable[[], Any]:
        """A call without arguments that runs on copies of these arrays, made once; it returns TVM's own result.

        For timing: nothing is converted when it is called.
        """
        signature = self._signature(function)
        tensors = _new_slot(_checked(signature, arrays)).tensors
        entry = self._functions[function]

        def call() -> Any:
            try:
                return entry(*tensors)
            except Exception as error:
                raise _failure(signature, arrays, error, self._demands.get(function)) from error

        return call

    def time(self, *arrays: Any, function: str = "main", repeats: int = 5) -> tuple[float, ...]:
        """Seconds of each of `repeats` runs, after one run to warm up."""
        call = self.bind(*arrays, function=function)
        call()
        seconds = []
        for _ in range(repeats):
            started = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - started)
        return tuple(seconds)

    def _signature(self, function: str) -> Signature:
        if function not in self._functions:
            try:
                self._functions[function] = self.vm[function]
            except AttributeError as error:
                raise CallError(
                    f"the module has no function {function!r}",
                    mend=f"it has {', '.join(sorted(self.signatures)) or 'none'}",
                ) from error
        return self.signatures[function]

    def _fill(self, signature: Signature, arguments: tuple[Any, ...]) -> tuple[_Slot, list[_Slot] | None]:
        """Copy the arguments into a slot; the list is where to put the slot back, None if it is not kept."""
        dtypes = signature.dtypes
        if [type(a) for a in arguments] != [np.ndarray] * len(dtypes) or [a.dtype for a in arguments] != dtypes:
            arguments = _checked(signature, arguments)
        if not signature.tensors_only:
            return _new_slot(arguments), None
        key = (signature.name, *[a.shape for a in arguments])
        waiting = self._slots.get(key)
        if waiting is None:
            if sum(a.nbytes for a in arguments) > _POOLED_BYTES:
                return _new_slot(arguments), None
            if len(self._slots) >= _POOLED_SHAPES:
                self._slots.clear()
            waiting = self._slots.setdefault(key, [])
        try:
            slot = waiting.pop()
        except IndexError:
            return _new_slot(arguments), waiting
        for write, argument in zip(slot.writers, arguments, strict=True):
            write(..., argument)
        return slot, waiting


def _checked(signature: Signature, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    arguments = signature.converted(arguments)
    problem = signature.problem(arguments)
    if problem is not None:
        raise problem
    return arguments


def _new_slot(arguments: tuple[Any, ...]) -> _Slot:
    tensors, writers = zip(*map(_tensor_and_writer, arguments), strict=True) if arguments else ((), ())
    return _Slot(tensors, writers)


def tensor_of(array: Array) -> Any:
    """A TVM tensor that holds a copy of the array, aligned as TVM's kernels need it."""
    return _tensor_and_writer(array)[0]


def _tensor_and_writer(argument: Any) -> tuple[Any, Callable[[Any, Array], None]]:
    """A TVM tensor that holds a copy of the array, and the function that writes another array into it."""
    from tvm import runtime

    if not isinstance(argument, np.ndarray):
        return argument, lambda _, __: None
    tensor = runtime.empty(argument.shape, argument.dtype.name)
    write = np.from_dlpack(tensor).__setitem__ if argument.dtype.kind != "V" else _copier_into(tensor)
    write(..., argument)
    return tensor, write


def _as_tensor(array: Array) -> Any:
    """A TVM tensor in the array's own memory; a copy, if it is of a dtype that DLPack does not take, or empty."""
    from tvm import runtime

    if array.dtype.kind in "fiu" and array.size:
        return runtime.from_dlpack(array)
    return tensor_of(array)


def _copier_into(tensor: Any) -> Callable[[Any, Array], None]:
    """For a dtype that DLPack does not give to NumPy, such as bfloat16."""
    return lambda _, array: tensor.copyfrom(np.asarray(array, order="C"))


def _to_numpy(result: Any, copy: bool) -> Any:
    from tvm import runtime

    if isinstance(result, runtime.Tensor):
        try:
            array = np.from_dlpack(result)
        except (RuntimeError, BufferError):  # a dtype that DLPack does not give to NumPy, old or new
            return result.numpy()
        return array.copy() if copy else array
    if isinstance(result, runtime.ShapeTuple):
        return tuple(map(int, result))
    if hasattr(result, "__len__") and not isinstance(result, str):
        return tuple(_to_numpy(each, copy) for each in result)
    return result


def _apart_from(slot: _Slot, made: Any) -> Any:
    """The results, none in the memory of the inputs, which the next call writes to: TVM makes a reshape a view."""
    if isinstance(made, tuple):
        return tuple(_apart_from(slot, each) for each in made)
    if not isinstance(made, np.ndarray):
        return made
    inputs = (getattr(write, "__self__", None) for write in slot.writers)
    return made.copy() if any(np.may_share_memory(made, each) for each in inputs if each is not None) else made


def _failure(
    signature: Signature, arguments: tuple[Any, ...], error: Exception, demand: Demand | None = None
) -> TvmlabError:
    """The error to raise for one that TVM raised: about the arguments if they are at fault."""
    if isinstance(error, TvmlabError):
        return error
    arrays = signature.converted(arguments)
    problem = signature.problem(arrays)
    if problem is not None:
        return problem
    if is_out_of_memory(error):
        return _out_of_memory(signature, None if demand is None else demand.largest(arrays))
    return PipelineError(f"the kernel failed while it ran: {first_line(error)}", where=f"function {signature.name}")


def _out_of_memory(signature: Signature, largest: tuple[str, int] | None) -> PipelineError:
    asked = "" if largest is None else f": its largest tensor, {largest[0]}, needs {largest[1]:,} bytes"
    return PipelineError(
        f"there is not enough memory to run it{asked}",
        where=f"function {signature.name}",
        mend="give it smaller inputs, or a smaller size in the operator that makes this tensor",
    )
