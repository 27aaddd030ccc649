"""Templates that are shipped, each an example of how one is written.

>>> from tvmlab import fusion
>>> sorted(fusion.shipped_templates())
['attention', 'conv_bn_relu', 'layer_norm', 'matmul_add_gelu', 'slice_transpose_reshape']
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tvmlab.fusion.kinds import Shape, Use
from tvmlab.fusion.templates import LIVE_DOMAIN, Match, Template, either, maybe, op, template, value

__all__ = [
    "attention",
    "conv_bn_relu",
    "conv_then",
    "layer_norm",
    "matmul_add_gelu",
    "shipped",
    "slice_transpose_reshape",
]


def shipped() -> Mapping[str, Template]:
    """Every template here that needs no argument, by its name."""
    makers = (conv_bn_relu, matmul_add_gelu, slice_transpose_reshape, layer_norm, attention)
    return {made.name: made for made in (make() for make in makers)}


def conv_bn_relu() -> Template:
    """Conv → BatchNormalization → Relu, at inference."""
    conv = op("Conv", value("x"), value("weight"), value("bias", optional=True), role="conv")
    affine = [value(role) for role in ("scale", "shift", "mean", "variance")]
    norm = op("BatchNormalization", conv, *affine, role="norm", where=_infers)
    return template("conv_bn_relu", op("Relu", norm, role="relu"))


def _infers(use: Use) -> bool:
    old_training = use.opset < 7 and not use.flag("is_test")
    return not use.flag("training_mode") and not old_training and not any(use.present[1:])


def conv_then(operator: str) -> Template:
    """Conv, with or without a bias added behind it, and then an operator of one's own.

    Parameters
    ----------
    operator : str
        Name of the live operator, such as ``lab.leaky_clamp``; it reads the Conv's result first.
    """
    conv = op("Conv", value("x"), value("weight"), value("bias", optional=True), role="conv")
    added = maybe(op("Add", conv, value("addend", constant=True), role="add"))
    return template(
        f"conv_{operator.replace('.', '_')}", op(operator, added, domain=LIVE_DOMAIN, role="own", more=True)
    )


def matmul_add_gelu() -> Template:
    """MatMul → Add → Gelu, the beginning of a feed-forward block; Gelu as one node, or as the five that it is made of.

    The five are 0.5 · x · (1 + erf(x / √2)), in any order of the factors.
    """
    product = op("MatMul", value("x"), value("weight"), role="matmul")
    x = op("Add", product, value("bias", constant=True), role="add")
    scaled = either(
        op("Div", x, value("root of two", equals=math.sqrt(2))),
        op("Mul", x, value("1 / root of two", equals=math.sqrt(0.5))),
    )
    one_more = op("Add", op("Erf", scaled, role="erf"), value("one", equals=1.0))
    half = value("half", equals=0.5)
    five = either(
        op("Mul", op("Mul", x, one_more), half),
        op("Mul", op("Mul", x, half), one_more),
        op("Mul", op("Mul", one_more, half), x),
    )
    one = either(
        op("Gelu", x, role="gelu", where=_exact),
        op("Gelu", x, role="gelu of Microsoft", domain="com.microsoft"),
    )
    return template("matmul_add_gelu", either(one, five))


def _exact(use: Use) -> bool:
    return use.attributes.get("approximate", b"none") in (b"none", "none")


def slice_transpose_reshape() -> Template:
    """Slice → Transpose → Reshape, with bounds and shape known beforehand: nothing is computed, all is moved."""
    bounds = [value(role, constant=True, optional=True) for role in ("starts", "ends", "axes", "steps")]
    sliced = op("Slice", value("x"), *bounds, role="slice")
    turned = op("Transpose", sliced, role="transpose")
    return template("slice_transpose_reshape", op("Reshape", turned, value("shape", constant=True), role="reshape"))


def layer_norm() -> Template:
    """Layer normalization, as the nine nodes that it is made of.

    Mean and variance must be kept as dimensions of one and be taken over the same last axes, and scale and bias must
    have just the shape of these: what only looks like that computes something else.
    """
    x = value("x")
    deviation = op("Sub", x, op("ReduceMean", x, role="mean", more=True, where=_keeps))
    square = either(
        op("Pow", deviation, value("two", equals=2.0)),
        op("Mul", deviation, deviation),
    )
    variance = op("ReduceMean", square, role="variance", more=True, where=_keeps)
    spread = op("Sqrt", op("Add", variance, value("epsilon", constant=True, shape=_is_one)))
    normed = either(
        op("Div", deviation, spread),
        op("Mul", deviation, op("Reciprocal", spread)),
        op("Mul", deviation, op("Div", value("one", equals=1.0), spread)),
    )
    scaled = op("Mul", normed, value("scale"))
    return template("layer_norm", op("Add", scaled, value("bias"), role="result"), where=_normalizes_one_thing)


def _is_one(shape: Shape) -> bool:
    return all(d == 1 for d in shape)


def _keeps(use: Use) -> bool:
    return use.flag("keepdims", 1)


def _axes(use: Use) -> tuple[int, ...] | None:
    """The axes of a reduction, counted from the first; None if they or the rank are not known."""
    axes = use.attributes.get("axes")
    if axes is None and len(use.inputs) > 1:
        axes = use.values(1)
    if not axes or use.inputs[0] is None:
        return None
    rank = len(use.inputs[0])
    return tuple(sorted(int(a) % rank for a in axes))


def _normalizes_one_thing(match: Match) -> bool:
    shape = match.shapes["x"]
    axes = _axes(match.uses["mean"])
    if shape is None or axes is None or axes != _axes(match.uses["variance"]):
        return False
    last = tuple(range(len(shape) - len(axes), len(shape)))
    return axes == last and match.shapes["scale"] == match.shapes["bias"] == shape[len(shape) - len(axes) :]


def attention() -> Template:
    """Scaled dot-product attention: MatMul → Softmax over the last axis → MatMul.

    The scale may be a division or a multiplication behind the first product, be on one or on both of its factors, or be
    missing; the mask may be added, be a choice by Where, or be missing; the keys may be transposed here or before.
    """
    keys = either(op("Transpose", value("keys"), role="transpose", where=_turns_last_two), value("turned keys"))
    query = value("query")
    queries = either(op("Mul", query, value("scale of queries", constant=True, shape=_is_one)), query)
    scaled_keys = either(op("Mul", keys, value("scale of keys", constant=True, shape=_is_one)), keys)
    product = op("MatMul", queries, scaled_keys, role="scores")
    scaled = either(
        op("Mul", product, value("factor", constant=True, shape=_is_one), role="scale"),
        op("Div", product, value("divisor", constant=True, shape=_is_one), role="division"),
        product,
    )
    masked = either(
        op("Add", scaled, value("mask"), role="mask added"),
        op("Where", value("condition"), scaled, value("otherwise", shape=_is_one), role="mask chosen"),
        op("Where", value("except"), value("filled", shape=_is_one), scaled, role="mask chosen otherwise"),
        scaled,
    )
    weights = op("Softmax", masked, role="softmax", where=_over_last_axis)
    return template("attention", op("MatMul", weights, value("values"), role="result"))


def _turns_last_two(use: Use) -> bool:
    turned = use.attributes.get("perm")
    if turned is None:
        return use.inputs[0] is not None and len(use.inputs[0]) == 2
    rank = len(turned)
    return rank >= 2 and list(turned[-2:]) == [rank - 1, rank - 2]


def _over_last_axis(use: Use) -> bool:
    axis = use.attributes.get("axis", -1 if use.opset >= 13 else 1)
    return axis == -1 or (use.inputs[0] is not None and axis == len(use.inputs[0]) - 1)
