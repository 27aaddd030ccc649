"""Properties of answers about pattern kinds: right is what TVM reads off the loops of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tvmlab.fusion import Kind
from tvmlab.records import KindMismatch, Mismatch, Property

__all__ = ["KernelCase", "classifies", "kernels_of_call", "kind_said", "lowered", "tir_of"]

Shape = tuple[int, ...]


class KernelCase(NamedTuple):
    """One call of a Relax operator.

    Parameters
    ----------
    op : str
        What it is called in the exercise.
    inputs : tuple of Shape
    call : callable
        From Relax variables of these shapes to the call.
    dtypes : tuple of str
        Of the inputs; float32 where none is given.
    """

    op: str
    inputs: tuple[Shape, ...]
    call: Callable[..., Any]
    dtypes: tuple[str, ...] = ()


def classifies(cases: Callable[[np.random.Generator], Iterable[KernelCase]], name: str) -> Property:
    """A property: ``answer(op, inputs, output)`` is the kind that AnnotateTIROpPattern writes on the kernel."""

    def check(answer: Any, random: np.random.Generator) -> Mismatch | None:
        for case in cases(random):
            output, [(_, right, tir)] = kernels_of_call(case)
            got = kind_said(answer(case.op, list(case.inputs), output))
            if isinstance(got, Mismatch):
                return got
            if got != right:
                shapes = ", ".join(map(str, case.inputs))
                what = f"{case.op} of {shapes}: you say {got.name}, and TVM reads {Kind(right).name} off its loops"
                return KindMismatch(what, code=tir)
        return None

    return Property(name, check)


def kind_said(answer: Any) -> Kind | Mismatch:
    """The kind that an answer names, or what is wrong with it."""
    if not isinstance(answer, int | str) or isinstance(answer, bool):
        return Mismatch(f"the answer is {answer!r:.80}, which is no kind", mend="return one of Kind.ELEM, Kind.BCAST …")
    return Kind.of(answer)


def kernels_of_call(case: KernelCase) -> tuple[Shape, list[tuple[str, int, str]]]:
    """Shape of a call's result, and of each kernel that it is lowered to the name, the kind and the loops."""
    return lowered(case.inputs, case.dtypes, case.call)


def lowered(
    shapes: Sequence[Shape], dtypes: Sequence[str], call: Callable[..., Any]
) -> tuple[Shape, list[tuple[str, int, str]]]:
    """The same for a function from Relax variables of these shapes to a call."""
    from tvm import relax, tirx

    from tvmlab.pipeline import stages

    kinds = [*dtypes, *["float32"] * len(shapes)]
    given = [relax.Var(f"x{i}", relax.TensorType(shape, kinds[i])) for i, shape in enumerate(shapes)]
    builder = relax.BlockBuilder()
    with builder.function("main", given):
        with builder.dataflow():
            made = builder.emit_output(builder.emit(call(*given)))
        builder.emit_func_output(made)
    module = stages.annotate(stages.legalize(builder.get()))
    kernels = [(v.name_hint, f) for v, f in module.functions.items() if isinstance(f, tirx.PrimFunc)]
    output = tuple(int(extent) for extent in made.ty.shape)
    return output, [(name, int(f.attrs["op_pattern"]), tir_of(f, name)) for name, f in kernels]


def tir_of(function: Any, name: str) -> str:
    """The loops of a kernel, without what is the same in all."""
    from tvmlab.ops.card import body_only

    return str(body_only(function.with_attr("global_symbol", name).script()))
