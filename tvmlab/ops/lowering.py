"""From an operator's call to TIR: the construction crew.

TVM never calls a user's function: it calls what is here, which checks what comes back, since a wrong return value
would end the process.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, te, tirx
from tvm.ir import Call, Op
from tvm.relax import TensorType
from tvm.tirx import PrimFunc

from tvmlab import tvm_api
from tvmlab.diagnosis import explain
from tvmlab.errors import CallError, ComputeError, Location, TvmlabError, TypeRuleError
from tvmlab.ops import bounds, rules
from tvmlab.ops.binding import Binding
from tvmlab.ops.cell import mentioned
from tvmlab.ops.evaluate import NotEvaluable, depth
from tvmlab.ops.naming import did_you_mean
from tvmlab.ops.prelude import NAMES as PRELUDE
from tvmlab.ops.source import caller, code_of
from tvmlab.ops.spec import OpSpec

MAX_DEPTH = 1000
"""Levels of one te expression; a C++ visitor overflows its stack at about 4,000."""

_FLOAT_ONLY_NAMES = (
    "exp exp2 exp10 erf tanh sigmoid log log2 log10 log1p tan cos cosh sin sinh "
    "asin acos atan acosh asinh atanh sqrt rsqrt"
)
_FLOAT_ONLY = frozenset(f"tirx.{name}" for name in _FLOAT_ONLY_NAMES.split())


tvm_api.refuse_bodies_of_nothing()
tvm_api.refuse_calls_without_attrs()
tvm_api.refuse_deep_nesting()
tvm_api.refuse_endless_lowering()
tvm_api.refuse_loops_over_tensors()
tvm_api.refuse_nothing_in_te()
tvm_api.refuse_unknown_resets()

USER_FAILURES = (Exception, SystemExit)
"""What a user's function may raise; an interrupt from the keyboard is not theirs."""


def run_compute(
    spec: OpSpec, tensors: Sequence[te.Tensor], attributes: Mapping[str, Any], binding: Binding | None = None
) -> list[te.Tensor]:
    """Call the user's `compute`, or another function of te tensors, and check what it returns.

    Returns
    -------
    list of te.Tensor
        Its outputs.

    Raises
    ------
    ComputeError
        If it raises, returns anything but te tensors, or builds an expression too deep for TVM.
    """
    binding = binding or spec.compute
    try:
        result = binding(tensors, attributes)
    except TvmlabError:
        raise
    except USER_FAILURES as error:
        raise user_error(spec, binding, error, ComputeError) from error
    outputs = list(result) if isinstance(result, list | tuple | tvm.ir.Array) else [result]
    wrong = [o for o in outputs if not isinstance(o, te.Tensor)]
    if wrong or not outputs:
        got = _describe(wrong[0] if wrong else result)
        raise ComputeError(
            f"{spec.name}: {binding.part} returns {got}, not a te tensor",
            where=spec.source.of_result(binding.function),
            mend="return te.compute(…), or a tuple of them",
        )
    if depth(outputs, MAX_DEPTH) > MAX_DEPTH:
        raise ComputeError(
            f"{spec.name}: {binding.part} builds an expression too deep for TVM: more than {MAX_DEPTH} levels",
            where=location_of_compute(spec),
            mend="use te.reduce_axis with te.sum or te.max in place of a Python loop",
        )
    _fill_empty_reductions(spec, binding, outputs)
    return outputs


def _fill_empty_reductions(spec: OpSpec, binding: Binding, outputs: list[te.Tensor]) -> None:
    """Give a reduction over an axis of size 0 the value of nothing; TVM 0.27 leaves it uninitialised."""
    for tensor in bounds.stages(outputs):
        if any(isinstance(a.dom.extent, tirx.IntImm) and int(a.dom.extent) <= 0 for a in tensor.op.reduce_axis):
            _fill_with_identity(spec, binding, outputs, tensor)


def _refuse_what_tvm_drops(spec: OpSpec, outputs: Sequence[te.Tensor]) -> None:
    """Refuse ``where=`` and ``init=`` of a reduction, which TVM 0.27 ignores without a word."""
    for tensor in bounds.stages(outputs):
        if not tensor.op.reduce_axis:
            continue
        reduction = tensor.op.body[0]
        dropped = "where" if not _always(reduction.condition) else "init" if len(reduction.init) else ""
        if dropped:
            raise ComputeError(
                f"{spec.name}: compute gives {dropped}= to a reduction, and TVM ignores it",
                where=location_of_compute(spec),
                mend="write the condition into the value: tirx.if_then_else(condition, x[k], const_like(0, x))"
                if dropped == "where"
                else "add the initial value to the result in a te.compute of its own",
            )


def _always(condition: Any) -> bool:
    return isinstance(condition, tirx.IntImm) and bool(condition.value)


def _fill_with_identity(spec: OpSpec, binding: Binding, outputs: list[te.Tensor], tensor: te.Tensor) -> None:
    places = [i for i, output in enumerate(outputs) if output.op.same_as(tensor.op)]
    if not places:
        raise ComputeError(
            f"{spec.name}: {binding.part} reduces over an axis of size 0, which TVM leaves uninitialised",
            where=location_of_compute(spec),
            mend="return the result for size 0 before the reduction: if int(x.shape[axis]) == 0: …",
        )
    for place in places:
        identity = tensor.op.body[0].combiner.identity_element[outputs[place].value_index]
        outputs[place] = te.compute(tensor.shape, _constantly(identity), name=tensor.op.name)


def _constantly(value: Any) -> Callable[..., Any]:
    return lambda *_: value


def parameters(spec: OpSpec, types: Sequence[TensorType]) -> list[relax.Var]:
    """A Relax variable for each tensor, by the names in the user's compute."""
    names = [*spec.tensors, *(f"tensor{i}" for i in range(len(types) - len(spec.tensors)))]
    return [relax.Var(n, t) for n, t in zip(names, types, strict=True)]


@dataclass(frozen=True)
class Lowered:
    """A kernel, the type of its result (a TensorType or a TupleType), and the te tensors that it was made of."""

    function: PrimFunc
    type: Any
    outputs: tuple[te.Tensor, ...]


def lower(
    spec: OpSpec, types: Sequence[TensorType], attributes: Mapping[str, Any], binding: Binding | None = None
) -> Lowered:
    """Lower one call of an operator to a PrimFunc, without touching any registry.

    Parameters
    ----------
    types : sequence of TensorType
        Types of the inputs, with known (possibly symbolic) shapes.
    attributes : mapping
        All attributes by name.
    binding : Binding, optional
        A function of te tensors to lower in place of `compute`.
    """
    outputs: list[te.Tensor] = []

    def compute(*tensors: te.Tensor) -> Any:
        outputs[:] = run_compute(spec, tensors, attributes, binding)
        return outputs[0] if len(outputs) == 1 else outputs

    try:
        function, _, result = relax.utils.gen_call_tir_inputs(compute, *parameters(spec, types))
    except TvmlabError:
        raise
    except USER_FAILURES as error:
        raise user_error(spec, binding or spec.compute, error, ComputeError, types) from error
    return Lowered(function, result_type(result), tuple(outputs))


def result_type(result: Any) -> Any:
    """The type of a kernel's result, of which TVM gives a list of fields; one field alone is no tuple."""
    fields = list(result) if isinstance(result, list | tuple | tvm.ir.Array) else [result]
    return fields[0] if len(fields) == 1 else relax.TupleType(fields)


def run_type_rule(spec: OpSpec, types: Sequence[TensorType], attributes: Mapping[str, Any]) -> Any:
    """Type of an operator's result: by its rule if it has one, else derived from its compute.

    Raises
    ------
    TypeRuleError
        If the rule raises, or returns anything but a TensorType or a tuple of them.
    """
    if spec.type_rule is None:
        return derived_type(spec, types, attributes)
    try:
        result = spec.type_rule(types, attributes)
    except TvmlabError:
        raise
    except USER_FAILURES as error:
        raise user_error(spec, spec.type_rule, error, TypeRuleError, types) from error
    fields = list(result) if isinstance(result, list | tuple) else None
    checked = fields if fields is not None else [result]
    wrong = [f for f in checked if not isinstance(f, TensorType | relax.TupleType)]
    if wrong or not checked:
        got = _describe(wrong[0] if wrong else result)
        raise TypeRuleError(
            f"{spec.name}: the type rule returns {got}, not a TensorType",
            where=_location_of_rule(spec),
            mend="return TensorType(shape, dtype), or a tuple of them",
        )
    return result if fields is None else result_type(fields)


def derived_type(spec: OpSpec, types: Sequence[TensorType], attributes: Mapping[str, Any]) -> Any:
    """Type of the result as `compute` makes it.

    Where a shape is unknown, fresh symbols stand for its dimensions and only the rank of the result is known; where a
    rank is unknown, so is the result's.
    """
    if all(t.shape is not None for t in types):
        return lower(spec, types, attributes).type
    if any(t.ndim < 0 for t in types):
        return TensorType(ndim=-1, dtype=None)
    symbolic = [
        t if t.shape is not None else TensorType([tvm.tirx.Var(f"d{k}_{i}", "int64") for i in range(t.ndim)], t.dtype)
        for k, t in enumerate(types)
    ]
    return _without_shape(lower(spec, symbolic, attributes).type)


def _without_shape(kind: Any) -> Any:
    if isinstance(kind, relax.TupleType):
        return relax.TupleType([_without_shape(f) for f in kind.fields])
    return TensorType(dtype=kind.dtype, ndim=kind.ndim)


def agree(declared: Any, computed: Any) -> bool:
    """Whether a type that a rule declared is one that a computed value has; less knowledge is no contradiction."""
    if isinstance(declared, relax.TupleType) or isinstance(computed, relax.TupleType):
        if not (isinstance(declared, relax.TupleType) and isinstance(computed, relax.TupleType)):
            return False
        pairs = list(zip(declared.fields, computed.fields, strict=False))
        return len(declared.fields) == len(computed.fields) and all(agree(d, c) for d, c in pairs)
    if declared.dtype is not None and str(declared.dtype) != str(computed.dtype):
        return False
    if declared.ndim >= 0 and declared.ndim != computed.ndim:
        return False
    if declared.shape is None or computed.shape is None:
        return True
    return all(rules.equal(d, c) for d, c in zip(declared.shape, computed.shape, strict=True))


def disagreement(spec: OpSpec, types: Sequence[Any], declared: Any, computed: Any) -> TvmlabError:
    """The error for a type rule and a compute that disagree; a silently widened dtype is the compute's fault."""
    shown = ", ".join(rules.show(t) for t in types)
    if _widened(types, declared, computed):
        return ComputeError(
            f"{spec.name}: for {shown} compute returns {rules.show(computed)}; a constant widened {declared.dtype}",
            where=_location_of_literal(spec) or location_of_compute(spec),
            mend="wrap each constant: const_like(0.0, x) instead of 0.0",
        )
    return TypeRuleError(
        f"{spec.name}: for {shown} the type rule says {rules.show(declared)}, compute makes {rules.show(computed)}",
        where=_location_of_rule(spec),
        mend="let the rule return what compute makes, or remove type_rule to derive it from compute",
    )


def _widened(types: Sequence[Any], declared: Any, computed: Any) -> bool:
    if isinstance(declared, relax.TupleType) or isinstance(computed, relax.TupleType) or declared.dtype is None:
        return False
    expected, made = str(declared.dtype), str(computed.dtype)
    return (
        expected != made and any(str(t.dtype) == expected for t in types) and expected.startswith(("float", "bfloat"))
    )


def check_kernel(spec: OpSpec, lowered: Lowered) -> None:
    """Refuse a kernel that reads outside its inputs, or gives integers to a floating-point intrinsic.

    A read is inside if that can be proved.  Else every element is tried out, if the sizes are known and small; and
    else TVM's OOBChecker decides.  What none of them can tell is let pass.

    Raises
    ------
    ComputeError
    """
    _refuse_what_tvm_drops(spec, lowered.outputs)
    if bounds.unproved_reads(lowered.outputs):
        try:
            outside = bounds.first_read_outside(lowered.outputs)
        except NotEvaluable:
            _ask_tvm(spec, lowered.function)
        else:
            if outside is not None:
                _ask_tvm(spec, lowered.function)  # it tells the whole range, if it sees it
                raise _reads_outside(
                    spec, outside.tensor, outside.axis, outside.index, f"comes to {outside.value}", outside.size
                )
    for call in _calls(lowered.function):
        if call.op.name in _FLOAT_ONLY and re.match(r"u?int|bool", str(call.ty)):
            short = call.op.name.removeprefix("tirx.")
            raise ComputeError(
                f"{spec.name}: {short} is applied to {call.ty}; it exists for floating-point numbers only",
                where=_location_of_word(spec, short) or location_of_compute(spec),
                mend=f"cast its argument first: te.{short}(value.astype('float32'))",
            )


def check_symbols(spec: OpSpec, types: Sequence[TensorType], outputs: Sequence[te.Tensor]) -> None:
    """Refuse inputs of which one is read as far as another reaches, where nothing says that they are of one size.

    Raises
    ------
    CallError
    """
    for read in bounds.unproved_reads(outputs):
        if read.of_symbols:
            raise CallError(
                f"{spec.name} reads {read.tensor} on axis {read.axis} as far as another input reaches, and nothing says"
                f" that its size {rules.as_written(read.size)} is enough: {', '.join(rules.show(t) for t in types)}",
                where=caller() or spec.signature,
                mend="give equal sizes one symbol; a type_rule such as rules.same refuses unequal ones",
            )


def _ask_tvm(spec: OpSpec, function: PrimFunc) -> None:
    from tvm.s_tir.analysis import OOBChecker

    try:
        OOBChecker()(tvm.IRModule({spec.kernel_name: function}))
    except Exception as error:
        found = re.search(
            r"access on buffer (\w+) dimension (\d+)\. index (.+?) with bounds \[(.+?), (.+?)\]"
            r" is outside the range \[(.+?), (.+?)\]",
            str(error),
        )
        if found is None:  # the checker itself failed: that says nothing of the kernel
            return
        name, axis, index, low, high, _, size = found.groups()
        runs = f"runs from {rules.as_written(low)} to {rules.as_written(high)}"
        raise _reads_outside(spec, name, int(axis), index, runs, size) from error


def _reads_outside(spec: OpSpec, name: str, axis: int, index: str, does: str, size: str) -> ComputeError:
    index, size = rules.as_written(index), rules.as_written(size)
    inside = f"tirx.all({index} >= 0, {index} < {size})"
    return ComputeError(
        f"{spec.name}: compute reads {name} out of bounds: on axis {axis} the index {index} {does}, "
        f"but the size is {size}",
        where=_location_of_read(spec, name, index) or location_of_compute(spec),
        mend=f"keep it inside, or guard it: tirx.if_then_else({inside}, {name}[…], const_like(0, {name}))",
    )


def _calls(function: PrimFunc) -> list[Any]:
    found: list[Any] = []

    def keep(call: Any) -> None:
        if isinstance(call.op, Op):
            found.append(call)

    tvm_ffi.structural_walk(function.body, (Call, keep), order="post")
    return found


def takes_te_tensors(binding: Binding) -> bool:
    """Whether a ``lower_for_<target>`` is given te tensors, since it mentions te or topi, or Relax expressions."""
    code = code_of(binding.function)
    return code is not None and bool({"te", "topi"} & set(mentioned(code)))


def run_lowering(spec: OpSpec, binding: Binding, args: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """Call a ``lower_for_<target>`` on Relax expressions, and check what it returns before TVM sees it.

    Raises
    ------
    ComputeError
        If it raises, returns no expression, or calls the operator itself.
    """
    where = spec.source.of_result(binding.function)
    try:
        result = binding(args, attributes)
    except TvmlabError:
        raise
    except USER_FAILURES as error:
        raise user_error(spec, binding, error, ComputeError) from error
    if isinstance(result, tuple | list) and result:
        result = relax.Tuple(list(result))
    if not isinstance(result, relax.Expr):
        raise ComputeError(
            f"{spec.name}: {binding.part} returns {_describe(result)}, not an expression or te tensors",
            where=where,
            mend="return te.compute(…), or a Relax expression such as relax.op.multiply(x, y)",
        )
    for call in calls_in(spec, result, where):
        if not isinstance(call.op, Op):
            continue
        if call.op.name == f"relax.{spec.name}":
            raise ComputeError(
                f"{spec.name}: {binding.part} returns a call of {spec.name} itself, which would lower without end",
                where=where,
                mend="express it by other operators, or return te.compute(…)",
            )
    return result


def calls_in(spec: OpSpec, result: Any, where: Location | None) -> list[Any]:
    """Every call in a nested Relax expression; ComputeError if it is too deep for TVM's stack."""
    calls: list[Any] = []
    level, levels = [result], 0
    while level:
        levels += 1
        if levels > MAX_DEPTH:
            raise ComputeError(
                f"{spec.name}: the lowering builds an expression too deep for TVM: more than {MAX_DEPTH} levels",
                where=where,
                mend="lower to fewer operators, or to te.compute",
            )
        following: list[Any] = []
        for node in level:
            if isinstance(node, Call):
                calls.append(node)
                following.extend(node.args)
            elif isinstance(node, relax.Tuple):
                following.extend(node.fields)
            elif isinstance(node, relax.TupleGetItem):
                following.append(node.tuple_value)
            elif isinstance(node, relax.If):
                following.extend([node.cond, node.true_branch, node.false_branch])
            elif isinstance(node, relax.Function):
                following.append(node.body)
            elif isinstance(node, relax.SeqExpr):
                following.extend(b.value for block in node.blocks for b in block.bindings if hasattr(b, "value"))
                following.append(node.body)
        level = list({id(n): n for n in following}.values())
    return calls


def user_error(
    spec: OpSpec, binding: Binding, error: BaseException, kind: type[TvmlabError], types: Sequence[Any] = ()
) -> TvmlabError:
    """The three-line error for an exception out of one of the user's functions.

    Where that function refuses its inputs on purpose, the call is at fault: a CallError at the line of the call.
    """
    if _refuses(spec, error):
        return CallError(
            f"{spec.name} refuses {', '.join(rules.show(t) for t in types) or 'its inputs'}: {_first_line(error)}",
            where=caller() or spec.signature,
            mend=f"give it inputs that its {binding.part} takes: {spec.signature}",
        )
    known = explain(error)
    name = "" if isinstance(error, ValueError | AssertionError) and str(error) else f"{type(error).__name__}: "
    text = known.meaning if known else f"{name}{_first_line(error)}"
    given = f" for {', '.join(rules.show(t) for t in types)}" if types else ""
    advice = "mend this line; %tb shows the whole traceback"
    of_symbol = kind is TypeRuleError and known is not None and known.key == "E11"
    if kind is TypeRuleError:
        advice = _advice_on_rule(error)
    return kind(
        f"{spec.name}: {binding.part} fails{given}: {text}",
        where=spec.source.of_exception(error)
        or spec.source.of_result(binding.function)
        or spec.source.of_name(binding.part),
        mend=f"{_meant(spec, error)}{known.mend if known and not of_symbol else advice}",
    )


def _advice_on_rule(error: BaseException) -> str:
    """What to do about an error in a type rule."""
    text = str(error)
    if "and / or / not operator to Expr" in text:
        return "no if on a symbol: ask isinstance(size, tirx.IntImm), rules.equal(a, b) or rules.different(a, b)"
    if "'NoneType' object" in text:
        return "x.shape is None where only the rank, x.ndim, is known: ask for that first"
    if "values to unpack" in text:
        return "a rule is asked about tensors of any rank: refuse others by raise ValueError(…)"
    return "it is given the TensorType of each tensor (x.shape, x.dtype, x.ndim) and attributes by name"


def _meant(spec: OpSpec, error: BaseException) -> str:
    """For an unknown name: the tensor, the attribute or the name of the prelude that was probably meant."""
    if not isinstance(error, NameError) or not error.name:
        return ""
    close = did_you_mean(error.name, {*spec.tensors, *spec.schema.names, *PRELUDE})
    return f"{close} Else " if close.startswith("did") else ""


def _refuses(spec: OpSpec, error: BaseException) -> bool:
    """Whether an error is a ``raise`` or an ``assert`` of the user about the inputs, or comes from a rule of ours."""
    if not isinstance(error, ValueError | TypeError | AssertionError | IndexError | NotImplementedError):
        return False
    where = spec.source.of_exception(error)
    if where is not None and re.match(r"\s*(raise|assert)\b", where.text):
        return True
    trace = error.__traceback__ if isinstance(error, ValueError) else None  # a TypeError in a rule is a wrong argument
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__") == rules.__name__


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _describe(value: Any) -> str:
    if value is None:
        return "nothing (a return is missing)"
    if callable(value) and not isinstance(value, relax.Expr):
        return f"a function ({getattr(value, '__name__', type(value).__name__)})"
    return f"{type(value).__name__}"


def _location_of_rule(spec: OpSpec) -> Location | None:
    if spec.type_rule is not None:
        found = spec.source.of_result(spec.type_rule.function)
        if found is not None:
            return found
    return spec.source.of_name("type_rule")


def location_of_compute(spec: OpSpec) -> Location | None:
    """Line of the (last) te.compute in the user's compute, else of its return."""
    node = spec.source.node_of(spec.compute.function)
    calls = (
        [n for n in ast.walk(node) if isinstance(n, ast.Call) and ast.unparse(n.func).endswith("compute")]
        if node
        else []
    )
    if calls:
        return spec.source.at_node(max(calls, key=lambda n: n.lineno))
    return spec.source.of_result(spec.compute.function)


def _location_of_read(spec: OpSpec, name: str, index: str) -> Location | None:

    node = spec.source.node_of(spec.compute.function)
    if node is None:
        return None
    reads = [
        n
        for n in ast.walk(node)
        if isinstance(n, ast.Subscript | ast.Call)
        and isinstance(base := (n.value if isinstance(n, ast.Subscript) else n.func), ast.Name)
        and base.id == name
    ]
    simplified = re.sub(r"[\s()]", "", index)
    exact = [n for n in reads if simplified in re.sub(r"[\s()]", "", ast.unparse(n))]
    chosen = exact or [n for n in reads if any(isinstance(m, ast.BinOp) for m in ast.walk(n))] or reads
    return spec.source.at_node(chosen[0]) if chosen else None


def _location_of_literal(spec: OpSpec) -> Location | None:

    node = spec.source.node_of(spec.compute.function)
    if node is None:
        return None
    wrapped = {
        id(inner)
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(("const_like", "const", "cast"))
        for inner in ast.walk(call)
    }
    for found in ast.walk(node):
        if isinstance(found, ast.Constant) and isinstance(found.value, float) and id(found) not in wrapped:
            return spec.source.at_node(found)
    return None


def _location_of_word(spec: OpSpec, word: str) -> Location | None:

    node = spec.source.node_of(spec.compute.function)
    for found in ast.walk(node) if node is not None else ():
        if isinstance(found, ast.Call) and ast.unparse(found.func).split(".")[-1] == word:
            return spec.source.at_node(found)
    return None
