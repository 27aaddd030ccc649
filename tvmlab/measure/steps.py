"""A module's main, call by call: what each call reads, and a way to run one of them alone on given values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab import runtime
from tvmlab.pipeline.grouping import callee

__all__ = [
    "Environment",
    "Probes",
    "Step",
    "Value",
    "arguments_of",
    "plain_function",
    "returned_variables",
    "steps_of",
    "walk",
]

Array = NDArray[Any]
Value = Any  # an array, a tuple of values, or the integers of a shape


@dataclass(frozen=True)
class Step:
    """A binding of main that computes.

    Parameters
    ----------
    position : int
        Among the steps of its main.
    variable, value : tvm.relax.Var, tvm.relax.Expr
    block : type
        Of the block that holds the binding.
    """

    position: int
    variable: Any
    value: Any
    block: type

    @property
    def kernel(self) -> str:
        """Name of what it calls."""
        return callee(self.value)[0] if hasattr(self.value, "op") else type(self.value).__name__

    def reads(self) -> list[Any]:
        """The variables of main that it reads; symbolic dimensions, which are variables too, are not among them."""
        from tvm import relax

        kinds = (relax.TensorType, relax.TupleType, relax.ShapeType)
        return [variable for variable in relax.analysis.free_vars(self.value) if isinstance(variable.ty, kinds)]

    def function_in(self, module: Any) -> Any:
        """The kernel's TIR; None if it calls something else."""
        from tvm import ir, tirx

        called = getattr(self.value, "args", [None])[0] if hasattr(self.value, "op") else None
        function = module[called] if isinstance(called, ir.GlobalVar) else None
        return function if isinstance(function, tirx.PrimFunc) else None


class Environment:
    """The values of main's variables, and the sizes behind its symbolic dimensions."""

    def __init__(self, function: Any, inputs: Sequence[Array]) -> None:
        self.values: dict[Any, Value] = {}
        self.sizes: dict[Any, int] = {}
        for parameter, array in zip(function.params, inputs, strict=True):
            self.bind(parameter, array)

    def bind(self, variable: Any, value: Value) -> None:
        """Give a variable its value, and its type's dimensions their sizes."""
        self.values[variable] = value
        self._learn(variable.ty, value)

    def _learn(self, kind: Any, value: Value) -> None:
        from tvm import relax, tirx

        if isinstance(kind, relax.TupleType):
            for field, each in zip(kind.fields, value, strict=True):
                self._learn(field, each)
            return
        sizes = value if isinstance(kind, relax.ShapeType) else np.shape(value)
        dimensions = getattr(getattr(kind, "shape", None), "values", None) or getattr(kind, "values", None) or ()
        for dimension, size in zip(dimensions, sizes, strict=False):
            if isinstance(dimension, tirx.Var):
                self.sizes.setdefault(dimension, int(size))

    def of(self, expression: Any) -> Value:
        """The value of an expression that computes nothing."""
        import tvm
        from tvm import relax

        if expression in self.values:
            return self.values[expression]
        if isinstance(expression, relax.Tuple):
            return tuple(self.of(field) for field in expression.fields)
        if isinstance(expression, relax.TupleGetItem):
            return self.of(expression.tuple_value)[int(expression.index)]
        if isinstance(expression, tvm.ir.GenericConst):
            return expression.value.numpy()
        if isinstance(expression, relax.ShapeExpr):
            return tuple(map(self._size, expression.values))
        if isinstance(expression.ty, tvm.ir.PrimType):
            return self._size(expression)
        raise TypeError(f"{type(expression).__name__} is no plain value")

    def _size(self, expression: Any) -> int:
        """The value of an integer over symbolic dimensions."""
        import tvm
        from tvm import tirx

        analyzer = tvm.sym.Analyzer()
        for variable, size in self.sizes.items():
            analyzer.bind(variable, tirx.IntImm("int64", size))
        return int(analyzer.simplify(expression))


def steps_of(module: Any) -> list[Step]:
    """The calls of main in order, branches whole."""
    return [step for step, _ in _bindings(module) if step is not None]


def walk(module: Any, inputs: Sequence[Array], take: Callable[[Step, Environment], Value]) -> tuple[Environment, Value]:
    """Go through main.

    Parameters
    ----------
    take : callable
        From a step and all values before it to the value that its readers get.

    Returns
    -------
    Environment
        The values of all variables.
    value
        What main returns.
    """
    main = module["main"]
    environment = Environment(main, inputs)
    for step, binding in _bindings(module):
        value = take(step, environment) if step is not None else environment.of(binding.value)
        environment.bind(binding.var, value)
    return environment, environment.of(main.body.body)


def returned_variables(module: Any) -> list[Any]:
    """For each result of main the variable that it is first bound to."""
    from tvm import relax

    bound = {binding.var: binding.value for block in module["main"].body.blocks for binding in block.bindings}

    def origin(expression: Any) -> Any:
        while isinstance(bound.get(expression), relax.Var | relax.Tuple):
            expression = bound[expression]
        return expression

    result = origin(module["main"].body.body)
    return list(map(origin, result.fields)) if isinstance(result, relax.Tuple) else [result]


def _bindings(module: Any) -> Iterator[tuple[Step | None, Any]]:
    from tvm import relax

    position = 0
    for block in module["main"].body.blocks:
        for binding in block.bindings:
            value = binding.value
            if isinstance(binding, relax.VarBinding) and isinstance(value, relax.Call | relax.If):
                yield Step(position, binding.var, value, type(block)), binding
                position += 1
            else:
                yield None, binding


class Probes:
    """Steps of a module as functions of their own, which take what the step reads.

    Parameters
    ----------
    module : tvm.IRModule
    target : tvm.target.Target, optional
    """

    def __init__(self, module: Any, target: Any = None) -> None:
        self.module, self.target = module, target
        self._compiled: dict[int, tuple[runtime.Executable, tuple[Any, ...]]] = {}

    def prepare(self, steps: Iterable[Step]) -> None:
        """Compile some steps in one go."""
        import tvm

        made = {step.position: _probe(step) for step in steps if step.position not in self._compiled}
        if not made:
            return
        functions = dict(_called(self.module, [function for function, _ in made.values()]))
        for position, (function, _) in made.items():
            functions[tvm.ir.GlobalVar(_name(position))] = function
        module = tvm.IRModule(functions, attrs=self.module.attrs, global_infos=self.module.global_infos)
        executable = runtime.compile_module(module, self.target)
        self._compiled |= {position: (executable, sizes) for position, (_, sizes) in made.items()}

    def run(self, step: Step, environment: Environment) -> Value:
        """What a step makes of the values that it reads."""
        from tvm.runtime import ShapeTuple

        self.prepare([step])
        executable, sizes = self._compiled[step.position]
        given = [leaf for variable in step.reads() for leaf in _leaves(environment.values[variable], variable.ty)]
        if sizes:
            given.append(ShapeTuple([environment.sizes[size] for size in sizes]))
        return executable.run(*given, function=_name(step.position))


def _name(position: int) -> str:
    return f"tvmlab_probe_{position}"


def _probe(step: Step) -> tuple[Any, tuple[Any, ...]]:
    """A function that runs one step, and the symbolic sizes that it takes as a last parameter."""
    from tvm import relax

    parameters: list[Any] = []
    bindings = [relax.VarBinding(v, _parameter(v.name, v.ty, parameters)) for v in step.reads()]
    result = relax.Var("result", step.value.ty)
    block = step.block([*bindings, relax.VarBinding(result, step.value)])
    body = relax.SeqExpr([block], result)
    pure = not getattr(getattr(step.value, "op", None), "name", "").endswith("packed")
    sizes = tuple(relax.analysis.free_symbolic_vars(relax.Function(parameters, body, step.value.ty, pure)))
    if sizes:
        parameters.append(relax.Var("sizes", relax.ShapeType(list(sizes))))
    name = _name(step.position)
    return relax.Function(parameters, body, step.value.ty, pure).with_attr("global_symbol", name), sizes


def _parameter(name: str, kind: Any, parameters: list[Any]) -> Any:
    """New parameters, and the expression over them that has a variable's type: tuples are taken apart."""
    from tvm import relax

    if isinstance(kind, relax.TupleType):
        return relax.Tuple([_parameter(f"{name}_{i}", field, parameters) for i, field in enumerate(kind.fields)])
    parameters.append(relax.Var(name, kind))
    return parameters[-1]


def _leaves(value: Value, kind: Any) -> Iterator[Any]:
    from tvm import relax
    from tvm.runtime import ShapeTuple

    if isinstance(kind, relax.TupleType):
        for each, field in zip(value, kind.fields, strict=True):
            yield from _leaves(each, field)
    elif isinstance(kind, relax.ShapeType):
        yield ShapeTuple(value)
    else:
        yield value


def _called(module: Any, functions: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """The functions of a module that some functions call, and what these call."""
    from tvm import ir, relax

    waiting, seen = list(functions), set()
    while waiting:
        found: list[Any] = []
        relax.analysis.post_order_visit(
            waiting.pop(), lambda e, found=found: found.append(e) if isinstance(e, ir.GlobalVar) else None
        )
        for variable in found:
            if variable not in seen:
                seen.add(variable)
                yield variable, module[variable]
                if isinstance(module[variable], relax.Function):
                    waiting.append(module[variable])


def arguments_of(step: Step, environment: Environment) -> list[Value] | None:
    """The values of a kernel's arguments, in order; None if something else than values is given to it."""
    if not hasattr(step.value, "op"):
        return None
    try:
        return [environment.of(argument) for argument in callee(step.value)[1]]
    except TypeError:
        return None


def plain_function(function: Any) -> Any:
    """A kernel without its attributes: what it computes, and how."""
    return function.without_attr("op_pattern") if function.attrs and "op_pattern" in function.attrs else function
