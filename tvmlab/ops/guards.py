"""Static guards: what can be seen of an operator before it ever runs.

The operator is lowered for small example inputs, found by trying common ranks unless the cell names some.  On the first
that fit, the type rule must agree with the compute, the kernel must read inside its inputs, float16 must stay float16,
symbolic sizes must agree too, and a NaN that the reference keeps must not be swallowed.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from tvm import relax, te
from tvm.relax import TensorType
from tvm.tirx import IntImm, PrimFunc

from tvmlab.errors import AttributeSchemaError, CallError, CellError, ComputeError, Location, TvmlabError
from tvmlab.ops import lowering, rules
from tvmlab.ops.attributes import REQUIRED
from tvmlab.ops.binding import Binding
from tvmlab.ops.evaluate import NotEvaluable, element
from tvmlab.ops.lowering import Lowered
from tvmlab.ops.spec import OpSpec

# Shapes by number of tensors, the likeliest first; sizes differ so that a swapped pair shows.
_SHAPES: dict[int, tuple[tuple[tuple[int, ...], ...], ...]] = {
    0: ((),),
    1: (((2, 3),), ((4,),), ((2, 3, 4),), ((1, 4, 6, 6),), ((1, 2, 4, 4, 4),), ((1, 2, 2, 3, 3, 3),)),
    2: (
        ((2, 3), (2, 3)),
        ((2, 3), (3, 4)),
        ((2, 3), (4, 3)),
        ((2, 3), (3,)),
        ((4,), (4,)),
        ((4,), (5,)),
        ((2, 3), (2,)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (4,)),
        ((1, 4, 6, 6), (4,)),
        ((1, 4, 8), (4, 4, 3)),
        ((1, 4, 6, 6), (4, 4, 3, 3)),
        ((1, 4, 6, 6), (4, 1, 3, 3)),
        ((1, 4, 6, 6), (4, 3, 3)),
        ((1, 6, 6, 4), (3, 3, 4, 4)),
        ((1, 6, 6, 4), (3, 3, 4)),
        ((1, 2, 5, 5, 5), (2, 2, 3, 3, 3)),
    ),
    3: (
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (3, 4), (4,)),
        ((2, 3), (4, 3), (4,)),
        ((2, 3), (3,), (3,)),
        ((2, 3, 4), (4,), (4,)),
        ((1, 4, 6, 6), (4,), (4,)),
        ((1, 4, 6, 6), (4, 4, 3, 3), (4,)),
        ((1, 4, 6, 6), (4, 1, 3, 3), (4,)),
        ((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)),
    ),
}
_GUESSES: dict[Any, tuple[Any, ...]] = {int: (0, 1, 2), float: (0.5,), bool: (False,), str: ("",)}


@dataclass(frozen=True)
class Example:
    """Inputs on which an operator lowers: a type for each tensor, a value for each attribute."""

    types: tuple[TensorType, ...]
    attributes: Mapping[str, Any]
    function: PrimFunc
    result: Any

    def __str__(self) -> str:
        tensors = ", ".join(rules.show(t) for t in self.types)
        return f"({tensors}) → {rules.show(self.result)}"


@dataclass(frozen=True)
class Examination:
    """What the guards found: the example they used (None if no inputs fit), and remarks."""

    example: Example | None
    symbolic: Example | None
    remarks: tuple[str, ...]


def examine(spec: OpSpec) -> Examination:
    """Run every static guard on an operator.

    Raises
    ------
    TvmlabError
        What the first guard that fails found, at the user's own line.
    """
    example, remarks = find_example(spec)
    if example is None:
        return Examination(None, None, tuple(remarks))
    _check_half_precision(spec, example, remarks)
    symbolic = _check_symbolic(spec, example, remarks)
    _check_nan(spec, example, remarks)
    for binding in spec.lowerings.values():
        check_lowering(spec, binding, example)
    return Examination(example, symbolic, tuple(remarks))


def find_example(spec: OpSpec) -> tuple[Example | None, list[str]]:
    """Find inputs on which the operator lowers and passes the guards.

    Returns
    -------
    Example or None, list of str
        None, with a remark, if the operator refuses (by its own ``raise`` or ``assert``) all that was tried.
    """
    failures: list[tuple[int, TvmlabError]] = []
    found: Example | None = None
    for dtype, candidates in _candidates(spec):
        for types, attributes in candidates:
            try:
                found = found or _try_example(spec, types, attributes)
                if found.types != types:
                    _try_types(spec, types, attributes)
            except _Failed as failed:
                if failed.stage == _AGREEMENT or spec.examples:
                    raise failed.error from failed.error.__cause__
                failures.append((failed.stage, failed.error))
        if found is not None:
            return found, []
        if dtype == "int32" or spec.examples:
            break
    slips = [failure for failure in failures if failure[0] != _REFUSED]
    if slips:
        best = max(slips, key=lambda f: f[0])[1]
        raise best from best.__cause__
    last = f"; the last time: {failures[-1][1].what}" if failures else ""
    remark = f"it refused all inputs that were tried, so the guards did not run{last}. Add examples = [{{'x': (2, 3)}}]"
    return None, [remark]


_REFUSED, _RULE, _COMPUTE, _AGREEMENT, _KERNEL = range(-1, 4)


class _Failed(Exception):
    """An attempt failed, and at which stage; `_REFUSED` if the user's own line refused the inputs."""

    def __init__(self, stage: int, error: TvmlabError) -> None:
        super().__init__(str(error))
        self.stage = stage
        self.error = error


def _try_types(spec: OpSpec, types: Sequence[TensorType], attributes: Mapping[str, Any]) -> tuple[Lowered, Any]:
    """Lower for some input types; where rule and compute both take them, they must agree."""
    stage = _RULE
    try:
        declared = lowering.run_type_rule(spec, types, attributes) if spec.type_rule is not None else None
        stage = _COMPUTE
        lowered = lowering.lower(spec, types, attributes)
        stage = _AGREEMENT
        if declared is not None and not lowering.agree(declared, lowered.type):
            raise lowering.disagreement(spec, types, declared, lowered.type)
    except TvmlabError as error:
        raise _Failed(_REFUSED if isinstance(error, CallError) else stage, error) from error
    return lowered, declared


def _try_example(spec: OpSpec, types: Sequence[TensorType], attributes: Mapping[str, Any]) -> Example:
    lowered, declared = _try_types(spec, types, attributes)
    try:
        lowering.check_kernel(spec, lowered)
    except TvmlabError as error:
        raise _Failed(_KERNEL, error) from error
    return Example(tuple(types), attributes, lowered.function, declared if declared is not None else lowered.type)


Inputs = tuple[tuple[TensorType, ...], dict[str, Any]]


def _candidates(spec: OpSpec) -> Iterator[tuple[str, Iterable[Inputs]]]:
    if spec.examples:
        yield "given", declared_examples(spec)
        return
    for dtype in ("float32", "int32"):
        yield (
            dtype,
            (
                (tuple(_tensor_type(s, dtype) for s in shapes), attributes)
                for shapes in shapes_for(spec)
                for attributes in _attribute_guesses(spec)
            ),
        )


def declared_examples(spec: OpSpec) -> list[Inputs]:
    """Types and attributes of the cell's own ``examples``.

    Raises
    ------
    CellError
        If one names no inputs.
    """
    return [_declared_example(spec, example) for example in spec.examples]


def shapes_for(spec: OpSpec) -> Sequence[tuple[tuple[int, ...], ...]]:
    """Shapes of the inputs to try, the likeliest first."""
    count = len(spec.tensors)
    if spec.variadic:
        return tuple(tuple([shape] * (count + 2)) for shape in ((2, 3), (4,), (2, 3, 4)))
    if count in _SHAPES:
        return _SHAPES[count]
    first = ((2, 3), (4,), (1, 4, 6, 6))
    return (*(tuple([s] * count) for s in first), *((s, *[(s[1 % len(s)],)] * (count - 1)) for s in first))


def _attribute_guesses(spec: OpSpec) -> Iterator[dict[str, Any]]:
    options = []
    for attribute in spec.attributes:
        if attribute.default is not REQUIRED:
            options.append((attribute.default,))
        else:
            options.append(_GUESSES.get(attribute.annotation, ((0,), (1, 0), (1, 1), (0, 1, 2), (1, 1, 1, 1))))
    for values in itertools.islice(itertools.product(*options), 24):
        try:
            yield spec.schema.values(spec.schema.make(dict(zip(spec.schema.names, values, strict=True))))
        except TvmlabError as error:
            if not any(a.default is REQUIRED for a in spec.attributes):
                cause = error.__cause__
                raise AttributeSchemaError(
                    error.what,
                    where=(spec.source.of_exception(cause) if cause else None) or spec.source.of_name("Attrs"),
                    mend="let validate() accept the defaults",
                ) from cause


def _declared_example(spec: OpSpec, example: Mapping[str, Any]) -> tuple[tuple[TensorType, ...], dict[str, Any]]:
    where = spec.source.of_name("examples")
    if not isinstance(example, Mapping):
        raise CellError(
            f"{spec.name}: an example is a {type(example).__name__}, not a dict",
            where=where,
            mend="write examples = [{'x': (2, 3), 'axis': 1}]: a shape or an array by tensor, a value by attribute",
        )
    unknown = [k for k in example if k not in spec.tensors and k not in spec.schema.names]
    missing = [t for t in spec.tensors if t not in example]
    if missing or (unknown and not spec.variadic):
        what = (
            f"lacks the tensor {missing[0]!r}" if missing else f"names {unknown[0]!r}, which is no tensor or attribute"
        )
        raise CellError(f"{spec.name}: an example {what}", where=where, mend=f"the signature is {spec.signature}")
    attributes = {k: v for k, v in example.items() if k in spec.schema.names}
    tensors = [example[t] for t in spec.tensors] + [example[k] for k in unknown]
    return (
        tuple(_tensor_type_of(t, spec, where) for t in tensors),
        spec.schema.values(spec.schema.make(attributes)),
    )


def _tensor_type_of(value: Any, spec: OpSpec, where: Location | None) -> TensorType:
    if isinstance(value, tuple | list) and all(isinstance(d, int) for d in value):
        return _tensor_type(value, "float32")
    array = np.asarray(value)
    if array.dtype == object:
        raise CellError(
            f"{spec.name}: {value!r} in examples is neither a shape nor an array", where=where, mend="write 'x': (2, 3)"
        )
    return _tensor_type(array.shape, str(array.dtype))


def _tensor_type(shape: Sequence[int], dtype: str) -> TensorType:
    return TensorType(list(shape), dtype)


def _check_half_precision(spec: OpSpec, example: Example, remarks: list[str]) -> None:
    """Lower once more in float16, which must not widen; what float16 cannot hold is remarked, not refused."""
    half = tuple(_halved(t) for t in example.types)
    if all(str(t.dtype) != "float16" for t in half):
        return
    try:
        declared = lowering.run_type_rule(spec, half, example.attributes) if spec.type_rule is not None else None
        lowered = lowering.lower(spec, half, example.attributes)
    except TvmlabError as error:
        remarks.append(f"not for float16: {error.what}")
        return
    if declared is not None and not lowering.agree(declared, lowered.type):
        raise lowering.disagreement(spec, half, declared, lowered.type)
    for full, made in zip(_fields(example.result), _fields(lowered.type), strict=True):
        if declared is None and str(full.dtype) == "float32" == str(made.dtype):
            raise lowering.disagreement(spec, half, _halved(made), made)


def _halved(kind: TensorType) -> TensorType:
    return TensorType(list(kind.shape), "float16") if str(kind.dtype) == "float32" else kind


def _fields(kind: Any) -> list[Any]:
    return list(kind.fields) if isinstance(kind, relax.TupleType) else [kind]


def _check_symbolic(spec: OpSpec, example: Example, remarks: list[str]) -> Example | None:
    """Lower once more with a symbol for each size; an operator that needs numbers is remarked, not refused."""
    symbols: dict[int, Any] = {}
    types = []
    for kind in example.types:
        sizes = [int(d) for d in kind.shape if isinstance(d, IntImm)]
        dims = [_symbol(size, symbols) for size in sizes]
        types.append(TensorType(dims, kind.dtype))
    if not symbols:
        return None
    try:
        declared = lowering.run_type_rule(spec, types, example.attributes) if spec.type_rule is not None else None
        lowered = lowering.lower(spec, types, example.attributes)
    except TvmlabError as error:
        remarks.append(f"needs sizes that are known when it is compiled ({error.what})")
        return None
    if declared is not None and not lowering.agree(declared, lowered.type):
        raise lowering.disagreement(spec, types, declared, lowered.type)
    try:
        lowering.check_kernel(spec, lowered)
    except TvmlabError as error:
        remarks.append(f"with symbolic sizes its reads cannot be proved to be inside ({error.what})")
    result = declared if declared is not None else lowered.type
    return Example(tuple(types), example.attributes, lowered.function, result)


def _symbol(size: int, symbols: dict[int, Any]) -> Any:
    if size == 1:
        return 1
    return symbols.setdefault(size, tvm.tirx.Var("nmkpqr"[len(symbols) % 6], "int64"))


def _check_nan(spec: OpSpec, example: Example, remarks: list[str]) -> None:
    """A NaN that the reference keeps must not be swallowed by the compute."""
    if spec.reference is None or not example.types or any("float" not in str(t.dtype) for t in example.types):
        return
    arrays = [np.full([int(d) for d in t.shape], math.nan, str(t.dtype)) for t in example.types]
    try:
        with np.errstate(all="ignore"):
            expected = spec.reference(arrays, example.attributes)
    except lowering.USER_FAILURES as error:
        if not spec.examples and not isinstance(error, NameError | AttributeError | SystemExit):
            remarks.append(f"its reference does not take the inputs that were tried: {error}")
            return
        raise lowering.user_error(spec, spec.reference, error, ComputeError, example.types) from error
    placeholders = [te.placeholder(list(t.shape), str(t.dtype), name=f"x{i}") for i, t in enumerate(example.types)]
    outputs = lowering.run_compute(spec, placeholders, example.attributes)
    inputs = dict(zip(placeholders, arrays, strict=True))
    wanted = expected if isinstance(expected, tuple | list) else (expected,)
    for output, values in zip(outputs, map(np.asarray, wanted), strict=False):
        _keeps_nan(spec, output, values, inputs)


def _keeps_nan(spec: OpSpec, output: te.Tensor, expected: Any, inputs: Mapping[te.Tensor, Any]) -> None:
    if expected.dtype.kind != "f" or expected.size == 0 or not np.isnan(expected).all():
        return
    if len(output.shape) != expected.ndim:
        return
    try:
        got = element(output, (0,) * expected.ndim, inputs)
    except (NotEvaluable, IndexError, ArithmeticError, ValueError):  # such as an integer of NaN
        return
    if not math.isnan(got):
        raise ComputeError(
            f"{spec.name}: compute turns a NaN into {got:g} where the reference keeps it",
            where=_location_of_clamp(spec) or lowering.location_of_compute(spec),
            mend="put the constant first: tirx.max(low, x) keeps a NaN in x, tirx.max(x, low) loses it",
        )


def _location_of_clamp(spec: OpSpec) -> Location | None:
    node = spec.source.node_of(spec.compute.function)
    for call in ast.walk(node) if node is not None else ():
        name = ast.unparse(call.func).split(".")[-1] if isinstance(call, ast.Call) else ""
        if isinstance(call, ast.Call) and name in ("max", "min") and len(call.args) == 2:
            first, second = call.args
            if isinstance(first, ast.Call | ast.Subscript) or isinstance(second, ast.Constant):
                return spec.source.at_node(call)
    return None


def check_lowering(spec: OpSpec, binding: Binding, example: Example) -> None:
    """Run a ``lower_for_<target>`` on the example, and check what it returns and its type."""
    if lowering.takes_te_tensors(binding):
        lowered = lowering.lower(spec, example.types, example.attributes, binding)
        lowering.check_kernel(spec, lowered)
        computed = lowered.type
    else:
        args = lowering.parameters(spec, example.types)
        result = lowering.run_lowering(spec, binding, args, example.attributes)
        builder = relax.BlockBuilder()
        try:
            with builder.testing_scope(def_vars=[]):
                computed = builder.emit(result).ty
        except TvmlabError:
            raise
        except Exception as error:
            raise lowering.user_error(spec, binding, error, ComputeError, example.types) from error
    if not lowering.agree(example.result, computed):
        gives, should = rules.show(computed), rules.show(example.result)
        raise ComputeError(
            f"{spec.name}: {binding.part} gives {gives}, the operator's type is {should}",
            where=spec.source.of_result(binding.function),
            mend="let it return the same shape and dtype as compute",
        )


__all__ = ["Examination", "Example", "check_lowering", "declared_examples", "examine", "find_example", "shapes_for"]
