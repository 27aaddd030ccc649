"""Templates on the level of Relax: TVM finds them among operators, and kernels are grouped by what these become."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tvmlab.fusion import Match, Template, impose
from tvmlab.fusion.templates import TemplateGrouping, template_named
from tvmlab.pipeline.relax_reader import RelaxReading
from tvmlab.pipeline.templates_dpl import matched_variables

__all__ = ["group_by_templates"]


def group_by_templates(module: Any, reading: RelaxReading, templates: Iterable[Template | str]) -> TemplateGrouping:
    """The groups of a module's kernels around what templates match among the operators that they come from.

    Parameters
    ----------
    module : tvm.IRModule
        Before legalization.
    reading : RelaxReading
        Of that module, legalized and annotated.
    templates : iterable of Template or str
        The first one that matches has an operator.

    Raises
    ------
    GraphError, NameRefused
        See `templates_dpl.fusion_pattern`.
    """
    known = {binding.var.name for block in module["main"].body.blocks for binding in block.bindings}
    kernels = _kernels_by_variable(reading, known)
    found = matched_variables(module, [template_named(template) for template in templates])
    matches = []
    for name, variables in found:
        nodes = {node for variable in variables for node in kernels.get(variable, [])}
        if nodes:
            matches.append(Match(name, tuple(sorted(nodes | _between(reading, nodes)))))
    return impose(reading.graph, matches)


def _kernels_by_variable(reading: RelaxReading, known: set[str]) -> dict[str, list[int]]:
    """The nodes that each variable of the module before has become: it is itself the last of them."""
    found: dict[str, list[int]] = {}
    waiting: list[int] = []
    for node, binding in enumerate(reading.bindings):
        waiting.append(node)
        if binding.var.name in known:
            found[binding.var.name], waiting = waiting, []
    return found


def _between(reading: RelaxReading, nodes: set[int]) -> set[int]:
    """Nodes that compute nothing, such as the field of a tuple, and lie between others."""
    graph = reading.graph
    idle = (at for node in nodes for at in graph.readers(node) if not graph.computes[at])
    return {at for at in idle if graph.readers(at) and nodes.issuperset(graph.readers(at))}
