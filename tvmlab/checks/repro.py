"""Cells that show a failure when they are run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.checks.subject import Configuration, call_text
from tvmlab.ops import Op

__all__ = ["call_cell", "compare_cell", "given"]

_HEAD = "import numpy as np\nimport tvmlab as tl\n"


def call_cell(op: Op, configuration: Configuration) -> str:
    """A call with zeros of a configuration."""
    arrays = [np.zeros(s, d) for s, d in zip(configuration.shapes, configuration.dtypes, strict=True)]
    return f"{_HEAD}{_short(op, arrays, configuration.attributes)}"


def given(configuration: Configuration) -> str:
    """The attributes of a configuration, as they follow its types in a sentence."""
    return "".join(f", {name}={value!r}" for name, value in configuration.attributes.items())


def compare_cell(op: Op, arrays: Sequence[NDArray[Any]], attributes: Any) -> str:
    """The operator and its reference on the same arrays."""
    return (
        f"{_HEAD}print({call_text(op, arrays, attributes)})\n"
        f"print({call_text(op, arrays, attributes, method='.reference')})"
    )


def _short(op: Op, arrays: Sequence[NDArray[Any]], attributes: Any) -> str:
    text = call_text(op, arrays, attributes)
    for array in arrays:
        if array.size:
            text = text.replace(f'np.array({array.tolist()!r}, "{array.dtype.name}")', _zeros(array), 1)
    return text


def _zeros(array: NDArray[Any]) -> str:
    return f'np.zeros({array.shape}, "{array.dtype.name}")'


def type_cell(op: Op, types: Sequence[Any], attributes: Any) -> str:
    """A call on variables of those types, whose type is then asked for."""
    lines = [
        f'{name} = relax.Var("{name}", {_type_text(kind)})'
        for name, kind in zip([*op.spec.tensors, *(f"tensor{i}" for i in range(len(types)))], types, strict=False)
    ]
    names = ", ".join(line.partition(" =")[0] for line in lines)
    given = "".join(f", {k}={v!r}" for k, v in attributes.items())
    return (
        "from tvm import relax, tirx\nimport tvmlab as tl\n"
        + "\n".join(lines)
        + f"\nrelax.BlockBuilder().normalize(tl.ops.{op.name}({names}{given})).ty"
    )


def _type_text(kind: Any) -> str:
    dtype = f'"{kind.dtype}"'
    if kind.shape is None:
        return f"relax.TensorType(dtype={dtype}, ndim={kind.ndim})"
    dims = [str(d) if str(d).lstrip("-").isdigit() else f'tirx.Var("{d}", "int64")' for d in kind.shape]
    return f"relax.TensorType([{', '.join(dims)}], {dtype})"


def gradient_cell(op: Op, arrays: Sequence[NDArray[Any]], attributes: Any) -> str:
    """The slopes of the sum of the outputs, by TVM."""
    names = [*op.spec.tensors, *(f"tensor{i}" for i in range(len(arrays)))][: len(arrays)]
    variables = [
        f'{n} = relax.Var("{n}", relax.TensorType({list(a.shape)}, "{a.dtype.name}"))'
        for n, a in zip(names, arrays, strict=True)
    ]
    given = "".join(f", {k}={v!r}" for k, v in attributes.items())
    body = [
        "    with builder.dataflow():",
        f"        y = builder.emit(tl.ops.{op.name}({', '.join(names)}{given}))",
        "        if isinstance(y.ty, relax.TupleType):",
        "            y = builder.emit(relax.TupleGetItem(y, 0))",
        "        total = builder.emit_output(builder.emit(relax.op.sum(y)))",
        "    builder.emit_func_output(total)",
    ]
    return "\n".join(
        [
            "import numpy as np\nfrom tvm import relax\nimport tvmlab as tl",
            *variables,
            "builder = relax.BlockBuilder()",
            f'with builder.function("main", [{", ".join(names)}]):',
            *body,
            'print(relax.transform.Gradient("main")(builder.get())["main_adjoint"].script())',
        ]
    )
