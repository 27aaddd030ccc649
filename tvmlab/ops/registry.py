"""The live registry: from a cell to an operator that TVM knows.

TVM cannot forget an operator, so each is registered once, with hooks that never change: trampolines, which look up what
they need.  A call's attributes carry the version of the operator that built it (each version has an attributes class of
its own), so a model keeps the operator it was built with; every other look-up (``tl.ops``, ``R``, the global function
``topi.<namespace>.<name>``) reads one table.  Committing a definition is therefore one assignment, and what happens
before it changes nothing that an earlier version needs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tvm
from tvm import relax
from tvm.relax import TensorType
from tvm.target import Target

from tvmlab import tvm_api
from tvmlab.errors import CallError, CellError, ComputeError, NameRefused, NoSuchOperator, TypeRuleError
from tvmlab.ops import lowering, rules
from tvmlab.ops.attributes import as_python, build_schema, read_attributes
from tvmlab.ops.binding import Binding, bind, require_all, require_tensors
from tvmlab.ops.cell import LOWERING, Parts
from tvmlab.ops.crossing import called_by_tvm
from tvmlab.ops.gradients import require_upstream, run_gradient
from tvmlab.ops.guards import examine
from tvmlab.ops.naming import did_you_mean, split_name
from tvmlab.ops.op import Op
from tvmlab.ops.source import Source, caller
from tvmlab.ops.spec import OpSpec
from tvmlab.runtime import quiet

KINDS = {"elemwise": 0, "broadcast": 1, "injective": 2, "reduce": 3, "out_ewise": 4, "opaque": 8}

_SPEC = "__tvmlab_spec__"
_live: dict[str, Op] = {}
_owned: set[str] = set()
_hooked: set[str] = set()
_emitted: dict[OpSpec, set[OpSpec]] = {}
_reserved: set[str] = set()


def define(name: str, parts: Parts) -> Op:
    """Make an operator live: all of it, or nothing.

    Parameters
    ----------
    name : str
        ``namespace.name``.
    parts : Parts
        What its cell or class says.

    Returns
    -------
    Op

    Raises
    ------
    TvmlabError
        If anything is wrong with it; an earlier version of the operator then stays as it was.
    """
    refuse_taken(name)
    with quiet():
        spec = read_spec(name, parts)
        op = Op(spec, examine(spec))
    previous = _live.get(name)
    try:
        for step in STEPS:
            step(op)
    except BaseException:
        if previous is not None:
            describe(previous)
        raise
    _live[name] = op
    return op


def read_spec(name: str, parts: Parts) -> OpSpec:
    """Read the parts of an operator into a spec; nothing of TVM changes but that one attributes class more exists."""
    values, source = parts.values, parts.source
    attributes = read_attributes(values.get("Attrs"), name, source, parts.namespace)
    names = [a.name for a in attributes]
    compute = bind("compute", values["compute"], names, source)
    require_all(compute, names, source)
    if values.get("type_rule") in rules.FACTORIES:
        made = values["type_rule"].__name__
        raise TypeRuleError(
            f"{name}: rules.{made} makes a rule, it is none itself",
            where=source.of_name("type_rule"),
            mend=f"write type_rule = rules.{made}()",
        )
    others = {
        part: bind(part, values[part], names, source)
        for part in values
        if part in ("type_rule", "reference") or part.startswith(LOWERING)
    }
    for binding in others.values():
        require_tensors(binding, compute, source)
    spec = OpSpec(
        name=name,
        doc=parts.doc.strip(),
        schema=build_schema(name, attributes, values.get("Attrs"), parts.fingerprint, source),
        compute=compute,
        type_rule=others.get("type_rule"),
        reference=others.get("reference"),
        gradient=_gradient(values, compute, names, source),
        schedule=_function(values, "schedule", parts),
        lowerings={part.removeprefix(LOWERING): b for part, b in others.items() if part.startswith(LOWERING)},
        pattern=_pattern(values.get("pattern"), parts),
        examples=_examples(values.get("examples"), parts),
        source=source,
        fingerprint=parts.fingerprint,
    )
    setattr(spec.schema.tvm_class, _SPEC, spec)
    return spec


def refuse_taken(name: str) -> None:
    """Refuse a name that is malformed, or that TVM or ``tl.ops`` uses.

    Raises
    ------
    NameRefused
    """
    namespace, short = split_name(name)
    if namespace in _reserved:
        raise NameRefused(
            f"namespace {namespace!r} is a name of tvmlab.ops itself", mend=f"take another namespace: lab.{short}"
        )
    if f"relax.{name}" in _owned:
        return
    if any(hasattr(module, namespace) and not _is_ours(module, namespace) for module in tvm_api.script_modules()):
        raise NameRefused(
            f"namespace {namespace!r} belongs to TVM: R.{namespace} exists", mend=f"take another namespace: lab.{short}"
        )
    if tvm_api.is_registered(f"relax.{name}"):
        raise NameRefused(f"TVM has an operator relax.{name} already", mend=f"take another namespace: lab.{short}")
    if tvm.get_global_func(f"topi.{name}", allow_missing=True) is not None:
        raise NameRefused(f"the global function topi.{name} exists already", mend=f"take another name: lab.{short}")


# The steps of a definition.  Each may fail, and may be done again.


def claim(op: Op) -> None:
    """Enter the name among ours, then register the bare operator: once for all versions."""
    _owned.add(op.full_name)
    if not tvm_api.is_registered(op.full_name):
        tvm_api.register_op(op.full_name, op.spec.doc)


def hook(op: Op) -> None:
    """Give the operator its hooks: once for all versions."""
    if op.full_name in _hooked:
        return
    registered = tvm_api.get_op(op.full_name)
    tvm_api.set_op_hook(registered, "FPurity", True)
    tvm_api.set_op_hook(registered, "FInferType", infer_type)
    tvm_api.set_op_hook(registered, "FValidate", validate)
    tvm_api.set_op_hook(registered, "FLegalize", legalize)
    tvm_api.set_op_hook(registered, "FPrimalGradient", differentiate)
    _hooked.add(op.full_name)


def describe(op: Op) -> None:
    """Tell TVM's documentation fields of this version; nothing in TVM reads them."""
    registered = tvm_api.get_op(op.full_name)
    registered.set_num_inputs(-1 if op.spec.variadic else len(op.spec.tensors))
    registered.set_attrs_type_key(tvm_api.type_key(op.spec.schema.tvm_class))


def publish_compute(op: Op) -> None:
    """Register the global function ``topi.<namespace>.<name>``, through which the live version lowers."""
    name = op.name
    if tvm.get_global_func(f"topi.{name}", allow_missing=True) is None or name not in _live:
        tvm.register_global_func(f"topi.{name}", _topi_function(name), override=True)


def publish_script_name(op: Op) -> None:
    """Let TVMScript know ``R.<namespace>``."""
    namespace, _ = split_name(op.name)
    for module in tvm_api.script_modules():
        if not _is_ours(module, namespace):
            setattr(module, namespace, Namespace(namespace, in_script=True))


STEPS: tuple[Callable[[Op], None], ...] = (claim, hook, describe, publish_compute, publish_script_name)


def annotate(op: Op, report: Any) -> Op:
    """The operator with the report of its quick check, which its card then shows; it takes the place of the live one.

    Parameters
    ----------
    op : Op
    report : CheckReport
    """
    annotated = dataclasses.replace(op, quick_check=report)
    if _live.get(op.name) is op:
        _live[op.name] = annotated
    return annotated


def find(name: str) -> Op:
    """The live operator of that name.

    Raises
    ------
    NameRefused
        If there is none; it says which was probably meant.
    """
    if name in _live:
        return _live[name]
    split_name(name)
    raise NameRefused(
        f"no operator {name!r} is live",
        mend=f"{did_you_mean(name, _live) or 'none is yet'}; run the cell that defines it",
    )


def reserve(names: Iterable[str]) -> None:
    """Names that no namespace may have, since ``tl.ops`` uses them itself."""
    _reserved.update(names)


def live_names() -> tuple[str, ...]:
    """Names of all live operators, sorted."""
    return tuple(sorted(_live))


def withdraw() -> None:
    """Take back what can be: the ``R.<namespace>`` names and the ``topi.*`` functions.  The bare operators stay."""
    for name in _live:
        tvm_api.remove_global_func(f"topi.{name}")
        for module in tvm_api.script_modules():
            if _is_ours(module, split_name(name)[0]):
                delattr(module, split_name(name)[0])


def republish() -> None:
    """Undo `withdraw`."""
    for name, op in _live.items():
        tvm.register_global_func(f"topi.{name}", _topi_function(name), override=True)
        publish_script_name(op)


class Namespace:
    """``tl.ops.lab``, and ``R.lab``: the live operators of a namespace, by attribute."""

    def __init__(self, name: str, in_script: bool = False) -> None:
        self._name = name
        self._in_script = in_script

    def __getattr__(self, short: str) -> Any:
        if short.startswith("_"):
            raise AttributeError(short)
        op = _live.get(f"{self._name}.{short}")
        if op is None:
            known = [n.split(".")[1] for n in _live if n.startswith(f"{self._name}.")]
            raise NoSuchOperator(
                f"no operator {self._name}.{short} is live",
                where=caller(),
                mend=f"{did_you_mean(short, known) or 'none is yet'} Else run the cell that defines it",
            )
        return op.bind if self._in_script else op

    def __dir__(self) -> list[str]:
        return [n.split(".")[1] for n in live_names() if n.startswith(f"{self._name}.")]

    def __repr__(self) -> str:
        return f"<operators {', '.join(f'{self._name}.{n}' for n in self.__dir__())}>"


def namespaces() -> set[str]:
    """The namespaces that have a live operator."""
    return {split_name(name)[0] for name in _live}


def spec_of(call: Any) -> OpSpec | None:
    """The version of the operator that a Relax call was built with; None if it is no operator of ours."""
    return getattr(type(getattr(call, "attrs", None)), _SPEC, None)


def attributes_of(call: Any) -> dict[str, Any]:
    """Attributes of a call of a live operator, as plain Python values by name."""
    spec = _spec_of_ours(call)
    return spec.schema.values(call.attrs)


# The trampolines: what TVM calls.


@called_by_tvm
def infer_type(call: Any, _builder: Any) -> Any:
    """FInferType of every live operator."""
    spec = _spec_of_ours(call)
    return lowering.run_type_rule(spec, _types(spec, call), spec.schema.values(call.attrs))


@called_by_tvm
def validate(call: Any) -> None:
    """FValidate of every live operator: number of inputs, class of the attributes, ``validate()`` of them."""
    spec = _spec_of_ours(call)
    spec.check_count(len(call.args))
    spec.schema.validated(spec.schema.values(call.attrs))


@called_by_tvm
def legalize(builder: Any, call: Any) -> Any:
    """FLegalize of every live operator: through ``lower_for_<target>`` for the current target, else through compute."""
    spec = _spec_of_ours(call)
    types = _types(spec, call)
    values = spec.schema.values(call.attrs)
    binding = _lowering_for_target(spec)
    if binding is not None and not lowering.takes_te_tensors(binding):
        result = lowering.run_lowering(spec, binding, list(call.args), values)
        _refuse_cycle(spec, binding, result)
        return builder.normalize(_flat(builder, result))

    outputs: list[Any] = []

    def compute(*tensors: Any) -> Any:
        outputs[:] = (
            _through_global_function(spec, tensors, values)
            if binding is None
            else (lowering.run_compute(spec, tensors, values, binding))
        )
        return outputs[0] if len(outputs) == 1 else outputs

    attrs = None if spec.pattern is None else {"op_pattern": max(spec.pattern, 1)}
    try:
        function, args, result = relax.utils.gen_call_tir_inputs(compute, *call.args, primfunc_attrs=attrs)
    except (CellError, ComputeError):
        raise
    except Exception as error:
        raise lowering.user_error(spec, binding or spec.compute, error, ComputeError, types) from error
    computed = lowering.result_type(result)
    if not lowering.agree(call.ty, computed):
        raise lowering.disagreement(spec, types, call.ty, computed)
    lowering.check_symbols(spec, types, outputs)
    lowering.check_kernel(spec, lowering.Lowered(function, computed, tuple(outputs)))
    return relax.call_tir(builder.add_func(function, spec.kernel_name), args, result)


@called_by_tvm
def differentiate(_variable: Any, call: Any, upstream: Any, builder: Any) -> Any:
    """FPrimalGradient of every live operator."""
    spec = _spec_of_ours(call)
    return run_gradient(spec, builder, upstream, list(call.args), spec.schema.values(call.attrs))


def _flat(builder: Any, result: Any) -> Any:
    """Emit what is nested, since a nested call has no type before it is bound."""
    return builder.normalize(result) if not isinstance(result, relax.Call) else builder.emit(result)


def _topi_function(name: str) -> Callable[..., Any]:
    @called_by_tvm
    def topi(*values: Any) -> Any:
        spec = find(name).spec
        tensors, given = spec.split(values)
        outputs = lowering.run_compute(spec, tensors, {k: as_python(v) for k, v in given.items()})
        return outputs[0] if len(outputs) == 1 else outputs

    return topi


def _through_global_function(spec: OpSpec, tensors: Sequence[Any], values: Mapping[str, Any]) -> list[Any]:
    """Run compute; the live version goes through its global function, so that what is registered is what runs."""
    op = _live.get(spec.name)
    function = tvm.get_global_func(f"topi.{spec.name}", allow_missing=True)
    if op is None or op.spec is not spec or function is None:
        return lowering.run_compute(spec, tensors, values)
    through = Binding("compute", lambda *t: function(*t, *(values[n] for n in spec.schema.names)), (), True, ())
    return lowering.run_compute(spec, tensors, values, through)


def _lowering_for_target(spec: OpSpec) -> Binding | None:
    target = Target.current(allow_none=True)
    return spec.lowerings.get(target.kind.name if target is not None else "llvm")


def _refuse_cycle(spec: OpSpec, binding: Binding, result: Any) -> None:
    """Refuse a lowering to an operator whose own lowering leads back: TVM would follow it until its stack is full."""
    called = {s for c in lowering.calls_in(spec, result, None) if (s := spec_of(c)) is not None}
    _emitted.setdefault(spec, set()).update(called)
    seen: set[OpSpec] = set()
    queue = list(called)
    while queue:
        current = queue.pop()
        if current is spec:
            through = ", ".join(sorted(s.name for s in called))
            raise ComputeError(
                f"{spec.name}: {binding.part} leads back to {spec.name} through {through}",
                where=spec.source.of_result(binding.function),
                mend="let one of them lower to te.compute or to TVM's own operators",
            )
        if current not in seen:
            seen.add(current)
            queue.extend(_emitted.get(current, ()))


def _spec_of_ours(call: Any) -> OpSpec:
    spec = spec_of(call)
    if spec is None:
        name = call.op.name.removeprefix("relax.")
        raise CallError(
            f"{name} is called without the attributes class of its definition",
            where=caller() or str(call.op.name),
            mend=f"call tl.ops.{name}(…), or tl.ops.{name}.bind(…), instead of relax.Call(Op.get(…), …)",
        )
    return spec


def _types(spec: OpSpec, call: Any) -> list[TensorType]:
    spec.check_count(len(call.args))
    types = [arg.ty for arg in call.args]
    for name, kind in zip([*spec.tensors, *[""] * len(types)], types, strict=False):
        if not isinstance(kind, TensorType):
            raise CallError(
                f"{spec.name}: the input {name} is a {type(kind).__name__}, not a tensor",
                where=caller() or spec.signature,
                mend="give one tensor for each input; take a tuple apart first",
            )
    return types


def _is_ours(module: Any, namespace: str) -> bool:
    return isinstance(vars(module).get(namespace), Namespace)


def _function(values: Mapping[str, Any], part: str, parts: Parts) -> Any:
    value = values.get(part)
    if value is not None and not callable(value):
        raise CellError(
            f"{part} is a {type(value).__name__}, not a function",
            where=parts.source.of_name(part),
            mend=f"write def {part}(…):",
        )
    return value


def _gradient(values: Mapping[str, Any], compute: Binding, names: Sequence[str], source: Source) -> Binding | None:
    if values.get("gradient") is None:
        return None
    binding = bind("gradient", values["gradient"], names, source)
    require_upstream(binding, compute, source)
    return binding


def _pattern(value: Any, parts: Parts) -> int | None:
    if value is None:
        return None
    kind = KINDS.get(value) if isinstance(value, str) else value
    if not isinstance(kind, int) or isinstance(kind, bool) or kind not in KINDS.values():
        raise CellError(
            f"pattern {value!r} is no pattern kind",
            where=parts.source.of_name("pattern"),
            mend=f"use one of {', '.join(repr(k) for k in KINDS)}",
        )
    return kind


def _examples(value: Any, parts: Parts) -> tuple[Mapping[str, Any], ...]:
    if value is None:
        return ()
    if isinstance(value, Mapping):
        return (value,)
    if not isinstance(value, list | tuple):
        raise CellError(
            f"examples is a {type(value).__name__}, not a list",
            where=parts.source.of_name("examples"),
            mend="write examples = [{'x': (2, 3)}]",
        )
    return tuple(value)
