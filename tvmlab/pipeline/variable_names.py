"""Variables called after the ONNX nodes that they belong to.

TVM numbers what it makes (``lv``, ``lv1``, ``gv``), and each of its passes begins anew, so that a number does not say
where a variable comes from.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["identifier", "with_telling_names"]


def identifier(text: str) -> str:
    """A text as an identifier."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return name if re.match(r"[A-Za-z_]", name) else f"n_{name}"


def with_telling_names(module: Any, provenance: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
    """A module without numbered variables in main, and the label of the node that each variable belongs to.

    Parameters
    ----------
    module : tvm.IRModule
    provenance : mapping of str to str
        From the names of variables to labels of ONNX nodes.  A variable that is not there belongs to the node of the
        next one that is; one that is but another name, to that of the other.
    """
    from tvm.relax.expr_functor import PyExprMutator, mutator

    main = module["main"]
    variables = [binding.var for block in main.body.blocks for binding in block.bindings]
    owners = dict(_owners(main, provenance))
    taken = {variable.name for variable in (*variables, *main.params)}
    names = {}
    for variable, owner in owners.items():
        if re.fullmatch(r"[lg]v\d*", variable.name):
            stem = identifier(owner)
            names[variable] = next(n for n in (f"{stem}_{i}" for i in itertools.count(1)) if n not in taken)
            taken.add(names[variable])
    told = {names.get(variable, variable.name): owner for variable, owner in owners.items()}
    if not names:
        return module, {**provenance, **told}

    @mutator
    class Renamer(PyExprMutator):  # type: ignore[misc]
        def visit_var_def_(self, variable: Any) -> Any:
            if variable not in names:
                return variable
            made = type(variable)(names[variable], variable.ty)
            self.set_var_remap(variable, made)
            return made

        def visit_dataflow_var_def_(self, variable: Any) -> Any:
            return self.visit_var_def_(variable)

    renamed = module.clone()
    renamed["main"] = Renamer(module).visit_expr(main)
    kept = {name: owner for name, owner in provenance.items() if not re.fullmatch(r"[lg]v\d*", name)}
    return renamed, {**kept, **told}


def _owners(main: Any, provenance: Mapping[str, str]) -> Iterator[tuple[Any, str]]:
    from tvm import relax

    found: dict[Any, str] = {}
    waiting = []
    for block in main.body.blocks:
        for binding in block.bindings:
            value = getattr(binding, "value", None)
            owner = provenance.get(binding.var.name) or (found.get(value) if isinstance(value, relax.Var) else None)
            waiting.append(binding.var)
            if owner is not None:
                found |= dict.fromkeys(waiting, owner)
                waiting = []
    last = next(reversed(found.values()), None)
    yield from found.items()
    if last is not None:
        yield from dict.fromkeys(waiting, last).items()
