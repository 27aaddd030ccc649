"""A compiled module as a shared library, with its constants beside it, and back."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tvmlab.errors import BackendError, PipelineError
from tvmlab.runtime.empty_sums import set_before_summing
from tvmlab.runtime.executable import Executable, first_line, tensor_of
from tvmlab.runtime.mends import mend_of_compiling
from tvmlab.runtime.signature import Signature
from tvmlab.runtime.silence import quiet
from tvmlab.runtime.target import host_target
from tvmlab.runtime.threads import prepare_pool

__all__ = ["SUFFIX", "called_functions", "export_library", "lift_constants", "open_library"]

Array = NDArray[Any]

SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
_PACKED = ("tirx.tvm_call_packed", "tirx.tvm_call_cpacked")
_LINKERS = ("g++", "c++", "clang++", "cc")


def lift_constants(module: Any) -> tuple[Any, list[Array]]:
    """A module whose main takes its constants as further arguments, and these.

    Parameters
    ----------
    module : tvm.IRModule
        Is not changed.
    """
    from tvm import relax
    from tvm.relax.expr_functor import PyExprMutator, mutator

    lifted: dict[Any, Any] = {}

    @mutator
    class Lifter(PyExprMutator):  # type: ignore[misc]
        def visit_generic_const_(self, constant: Any) -> Any:
            if constant not in lifted:
                lifted[constant] = relax.Var(f"constant_{len(lifted)}", constant.ty)
            return lifted[constant]

    changed = module.clone()
    main = Lifter(changed).visit_expr(changed["main"])
    changed["main"] = relax.Function([*main.params, *lifted.values()], main.body, main.ret_ty, main.is_pure, main.attrs)
    return changed, [constant.value.numpy() for constant in lifted]


def export_library(module: Any, file: Path) -> None:
    """Compile a module whose operators are all legalized for this machine, and write it as a shared library.

    Raises
    ------
    BackendError
        There is no compiler to link with.
    PipelineError
        TVM or the linker refuses.
    """
    prepare_pool()
    from tvm import relax

    if not any(map(shutil.which, _LINKERS)):
        raise BackendError(
            f"to link a library takes a C++ compiler, and there is none of {', '.join(_LINKERS)}",
            mend="install one: apt install g++, xcode-select --install, or conda install cxx-compiler",
        )
    try:
        with quiet():
            built = relax.build(set_before_summing(module).clone(), host_target())
            built.export_library(str(file))
    except Exception as error:
        raise PipelineError(
            f"the module could not be written as a library: {first_line(error)}",
            where=str(file),
            mend=mend_of_compiling(error),
        ) from error


def open_library(file: Path, signature: Signature, constants: Sequence[Array]) -> Executable:
    """The module in a library, which runs code of it.

    Parameters
    ----------
    signature : Signature
        Of its main, without the constants.
    constants : sequence of ndarray
        What `lift_constants` gave.

    Raises
    ------
    PipelineError
        It cannot be loaded.
    """
    tvm = prepare_pool()
    from tvm import relax

    started = time.perf_counter()
    try:
        with quiet():
            machine = relax.VirtualMachine(tvm.runtime.load_module(str(file)), tvm.cpu())
            main = machine["main"]
    except Exception as error:
        raise PipelineError(
            f"the library cannot be loaded: {first_line(error)}", str(file), "save the model again on this machine"
        ) from error
    tensors = tuple(map(tensor_of, constants))
    return Executable(
        {"main": lambda *inputs: main(*inputs, *tensors)},
        {signature.name: signature},
        time.perf_counter() - started,
    )


def called_functions(module: Any) -> tuple[str, ...]:
    """Names of the global functions that a module calls: those of TVM, and those that a process must register."""
    import tvm_ffi
    from tvm import ir, relax, tirx

    found: set[str] = set()

    def visit(call: Any) -> None:
        if getattr(call.op, "name", "") in _PACKED:
            found.update(str(a.value) for a in call.args[:1] if isinstance(a, tirx.StringImm))
        found.update(str(a.global_symbol) for a in [call.op, *call.args[:1]] if isinstance(a, relax.ExternFunc))

    for function in module.functions.values():
        tvm_ffi.structural_walk(function.body, (ir.Call, visit), order="post")
    return tuple(sorted(found))
