"""Why a pattern of TVM's language matches nothing in a module: FuseOpsByPattern passes over it without a word.

TVM's own matcher judges every part; where it says no, the parts are compared one by one with what the module holds, and
the place that got furthest is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tvmlab.errors import nearest
from tvmlab.fusion.templates import Template, template_named
from tvmlab.pipeline.templates_dpl import fusion_pattern

__all__ = ["why_no_match"]


def why_no_match(module: Any, pattern: Any) -> str:
    """Why FuseOpsByPattern finds a pattern nowhere in main, in a sentence or two.

    Parameters
    ----------
    module : tvm.IRModule
    pattern : tvm.relax.dpl.DFPattern, FusionPattern, tuple of str and DFPattern, fusion.Template or str
        As FuseOpsByPattern takes them; or a template, or the name of one that tvmlab ships.

    Returns
    -------
    str
        Where it matches, if it does: then it may be a check that refuses.
    """
    from tvm import relax

    if isinstance(pattern, str | Template):
        pattern = fusion_pattern(template_named(pattern))
    name, check = "the pattern", None
    if isinstance(pattern, tuple):
        name, pattern, *_ = pattern
    elif hasattr(pattern, "annotation_patterns"):
        name, pattern, check = pattern.name, pattern.pattern, pattern.check
    places = _Places(module["main"], relax.analysis.get_var2val(module["main"]))
    hit = next((at for at in places.bindings if pattern.match(at.value, places.values)), None)
    if hit is not None:
        return _found(name, hit.var.name, places, pattern, hit, has_check=check is not None)
    if not places.bindings:
        return f"{name} matches nothing: main has no calls."
    misses = [places.miss(pattern, binding.value, binding.var.name) for binding in places.bindings]
    best = max(misses, key=lambda miss: miss.depth)
    if best.depth == 0:
        return f"{name} matches nothing: {places.without(pattern)}"
    return f"{name} matches nothing; nearest to it is {best.root}: {best.text}."


def _found(name: str, where: str, places: _Places, pattern: Any, hit: Any, *, has_check: bool) -> str:
    inside = places.inside(pattern, hit.value)
    outsiders = [
        f"{value} is read by {reader} too"
        for value in inside
        for reader in places.readers(value)
        if reader not in inside and reader != where
    ]
    told = f"{name} matches at {where}"
    if outsiders:
        return f"{told}, but {'; '.join(outsiders)}: who wants a single output refuses it."
    return f"{told}, and its check refuses it." if has_check else f"{told}."


@dataclass(frozen=True)
class _Miss:
    """How far a comparison got, and what did not fit there."""

    depth: int
    text: str
    root: str


class _Places:
    """What main holds."""

    def __init__(self, main: Any, values: Any) -> None:
        from tvm import relax

        self.main, self.values = main, values
        every = [binding for block in main.body.blocks for binding in block.bindings]
        self.every = every
        kinds = (relax.Call, relax.TupleGetItem)
        self.bindings = [binding for binding in every if isinstance(getattr(binding, "value", None), kinds)]

    def readers(self, name: str) -> list[str]:
        """Names of the variables whose bindings read a variable."""
        from tvm import relax

        found = []
        for binding in self.every:
            seen: list[str] = []
            relax.analysis.post_order_visit(
                binding.value, lambda e, seen=seen: seen.append(e.name) if isinstance(e, relax.Var) else None
            )
            if name in seen:
                found.append(binding.var.name)
        return found

    def inside(self, pattern: Any, expression: Any) -> set[str]:
        """Names of the variables inside of a match, without that of its root."""
        from tvm import relax

        found = set()
        matched = pattern.extract_matched_expr(expression, self.values) or {}
        for part, value in matched.items():
            bound = next((b.var.name for b in self.bindings if b.value.same_as(value)), None)
            calls = isinstance(value, relax.Call | relax.TupleGetItem)
            computes = calls and type(part).__name__ in ("CallPattern", "TupleGetItemPattern")
            if bound is not None and computes and not value.same_as(expression):
                found.add(bound)
        return found

    def without(self, pattern: Any) -> str:
        """Main has no call of the operator that the pattern ends with."""
        from tvm import relax

        wanted = sorted(_operators(pattern))
        present = sorted({_operator(b.value) for b in self.bindings if isinstance(b.value, relax.Call)})
        if not wanted:
            return "no call in main fits its last part."
        if all(name.startswith("relax.call_tir") for name in present):
            return f"it asks for {' or '.join(wanted)}, and main is legalized: match before LegalizeOps."
        near = nearest(wanted[0], present)
        hint = f"did you mean {near!r}?" if near else f"it calls {', '.join(present[:8])}."
        return f"main does not call {' or '.join(wanted)}; {hint}"

    # Comparing

    def miss(self, pattern: Any, expression: Any, root: str, depth: int = 0) -> _Miss:
        """Where a pattern, which does not match an expression, departs from it."""
        from tvm import relax

        def miss(text: str, further: int = 0) -> _Miss:
            return _Miss(depth + further, text, root)

        named = self._named(expression)
        value = self.values.get(expression, expression) if isinstance(expression, relax.Var) else expression
        match type(pattern).__name__:
            case "OrPattern" | "AndPattern":
                sides = [p for p in (pattern.left, pattern.right) if not p.match(expression, self.values)]
                return max((self.miss(p, expression, root, depth) for p in sides), key=lambda m: m.depth)
            case "AttrPattern":
                if not pattern.pattern.match(expression, self.values):
                    return self.miss(pattern.pattern, expression, root, depth)
                return miss(f"{named} {self._attributes(pattern.attrs, value)}", 1)
            case "TypePattern" | "ShapePattern" | "DataTypePattern":
                if not pattern.pattern.match(expression, self.values):
                    return self.miss(pattern.pattern, expression, root, depth)
                return miss(f"{named} is {value.ty}, and the pattern asks for {_asked(pattern)}", 1)
            case "ConstantPattern":
                return miss(f"{named} is no constant")
            case "TupleGetItemPattern":
                if not isinstance(value, relax.TupleGetItem):
                    return miss(f"{named} is no field of a tuple, as {_shown(pattern)} is")
                if pattern.index not in (-1, value.index):
                    return miss(f"{named} is field {value.index}, and the pattern asks for {pattern.index}", 1)
                return self.miss(pattern.tuple, value.tuple_value, root, depth + 1)
            case "CallPattern":
                return self._call(pattern, value, named, root, depth)
            case _:
                return miss(f"{named} is not {_shown(pattern)}")

    def _call(self, pattern: Any, value: Any, named: str, root: str, depth: int) -> _Miss:
        from tvm import relax

        wanted = " or ".join(sorted(_operators(pattern))) or "a call"
        if not isinstance(value, relax.Call):
            return _Miss(depth, f"{named} is {_what(value)}, where the pattern asks for {wanted}", root)
        if not pattern.op.match(value.op, self.values):
            return _Miss(depth, f"{named} is {_operator(value)}, where the pattern asks for {wanted}", root)
        given, asked = list(value.args), list(pattern.args)
        if len(given) != len(asked):
            text = f"{named} ({_operator(value)}) has {len(given)} operands, and the pattern {len(asked)}"
            return _Miss(depth + 1, f"{text}; varg_default_wildcard=True leaves the others free", root)
        unfit = [(p, e) for p, e in zip(asked, given, strict=True) if not p.match(e, self.values)]
        if not unfit:
            text = f"each part of {named} fits, but a part that is used twice is two different values there"
            return _Miss(depth + 1, text, root)
        backwards = zip(asked, reversed(given), strict=True)
        if len(given) == 2 and all(p.match(e, self.values) for p, e in backwards):
            text = f"the operands of {named} ({_operator(value)}) are in the other order"
            return _Miss(depth + 2, text, root)
        return max((self.miss(p, e, root, depth + 1) for p, e in unfit), key=lambda m: m.depth)

    def _named(self, expression: Any) -> str:
        from tvm import relax

        if isinstance(expression, relax.Var):
            return str(expression.name)
        return next((b.var.name for b in self.bindings if b.value.same_as(expression)), _what(expression))

    @staticmethod
    def _attributes(asked: Any, value: Any) -> str:
        given = getattr(value, "attrs", None)
        for key in asked.keys():  # noqa: SIM118 - TVM's map of attributes is no mapping
            if not hasattr(given, key):
                return f"({_operator(value)}) has no attribute {key!r}"
            if str(getattr(given, key)) != str(asked[key]):
                return f"({_operator(value)}) has {key}={getattr(given, key)}, and the pattern asks for {asked[key]}"
        return f"({_operator(value)}) has other attributes than the pattern"


def _operators(pattern: Any) -> Iterator[str]:
    """Operators that the last part of a pattern may be a call of."""
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        match type(part).__name__:
            case "OrPattern" | "AndPattern":
                waiting += [part.left, part.right]
            case "AttrPattern" | "TypePattern" | "ShapePattern" | "DataTypePattern":
                waiting.append(part.pattern)
            case "TupleGetItemPattern":
                waiting.append(part.tuple)
            case "CallPattern":
                waiting.append(part.op)
            case "ExprPattern":
                yield str(getattr(part.expr, "name", part.expr))


def _operator(value: Any) -> str:
    return str(getattr(getattr(value, "op", None), "name", getattr(value, "op", value)))


def _what(value: Any) -> str:
    """A value that is no call, in words."""
    import tvm
    from tvm import relax

    if isinstance(value, tvm.ir.GenericConst):
        return "a constant"
    if isinstance(value, relax.Call):
        return _operator(value)
    return "a parameter or unbound variable" if isinstance(value, relax.Var) else type(value).__name__


def _asked(pattern: Any) -> str:
    return str(next(getattr(pattern, name) for name in ("ty", "shape", "dtype") if hasattr(pattern, name)))


def _shown(pattern: Any) -> str:
    return " or ".join(sorted(_operators(pattern))) or str(pattern)
