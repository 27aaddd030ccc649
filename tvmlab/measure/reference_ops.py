"""Registered operators for onnx's own reference evaluator, as their NumPy references compute them."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

from tvmlab.errors import LoadError
from tvmlab.fusion.foreign import chosen, registrations
from tvmlab.measure.references import run_reference
from tvmlab.pipeline.foreign import completed, described, pending_call
from tvmlab.records import TensorInfo

__all__ = ["reference_ops"]


class _Live(OpRun):
    """A node of a registered operator."""

    def _run(self, *arrays: Any, **_: Any) -> tuple[Any, ...]:
        node = self.onnx_node
        registration = chosen(node, self.run_params["opsets"])
        if registration is None:
            raise LoadError("no registration counts for the version of its domain", described(node))
        call = pending_call(node, registration)
        types = [None if a is None else TensorInfo("", a.shape, a.dtype.name) for a in arrays]
        given = completed(arrays, call.stand_ins(types))
        return tuple(run_reference(call.call, [np.asarray(each) for each in given]))[: len(node.output)]


def reference_ops() -> list[type[OpRun]]:
    """Classes for ``onnx.reference.ReferenceEvaluator(model, new_ops=…)``, one for each registered operator.

    Each runs the NumPy reference of the operator that is live when the node runs.  The model is the file as it is: what
    `tvmlab.load` makes of it has other nodes.
    """
    found = dict.fromkeys((each.domain, each.op_type) for each in registrations())
    return [type(op_type, (_Live,), {"op_domain": domain}) for domain, op_type in found]
