"""Of which kind an ONNX operator is, by its domain, operator set version, attributes and the shapes it is used on.

The table says what TVM's analysis of the lowered operator says (`tvmlab.fusion.graph.Kind`), with an operator that TVM
lowers to several kernels taken as a whole: by its last kernel, since that is what later operators could join.  What is
not in the table is opaque, and so is an operator that decides at run time what is read from where.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tvmlab.errors import GraphError
from tvmlab.fusion.graph import Kind

__all__ = ["Use", "kind", "kind_of"]

Shape = tuple[int | str | None, ...]
Answer = Kind | Callable[["Use"], Kind]

STANDARD = ("", "ai.onnx")


@dataclass(frozen=True)
class Use:
    """One node's use of an operator.

    Parameters
    ----------
    domain, op : str
    opset : int
        Version of the domain's operator set.
    attributes : mapping
    inputs, outputs : tuple of Shape or None
        Shapes as far as they are known; an absent input or output is None too.  A dimension is a number, the name of a
        symbol, or None.
    constant : tuple of bool
        Whether each input is known before the model runs.
    values : callable
        From the position of a constant input to its value as a flat list of numbers; None if it is not at hand.
    present : tuple of bool
        Whether each output is used under a name.
    """

    domain: str
    op: str
    opset: int
    attributes: Mapping[str, Any]
    inputs: tuple[Shape | None, ...]
    outputs: tuple[Shape | None, ...]
    constant: tuple[bool, ...]
    present: tuple[bool, ...]
    values: Callable[[int], list[float] | None] = field(default=lambda _: None, repr=False)

    def fixed(self, *positions: int) -> bool:
        """Whether these inputs, as far as they are there, are known before the model runs."""
        return all(self.constant[p] for p in positions if p < len(self.constant))

    def flag(self, name: str, default: int = 0) -> bool:
        """An attribute that is 0 or 1."""
        return bool(self.attributes.get(name, default))


def kind(domain: str, op: str, answer: Answer | int | str) -> None:
    """Say of which kind an operator is: one of a domain of one's own, or another answer for one in the table.

    Parameters
    ----------
    domain : str
        ``""`` or ``"ai.onnx"`` is the standard one.
    op : str
        The operator's type.
    answer : Kind, int, str or callable
        The kind, such as ``"elem"``, or a function from a `Use` to the kind.

    Raises
    ------
    GraphError
        There is no such kind, or that is no name of an operator.
    """
    given: tuple[object, ...] = (domain, op)
    if not op or not all(isinstance(name, str) for name in given):
        raise GraphError(
            f"{domain!r}, {op!r} name no operator", mend='give its domain and type, such as "my.domain", "LeakyClamp"'
        )
    _own[_key(domain, op)] = answer if callable(answer) else Kind.of(answer)


def kind_of(use: Use) -> Kind:
    """The kind of one use of an operator; opaque if nothing is known of it."""
    key = _key(use.domain, use.op)
    answer = _own.get(key, _TABLE.get(key, Kind.OPAQUE))
    return Kind.of(answer(use)) if callable(answer) else answer


_own: dict[tuple[str, str], Answer] = {}


def _key(domain: str, op: str) -> tuple[str, str]:
    return ("" if domain in STANDARD else domain, op)


def _elementwise(use: Use) -> Kind:
    """Elem if an input has the output's shape, else bcast: TVM's own rule for operators that broadcast."""
    given = [shape for shape in use.inputs if shape is not None]
    if len(given) < len(use.inputs):
        given = []  # one that is not known might be the larger one
    out = use.outputs[0] if use.outputs else None
    known = out is not None and None not in out and out in given
    return Kind.ELEM if known or any(all(_fits(b, a) for b in given) for a in given) else Kind.BCAST


def _fits(small: Shape, large: Shape) -> bool:
    """Whether broadcasting a shape against another one leaves the other as it is."""
    if small is large:
        return True
    aligned = zip(reversed(small), reversed(large), strict=False)
    return len(small) <= len(large) and all(b == 1 or (b == a and b is not None) for b, a in aligned)


def _reduction(last: Kind) -> Callable[[Use], Kind]:
    """A reduction over axes that must be known; over none, if that is asked for, it changes nothing."""

    def answer(use: Use) -> Kind:
        if not use.fixed(1):
            return Kind.OPAQUE
        if use.flag("noop_with_empty_axes") and not use.attributes.get("axes") and not _given(use, 1):
            return Kind.ELEM
        return last

    return answer


def _given(use: Use, position: int) -> bool:
    values = use.values(position) if position < len(use.constant) else []
    return values is None or len(values) > 0


def _matmul(use: Use) -> Kind:
    """A matrix times a vector is a plain reduction."""
    return Kind.REDUCE if any(shape is not None and len(shape) == 1 for shape in use.inputs[:2]) else Kind.OEF


def _transpose(use: Use) -> Kind:
    shape = use.inputs[0] if use.inputs else None
    perm = use.attributes.get("perm") or (None if shape is None else list(range(len(shape)))[::-1])
    return Kind.ELEM if perm is not None and list(perm) == sorted(perm) else Kind.INJ


def _slice(use: Use) -> Kind:
    """With known bounds inj; elem if it starts at 0 and leaves nothing out in between."""
    if use.opset < 10:
        starts, steps = list(use.attributes.get("starts", ())), [1.0]
    elif not use.fixed(1, 2, 3, 4):
        return Kind.OPAQUE
    else:
        starts, steps = use.values(1) or [1.0], (use.values(4) or [0.0]) if len(use.constant) > 4 else [1.0]
    return Kind.ELEM if all(s == 0 for s in starts) and all(s == 1 for s in steps) else Kind.INJ


def _if_fixed(answer: Kind, *positions: int) -> Callable[[Use], Kind]:
    return lambda use: answer if use.fixed(*positions) else Kind.OPAQUE


def _batch_norm(use: Use) -> Kind:
    """At inference a scale and a shift a channel; in training it computes means and variances."""
    trains = use.flag("training_mode") or any(use.present[1:]) or (use.opset < 7 and not use.flag("is_test"))
    return Kind.OEF if trains else Kind.ELEM


def _dropout(use: Use) -> Kind:
    """At inference it changes nothing; in training it is random."""
    if use.opset < 7:
        return Kind.ELEM if use.flag("is_test") else Kind.OPAQUE
    if use.opset < 12 or len(use.constant) < 3:
        return Kind.ELEM
    return Kind.ELEM if use.constant[2] and use.values(2) in ([0.0], []) else Kind.OPAQUE


def _table() -> dict[tuple[str, str], Answer]:
    standard: dict[str, Answer] = {}

    def put(answer: Answer, names: str) -> None:
        standard.update(dict.fromkeys(names.split(), answer))

    put(
        Kind.ELEM,
        """Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cast CastLike Ceil Celu Clip Cos Cosh DequantizeLinear Elu
        Erf Exp EyeLike Floor Gelu HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not QuantizeLinear
        Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu
        Trilu""",
    )
    put(
        _elementwise,
        """Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean
        Min Mod Mul Or PRelu Pow Sub Sum Where Xor""",
    )
    put(Kind.INJ, "AffineGrid Concat DepthToSpace Flatten SpaceToDepth")
    put(
        Kind.OEF,
        """ArgMax ArgMin AveragePool Conv ConvInteger ConvTranspose Einsum Gemm GlobalAveragePool GlobalLpPool
        GroupNormalization Hardmax InstanceNormalization LRN LayerNormalization LogSoftmax LpNormalization LpPool
        MatMulInteger MaxPool MaxRoiPool MeanVarianceNormalization QLinearConv QLinearMatMul RMSNormalization
        Softmax""",
    )
    put(Kind.REDUCE, "GlobalMaxPool")
    put(_reduction(Kind.REDUCE), "ReduceL1 ReduceMax ReduceMin ReduceProd ReduceSum ReduceSumSquare")
    put(_reduction(Kind.OEF), "ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean")
    put(_if_fixed(Kind.BCAST, 1), "Expand OneHot Squeeze Unsqueeze")
    put(_if_fixed(Kind.BCAST, 0), "ConstantOfShape")
    put(_if_fixed(Kind.INJ, 1), "Reshape Split Tile")
    put(_if_fixed(Kind.INJ, 1, 3), "Pad")
    put(_if_fixed(Kind.INJ, 1, 2, 3), "Resize Upsample")
    standard |= {
        "MatMul": _matmul,
        "Transpose": _transpose,
        "Slice": _slice,
        "BatchNormalization": _batch_norm,
        "Dropout": _dropout,
    }
    microsoft = dict.fromkeys(("BiasGelu", "FastGelu", "Gelu", "QuickGelu"), Kind.ELEM)
    return {("", op): answer for op, answer in standard.items()} | {
        ("com.microsoft", op): answer for op, answer in microsoft.items()
    }


_TABLE = _table()
