"""Exercise 07e: a fusion stopped on purpose, in three ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvmlab.course.modules import arrays_for, chain_module, chain_of, differs, outcome, pick_chain
from tvmlab.fusion.rule import Rule
from tvmlab.records import Exercise, Mismatch, Property
from tvmlab.sandbox import beside

_WAYS = {
    Rule.OWN_KIND: "a kernel is of a kind that begins no merge",
    Rule.EXTERNAL: "a value leaves its dataflow block, or is in none",
    Rule.TOO_LARGE: "no group may be so large",
}


def stops(times: int, name: str) -> Property:
    """A property: the answer gives three modules, with options, that FuseOps leaves alone for three reasons."""

    def check(answer: Callable[..., Any], random: np.random.Generator) -> Mismatch | None:
        return next(filter(None, (_wrong(answer, random) for _ in range(times))), None)

    return Property(name, check)


def _wrong(answer: Callable[..., Any], random: np.random.Generator) -> Mismatch | None:
    names = pick_chain(random, 2, 2)
    arrays = arrays_for(random)
    found = beside(answer, stopped, list(names), arrays)
    if found is None:
        return Mismatch(
            "the answer is no list of three pairs", mend="return [(module, {}), (module, {}), (module, {})]"
        )
    if isinstance(found, str):
        return Mismatch(found, mend="FuseOps has the option relax.FuseOps.max_depth")
    right = chain_of(names)(*arrays)
    seen: dict[str, int] = {}
    for number, (outcome_of_it, rule) in enumerate(found, 1):
        wrong = differs(outcome_of_it, right)
        if wrong is not None:
            return Mismatch(f"way {number}: {wrong.what}", mend=wrong.mend)
        calls = outcome_of_it[1]
        if calls != 2:
            return Mismatch(f"way {number}: main calls {calls} kernel, and the two operators should stay apart")
        why = _WAYS.get(Rule(rule), Rule(rule).name.lower().replace("_", " "))
        if why in seen:
            return Mismatch(f"way {number} is way {seen[why]} again: {why}", mend="find another condition of FuseOps")
        seen[why] = number
    return None


def stopped(answer: Callable[..., Any], names: Sequence[str], arrays: Sequence[Any]) -> Any:
    """Of each of the answer's ways what becomes of the module, and the rule that keeps the two kernels apart.

    Returns
    -------
    list of (outcome, int), str or None
        A sentence if an option is unknown; None if the answer is no list of three pairs.
    """
    import tvm

    from tvmlab.pipeline import stages

    ways = answer(stages.annotate(stages.legalize(chain_module(names, dataflow=True, emitted=False))))
    if not isinstance(ways, list | tuple) or len(ways) != 3 or not all(map(_is_pair, ways)):
        return None
    known = tvm.transform.PassContext.list_configs()
    for number, (_, options) in enumerate(ways, 1):
        if unknown := [name for name in options if name not in known]:
            return f"way {number}: there is no option {unknown[0]!r}"
    return [(fused(module, options, arrays), rule_of(module, options)) for module, options in ways]


def _is_pair(way: Any) -> bool:
    return isinstance(way, list | tuple) and len(way) == 2 and isinstance(way[1], dict)


def fused(module: Any, options: dict[str, Any], arrays: Sequence[Any]) -> tuple[str, int, Any]:
    """What becomes of a module in FuseOps."""
    import tvm
    from tvm.relax import transform

    if not isinstance(module, tvm.IRModule):
        return type(module).__name__, 0, None
    with tvm.transform.PassContext(config=options):
        return outcome(transform.FuseOps()(module), arrays)


def rule_of(module: Any, options: dict[str, Any]) -> int:
    """The rule by which the first two kernels of a module stay apart, or that merged them."""
    import tvm

    from tvmlab.pipeline import fuse

    if not isinstance(module, tvm.IRModule):
        return 0
    partition = fuse(module, max_depth=int(options.get("relax.FuseOps.max_depth", 256)))
    first, second = [node for group in partition.groups for node in group.nodes][:2]
    return int(partition.grouping.decision(first, second).rule)


EXERCISE = Exercise(
    id="07e",
    title="a fusion stopped on purpose",
    grade=2,
    statement=(
        "module calls two kernels that FuseOps would make one: it is legalized and annotated. Stop it in three ways "
        "that have nothing in common. ways(module) returns three pairs: a module that still computes the same with two "
        "kernels, and the options of the PassContext in which FuseOps will run on it, {} if none."
    ),
    starter='''\
import tvm
from tvm import tirx

def ways(module):
    """Three pairs of a module and options of FuseOps; in none of them anything is fused."""
    bare = {"relax.FuseOps.max_depth": 256}
    first = (module, bare)
    second = ...
    third = ...
    return [first, second, third]
''',
    asks="ways",
    properties=(stops(1, "two kernels stay two, for three reasons"),),
    hints=(
        "Exercise 07d has seven reasons. Which of them can be added to a module that would fuse?",
        (
            "One is an option, one is an attribute of a kernel, one is about where a value is bound. "
            "function.with_attr writes an attribute; relax.transform.ToNonDataflow is a pass."
        ),
        (
            "Outline: a limit of 1 as the option of the first; an IRModule made of module.functions, where each "
            "PrimFunc gets another op_pattern; and the module after ToNonDataflow."
        ),
    ),
    lesson="07_pattern_kinds",
)
