"""The kernels of a compiled model while it runs: each gets the values that it should, and its results are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab import runtime
from tvmlab.measure.kernel_checks import Level, Tolerance, Truth, errors_of, laid_out
from tvmlab.measure.steps import Step, arguments_of
from tvmlab.records import KernelCheck

__all__ = ["watch"]

Array = NDArray[Any]
Value = Any


def watch(
    executable: runtime.Executable, level: Level, feeds: Sequence[Array], tolerance: Tolerance
) -> tuple[KernelCheck, ...]:
    """Run a compiled model, and compare what each of its kernels gives.

    Parameters
    ----------
    executable : Executable
        Made of the level's module.
    level : Level
        What each kernel should give.

    Notes
    -----
    Before a kernel runs, its arguments must hold what they should: constants those of the module, the others what
    their kernels gave, which nothing may have written over.
    """
    watcher = _Watcher(level, tolerance)
    executable.vm.set_instrument(watcher)
    try:
        executable.run(*feeds)
    finally:
        executable.vm.set_instrument(None)
    watcher.leave_out(watcher.waiting)
    return tuple(watcher.checks)


class _Watcher:
    """What the virtual machine calls before and after each of its functions."""

    def __init__(self, level: Level, tolerance: Tolerance) -> None:
        self.level, self.tolerance = level, tolerance
        self.waiting = list(level.steps)
        self.running: Step | None = None
        self.note = ""
        self.checks: list[KernelCheck] = []

    def __call__(self, _function: Any, name: str, before: bool, _result: Any, *arguments: Any) -> int:
        if before:
            self.running = self._step(name)
            if self.running is not None:
                self.note = self._fill(self.running, arguments)
        elif self.running is not None and self.running.kernel == name:
            self.checks.append(self._check(self.running, arguments))
            self.running = None
        return 0  # run it

    def _step(self, name: str) -> Step | None:
        """The next step that calls it; those before it the machine does without, as it does with a reshape."""
        at = next((i for i, step in enumerate(self.waiting) if step.kernel == name), None)
        if at is None or self.waiting[at].function_in(self.level.module) is None:
            return None
        *left_out, step = self.waiting[: at + 1]
        del self.waiting[: at + 1]
        self.leave_out(left_out)
        return step

    def leave_out(self, steps: Sequence[Step]) -> None:
        """Steps that no kernel was seen for."""
        for step in steps:
            truth = self.level.truths[step.position]
            self.checks.append(KernelCheck(step.kernel, truth.nodes if truth else (), (), "no kernel of its own runs"))

    def _fill(self, step: Step, arguments: Sequence[Any]) -> str:
        """Give a kernel the inputs that it should get; says which of them was wrong."""
        from tvm.relax import Var

        wanted = arguments_of(step, self.level.environment) or []
        read = [pair for pair in zip(step.value.args[1], wanted, strict=True) if isinstance(pair[1], np.ndarray)]
        notes = []
        for place, ((expression, want), tensor) in enumerate(zip(read, _tensors(arguments), strict=False)):
            if not all(error.within(0.0) for error in errors_of(want, tensor.numpy(), self.tolerance)):
                what = "was written over before it ran" if isinstance(expression, Var) else "is not the module's"
                notes.append(f"its argument {place} {what}")
            if isinstance(expression, Var):
                tensor.copyfrom(np.asarray(want, order="C"))
        return "; ".join(notes)

    def _check(self, step: Step, arguments: Sequence[Any]) -> KernelCheck:
        truth = self.level.truths[step.position]
        assert truth is not None
        kinds = list(_tensor_types(step.value.ty))
        tensors = _tensors(arguments)[-len(kinds) :]
        got = tuple(tensor.numpy() for tensor in tensors)
        errors = errors_of(truth.expected, got if isinstance(truth.expected, tuple) else got[0], self.tolerance)
        for tensor, kind, want in zip(tensors, kinds, _arrays(truth), strict=True):
            tensor.copyfrom(np.asarray(laid_out(want, kind), order="C"))
        return KernelCheck(step.kernel, truth.nodes, errors, self.note)


def _tensors(arguments: Sequence[Any]) -> list[Any]:
    """A kernel's tensors, its results last; sizes may stand among them."""
    from tvm.runtime import Tensor

    return [argument for argument in arguments if isinstance(argument, Tensor)]


def _tensor_types(kind: Any) -> Iterator[Any]:
    fields = getattr(kind, "fields", None)
    if fields is None:
        yield kind
    else:
        for field in fields:
            yield from _tensor_types(field)


def _arrays(truth: Truth) -> Iterator[Array]:
    yield from truth.given if isinstance(truth.given, tuple) else (truth.given,)
