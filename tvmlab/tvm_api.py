"""Every private or version-bound TVM name that tvmlab uses, and nothing else.

Written for apache-tvm 0.27.  When TVM moves, this is the file to mend.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

_DEEPEST = 1_000
"""Levels of one expression; C++ visitors overflow their stack at about 4,000."""
_versions_of_key: dict[str, Iterable[int]] = {}


def is_registered(full_name: str) -> bool:
    """Whether TVM knows an operator of that full name (``relax.…``)."""
    from tvm.ir import Op

    try:
        Op.get(full_name)
    except AttributeError:
        return False
    return True


def get_op(full_name: str) -> Any:
    """The operator of that full name; AttributeError if TVM has none."""
    from tvm.ir import Op

    return Op.get(full_name)


def operator_names() -> list[str]:
    """Names of all operators that TVM knows."""
    from tvm.ir import Op

    return [str(name) for name in Op.list_op_names()]


def global_function_names() -> list[str]:
    """Names of all global functions."""
    from tvm_ffi.registry import list_global_func_names

    return list(list_global_func_names())


def pass_options() -> list[str]:
    """Names of the options that a PassContext takes."""
    from tvm.ir.transform import PassContext

    return [str(name) for name in PassContext.list_configs()]


def type_key(attrs_class: type) -> str:
    """The type key under which TVM knows an attributes class."""
    return str(attrs_class.__tvm_ffi_type_info__.type_key)  # type: ignore[attr-defined]


def register_op(full_name: str, doc: str) -> Any:
    """Register a bare operator; it can never be unregistered."""
    import tvm
    from tvm.ir import Op

    tvm.ir._ffi_api.RegisterOp(full_name, doc)
    return Op.get(full_name)


def set_op_hook(op: Any, key: str, value: Any) -> None:
    """Set an attribute of an operator, replacing an earlier one.

    ``has_attr`` is true as soon as any operator carries the key, and ``get_attr`` after ``reset_attr`` of a key that
    no operator ever carried kills the process; hence this order.
    """
    if op.has_attr(key) and op.get_attr(key) is not None:
        op.reset_attr(key)
    op.set_attr(key, value)


def remove_global_func(name: str) -> None:
    """Remove a global function; nothing happens if there is none."""
    from tvm_ffi.registry import remove_global_func as remove

    remove(name)


def register_error(kind: type[BaseException]) -> None:
    """Let an exception class cross TVM's C++ frames; without it, it comes back as a RuntimeError."""
    import tvm_ffi

    tvm_ffi.register_error(kind.__name__, kind)


def script_modules() -> tuple[Any, ...]:
    """The modules behind ``R``: of a notebook's import, and of `tvm.script.from_source`."""
    import tvm.relax.script
    import tvm.relax.script.parser
    from tvm.script import relax as notebook_r

    return tuple({id(m): m for m in (notebook_r, tvm.relax.script, tvm.relax.script.parser)}.values())


def storable(annotation: Any) -> bool:
    """Whether a TVM attributes class can have a field of that type."""
    from tvm_ffi.core import TypeSchema

    try:
        TypeSchema.from_annotation(annotation)
    except (TypeError, ValueError):
        return False
    return True


def make_attrs_class(op_name: str, fingerprint: str, fields: list[tuple[str, Any, Any]], required: Any) -> type:
    """Make a class of TVM attributes, under a type key that nobody has.

    Parameters
    ----------
    fields : list of (name, annotation, default)
        `required` as default means that there is none.
    """
    from tvm.ir.attrs import Attrs
    from tvm_ffi.dataclasses import field, py_class

    key = f"tvmlab.attrs.{op_name}@{fingerprint}"
    version = next(_versions_of_key.setdefault(key, itertools.count(1)))  # type: ignore[call-overload]
    namespace: dict[str, Any] = {
        "__annotations__": {name: annotation for name, annotation, _ in fields},
        "__module__": "tvmlab.attrs",
    }
    for name, _, default in fields:
        if default is required:
            continue
        mutable = isinstance(default, list | dict)
        namespace[name] = field(default_factory=_copier(default)) if mutable else field(default=default)
    made = type(Attrs)(f"{op_name.rsplit('.', maxsplit=1)[-1]}_attrs", (Attrs,), namespace)
    decorated: type = py_class(key if version == 1 else f"{key}.{version}")(made)
    return decorated


def _copier(value: Any) -> Callable[[], Any]:
    return lambda: type(value)(value)


_ATTRS_WITHOUT_KEY = frozenset(
    f"relax.{name}"
    for name in ("argmax", "argmin", "matmul", "max", "mean", "median", "min", "prod", "std", "sum", "variance")
)
"""Operators that read attributes, though their attrs_type_key is empty."""


def refuse_calls_without_attrs() -> None:
    """Let relax.Call refuse TVM's own operators without the attributes that their type rules read.

    Such a call ends the process when its type is inferred, wherever it was made: in a type rule, a lowering, a graph.
    """
    from tvm.ir import Call, Op

    construct = Call.__init__
    if hasattr(construct, "refuses_missing_attrs"):
        return

    def checked(self: Any, op: Any, args: Any, attrs: Any = None, *rest: Any, **more: Any) -> None:
        if isinstance(op, Op) and _lacks_attrs(op, attrs):
            raise TypeError(f"{op.name} is called without its attributes, which would end the process")
        construct(self, op, args, attrs, *rest, **more)

    checked.refuses_missing_attrs = True  # type: ignore[attr-defined]
    Call.__init__ = checked


def refuse_unknown_resets() -> None:
    """Let Op.reset_attr refuse a key that no operator ever carried: reading it afterwards would end the process."""
    from tvm.ir import Op

    reset = Op.reset_attr
    if hasattr(reset, "refuses_unknown"):
        return

    def checked(self: Any, name: str) -> None:
        if not self.has_attr(name):
            raise AttributeError(f"no operator has an attribute {name}; a reset of it would end the process")
        reset(self, name)

    checked.refuses_unknown = True  # type: ignore[attr-defined]
    Op.reset_attr = checked


def _lacks_attrs(op: Any, attrs: Any) -> bool:
    key = op.attrs_type_key
    if not op.name.startswith("relax.") or key.startswith("tvmlab.") or not (key or op.name in _ATTRS_WITHOUT_KEY):
        return False
    if attrs is None or isinstance(attrs, dict) or type(attrs).__name__ == "DictAttrs":
        return True
    return bool(key) and type_key(type(attrs)) != key


def refuse_bodies_of_nothing() -> None:
    """Let te.compute refuse a function that returns nothing; TVM hands the null to C++, which ends the process."""
    from tvm.te import operation

    convert = operation.convert
    if hasattr(convert, "refuses_nothing"):
        return

    def checked(value: Any) -> Any:
        if isinstance(value, list | tuple) and any(v is None for v in value):
            raise TypeError("the function given to te.compute returns nothing: a return is missing in it")
        return convert(value)

    checked.refuses_nothing = True  # type: ignore[attr-defined]
    operation.convert = checked


def refuse_deep_nesting() -> None:
    """Let te.compute and BlockBuilder refuse expressions nested so deeply that TVM's recursion fills the stack."""
    from tvm import relax
    from tvm.te import operation

    def checked(owner: Any, name: str) -> None:
        function = getattr(owner, name)
        if hasattr(function, "refuses_depth"):
            return

        def refusing(*arguments: Any) -> Any:
            given = arguments[-1]
            for each in given if isinstance(given, list | tuple) else [given]:
                _refuse_depth(each)
            return function(*arguments)

        refusing.__dict__.update(function.__dict__)
        refusing.refuses_depth = True  # type: ignore[attr-defined]
        setattr(owner, name, refusing)

    checked(operation, "convert")
    checked(relax.BlockBuilder, "_normalize_python_tuple")


def _refuse_depth(node: Any) -> None:
    """Follow the first and the last operands down; what grows in a loop is deep along one of them."""
    for end in (0, -1):
        current, depth = node, 0
        while current is not None:
            depth += 1
            if depth > _DEEPEST:
                raise ValueError(
                    f"the expression is nested more than {_DEEPEST} levels deep, which would end the process"
                )
            operands = _operands(current)
            current = operands[end] if operands else None


def _operands(node: Any) -> list[Any]:
    from tvm.ir import Expr

    found = [getattr(node, name, None) for name in ("a", "b", "value", "condition", "true_value", "false_value")]
    return [each for each in (*found, *getattr(node, "args", ())) if isinstance(each, Expr)]


def refuse_endless_lowering() -> None:
    """Let Op.set_attr give FLegalize a guard: what returns nothing, or its own operator again, ends the process."""
    from tvm.ir import Op

    set_attr = Op.set_attr
    if hasattr(set_attr, "guards_legalize"):
        return

    def guarded(self: Any, attr_name: str, value: Any, plevel: int = 10) -> None:
        own = attr_name == "FLegalize" and callable(value) and not hasattr(value, "called_by_tvm")
        set_attr(self, attr_name, _checked_legalize(self, value) if own else value, plevel)

    guarded.guards_legalize = True  # type: ignore[attr-defined]
    Op.set_attr = guarded


def _checked_legalize(op: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    from tvm import relax

    @functools.wraps(function)
    def checked(builder: Any, call: Any) -> Any:
        result = function(builder, call)
        if not isinstance(result, relax.Expr):
            raise TypeError(f"FLegalize of {op.name} returns {type(result).__name__}, not an expression")
        made = builder.lookup_binding(result) if isinstance(result, relax.Var) else result
        if isinstance(made, relax.Call) and made.op.same_as(op) and not made.same_as(call):
            raise ValueError(f"FLegalize of {op.name} returns a call of {op.name} itself, which would never end")
        return result

    return checked


def refuse_nothing_in_te() -> None:
    """Let te refuse None as an index, an axis, a size or a condition: as a null of C++ it ends the process later."""
    from tvm import te, tirx

    for owner in (te, tirx):
        for name in ("compute", "reduce_axis", "sum", "max", "min"):
            if hasattr(owner, name):
                _refuse_nothing(owner, name, 2)
        for name in ("all", "any"):
            _refuse_nothing(owner, name, None)
    _refuse_no_index(te.Tensor)


def _refuse_no_index(tensor: Any) -> None:
    """Let a te tensor refuse None as an index; te.compute looks at what it takes."""
    function = tensor.__call__
    if hasattr(function, "refuses_nothing"):
        return

    @functools.wraps(function)
    def refusing(self: Any, *indices: Any) -> Any:
        _refuse_none("a te tensor", indices)
        return function(self, *indices)

    refusing.refuses_nothing = True  # type: ignore[attr-defined]
    tensor.__call__ = refusing


def _refuse_none(called: str, arguments: Iterable[Any]) -> None:
    for given in arguments:
        if given is None or (isinstance(given, list | tuple) and any(each is None for each in given)):
            raise TypeError(f"{called} is given None")


def _refuse_nothing(owner: Any, name: str, looked_at: int | None) -> None:
    """Let a function refuse None among its first arguments, and in lists among them."""
    function = getattr(owner, name)
    if hasattr(function, "refuses_nothing"):
        return

    @functools.wraps(function)
    def refusing(*arguments: Any, **named: Any) -> Any:
        _refuse_none(name, (*arguments[:looked_at], named.get("axis", 0)))
        return function(*arguments, **named)

    refusing.refuses_nothing = True  # type: ignore[attr-defined]
    setattr(owner, name, refusing)


def refuse_loops_over_tensors() -> None:
    """Let Python's loops, ``sum``, ``max``, ``list`` and ``in`` refuse te tensors.

    A te tensor gives an element for every index, so that a loop over it would never end, and fill the memory.
    """
    from tvm import te

    for kind in (te.Tensor, te.tensor.TensorSlice):
        kind.__iter__ = None


def onnx_operators() -> frozenset[str]:
    """ONNX operator types that TVM's importer knows."""
    from tvm.relax.frontend.onnx import onnx_frontend

    return frozenset(onnx_frontend._get_convert_map()) | {"If", "Constant"}


def import_onnx_graph(
    graph: Any,
    opset: int,
    constants: Iterable[tuple[str, Any]],
    name_of: Callable[[Any], str],
    own_call: Callable[[Any, list[Any]], Any],
) -> tuple[Any, list[tuple[Any, list[Any]]]]:
    """Import an ONNX graph node by node, and bind each node's results to variables named after it.

    Parameters
    ----------
    graph
        Anything with `node`, `input` and `output` as a GraphProto has them.
    constants : iterable of (str, ndarray)
    name_of : callable
        From a node to a name for its results.
    own_call : callable
        From a node and its input expressions to a Relax expression; None for a node that TVM imports.

    Returns
    -------
    module : tvm.IRModule
    results : list of (node, expressions)
        What each node's outputs became, in order.

    Notes
    -----
    TVM's importer looks only at a node's type, not at its domain; it leaves results unbound until something reads
    them, under names that say nothing; and it builds its table of converters anew for every node.
    """
    from types import SimpleNamespace

    from tvm import relax
    from tvm.relax.frontend.onnx import onnx_frontend

    converters = onnx_frontend._get_convert_map()
    unbound = (relax.Call, relax.TupleGetItem)

    class Importer(onnx_frontend.ONNXGraphImporter):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(None, "float32")
            self.results: list[tuple[Any, list[Any]]] = []
            self.at: Any = None

        def _check_for_unsupported_ops(self, graph: Any) -> None:
            """Whoever calls has checked."""

        def _parse_graph_initializers(self, graph: Any) -> None:  # noqa: ARG002 - TVM's signature
            self._nodes.update((name, relax.const(array, array.dtype.name)) for name, array in constants)

        def _construct_nodes(self, graph: Any) -> None:
            for node in graph.node:
                self.at = node
                super()._construct_nodes(SimpleNamespace(node=[node]))
                made = [output for output in node.output if output and output in self._nodes]
                for output in made:
                    if isinstance(self._nodes[output], unbound):
                        self._nodes[output] = self.bb.emit(self._nodes[output], name_hint=name_of(node))
                self.results.append((node, [self._nodes[output] for output in made]))

        def _convert_operator(self, op_name: str, inputs: Any, attrs: dict[str, Any], opset: int) -> Any:
            made = own_call(self.at, list(inputs))
            if made is None:
                made = converters[op_name].get_converter(opset)(self.bb, inputs, attrs, [self._nodes, self._params])
            return self.bb.normalize(made) if isinstance(made, relax.Expr) else made

    importer = Importer()
    return importer.from_onnx(graph, opset), importer.results


def typed_global_var(name: str, kind: Any) -> Any:
    """The name of a function, with a type; only a block builder gives it one otherwise."""
    from tvm import ir, relax

    variable = ir.GlobalVar(name)
    relax.expr._update_type(variable, kind)
    return variable


def meta_schedule() -> Any:
    """TVM's meta_schedule, without the forty seconds that importing the intrinsics of every other device takes.

    Only those of this machine's processor are loaded.  It stays so for the whole process, which should be one of its
    own.
    """
    import importlib
    import platform
    import sys
    import types
    from pathlib import Path

    import tvm.s_tir

    name = "tvm.s_tir.tensor_intrin"
    if name not in sys.modules:
        package = types.ModuleType(name)
        package.__path__ = [str(Path(tvm.s_tir.__file__).parent / "tensor_intrin")]
        sys.modules[name] = package
        arm = platform.machine().lower() in {"aarch64", "arm64"}
        importlib.import_module(f"{name}.{'arm_cpu' if arm else 'x86'}")
    return importlib.import_module("tvm.s_tir.meta_schedule")


def serve_rpc(host: str, port: int, key: str, tracker: tuple[str, int] | None) -> int:
    """Start an RPC server in this process; returns its port.  A thread of it serves until the process ends.

    `tvm.rpc.Server` starts one more process for it, by a package that is not always there.
    """
    from tvm.rpc.server import PopenRPCServerState

    state = PopenRPCServerState(host, port, port + 100, False, tracker, key, silent=True)
    return int(state.port)


def serve_tracker(host: str, port: int) -> int:
    """Start an RPC tracker in this process, as `serve_rpc` starts a server; returns its port."""
    from tvm.rpc.tracker import PopenTrackerServerState

    return int(PopenTrackerServerState(host, port, port + 100, silent=True).port)
