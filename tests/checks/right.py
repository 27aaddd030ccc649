"""Operators that are right: the gallery with other defaults, and random compositions of TOPI and te."""

from __future__ import annotations

import random
import re

from tvmlab.ops import gallery

VARIANTS = {
    "leaky_clamp": (
        {"lower": "-0.25", "upper": "2.0"},
        {"slope": "0.5"},
        {"lower": "0.0", "upper": "6.0", "slope": "0.0"},
    ),
    "bias": ({"axis": "1"}, {"axis": "0"}),
    "pad": ({"width": "2"}, {"value": "-1.5"}, {"width": "0"}),
    "split": ({"sections": "3", "axis": "1"}, {"axis": "-2"}),
    "sum": ({"axis": "(1,)"}, {"axis": "(0, -1)", "keepdims": "True"}, {"keepdims": "True"}),
    "depthwise_conv": ({"stride": "2"}, {"padding": "0"}, {"stride": "2", "padding": "2"}),
}
UNARY = (  # te, NumPy
    ("te.exp({0})", "np.exp({0})"),
    ("te.tanh({0})", "np.tanh({0})"),
    ("te.sigmoid({0})", "(1 / (1 + np.exp(-({0}))))"),
    ("te.abs({0})", "np.abs({0})"),
    ("te.floor({0})", "np.floor({0})"),
    ("te.ceil({0})", "np.ceil({0})"),
    ("te.sqrt(te.abs({0}))", "np.sqrt(np.abs({0}))"),
    ("te.log(te.abs({0}) + const_like(1, x))", "np.log(np.abs({0}) + 1)"),
    ("te.cos({0})", "np.cos({0})"),
    ("te.sin({0})", "np.sin({0})"),
    ("({0} * {0})", "np.square({0})"),
    ("({0} * const_like(0.5, x))", "({0} * 0.5)"),
    ("(const_like(1.5, x) - {0})", "(1.5 - {0})"),
    ("tirx.max(const_like(0, x), {0})", "np.maximum({0}, 0)"),
    ("tirx.min(const_like(1.25, x), {0})", "np.minimum({0}, 1.25)"),
    ("tirx.if_then_else({0} > const_like(0.5, x), {0}, -({0}))", "np.where({0} > 0.5, {0}, -({0}))"),
    ("tirx.Select({0} < const_like(-1, x), const_like(-1, x), {0})", "np.where({0} < -1, -1, {0})"),
)
BINARY = (
    ("({0} + {1})", "({0} + {1})"),
    ("({0} - {1})", "({0} - {1})"),
    ("({0} * {1})", "({0} * {1})"),
    ("({0} / (te.abs({1}) + const_like(1, x)))", "({0} / (np.abs({1}) + 1))"),
    ("tirx.if_then_else({0} >= {1}, {0}, {1})", "np.where({0} >= {1}, {0}, {1})"),
)
TOPI = (  # compute, NumPy, tensors
    ("topi.add(topi.exp(x), topi.tanh(x))", "np.exp(x) + np.tanh(x)", "x"),
    ("topi.transpose(x)", "np.transpose(x)", "x"),
    ("topi.nn.softmax(x)", "(lambda p: p / p.sum(-1, keepdims=True))(np.exp(x - x.max(-1, keepdims=True)))", "x"),
    ("topi.sum(topi.abs(x), axis=-1)", "np.abs(x).sum(-1)", "x"),
    ("topi.max(x, axis=0)", "x.max(0)", "x"),
    ("topi.min(x, axis=-1, keepdims=True)", "x.min(-1, keepdims=True)", "x"),
    ("topi.nn.leaky_relu(x, 0.25)", "np.where(x > 0, x, 0.25 * x)", "x"),
    ("topi.multiply(x, y)", "x * y", "x, y"),
    ("topi.subtract(topi.maximum(x, y), topi.minimum(x, y))", "np.abs(np.where(x > y, x - y, y - x))", "x, y"),
    ("topi.matmul(x, topi.transpose(y))", "x @ y.T", "x, y"),
    ("topi.flip(x, axis=0)", "np.flip(x, 0)", "x"),
    ("topi.expand_dims(x, axis=1)", "np.expand_dims(x, 1)", "x"),
    ("topi.concatenate([x, y], axis=0)", "np.concatenate([x, y], 0)", "x, y"),
    ("topi.cast(x, x.dtype)", "x.astype(x.dtype)", "x"),
)


def composition(seed: int) -> str:
    """The cell of a random elementwise expression of one or two tensors."""
    draw = random.Random(seed)
    names = ["x", "y"][: draw.choice((1, 1, 2))]

    def grow(depth: int) -> tuple[str, str]:
        if depth == 0:
            name = draw.choice(names)
            return f"{name}(*i)", name
        if draw.random() < 0.7 or len(names) == 1:
            te_form, np_form = draw.choice(UNARY)
            inner = grow(depth - 1)
            return te_form.format(inner[0]), np_form.format(inner[1])
        te_form, np_form = draw.choice(BINARY)
        left, right = grow(depth - 1), grow(depth - 1)
        return te_form.format(left[0], right[0]), np_form.format(left[1], right[1])

    te_text, np_text = grow(draw.choice((1, 2, 3)))
    if not all(f"{n}(*i)" in te_text for n in names):
        te_text = "(" + " + ".join([te_text, *(f"{n}(*i)" for n in names)]) + ")"
        np_text = "(" + " + ".join([np_text, *names]) + ")"
    parameters = ", ".join(names)
    return (
        f'"""Composition {seed}."""\ntype_rule = rules.same\n\ndef compute({parameters}):\n'
        f"    return te.compute(x.shape, lambda *i: {te_text}, name='composed')\n\n"
        f"def reference({parameters}):\n    return {np_text}\n"
    )


def of_topi(compute: str, reference: str, parameters: str) -> str:
    """The cell of a call of TOPI."""
    return (
        f'"""TOPI."""\ndef compute({parameters}):\n    return {compute}\n\n'
        f"def reference({parameters}):\n    return {reference}\n"
    )


def with_defaults(name: str, defaults: dict[str, str]) -> str:
    """A cell of the gallery with other defaults."""
    text = gallery.text(name)
    for attribute, value in defaults.items():
        text, count = re.subn(rf"(?m)^(    {attribute}: .* = ).*$", rf"\g<1>{value}", text)
        assert count == 1, (name, attribute)
    return text


RIGHT: dict[str, str] = {
    **{name: gallery.text(name) for name in gallery.names()},
    **{f"{n} {d}": with_defaults(n, d) for n, variants in VARIANTS.items() for d in variants},
    **{compute: of_topi(compute, reference, tensors) for compute, reference, tensors in TOPI},
    **{f"composition {seed}": composition(seed) for seed in range(30)},
}
