"""The plainest build of a model, in which NumPy references stand for the live operators."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvmlab import runtime, tvm_api
from tvmlab.errors import PipelineError, TvmlabError
from tvmlab.measure.references import live_call_of, run_reference
from tvmlab.pipeline import LiveCall, stages
from tvmlab.pipeline.guarded import guarded
from tvmlab.runtime.executable import first_line

if TYPE_CHECKING:
    from tvmlab.pipeline import Model

__all__ = ["PlainBuild", "Substitutes", "run_plain_build"]

Array = NDArray[Any]

_numbers = itertools.count()


@dataclass(frozen=True)
class PlainBuild:
    """What it gave, and which live operators ran as their references, or had none."""

    outputs: tuple[Array, ...]
    referred: tuple[str, ...]
    without: tuple[str, ...]


def run_plain_build(model: Model, inputs: Sequence[Array]) -> PlainBuild:
    """Run a model unfused and unscheduled, its live operators as their NumPy references.

    Parameters
    ----------
    model : Model
    inputs : sequence of ndarray

    Raises
    ------
    CallError, ComputeError
        The inputs do not fit, or a reference fails.
    """
    substitutes = Substitutes()
    with substitutes.registered():
        # None of tvmlab's own clean-up, nor its stages: what they do is under test.
        imported = stages.import_model(dataclasses.replace(model, onnx=None), cleanup="tvm")
        executable = runtime.compile_module(substitutes.legalized(imported.module))
        try:
            outputs = executable.run(*inputs)
        except TvmlabError as error:
            raise next(iter(substitutes.failures), error) from error
    flat = outputs if isinstance(outputs, tuple) else (outputs,)
    return PlainBuild(flat, tuple(sorted(substitutes.referred)), tuple(sorted(substitutes.without)))


@dataclass
class Substitutes:
    """Packed functions that run the NumPy references of live operators."""

    names: list[str] = field(default_factory=list)
    referred: set[str] = field(default_factory=set)
    without: set[str] = field(default_factory=set)
    failures: list[TvmlabError] = field(default_factory=list)

    @contextmanager
    def registered(self) -> Iterator[None]:
        """Take the functions back in the end."""
        try:
            yield
        finally:
            for name in self.names:
                tvm_api.remove_global_func(name)

    def legalized(self, module: Any) -> Any:
        """A module legalized by TVM alone, its live operators as their references."""
        from tvm.relax import transform

        def run() -> Any:
            with runtime.host_target():
                return transform.LegalizeOps()(self.put_into(module))

        return guarded(run, lambda error: PipelineError(f"TVM cannot legalize the module: {first_line(error)}"))

    def put_into(self, module: Any) -> Any:
        """A copy of the module whose main calls references where it called live operators that have one."""
        from tvm import relax
        from tvm.relax.expr_functor import PyExprMutator, mutator

        function_for = self._function_for

        @mutator
        class Replacer(PyExprMutator):  # type: ignore[misc]
            def visit_call_(self, call: Any) -> Any:
                visited = self.visit_expr_post_order(call)
                live = live_call_of(visited)
                name = None if live is None else function_for(live)
                if name is None:
                    return visited
                return relax.op.call_pure_packed(name, *visited.args, ty_args=call.ty)

        changed = module.clone()
        changed["main"] = Replacer(module).visit_expr(module["main"])
        return changed

    def _function_for(self, live: LiveCall) -> str | None:
        """Name of a packed function that runs the reference; None if there is no reference."""
        import tvm

        spec = live.op.spec
        if spec.reference is None:
            self.without.add(spec.name)
            return None
        self.referred.add(spec.name)
        self.names.append(f"tvmlab.measure.reference_{next(_numbers)}")

        def run(*tensors: Any) -> Any:
            try:
                results = run_reference(live, [tensor.numpy() for tensor in tensors])
            except TvmlabError as error:
                self.failures.append(error)
                raise
            made = [tvm.runtime.tensor(np.asarray(result, order="C")) for result in results]
            return made[0] if len(made) == 1 else made

        tvm.register_global_func(self.names[-1], run)
        return self.names[-1]
