"""Templates for TVM: the same patterns, written in its own pattern language, for FuseOpsByPattern.

A template speaks of ONNX operators.  Here each is written as what TVM's importer makes of it: a Conv with a bias as a
convolution and an addition, BatchNormalization as the first of three values, a Slice without the operands that have
become attributes.  Predicates of steps and values, and of the template itself, are asked once TVM has found the form.

TVM takes the first of several ways that has the right form, and asks no further if a predicate then says no, so a
template with alternatives that differ in nothing but predicates may be found less often than in ONNX.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tvmlab import ops
from tvmlab.errors import GraphError
from tvmlab.fusion.kinds import Shape, Use
from tvmlab.fusion.templates import (
    LIVE_DOMAIN,
    Either,
    Match,
    Pattern,
    Pick,
    Step,
    Template,
    Value,
    operand_orders,
    parts,
)
from tvmlab.pipeline.grouping import variables_by_group
from tvmlab.runtime import quiet

__all__ = ["fuse_by_templates", "fusion_pattern", "matched_variables"]

Attributes = Mapping[str, Any]

_OPSET = 20  # what is not said means what it means there

# The Relax operator of an ONNX operator, with how many of its operands are tensors there.
_SAME = {
    "Add": ("add", 2),
    "Sub": ("subtract", 2),
    "Mul": ("multiply", 2),
    "Div": ("divide", 2),
    "Pow": ("power", 2),
    "MatMul": ("matmul", 2),
    "Where": ("where", 3),
    "Max": ("maximum", 2),
    "Min": ("minimum", 2),
    "Abs": ("abs", 1),
    "Erf": ("erf", 1),
    "Exp": ("exp", 1),
    "Log": ("log", 1),
    "Neg": ("negative", 1),
    "Sqrt": ("sqrt", 1),
    "Tanh": ("tanh", 1),
    "Sigmoid": ("sigmoid", 1),
    "Relu": ("nn.relu", 1),
    "LeakyRelu": ("nn.leakyrelu", 1),
    "Gelu": ("nn.gelu", 1),
    "Softmax": ("nn.softmax", 1),
    "LayerNormalization": ("nn.layer_norm", 3),
    "Slice": ("strided_slice", 1),
    "Transpose": ("permute_dims", 1),
    "Reshape": ("reshape", 1),
    "ReduceMean": ("mean", 1),
    "ReduceSum": ("sum", 1),
    "ReduceMax": ("max", 1),
}


def fusion_pattern(template: Template) -> Any:
    """The template as a pattern for ``relax.transform.FuseOpsByPattern``.

    Returns
    -------
    tvm.relax.transform.FusionPattern
        Called ``tvmlab.`` and the template's name.

    Raises
    ------
    GraphError
        It has a step that has no counterpart in Relax.
    NameRefused
        It asks for an operator that is not live.
    """
    from tvm.relax.transform import FusionPattern

    writer = _Writer(template)
    pattern = writer.write(template.root)
    return FusionPattern(f"tvmlab.{template.name}", pattern, writer.annotations(), writer.check)


def fuse_by_templates(module: Any, templates: Iterable[Template]) -> Any:
    """Let TVM put what templates match into functions of their own.

    Parameters
    ----------
    module : tvm.IRModule
        Not yet legalized; is not changed.
    templates : iterable of Template
        The first one that matches has a binding.

    Returns
    -------
    tvm.IRModule
        Each match is a function with the attribute ``Composite``, which FuseTIR makes one kernel once the module is
        legalized.

    Raises
    ------
    GraphError
        A template has a step that has no counterpart in Relax.
    NameRefused
        A template asks for an operator that is not live.
    """
    return _fused(_tidied(module), templates)


def matched_variables(module: Any, templates: Iterable[Template]) -> list[tuple[str, list[str]]]:
    """Where TVM finds templates in main: the name of the template of each match, and the variables of its calls.

    Parameters and errors are those of `fuse_by_templates`.
    """
    tidied = _tidied(module)
    fused = _fused(tidied, templates)
    functions = {variable.name_hint: function for variable, function in fused.functions.items()}
    found = []
    for kernel, variables in variables_by_group(tidied, fused):
        attributes = getattr(functions.get(kernel), "attrs", None) or {}
        if variables and "Composite" in attributes:
            found.append((str(attributes["Composite"]).removeprefix("tvmlab."), variables))
    return found


def _tidied(module: Any) -> Any:
    from tvm.relax import transform

    with quiet():
        return transform.DeadCodeElimination()(transform.CanonicalizeBindings()(module))


def _fused(module: Any, templates: Iterable[Template]) -> Any:
    from tvm.relax import transform

    patterns = [fusion_pattern(template) for template in templates]
    with quiet():
        return transform.FuseOpsByPattern(patterns, bind_constants=False)(module)


class _Writer:
    """Writes one template, and judges what TVM finds."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.written: dict[Pattern, Any] = {}
        self.calls: dict[Step, list[Any]] = {}
        self.names = {part: f"part{at}" for at, part in enumerate(parts(template.root))}

    def annotations(self) -> dict[str, Any]:
        """The parts by names, of which a step may be written in several ways."""
        found = {self.names[part]: w for part, w in self.written.items() if isinstance(part, Value)}
        for step, calls in self.calls.items():
            found |= {f"{self.names[step]}.{at}": call for at, call in enumerate(calls)}
        return found

    def write(self, pattern: Pattern) -> Any:
        """The pattern in TVM's language; the same part is the same pattern each time."""
        if pattern not in self.written:
            match pattern:
                case Value():
                    self.written[pattern] = _value(pattern)
                case Step():
                    self.written[pattern] = self._step(pattern)
                case Pick() if pattern.output == 0:
                    self.written[pattern] = self.write(pattern.step)
                case Pick():
                    raise self._refused("an output other than the first")
                case Either():
                    self.written[pattern] = _any_of([self.write(choice) for choice in pattern.choices])
        return self.written[pattern]

    def _step(self, step: Step) -> Any:
        from tvm.relax.dpl import is_tuple_get_item

        ways = []
        for operands in operand_orders(step):
            for name in step.names:
                if name == "Conv":
                    ways += self._convolution(step, operands)
                elif name == "BatchNormalization":
                    ways.append(is_tuple_get_item(self._call(step, "nn.batch_norm", operands[:5]), 0))
                elif name == "Reciprocal":
                    one = _value(Value(constant=True))
                    ways.append(self._call_of(step, "divide", [one, self.write(operands[0])]))
                else:
                    operator, count = self._counterpart(step, name, len(operands))
                    ways.append(self._call(step, operator, operands[:count]))
        return _any_of(ways)

    def _counterpart(self, step: Step, name: str, operands: int) -> tuple[str, int]:
        if step.domain == LIVE_DOMAIN:
            return ops.find(name).name, operands
        if name not in _SAME or (step.domain and (step.domain, name) != ("com.microsoft", "Gelu")):
            raise self._refused(f"{step.domain}.{name}" if step.domain else name)
        return _SAME[name]

    def _convolution(self, step: Step, operands: tuple[Pattern, ...]) -> list[Any]:
        from tvm.relax.dpl import is_op

        conv = self._call(step, "nn.conv2d", operands[:2])
        if len(operands) < 3:
            return [conv]
        bias = self.write(operands[2])
        shaped = _any_of([_call_pattern(is_op("relax.reshape"), [bias]), bias])
        added = _call_pattern(is_op("relax.add"), [conv, shaped])
        optional = isinstance(operands[2], Value) and operands[2].optional
        return [added, conv] if optional else [added]

    def _call(self, step: Step, operator: str, operands: Iterable[Pattern]) -> Any:
        return self._call_of(step, operator, [self.write(operand) for operand in operands])

    def _call_of(self, step: Step, operator: str, operands: list[Any]) -> Any:
        from tvm.relax.dpl import is_op

        call = _call_pattern(is_op(f"relax.{operator}"), operands)
        self.calls.setdefault(step, []).append(call)
        return call

    def _refused(self, what: str) -> GraphError:
        return GraphError(
            f"template {self.template.name!r} asks for {what}, of which Relax has no counterpart",
            mend="match it in ONNX, with fusion.match_templates",
        )

    # Judging

    def check(self, context: Any) -> bool:
        """Whether what has the right form is a match."""
        from tvm.relax.backend.utils import has_leaking_intermediate_variables

        if has_leaking_intermediate_variables(context):
            return False
        found = dict(context.annotated_expr.items())
        values = {p: found[n] for p, n in self.names.items() if isinstance(p, Value) and n in found}
        calls = {step: self._found_call(step, found) for step in self.calls}
        uses = {step: _use(step, call, context) for step, call in calls.items() if call is not None}
        inside = set(context.matched_bindings.keys())
        if any(value in inside for value in values.values()):
            return False
        if not all(_fits(pattern, value) for pattern, value in values.items()):
            return False
        if not all(step.where is None or step.where(use) for step, use in uses.items()):
            return False
        return self.template.where is None or bool(self.template.where(self._match(values, uses)))

    def _found_call(self, step: Step, found: Mapping[str, Any]) -> Any:
        names = (f"{self.names[step]}.{at}" for at in range(len(self.calls[step])))
        return next((found[name] for name in names if name in found), None)

    def _match(self, values: Mapping[Value, Any], uses: Mapping[Step, Use]) -> Match:
        roles = {pattern.role: str(getattr(value, "name", "")) for pattern, value in values.items() if pattern.role}
        shapes = {pattern.role: _shape(value) for pattern, value in values.items() if pattern.role}
        return Match(self.template.name, (), roles, shapes, {step.role: use for step, use in uses.items() if step.role})


def _call_pattern(operator: Any, operands: list[Any]) -> Any:
    """A call of which the operands that are not named are free: shapes, and what ONNX has as operands."""
    from tvm.relax.dpl import CallPattern

    return CallPattern(operator, operands, True)


def _any_of(ways: list[Any]) -> Any:
    return functools.reduce(lambda a, b: a | b, ways)


def _value(pattern: Value) -> Any:
    from tvm.relax.dpl import is_const, wildcard

    return is_const() if pattern.constant else wildcard()


def _fits(pattern: Value, value: Any) -> bool:
    shape = _shape(value)
    if pattern.shape is not None and (shape is None or not pattern.shape(shape)):
        return False
    if pattern.equals is None:
        return True
    number = np.asarray(value.value.numpy(), np.float64)
    return bool(number.size) and bool(np.isclose(number, pattern.equals, rtol=1e-3, atol=1e-12).all())


def _use(step: Step, call: Any, context: Any) -> Use:
    """What a call does, in the words of ONNX."""
    import tvm
    from tvm import relax

    name = step.names[0] if len(step.names) == 1 else _onnx_name(call, step)
    arguments = [argument for argument in call.args if not isinstance(argument, relax.ShapeExpr)]
    translate = _ATTRIBUTES.get(name)
    variable = context.value_to_bound_var.get(call)
    return Use(
        domain=step.domain,
        op=name,
        opset=_OPSET,
        attributes=translate(call.attrs) if translate else {},
        inputs=tuple(map(_shape, arguments)),
        outputs=(_shape(call if variable is None else variable),),
        constant=tuple(isinstance(argument, tvm.ir.GenericConst) for argument in arguments),
        present=(True,),
    )


def _onnx_name(call: Any, step: Step) -> str:
    return next((name for name in step.names if f"relax.{_SAME.get(name, (name,))[0]}" == call.op.name), step.names[0])


def _shape(value: Any) -> Shape | None:
    shape = getattr(getattr(value, "ty", None), "shape", None)
    if shape is None or not hasattr(shape, "values"):
        return None
    return tuple(int(d) if hasattr(d, "value") else str(d) for d in shape.values)


def _ints(values: Any) -> list[int]:
    return [int(v) for v in values]


def _reduction(given: Any) -> Attributes:
    axes = {} if given.axis is None else {"axes": _ints(given.axis)}
    return {**axes, "keepdims": int(given.keepdims)}


_ATTRIBUTES: dict[str, Callable[[Any], Attributes]] = {
    "Conv": lambda given: {
        "strides": _ints(given.strides),
        "pads": _ints(given.padding),
        "dilations": _ints(given.dilation),
        "group": int(given.groups),
    },
    "BatchNormalization": lambda given: {
        "epsilon": float(given.epsilon),
        "momentum": float(given.momentum),
        "training_mode": int(given.training),
    },
    "ReduceMean": _reduction,
    "ReduceSum": _reduction,
    "ReduceMax": _reduction,
    "Softmax": lambda given: {"axis": int(given.axis)},
    "Transpose": lambda given: {} if given.axes is None else {"perm": _ints(given.axes)},
    "LayerNormalization": lambda given: {"axis": _ints(given.axes)[0], "epsilon": float(given.epsilon)},
}
