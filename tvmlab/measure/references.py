"""Run the NumPy reference of a live operator, and hold what it gives against the operator's type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes  # noqa: F401  registers bfloat16 and its kin with NumPy
import numpy as np
from numpy.typing import NDArray

from tvmlab.errors import ComputeError
from tvmlab.ops import Op, attributes_of, lowering, spec_of
from tvmlab.ops.guards import Examination
from tvmlab.pipeline import LiveCall
from tvmlab.runtime import quiet

__all__ = ["live_call_of", "run_reference"]

Array = NDArray[Any]


def live_call_of(call: Any) -> LiveCall | None:
    """The live operator behind a Relax call, in the version that the call was built with; None if there is none."""
    spec = spec_of(call)
    return None if spec is None else LiveCall(Op(spec, Examination(None, None, ())), attributes_of(call))


def run_reference(live: LiveCall, arrays: Sequence[Array]) -> list[Array]:
    """What the operator should give for these inputs.

    Parameters
    ----------
    live : LiveCall
    arrays : sequence of ndarray
        Are not changed, even by a reference that writes into them.

    Returns
    -------
    list of ndarray
        One per output, in the dtypes that the operator's type says: a reference may compute in wider ones.

    Raises
    ------
    CallError
        The operator has no reference.
    ComputeError
        The reference fails, or gives another number of outputs or other shapes than the operator.
    """
    with np.errstate(all="ignore"):
        given = live.reference(*(array.copy() for array in arrays))
    results = [np.asarray(r) for r in (given if isinstance(given, tuple | list) else [given])]
    types = _types(live, arrays)
    got = ", ".join(f"{r.dtype}{list(r.shape)}" for r in results)
    want = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in types)
    if [r.shape for r in results] != [shape for shape, _ in types]:
        spec = live.op.spec
        raise ComputeError(
            f"{spec.name}: the reference gives {got}, the operator {want}",
            where=spec.source.of_name("reference"),
            mend="one of the two is wrong: the reference says what the operator should be",
        )
    return [r.astype(dtype) for r, (_, dtype) in zip(results, types, strict=True)]


def _types(live: LiveCall, arrays: Sequence[Array]) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    """Shape and dtype of each output."""
    from tvm import relax

    with quiet():
        inputs = [relax.TensorType(a.shape, a.dtype.name) for a in arrays]
        result = lowering.run_type_rule(live.op.spec, inputs, live.attributes)
    fields = result.fields if isinstance(result, relax.TupleType) else [result]
    return [(tuple(int(d) for d in field.shape), np.dtype(str(field.dtype))) for field in fields]
