"""``tl.onnx``: live operators for the nodes of ONNX models.

``tl.onnx.register("my.domain", "LeakyClamp", "lab.leaky_clamp")`` lets `tvmlab.load` map nodes to an operator.
"""

from __future__ import annotations

from tvmlab.fusion.foreign import Registration, registrations
from tvmlab.measure.reference_ops import reference_ops
from tvmlab.pipeline.loading import skeleton_of as skeleton
from tvmlab.pipeline.registering import register, unregister

__all__ = ["Registration", "reference_ops", "register", "registrations", "skeleton", "unregister"]
