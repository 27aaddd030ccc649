"""Legalizations of TVM's that give another dtype than their operator, set right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["legalizations"]


def legalizations() -> dict[str, Callable[[Any, Any], Any]]:
    """From an operator to the legalization that takes the place of TVM's."""
    return {"relax.nn.batch_norm": _batch_norm}


def _batch_norm(builder: Any, call: Any) -> Any:
    """TVM adds an epsilon of float32, which makes float32 of a result in float16."""
    from tvm import relax

    wanted = [str(field.dtype) for field in call.ty.fields]
    legal = builder.normalize(call.op.get_attr("FLegalize")(builder, call))
    if [str(field.dtype) for field in legal.ty.fields] == wanted:
        return legal
    whole = builder.emit(legal)
    fields = [builder.emit(relax.TupleGetItem(whole, i)) for i in range(len(wanted))]
    return relax.Tuple(
        [
            f if str(f.ty.dtype) == dtype else builder.emit(relax.op.astype(f, dtype))
            for f, dtype in zip(fields, wanted, strict=True)
        ]
    )
