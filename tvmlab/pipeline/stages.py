"""The stages from a model to machine code, each a function that never changes its input.

``import → legalize → annotate → fuse → inline → schedule → build``
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tvmlab import ongoing, runtime
from tvmlab.errors import CallError, PipelineError
from tvmlab.fusion import OnnxGraph, clean_up
from tvmlab.pipeline import bridge
from tvmlab.pipeline.constants import evaluate_constants
from tvmlab.pipeline.guarded import guarded
from tvmlab.pipeline.inlining import inline_kernel
from tvmlab.pipeline.layout import carry_layouts
from tvmlab.pipeline.narrowing import legalizations
from tvmlab.pipeline.onnx_import import import_graph
from tvmlab.pipeline.own_schedules import mark_blocks
from tvmlab.pipeline.schedule import schedule_kernel
from tvmlab.pipeline.variable_names import with_telling_names
from tvmlab.runtime.executable import first_line

if TYPE_CHECKING:
    from tvmlab.fusion import Grouping
    from tvmlab.pipeline.model import Model
    from tvmlab.pipeline.relax_reader import RelaxReading

__all__ = [
    "CLEANUPS",
    "ENGINES",
    "Imported",
    "annotate",
    "build",
    "count_kernels",
    "fold_constants",
    "fuse_as",
    "fuse_groups",
    "import_model",
    "inline",
    "laid_out",
    "legalize",
    "merge_groups",
    "schedule",
]

CLEANUPS = ("tvmlab", "tvm", "none")
ENGINES = ("python", "tvm", "none")


@dataclass(frozen=True)
class Imported:
    """A module, and the ONNX node behind each of its variables."""

    module: Any
    provenance: Mapping[str, str]


def import_model(model: Model, cleanup: str) -> Imported:
    """The model's module after a clean-up.

    Parameters
    ----------
    cleanup : {"tvmlab", "tvm", "none"}
        ``"tvmlab"``: on the ONNX level first (`tvmlab.fusion.clean_up`), then constants are evaluated in NumPy.
        ``"tvm"``: TVM's DecomposeOpsForInference, CanonicalizeBindings and DeadCodeElimination; FoldConstant follows
        after legalization.  ``"none"``: as imported.
    """
    if cleanup == "none":
        return Imported(model.module, model.provenance)
    if cleanup == "tvm" or model.onnx is None:
        provenance, module = model.provenance, model.module
    else:
        imported = import_graph(clean_up(OnnxGraph.of(model.onnx)), model.live)
        provenance, module = imported.provenance, imported.module
    return _tidied(module, provenance, evaluate=cleanup == "tvmlab")


def _tidied(module: Any, provenance: Mapping[str, str], evaluate: bool) -> Imported:
    from tvm.relax import transform

    def tidy() -> Imported:
        cleaned = evaluate_constants(module) if evaluate else module.clone()
        # It takes a BatchNormalization that trains for one that does not.
        if not _trains(cleaned):
            cleaned = transform.DecomposeOpsForInference()(cleaned)
        cleaned, told = with_telling_names(cleaned, provenance)
        cleaned = transform.CanonicalizeBindings()(cleaned)
        return Imported(transform.DeadCodeElimination(["main"])(cleaned), told)

    return guarded(tidy, _explain("import"))


def _trains(module: Any) -> bool:
    """Whether a BatchNormalization in the module computes the statistics of its input."""
    from tvm import relax

    found = []

    def visit(expression: Any) -> None:
        if isinstance(expression, relax.Call) and getattr(expression.op, "name", "") == "relax.nn.batch_norm":
            found.append(bool(expression.attrs.training))

    relax.analysis.post_order_visit(module["main"], visit)
    return any(found)


def legalize(module: Any) -> Any:
    """Every operator as a call of a kernel written in TIR."""
    from tvm.relax import transform

    def run() -> Any:
        with runtime.host_target():
            return mark_blocks(module, transform.LegalizeOps(legalizations())(module.clone()))

    return guarded(run, _explain("legalize"))


def fold_constants(module: Any) -> Any:
    """Kernels whose arguments are constants are compiled and run (TVM's FoldConstant: slow)."""
    from tvm.relax import transform

    return guarded(lambda: transform.FoldConstant()(module.clone()), _explain("legalize"))


def annotate(module: Any) -> Any:
    """Every kernel with its pattern kind, read from its TIR."""
    from tvm.relax import transform

    return guarded(lambda: transform.AnnotateTIROpPattern()(module.clone()), _explain("annotate"))


def fuse_groups(module: Any) -> Any:
    """Kernels that belong together as one function each (TVM's FuseOps)."""
    from tvm.relax import transform

    return guarded(lambda: transform.FuseOps()(module.clone()), _explain("fuse"))


def fuse_as(module: Any, reading: RelaxReading, grouping: Grouping) -> Any:
    """Kernels that belong together by a partition of our own as one function each."""
    return guarded(lambda: bridge.fuse_as(module, reading, grouping), _explain("fuse"))


def merge_groups(module: Any) -> Any:
    """Each group as one kernel (TVM's FuseTIR)."""
    from tvm.relax import transform

    return guarded(lambda: transform.FuseTIR()(module.clone()), _explain("fuse"))


def inline(module: Any) -> Any:
    """No intermediate buffers in kernels where that computes nothing twice."""
    return _each_kernel(module, inline_kernel, "inline")


def laid_out(module: Any) -> Any:
    """Kernels with layouts that a processor likes."""
    return guarded(lambda: carry_layouts(module), _explain("schedule"))


def schedule(module: Any, schedule_one: Callable[[Any], Any] = schedule_kernel) -> Any:
    """Kernels with layouts and loops that a processor likes; `schedule_one` takes and gives a PrimFunc."""
    return _each_kernel(laid_out(module), schedule_one, "schedule")


def build(module: Any, target: Any = None) -> runtime.Executable:
    """Machine code."""
    return runtime.compile_module(module, target)


def count_kernels(module: Any) -> int:
    """Calls in main that compute: of kernels, fused groups, and operators that are not legalized."""
    from tvm import relax

    values = (getattr(b, "value", None) for block in module["main"].body.blocks for b in block.bindings)
    return sum(isinstance(value, relax.Call) for value in values)


def check_choice(what: str, given: str, known: tuple[str, ...]) -> None:
    """Refuse an unknown value of an option."""
    if given not in known:
        raise CallError(f"{what}={given!r} is not known", mend=f"take one of {', '.join(map(repr, known))}")


def _each_kernel(module: Any, change: Callable[[Any], Any], stage: str) -> Any:
    import tvm
    from tvm import tirx

    def run() -> Any:
        changed = {}
        for at, (variable, function) in enumerate(module.functions.items()):
            ongoing.say(f"stage {stage}: {variable.name_hint}", at, len(module.functions))
            changed[variable] = change(function) if isinstance(function, tirx.PrimFunc) else function
        return tvm.IRModule(changed, attrs=module.attrs, global_infos=module.global_infos)

    return guarded(run, _explain(stage))


def _explain(stage: str) -> Callable[[Exception], PipelineError]:
    def explain(error: Exception) -> PipelineError:
        return PipelineError(
            f"the stage {stage} failed: {first_line(error)}",
            where=f"stage {stage}",
            mend='tl.trace(model, cleanup="none") and %tvm_diff show the module before it',
        )

    return explain
