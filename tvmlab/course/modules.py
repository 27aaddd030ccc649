"""Small Relax modules that FuseOps does or does not fuse, and what they compute."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvmlab.records import Mismatch

__all__ = [
    "arrays_for",
    "chain_module",
    "chain_of",
    "dense",
    "dense_module",
    "differs",
    "outcome",
    "pick_chain",
    "unmarked",
]

Array = NDArray[Any]

UNARY: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "negative": np.negative,
    "square": np.square,
    "abs": np.abs,
    "sin": np.sin,
    "cos": np.cos,
}
_SHAPE = (4, 8)


def pick_chain(random: np.random.Generator, shortest: int = 2, longest: int = 4) -> tuple[str, ...]:
    """Names of unary operators, each once."""
    return tuple(map(str, random.choice(list(UNARY), random.integers(shortest, longest + 1), replace=False)))


def chain_of(names: Sequence[str]) -> Callable[[Array], Array]:
    """What a chain of unary operators computes."""

    def compute(x: Array) -> Array:
        for name in names:
            x = UNARY[name](x)
        return x

    return compute


def chain_module(names: Sequence[str], *, dataflow: bool, emitted: bool) -> Any:
    """Unary operators one after the other, not legalized yet.

    Parameters
    ----------
    names : sequence of str
    dataflow : bool
        Whether they are in a dataflow block.
    emitted : bool
        Whether each value is emitted from that block, though main returns only the last.
    """
    from tvm import relax

    x = relax.Var("x", relax.TensorType(_SHAPE, "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        value: Any = x
        with builder.dataflow() if dataflow else contextlib.nullcontext():
            for at, name in enumerate(names):
                last = at == len(names) - 1
                emit = builder.emit_output if dataflow and (emitted or last) else builder.emit
                value = emit(getattr(relax.op, name)(value))
        builder.emit_func_output(value)
    return builder.get()


def dense_module(*, bias_first: bool) -> Any:
    """A matrix product, a bias whose place in the addition is given, and a relu; not legalized."""
    from tvm import relax

    x, w, b = (relax.Var(n, relax.TensorType(s, "float32")) for n, s in {"x": (4, 8), "w": (8, 6), "b": (6,)}.items())
    builder = relax.BlockBuilder()
    with builder.function("main", [x, w, b]):
        with builder.dataflow():
            product = builder.emit(relax.op.matmul(x, w))
            total = builder.emit(relax.op.add(b, product) if bias_first else relax.op.add(product, b))
            made = builder.emit_output(relax.op.nn.relu(total))
        builder.emit_func_output(made)
    return builder.get()


def dense(x: Array, w: Array, b: Array) -> Array:
    """What `dense_module` computes."""
    made: Array = np.maximum(x @ w + b, 0)
    return made


def unmarked(module: Any) -> Any:
    """The module without the kinds on its kernels."""
    import tvm
    from tvm import tirx

    return tvm.IRModule(
        {v: f.without_attr("op_pattern") if isinstance(f, tirx.PrimFunc) else f for v, f in module.functions.items()}
    )


def arrays_for(random: np.random.Generator, *shapes: tuple[int, ...]) -> list[Array]:
    """Inputs on which every operator here is defined, one for each shape; of no shapes, one for a chain."""
    return [random.uniform(0.5, 1.5, shape).astype("float32") for shape in shapes or (_SHAPE,)]


def outcome(module: Any, arrays: Sequence[Any]) -> tuple[str, int, Any]:
    """Of a module after fusion its class, how many kernels main calls, and what it computes."""
    from tvm import ir

    from tvmlab import runtime
    from tvmlab.pipeline import stages

    if not isinstance(module, ir.IRModule):
        return type(module).__name__, 0, None
    compiled = runtime.compile_module(stages.merge_groups(stages.legalize(module)))
    return "IRModule", stages.count_kernels(module), compiled.run(*arrays)


def differs(found: tuple[str, int, Any], right: Array) -> Mismatch | None:
    """What is wrong with the class or the values of an `outcome`; None if nothing is."""
    sort, _, got = found
    if sort != "IRModule":
        return Mismatch(f"the answer is a {sort}, and should be a module")
    if not isinstance(got, np.ndarray) or got.shape != right.shape or not np.allclose(got, right, 1e-4, 1e-5):
        return Mismatch("the module no longer computes what it did")
    return None
