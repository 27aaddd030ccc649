"""The table: what TVM says, what it means, how to mend it.

Texts are those of apache-tvm 0.27.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """A known error: the rule's key, what the message means, and what to write instead."""

    key: str
    meaning: str
    mend: str


_TABLE: tuple[tuple[str, str, str, str], ...] = (
    (
        "E08",
        r"only support te\.tensor or tuple/list/Array of te\.tensor",
        "compute returned something that is not a te tensor",
        "return the te.compute(…) itself",
    ),
    (
        "E10",
        r"Need to provide (\d+) index in tensor but (\d+) (?:was|were) provided",
        "the tensor has {0} axes, but is read with {1} indices",
        "read it with one index an axis: x(*i), or x[i, j]",
    ),
    (
        "E10b",
        r"fcompute do not match dimension",
        "the lambda takes another number of indices than the shape has axes",
        "give the lambda one index an axis, or write lambda *i: …",
    ),
    (
        "E11",
        r"Cannot use and / or / not operator to Expr",
        "a Python if, and, or, not, max or min was applied to a TVM expression",
        "write tirx.if_then_else(…), tirx.all(…), tirx.any(…), tirx.max(a, b) or tirx.min(a, b)",
    ),
    (
        "E12",
        r"loop of ufunc does not support argument 0 of type",
        "a NumPy function was applied to a TVM expression",
        "use te.exp, te.sqrt … inside te.compute; NumPy belongs into reference",
    ),
    (
        "E13",
        r"Expected .*Expr.* but got .?te\.Tensor",
        "a whole tensor was used where one element is needed",
        "read an element: te.exp(x(*i)) instead of te.exp(x)",
    ),
    (
        "E14",
        r"shape is only available on a Var with BufferType",
        "a Relax variable was given where a te tensor is needed",
        "call tl.ops.<namespace>.<name>(…) or bb.call_te on Relax expressions",
    ),
    (
        "E09",
        r"missing \d+ required positional arguments?: (.+)",
        "a function is called without {0}",
        "give it that argument, or remove the parameter",
    ),
    (
        "E10c",
        r"Reductions are only allowed at the top level of compute",
        "a reduction (te.sum, te.max) is inside a larger expression",
        "give the reduction a te.compute of its own, and use its result in the next one",
    ),
    (
        "E26",
        r"Binary operators must have the same datatype|Cannot match type",
        "the operands have different dtypes",
        "wrap constants with const_like(value, x), or cast with .astype(x.dtype)",
    ),
    (
        "E29",
        r"Cannot find intrinsic declaration, possible type mismatch: llvm\.(\w+)",
        "{0} exists for floating-point numbers only",
        "cast the argument first: x(*i).astype('float32')",
    ),
    (
        "E33",
        r"module 'tvm' has no attribute '(relay|tir|nd|register_func|lower)'",
        "tvm.{0} was removed; this is TVM 0.27",
        "relay is tvm.relax, tir is tvm.tirx, nd.array is runtime.tensor, register_func is register_global_func",
    ),
    (
        "E33b",
        r"module 'tvm\.te' has no attribute 'create_schedule'",
        "te.create_schedule was removed",
        "use tvm.s_tir.Schedule(te.create_prim_func([...]))",
    ),
    (
        "E33c",
        r"No module named 'tvm\.(relay|tir|contrib\.graph_executor)'",
        "tvm.{0} was removed; this is TVM 0.27",
        "relay is now tvm.relax, tir is tvm.tirx, the graph executor is relax.VirtualMachine",
    ),
    (
        "E41",
        r"relax\.(\S+) is called without its attributes",
        "relax.{0} is called without its attributes, which would end the process",
        "write relax.op.{0}(…) instead of relax.Call(Op.get(…), …)",
    ),
    (
        "E40",
        r"not supported between instances of 'slice' and 'int'",
        "the shape of a TensorType cannot be sliced",
        "make it a list first: list(x.shape)[1:]",
    ),
    (
        "E38",
        r"(?:First argument to tvm\.tirx\.const must be|const_like\((\w+), …\): \w+ is a tensor)",
        "a tensor is given where a number is needed: {0}",
        "declare an attribute in the cell, such as class Attrs: {0}: float = 1.0",
    ),
    (
        "E39",
        r"Literal value (\S+) exceeds (?:minimum|maximum) of (\w+)",
        "{0} is too large for {1}",
        "use a number that {1} can hold, such as 65504 in float16, or choose it by x.dtype",
    ),
    (
        "E37",
        r"name '(\w+)' is not defined",
        "NameError: {0!r} is not defined",
        "define {0!r} in this cell, or in a cell before it",
    ),
    (
        "E36",
        r"maximum recursion depth exceeded",
        "a function calls itself without end",
        "give the recursion an end; a loop over an axis is te.reduce_axis",
    ),
)


def explain(error: BaseException) -> Explanation | None:
    """Look an error up in the table; None if no rule knows it."""
    text = str(error)
    for key, pattern, meaning, mend in _TABLE:
        found = re.search(pattern, text, re.DOTALL)
        if found:
            groups = [g or "" for g in found.groups()]
            return Explanation(key, meaning.format(*groups), mend.format(*groups))
    return None
