"""Exercise 07e: a fusion stopped on purpose, in three ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvmlab.course.modules import chain_module, chain_of, differs, pick_chain
from tvmlab.fusion.rule import Rule
from tvmlab.records import Exercise, Mismatch, Property

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
    from tvmlab.pipeline import stages

    names = pick_chain(random, 2, 2)
    ways = answer(stages.annotate(stages.legalize(chain_module(names))))
    if not isinstance(ways, list | tuple) or len(ways) != 3 or any(len(way) != 2 for way in ways):
        return Mismatch(
            "the answer is no list of three pairs", mend="return [(module, {}), (module, {}), (module, {})]"
        )
    seen: dict[str, int] = {}
    for number, (module, options) in enumerate(ways, 1):
        found = differs(module, chain_of(names), random) or _not_stopped(module, options)
        if found is not None:
            return Mismatch(f"way {number}: {found.what}", mend=found.mend)
        why = _why(module, options)
        if why in seen:
            return Mismatch(f"way {number} is way {seen[why]} again: {why}", mend="find another condition of FuseOps")
        seen[why] = number
    return None


def _not_stopped(module: Any, options: dict[str, Any]) -> Mismatch | None:
    import tvm
    from tvm.relax import transform

    from tvmlab.pipeline import stages

    with tvm.transform.PassContext(config=options):
        calls = stages.count_kernels(transform.FuseOps()(module))
    return None if calls == 2 else Mismatch(f"main calls {calls} kernel, and the two operators should stay apart")


def _why(module: Any, options: dict[str, Any]) -> str:
    """By which condition the first of the two kernels stays alone."""
    from tvmlab.pipeline import fuse

    partition = fuse(module, max_depth=int(options.get("relax.FuseOps.max_depth", 256)))
    first, second = (group.nodes[0] for group in partition.groups)
    rule: Rule = partition.grouping.decision(first, second).rule
    return _WAYS.get(rule, rule.name.lower().replace("_", " "))


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
