"""Can a kernel end its process?  What is proved here cannot; what is not proved may be innocent all the same.

A kernel is proved safe if every index is inside for all values of the axes, under the conditions that lead to it, no
index depends on data, integers are divided by constants other than zero, every loop is counted, and nothing is called
but arithmetic.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["doubts"]

_LARGEST = 1 << 40
_DIVISIONS = ("Div", "Mod", "FloorDiv", "FloorMod")
_INTEGER_DIVISIONS = ("tirx.truncdiv", "tirx.truncmod", "prim.truncdiv", "prim.truncmod")
_NEVER = ("call_packed", "call_extern", "tvm_access_ptr", "address_of", "call_cpacked", "call_llvm", "handle", "asm")


def doubts(function: Any) -> list[str]:
    """Why a `tvm.tirx.PrimFunc` is not proved safe; empty if it is."""
    from tvm.sym import Analyzer

    found = _Proof(Analyzer())
    for parameter in function.params:
        found.sizes(getattr(parameter.ty, "shape", ()))
    return list(dict.fromkeys(found.statement(function.body)))


class _Proof:
    """Walks a kernel, and keeps what is known of its variables."""

    def __init__(self, analyzer: Any) -> None:
        self._analyzer = analyzer
        self._symbols: list[Any] = []

    def sizes(self, shape: Any) -> None:
        """Sizes that are symbols are not negative."""
        from tvm.ir import Range, Var

        for size in shape:
            if isinstance(size, Var):
                self._analyzer.bind(size, Range(0, _LARGEST))
                self._symbols.append(size)

    def statement(self, node: Any) -> Iterator[str]:
        """Doubts about a statement."""
        visit = getattr(self, f"_{type(node).__name__}", None)
        if visit is None:
            yield f"a {type(node).__name__} is in it"
        else:
            yield from visit(node)

    def _SeqStmt(self, node: Any) -> Iterator[str]:  # noqa: N802 - TVM's name
        for each in node.seq:
            yield from self.statement(each)

    def _For(self, node: Any) -> Iterator[str]:  # noqa: N802
        from tvm.ir import Range

        yield from self.expression(node.extent)
        self._analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent))
        with contextlib.ExitStack() as known:
            for size in self._needed_for(node.extent):
                known.enter_context(self._analyzer.constraint_scope(size > 0))
            yield from list(self.statement(node.body))

    def _needed_for(self, extent: Any) -> list[Any]:
        """The sizes without which a loop makes no round: within it they are not zero."""
        needed = []
        for size in self._symbols:
            with self._analyzer.constraint_scope(size <= 0):
                if self._analyzer.can_prove(extent <= 0):
                    needed.append(size)
        return needed

    def _SBlockRealize(self, node: Any) -> Iterator[str]:  # noqa: N802
        for value in node.iter_values:
            yield from self.expression(value)
        yield from self.expression(node.predicate)
        yield from self._under(node.predicate, lambda: self._block(node.block))

    def _block(self, block: Any) -> Iterator[str]:
        for axis in block.iter_vars:
            self._analyzer.bind(axis.var, axis.dom)
        if len(block.match_buffers):
            yield "a buffer is a part of another"
        if block.init is not None:
            yield from self.statement(block.init)
        yield from self.statement(block.body)

    def _IfThenElse(self, node: Any) -> Iterator[str]:  # noqa: N802
        from tvm import tirx

        yield from self.expression(node.condition)
        yield from self._under(node.condition, lambda: self.statement(node.then_case))
        if node.else_case is not None:
            yield from self._under(tirx.Not(node.condition), lambda: self.statement(node.else_case))

    def _BufferStore(self, node: Any) -> Iterator[str]:  # noqa: N802
        yield from self.expression(node.value)
        yield from self._indices(node.buffer, node.indices)

    def _Evaluate(self, node: Any) -> Iterator[str]:  # noqa: N802
        yield from self.expression(node.value)

    def _AllocBuffer(self, _node: Any) -> Iterator[str]:  # noqa: N802
        yield from ()

    def _under(self, condition: Any, walk: Any) -> Iterator[str]:
        if _reads(condition):  # what depends on data proves nothing
            yield from walk()
            return
        with self._analyzer.constraint_scope(condition):
            yield from list(walk())

    def expression(self, node: Any) -> Iterator[str]:
        """Doubts about an expression."""
        from tvm import tirx

        name = type(node).__name__
        if name == "TensorLoad":
            yield from self._indices(node.source, node.indices)
            return
        called = getattr(getattr(node, "op", None), "name", "")
        if called.endswith(".if_then_else"):
            condition, yes, no = node.args
            yield from self.expression(condition)
            yield from self._under(condition, lambda: self.expression(yes))
            yield from self._under(tirx.Not(condition), lambda: self.expression(no))
            return
        if called and any(word in called for word in _NEVER):
            yield f"{called} is called"
        if name in _DIVISIONS and _is_integer(node):
            yield from self._division(node.b)
        if called in _INTEGER_DIVISIONS:
            yield from self._division(node.args[1])
        for child in _children(node):
            yield from self.expression(child)

    def _division(self, divisor: Any) -> Iterator[str]:
        from tvm import tirx

        if not (isinstance(divisor, tirx.IntImm) and int(divisor) not in (0, -1)):
            known = not _reads(divisor) and self._analyzer.can_prove(divisor > 0)
            if not known:
                yield f"an integer is divided by {divisor}, which may be zero"

    def _indices(self, buffer: Any, indices: Any) -> Iterator[str]:
        if len(indices) != len(buffer.shape):
            yield f"{buffer.name} is read with {len(indices)} indices"
            return
        for index, size in zip(indices, buffer.shape, strict=True):
            if _reads(index):
                yield f"an index of {buffer.name} depends on data: {index}"
            elif not (self._analyzer.can_prove(index >= 0) and self._analyzer.can_prove(index < size)):
                yield f"an index of {buffer.name} may be outside: {index}"
            yield from self.expression(index)


def _is_integer(node: Any) -> bool:
    return str(node.ty).startswith(("int", "uint"))


def _reads(node: Any) -> bool:
    """Whether an expression reads a tensor."""
    return type(node).__name__ == "TensorLoad" or any(map(_reads, _children(node)))


def _children(node: Any) -> list[Any]:
    from tvm.ir import Expr

    if type(node).__name__ == "TensorLoad":
        return list(node.indices)
    named = (
        getattr(node, name, None) for name in ("a", "b", "value", "condition", "true_value", "false_value", "body")
    )
    return [child for child in (*named, *getattr(node, "args", ())) if isinstance(child, Expr)]
