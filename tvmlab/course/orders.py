"""Properties of orders of passes: judged by what comes out, so that every order that works is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlab.errors import PipelineError
from tvmlab.records import Mismatch, Property

__all__ = ["PASSES", "Outcome", "Task", "fuses_into_one", "is_permutation", "outcome_of", "runs_right"]

PASSES = ("AnnotateTIROpPattern", "CallTIRRewrite", "FoldConstant", "FuseOps", "FuseTIR", "LegalizeOps")
"""Those to put in order, by name."""
_REST = (
    *("ToNonDataflow", "RemovePurityChecking", "StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse"),
    *("LowerRuntimeBuiltin", "ComputePrimValue", "VMShapeLower", "AttachGlobalSymbol"),
)


@dataclass(frozen=True)
class Task:
    """A module, arrays for its main, and what that should give."""

    module: Any
    arrays: tuple[Any, ...]
    expected: Any


@dataclass(frozen=True)
class Outcome:
    """What an order of passes leads to.

    Parameters
    ----------
    kernels : tuple of str
        What main calls, in order; a call of another Relax function has ``function`` before it.
    result : ndarray
    """

    kernels: tuple[str, ...]
    result: Any


Tasks = Callable[[np.random.Generator], Iterable[Task]]


def is_permutation(name: str) -> Property:
    """A property: each pass is there once."""

    def check(answer: Any, _random: np.random.Generator) -> Mismatch | None:
        given = _given(answer)
        if isinstance(given, Mismatch):
            return given
        missing = [each for each in PASSES if each not in given]
        if missing:
            return Mismatch(f"{missing[0]} is missing")
        twice = [each for each in given if given.count(each) > 1]
        return Mismatch(f"{twice[0]} is there twice") if twice else None

    return Property(name, check)


def runs_right(tasks: Tasks, name: str) -> Property:
    """A property: the module compiles, and its values are right."""

    def wrong(outcome: Outcome, task: Task) -> Mismatch | None:
        right = np.allclose(outcome.result, task.expected, rtol=1e-4, atol=1e-5)
        return None if right else Mismatch("it runs, and its values are wrong")

    return _of_every_task(tasks, name, wrong)


def fuses_into_one(tasks: Tasks, name: str) -> Property:
    """A property: all that main calls is one kernel."""

    def apart(outcome: Outcome, _task: Task) -> Mismatch | None:
        kernels = outcome.kernels
        if len(kernels) != 1:
            return Mismatch(f"main calls {len(kernels)} kernels, and one is enough: {', '.join(kernels)}")
        if kernels[0].startswith("function "):
            what = f"main calls the Relax {kernels[0]}, which calls the kernels one by one"
            return Mismatch(what, mend="the kernels of a group become one when its function is there already")
        return None

    return _of_every_task(tasks, name, apart)


def _of_every_task(tasks: Tasks, name: str, wrong: Callable[[Outcome, Task], Mismatch | None]) -> Property:
    """A property of what an order makes of each task."""

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        given = _given(answer)
        if isinstance(given, Mismatch):
            return given
        return next((found for task in tasks(random) if (found := wrong(outcome_of(given, task), task))), None)

    return Property(name, check)


def outcome_of(order: Sequence[str], task: Task) -> Outcome:
    """Run passes in an order, then the rest of the way to the virtual machine, which lowers no operators.

    Raises
    ------
    PipelineError
        A pass fails, or the module does not compile.
    """
    import tvm
    from tvm import relax
    from tvm.relax import transform

    from tvmlab.ops.guarded import guarded

    module = task.module
    for at, name in enumerate(order):
        module = _after(name, module, ", ".join(order[:at]) or "nothing")
    kernels = _called(module)

    def run() -> Any:
        rest = tvm.transform.Sequential([getattr(transform, name)() for name in _REST])
        executable = relax.build(module, target="llvm", relax_pipeline=rest)
        machine = relax.VirtualMachine(executable, tvm.cpu())
        return machine["main"](*map(tvm.runtime.tensor, task.arrays)).numpy()

    return Outcome(kernels, guarded(run, lambda error: _failed("it does not compile", error)))


def _after(name: str, module: Any, before: str) -> Any:
    """A module after one more pass."""
    from tvm.relax import transform

    from tvmlab.ops.guarded import guarded

    made = getattr(transform, name)()
    return guarded(lambda: made(module.clone()), lambda error: _failed(f"{name} fails after {before}", error))


def _failed(what: str, error: Exception) -> PipelineError:
    from tvmlab.diagnosis import explain

    known = explain(error)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = (lines[0] if lines else type(error).__name__).rpartition(" is false: ")[2]
    return PipelineError(f"{what}: {said}", mend=known.mend if known else "")


def _called(module: Any) -> tuple[str, ...]:
    """What main calls that computes."""
    from tvm import ir, relax
    from tvm.tirx import PrimFunc

    found: list[str] = []

    def visit(node: Any) -> None:
        if not isinstance(node, relax.Call):
            return
        operator = str(getattr(node.op, "name", ""))
        called = node.args[0] if operator.startswith("relax.call_tir") else node.op
        if isinstance(called, ir.GlobalVar):
            is_kernel = isinstance(module[called], PrimFunc)
            found.append(f"{'' if is_kernel else 'function '}{called.name_hint}")

    relax.analysis.post_order_visit(module["main"], visit)
    return tuple(found)


def _given(answer: Any) -> list[str] | Mismatch:
    given = answer()
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        return Mismatch(f"order() returns {given!r:.80}, which is no list of names", mend='return ["LegalizeOps", …]')
    unknown = [each for each in given if each not in PASSES]
    if unknown:
        return Mismatch(f"{unknown[0]!r:.60} is none of the passes", mend=f"they are {', '.join(PASSES)}")
    return list(given)
