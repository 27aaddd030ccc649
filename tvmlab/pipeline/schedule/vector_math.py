"""Functions that LLVM would call one element at a time, as arithmetic that works on vectors.

Only float32 is rewritten.  The largest errors seen, over all of float32's range in steps and random values: ``exp``
2 ULP, ``log`` 1, ``sigmoid`` 3, ``tanh`` 5, ``erf`` 6.  Below 1e-35, ``tanh`` and ``erf`` have fewer right digits;
``exp`` is 0 where it is below 1.7e-38, ``sigmoid`` below 1.2e-38.  NaN stays NaN, and infinities give what they should.
A division by an element that stays the same along an axis becomes a product: 1 ULP more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlab.pipeline.kernel import nesting

__all__ = ["DEEPEST", "VECTOR_FUNCTIONS", "with_vector_math"]

# Functions in each other.  Each becomes some ``Let``s, and TVM takes ten to twenty times as long for each one more in
# the value of another: 0.1 to 0.6 s for three, up to 10 s for four.
DEEPEST = 3


def with_vector_math(function: Any) -> tuple[Any, tuple[str, ...]]:
    """A PrimFunc without calls of ``exp``, ``log``, ``tanh``, ``erf`` and ``sigmoid`` on float32.

    Returns
    -------
    tvm.tirx.PrimFunc
        The same one if it holds none of them, or more than `DEEPEST` in each other.
    tuple of str
        Names of the functions that were replaced.
    """
    import tvm_ffi
    from tvm import ir, tirx

    if nesting(function.body) > DEEPEST:
        return function, ()
    replaced: list[str] = []

    def divide(division: Any) -> Any:
        if not _stands_still(division):
            return division
        replaced.append("division by what stands still")
        return division.a * (_const(1.0) / division.b)

    def rewrite(call: Any) -> Any:
        name = str(getattr(call.op, "name", "")).rpartition(".")[2]
        if name not in VECTOR_FUNCTIONS or str(call.ty.dtype) != "float32":
            return call
        replaced.append(name)
        return _once(call.args[0], VECTOR_FUNCTIONS[name])

    rewritten = tvm_ffi.structural_map(function, [(ir.Call, rewrite), (tirx.Div, divide)])
    return (rewritten, tuple(sorted(set(replaced)))) if replaced else (function, ())


def _stands_still(division: Any) -> bool:
    """Whether a division is by an element that is the same along an axis: once its inverse is known, it multiplies."""
    if type(division.b).__name__ != "TensorLoad" or str(division.ty.dtype) != "float32":
        return False
    return bool(_variables(division.a) - _variables(division.b))


def _variables(expression: Any) -> set[Any]:
    """Variables of the indices of an expression's loads."""
    import tvm_ffi
    from tvm import ir, tirx

    found: set[Any] = set()

    def visit(load: Any) -> None:
        for index in load.indices:
            tvm_ffi.structural_walk(index, (tirx.Var, found.add))

    tvm_ffi.structural_walk(expression, (ir.TensorLoad, visit))
    return found


def _once(value: Any, body: Callable[[Any], Any]) -> Any:
    """An expression of a value that is computed once."""
    from tvm import tirx

    variable = tirx.Var("v", "float32")
    return tirx.Let(variable, value, body(variable))


def _exp(x: Any) -> Any:
    """2^n times a polynomial of the rest: twice the polynomial and 2^(n-1), so that n = 128 does not overflow early."""
    from tvm import tirx

    low, high = _const(-87.336540), _const(89.0)  # n = -126, whose factor is 0, to 128
    bounded = tirx.max(low, tirx.min(high, x))

    def rest(at: Any) -> Any:
        return _once(tirx.floor(at * _const(1.44269504088896341) + _const(0.5)), lambda n: scaled(at, n))

    def scaled(at: Any, n: Any) -> Any:
        def value(r: Any) -> Any:
            factor = tirx.reinterpret("float32", (n.astype("int32") + tirx.const(126, "int32")) << 23)
            return _polynomial(r, _TWICE_EXP) * factor

        return _once(at - n * _const(0.693359375) - n * _const(-2.12194440e-4), value)

    return _once(bounded, rest)


def _log(x: Any) -> Any:
    """Take n ln 2 plus a polynomial of the rest, between the roots of 1/2 and 2; subnormal numbers are scaled.

    What is outside comes out of arithmetic and bits.  Comparisons would be plainer, but TVM puts the whole value of a
    ``Let`` into each that it simplifies, which takes for ever where logarithms follow each other.
    """
    from tvm import tirx

    least, huge, one = _const(2.0**-149), _const(2.0**127), _const(1.0)

    def bounded(at: Any) -> Any:
        inside = tirx.max(least, tirx.min(_const(_LARGEST), at))
        return _once(inside, lambda proper: scaled(proper, at - proper))

    def scaled(proper: Any, outside: Any) -> Any:
        below_normal = (_const(2.0**-126) - proper) * _const(2.0**75) * _const(2.0**74)  # 1 and more if it is
        subnormal = tirx.max(_const(0.0), tirx.min(one, below_normal))
        return _once(
            subnormal,
            lambda s: (
                _once(proper * (one + s * _const(2.0**23 - 1)), lambda normal: split(normal, s * _const(-23.0)))
                + _once(outside, special)
            ),
        )

    def special(outside: Any) -> Any:
        """0 inside; infinite where x is infinite or 0; NaN, whose bits are all set, where x is negative."""
        sign = tirx.reinterpret("int32", outside + least) >> 31
        return outside * huge * huge * huge + tirx.reinterpret("float32", sign)

    def split(normal: Any, shift: Any) -> Any:
        bits = tirx.reinterpret("int32", normal)
        exponent = tirx.Var("n", "int32")
        rest = tirx.reinterpret("float32", bits - (exponent << 23)) - one
        value = _once(rest, lambda r: summed(r, exponent.astype("float32") + shift))
        return tirx.Let(exponent, (bits - tirx.const(0x3F3504F3, "int32")) >> 23, value)

    def summed(r: Any, n: Any) -> Any:
        def value(s: Any) -> Any:
            small = _polynomial(r, _LOG) * s * r + n * _const(-2.12194440e-4) - _const(0.5) * s
            return r + small + n * _const(0.693359375)

        return _once(r * r, value)

    return _once(x, bounded)


def _tanh(x: Any) -> Any:
    from tvm import tirx

    bounded = tirx.max(_const(-7.99881172180175781), tirx.min(_const(7.99881172180175781), x))

    def value(at: Any) -> Any:
        return _once(at * at, lambda s: at * _polynomial(s, _TANH_OVER) / _polynomial(s, _TANH_UNDER))

    return _once(bounded, value)


def _erf(x: Any) -> Any:
    from tvm import tirx

    bounded = tirx.max(_const(-4.0), tirx.min(_const(4.0), x))

    def value(at: Any) -> Any:
        return _once(at * at, lambda s: at * _polynomial(s, _ERF_OVER) / _polynomial(s, _ERF_UNDER))

    return _once(bounded, value)


def _sigmoid(x: Any) -> Any:
    return _const(1.0) / (_const(1.0) + _once(_const(0.0) - x, _exp))


VECTOR_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": _exp,
    "log": _log,
    "tanh": _tanh,
    "erf": _erf,
    "sigmoid": _sigmoid,
}

# Highest power first.  Of exp, on [-ln 2 / 2, ln 2 / 2], and of log: minimax (Cephes); of tanh and erf: rational
# (Eigen).
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_TWICE_EXP = tuple(2 * coefficient for coefficient in (*_EXP, 1.0, 1.0))
_LARGEST = (2 - 2.0**-23) * 2.0**127
_LOG = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
_TANH_OVER = (
    -2.76076847742355e-16,
    2.00018790482477e-13,
    -8.60467152213735e-11,
    5.12229709037114e-08,
    1.48572235717979e-05,
    6.37261928875436e-04,
    4.89352455891786e-03,
)
_TANH_UNDER = (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
_ERF_OVER = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
_ERF_UNDER = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    value = _const(coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + _const(coefficient)
    return value


def _const(value: float) -> Any:
    from tvm import tirx

    return tirx.const(value, "float32")
