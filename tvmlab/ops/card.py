"""The operator's card: the full chain from name to machine code, what of it is set and what is missing.

It is told in the words of the older books (identity card, rule book, construction crew), each with what it is in
TVM 0.27.  All of it is read off the operator as TVM knows it, by lowering it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tvm
from tvm import relax

from tvmlab.ops import rules
from tvmlab.ops.attributes import REQUIRED
from tvmlab.ops.spec import OpSpec
from tvmlab.records import Record
from tvmlab.runtime import quiet

if TYPE_CHECKING:
    from tvmlab.ops.op import Op

PATTERN_KINDS = {
    0: "kElemWise",
    1: "kBroadcast",
    2: "kInjective",
    3: "kCommReduce",
    4: "kOutEWiseFusable",
    7: "kTuple",
    8: "kOpaque",
}


@dataclass(frozen=True)
class ChainPart:
    """One link of the chain.

    Parameters
    ----------
    column : str
        ``identity card``, ``rule book`` or ``construction crew``.
    part : str
        What the user writes.
    old_word : str
        What it was called in Relay.
    now : str
        What it is in TVM 0.27.
    status : str
        ``set``, ``derived`` or ``missing``.
    detail : str
        What it says, or what is lost without it.
    """

    column: str
    part: str
    old_word: str
    now: str
    status: str
    detail: str


@dataclass(frozen=True, repr=False)
class OpCard(Record):
    """What is known of a live operator.

    Parameters
    ----------
    attributes : tuple of (name, type, default)
        In declared order; a default of "required" means that there is none.
    example : str
        The input types it was lowered for, and the result's.
    tir : str
        The kernel as TVMScript; empty if no example inputs were found.
    kind : str
        The pattern kind that TVM infers from the kernel, or that the cell forces.
    chain : tuple of ChainPart
        From the name to the kernel.
    remarks : tuple of str
        What the guards had to say.
    """

    name: str
    full_name: str
    doc: str
    signature: str
    tensors: tuple[str, ...]
    attributes: tuple[tuple[str, str, str], ...]
    example: str
    tir: str
    kind: str
    chain: tuple[ChainPart, ...]
    remarks: tuple[str, ...]

    @property
    def headline(self) -> str:
        return f"{self.signature} · {self.kind}"


def card_of(op: Op) -> OpCard:
    """Draw up the card of a live operator."""
    spec = op.spec
    static, symbolic = op.examination.example, op.examination.symbolic
    example = symbolic or static
    remarks = list(op.examination.remarks)
    with quiet():
        kind = _inferred_kind(static.function, spec) if static is not None else "unknown"
        if symbolic is not None and (other := _inferred_kind(symbolic.function, spec)) != kind:
            remarks.append(f"with symbolic sizes TVM infers {other} instead of {kind}")
        tir = example.function.with_attr("global_symbol", spec.kernel_name).script() if example is not None else ""
    return OpCard(
        name=spec.name,
        full_name=op.full_name,
        doc=spec.doc,
        signature=spec.signature,
        tensors=(*spec.tensors, *(("*tensors",) if spec.variadic else ())),
        attributes=tuple(
            (a.name, a.type_name, "required" if a.default is REQUIRED else repr(a.default)) for a in spec.attributes
        ),
        example=str(example) if example is not None else "",
        tir=body_only(tir),
        kind=kind,
        chain=_chain(op, kind, example),
        remarks=tuple(remarks),
    )


def _inferred_kind(function: Any, spec: OpSpec) -> str:
    if spec.pattern is not None:
        return f"{PATTERN_KINDS[spec.pattern]} (forced)"
    module = tvm.IRModule({spec.kernel_name: function})
    annotated = relax.transform.AnnotateTIROpPattern()(module)
    return PATTERN_KINDS[int(annotated[spec.kernel_name].attrs["op_pattern"])]


def body_only(script: str) -> str:
    """TVMScript without the imports that it begins with."""
    lines = [line for line in script.splitlines() if not line.startswith(("# from", "from __future__"))]
    return "\n".join(lines).strip("\n")


def _chain(op: Op, kind: str, example: Any) -> tuple[ChainPart, ...]:
    spec = op.spec
    rule = _rule_text(spec)
    lowered = ", ".join(f"lower_for_{t}" for t in spec.lowerings)
    return (
        ChainPart("identity card", "name", "RELAY_REGISTER_OP", "RegisterOp", "set", op.full_name),
        _optional("identity card", "docstring", ".describe", "Op.description", spec.doc.split("\n")[0], "no help text"),
        ChainPart(
            "identity card",
            "class Attrs",
            "Attrs struct, set_attrs_type",
            "ir.Attrs class, checked by FValidate",
            "set" if spec.attributes else "derived",
            ", ".join(map(str, spec.attributes)) or "no attributes",
        ),
        ChainPart(
            "rule book",
            "type_rule",
            "type relation (add_type_rel)",
            "FInferType",
            "set" if spec.type_rule else "derived",
            f"{rule}; {example.result and rules.show(example.result)} for the example" if example is not None else rule,
        ),
        ChainPart("rule book", "purity", "TOpIsStateful", "FPurity", "set", "pure: it may be moved, shared or removed"),
        ChainPart(
            "rule book",
            "pattern",
            "TOpPattern",
            "op_pattern of the kernel",
            "set" if spec.pattern is not None else "derived",
            kind,
        ),
        ChainPart(
            "construction crew",
            "compute",
            "TOPI compute, FTVMCompute",
            f"FLegalize through topi.{spec.name}",
            "set",
            spec.compute.signature,
        ),
        _optional(
            "construction crew",
            "lower_for_<target>",
            "OpStrategy",
            "FLegalize by target",
            lowered,
            "one compute for all targets",
        ),
        _optional(
            "construction crew",
            "schedule",
            "FTVMSchedule",
            "s_tir.Schedule",
            spec.schedule and "given",
            "the CPU scheduler's own rules",
        ),
        _optional(
            "construction crew",
            "gradient",
            "register_gradient",
            "FPrimalGradient",
            spec.gradient and "given",
            "cannot be trained through",
        ),
        _optional(
            "construction crew",
            "reference",
            "NumPy test",
            "the oracle of tl.verify",
            spec.reference and "NumPy",
            "values cannot be verified",
        ),
    )


def _optional(column: str, part: str, old_word: str, now: str, given: Any, without: str) -> ChainPart:
    return ChainPart(column, part, old_word, now, "set" if given else "missing", str(given) if given else without)


def _rule_text(spec: OpSpec) -> str:
    if spec.type_rule is None:
        return "derived from compute"
    name = spec.type_rule.function.__qualname__
    module = getattr(spec.type_rule.function, "__module__", "")
    return f"rules.{name.split('.')[0]}" if module == rules.__name__ else f"{spec.type_rule.signature}"
