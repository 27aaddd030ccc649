"""All checks, in the order of their codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tvmlab.checks import (
    c01_identity,
    c02_arity,
    c03_attributes,
    c04_rule_is_total,
    c05_rule_and_compute,
    c06_purity,
    c07_lowering,
    c08_kernel_name,
    c09_bounds,
    c10_values,
    c11_determinism,
    c12_dtypes,
    c13_dynamic,
    c14_fusion,
    c15_passes,
    c16_gradient,
    c17_export,
    c18_targets,
    c19_schedule,
    c20_compose,
)
from tvmlab.checks.outcome import Outcome
from tvmlab.checks.subject import Subject

__all__ = ["CHECKS", "QUICK", "Check"]


@dataclass(frozen=True)
class Check:
    """One check: its code, what it asks, the tutorial that explains it, and how it is made.

    One that takes long is made only on request.
    """

    code: str
    title: str
    lesson: str
    run: Callable[[Subject], Outcome]
    on_request: bool = False


_FIRST = "01 First contact: compose or add?"
_IDENTITY = "02 Identity card: metadata and attributes"
_RULE = "03 Rule book: type rules"
_COMPUTE = "04 Construction crew: TE compute"
_WIRING = "05 Wiring: lowering, running, three levels of tests"
_KINDS = "07 Pattern kinds: what fuses and why"
_SPEED = "10 Schedules and speed: fusion is not free"
_GRADIENTS = "11 Gradients"
_SHIP = "12 Ship it"

CHECKS = (
    Check("C01", "registered under a name of its own, with a docstring", _IDENTITY, c01_identity.run),
    Check("C02", "takes as many tensors as its compute", _IDENTITY, c02_arity.run),
    Check("C03", "attributes keep their types and values", _IDENTITY, c03_attributes.run),
    Check("C04", "the type rule answers every question", _RULE, c04_rule_is_total.run),
    Check("C05", "the type rule promises what compute makes", _RULE, c05_rule_and_compute.run),
    Check("C06", "pure and well formed", _WIRING, c06_purity.run),
    Check("C07", "lowers to a kernel, always the same", _WIRING, c07_lowering.run),
    Check("C08", "names that can be printed and told apart", _COMPUTE, c08_kernel_name.run),
    Check("C09", "reads inside its inputs", _COMPUTE, c09_bounds.run),
    Check("C10", "values equal the reference's", _COMPUTE, c10_values.run),
    Check("C11", "same inputs, same bits", _WIRING, c11_determinism.run),
    Check("C12", "every dtype keeps its precision", _COMPUTE, c12_dtypes.run),
    Check("C13", "one kernel for all sizes", _SHIP, c13_dynamic.run),
    Check("C14", "fuses as its kernel allows", _KINDS, c14_fusion.run),
    Check("C15", "survives the passes of a model", _WIRING, c15_passes.run),
    Check("C16", "the gradient is the slope", _GRADIENTS, c16_gradient.run),
    Check("C17", "exported and loaded, the same values", _SHIP, c17_export.run),
    Check("C18", "code for other targets", _SHIP, c18_targets.run),
    Check("C19", "its own schedule is right and worth it", _SPEED, c19_schedule.run),
    Check("C20", "worth being an operator", _FIRST, c20_compose.run, on_request=True),
)
QUICK = ("C02", "C04", "C05", "C08", "C09", "C10", "C12")
"""What runs after every operator cell: all that needs no compiling."""
