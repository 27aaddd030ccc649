"""Operators that are wrong, by the check that claims them.

Some are refused when they are defined: then the check that claims the error has found them.
"""

from __future__ import annotations

DOUBLE = """def compute(x):
    return te.compute(x.shape, lambda *i: x(*i) * const_like(2, x), name="double")

def reference(x):
    return x * 2
"""
ATTRS = """class Attrs:
    by: float = 2.0
{}
def compute(x, by):
    return te.compute(x.shape, lambda *i: x(*i) * const_like(by, x), name="scale")

def reference(x, by):
    return x * by
"""
SCALE_ATTR = 'lambda *i: x(*i) * const_like({}, x), name="scale")'


def rule(text: str) -> str:
    """The doubling operator with another type rule."""
    return text + "\n" + DOUBLE


def clamp(body: str, attrs: str = "low: float = -1.0\n    high: float = 1.0") -> str:
    """A clamp between two attributes whose kernel is another one."""
    return (
        f"class Attrs:\n    {attrs}\n\ntype_rule = rules.same\n\ndef compute(x, low, high):\n"
        "    lo, hi = const_like(low, x), const_like(high, x)\n"
        f"    return te.compute(x.shape, lambda *i: {body}, name='clamp')\n\n"
        "def reference(x, low, high):\n    return np.clip(x, low, high)\n"
    )


def gradient(text: str, compute: str = "x(*i) * x(*i)", reference: str = "x * x") -> str:
    """An elementwise operator with a gradient."""
    return (
        f"type_rule = rules.same\n\ndef compute(x):\n    return te.compute(x.shape, lambda *i: {compute}, name='k')\n\n"
        f"def reference(x):\n    return {reference}\n\ndef gradient(dy, x):\n    {text}\n"
    )


WRONG: dict[str, tuple[str, str]] = {
    # C01: not an operator of its own
    "no namespace": ("C01", "@wrong_op\n" + DOUBLE),
    "TVM's own namespace": ("C01", "@nn.wrong\n" + DOUBLE),
    "no compute": ("C01", "def reference(x):\n    return x\n"),
    "a syntax error": ("C01", "def compute(x)\n    return x\n"),
    "no docstring": ("C01", "@wrong.undocumented\n" + DOUBLE),
    # C02: arguments
    "attribute that compute does not take": ("C02", "class Attrs:\n    slope: float = 1.0\n" + DOUBLE),
    "reference with another number of tensors": ("C02", DOUBLE.replace("reference(x)", "reference(x, y)")),
    "misspelt parameter": ("C02", ATTRS.format("").replace("compute(x, by)", "compute(x, bi)")),
    "a tensor that nothing reads": (
        "C02",
        "def compute(x, y):\n    return te.compute(x.shape, lambda *i: x(*i) * const_like(2, x), name='k')\n",
    ),
    # C03: attributes
    "type that TVM cannot store": ("C03", ATTRS.format("").replace("float = 2.0", "complex = 2.0")),
    "default of a wrong type": ("C03", ATTRS.format("").replace("float = 2.0", "float = 'two'")),
    "default that validate refuses": (
        "C03",
        ATTRS.format("    def validate(self):\n        if self.by > 1:\n            raise ValueError('too large')\n"),
    ),
    "validate that goes on changing": (
        "C03",
        ATTRS.format("    def validate(self):\n        self.by = self.by + 1.0\n"),
    ),
    "validate that refuses its own values": (
        "C03",
        ATTRS.format(
            "    def validate(self):\n        if self.by < 0:\n            raise ValueError('negative')\n"
            "        self.by = -self.by\n"
        ),
    ),
    "attribute of any type": ("C03", "from typing import Any\n" + ATTRS.format("").replace("by: float", "by: Any")),
    "NaN as a default": ("C03", ATTRS.format("").replace("2.0", "float('nan')")),
    # C04: the rule's answers
    "rule without unknown shapes": (
        "C04",
        rule("def type_rule(x):\n    return TensorType([d for d in x.shape], x.dtype)\n"),
    ),
    "rule that counts": (
        "C04",
        rule(
            "asked = []\ndef type_rule(x):\n    asked.append(1)\n    if x.shape is None:\n"
            "        return TensorType(dtype=x.dtype, ndim=x.ndim if len(asked) % 2 else -1)\n"
            "    return TensorType(x.shape, x.dtype)\n"
        ),
    ),
    "rule that returns nothing": ("C04", rule("def type_rule(x):\n    TensorType(x.shape, x.dtype)\n")),
    "rule that fails": ("C04", rule("def type_rule(x):\n    return TensorType(x.shapes, x.dtype)\n")),
    "rule that wants numbers": (
        "C04",
        "def type_rule(x):\n    if x.shape is None:\n        return TensorType(dtype=x.dtype, ndim=x.ndim)\n"
        "    return TensorType([int(d) for d in x.shape], x.dtype)\n\n" + DOUBLE,
    ),
    # C05: rule against compute
    "rule with sizes swapped": (
        "C05",
        "def type_rule(x):\n    return TensorType(list(reversed(x.shape)), x.dtype)\n" + DOUBLE,
    ),
    "rule with another dtype": ("C05", rule("def type_rule(x):\n    return TensorType(x.shape, 'float16')\n")),
    "rule with two outputs": ("C05", rule("type_rule = rules.outputs(rules.same, rules.same)\n")),
    "rule with another rank": ("C05", rule("def type_rule(x):\n    return TensorType([x.shape[0]], x.dtype)\n")),
    "rule that forgets keepdims": (
        "C05",
        (
            "class Attrs:\n    keep: bool = False\n\ndef type_rule(x, keep):\n"
            "    if x.shape is None:\n        return TensorType(dtype=x.dtype, ndim=-1)\n"
            "    return TensorType(list(x.shape)[:-1], x.dtype)\n\n"
            "def compute(x, keep):\n    k = te.reduce_axis((0, x.shape[-1]), name='k')\n"
            "    rows = list(x.shape)[:-1]\n    if keep:\n"
            "        return te.compute([*rows, 1], lambda *i: te.sum(x(*i[:-1], k), axis=k), name='s')\n"
            "    return te.compute(rows, lambda *i: te.sum(x(*i, k), axis=k), name='s')\n"
        ),
    ),
    "rule that ignores negative axes": (
        "C05",
        (
            "class Attrs:\n    axis: int = 0\n\ndef type_rule(x, axis):\n"
            "    if x.shape is None:\n        return TensorType(dtype=x.dtype, ndim=-1)\n"
            "    return TensorType([d for a, d in enumerate(x.shape) if a != axis], x.dtype)\n\n"
            "def compute(x, axis):\n    (a,) = rules.normalize_axes(axis, len(x.shape))\n"
            "    k = te.reduce_axis((0, x.shape[a]), name='k')\n"
            "    rest = [d for n, d in enumerate(x.shape) if n != a]\n"
            "    return te.compute(rest, lambda *i: te.sum(x(*i[:a], k, *i[a:]), axis=k), name='s')\n"
        ),
    ),
    "compute that fails for another attribute": (
        "C05",
        (
            "type_rule = rules.same\nclass Attrs:\n    mode: str = 'plain'\n\ndef compute(x, mode):\n"
            "    by = {'plain': 2}[mode] if mode in ('plain', 'double') else 3\n"
            "    return te.compute(x.shape, lambda *i: x(*i) * const_like(by, x), name='k')\n"
        ),
    ),
    "compute without a rule that fails for another attribute": (
        "C05",
        (
            "class Attrs:\n    axis: int | None = None\n\ndef compute(x, axis):\n"
            "    if axis is None:\n        return te.compute(x.shape, lambda *i: x(*i), name='k')\n"
            "    return te.compute(x.shapes, lambda *i: x(*i), name='k')\n"
        ),
    ),
    "rule that takes ranks which compute does not": (
        "C05",
        "type_rule = rules.same\n\ndef compute(x):\n    return te.compute(x.shape, lambda i, j: x[i, j], name='k')\n",
    ),
    # C06: purity
    "a Python function inside": (
        "C06",
        (
            "def compute(x):\n    return te.extern(x.shape, [x], lambda i, o: tirx.call_packed('wrong.f', i[0], o[0]),"
            " name='k', dtype=str(x.dtype))\n"
        ),
    ),
    "a C function inside": (
        "C06",
        (
            "def compute(x):\n    return te.compute(x.shape, lambda *i: tirx.call_extern(str(x.dtype), 'sinf', x(*i)),"
            " name='k')\n"
        ),
    ),
    # C07: lowering
    "compute returns nothing": ("C07", "def compute(x):\n    te.compute(x.shape, lambda *i: x(*i))\n"),
    "compute that counts": (
        "C07",
        (
            "seen = []\ndef compute(x):\n    seen.append(1)\n    n = len(seen) % 7\n"
            "    return te.compute(x.shape, lambda *i: x(*i) * const_like(n, x), name='k')\n"
        ),
    ),
    "lowering to itself": ("C07", DOUBLE + "\ndef lower_for_llvm(x):\n    return tl.ops.wrong.op(x)\n"),
    "lowering to another type": (
        "C07",
        DOUBLE + "\ndef lower_for_cuda(x):\n    return relax.op.sum(x)\n",
    ),
    "NumPy in compute": ("C07", "def compute(x):\n    return te.compute(x.shape, lambda *i: np.exp(x(*i)))\n"),
    "Python's if in compute": (
        "C07",
        "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) if x(*i) > 0 else -x(*i))\n",
    ),
    # C08: names
    "name of a block with a space": ("C08", DOUBLE.replace('name="double"', 'name="my kernel"')),
    "name of a block that starts with a digit": ("C08", DOUBLE.replace('name="double"', 'name="2x"')),
    "the kernel's name is another's": ("C08", "@wrong_other.name\n" + DOUBLE),
    # C09: reads and divisors
    "one past the end": (
        "C09",
        "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i[:-1], i[-1] + 1), name='k')\n",
    ),
    "one before the start": (
        "C09",
        "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i[:-1], i[-1] - 1), name='k')\n",
    ),
    "past the end for another attribute": (
        "C09",
        (
            "class Attrs:\n    shift: int = 0\n\ndef compute(x, shift):\n"
            "    return te.compute(x.shape, lambda *i: x(*i[:-1], i[-1] + shift), name='k')\n"
        ),
    ),
    "reads where its data says": (
        "C09",
        (
            "examples = [{'x': np.ones(5, 'float32'), 'at': np.array([1, 0], 'int32')}]\n\n"
            "def compute(x, at):\n    return te.compute(at.shape, lambda i: x[at[i]], name='k')\n"
        ),
    ),
    "a store outside, written by hand": (
        "C09",
        (
            "def compute(x):\n    far = [tirx.const(500_000_000, 'int64'), tirx.const(0, 'int64')]\n"
            "    return te.extern(x.shape, [x], lambda i, o: tirx.BufferStore(o[0], const_like(1, x), far), name='k',"
            " dtype=str(x.dtype))\n"
        ),
    ),
    "a C function that ends the process": (
        "C09",
        (
            "def compute(x):\n    return te.compute(x.shape, lambda *i: tirx.call_extern(str(x.dtype), 'abort', x(*i)),"
            " name='k')\n"
        ),
    ),
    "divides by its data": (
        "C09",
        (
            "examples = [{'x': np.array([4, 6], 'int32'), 'y': np.array([2, 3], 'int32')}]\n\n"
            "def compute(x, y):\n    return te.compute(x.shape, lambda i: tirx.floordiv(x[i], y[i]), name='k')\n"
        ),
    ),
    # C10: values
    "minimum for maximum": ("C10", clamp("tirx.min(lo, tirx.min(hi, x(*i)))")),
    "bounds swapped": ("C10", clamp("tirx.max(hi, tirx.min(lo, x(*i)))")),
    "attribute written down as its default": ("C10", clamp("tirx.max(lo, tirx.min(const_like(1.0, x), x(*i)))")),
    "NaN lost": ("C10", clamp("tirx.max(tirx.min(x(*i), hi), lo)")),
    "wrong only above fifty": (
        "C10",
        (
            "def compute(x):\n    return te.compute(x.shape, lambda *i: tirx.if_then_else(x(*i) > const_like(51.5, x),"
            " const_like(0, x), x(*i)), name='k')\n\ndef reference(x):\n    return x.copy()\n"
        ),
    ),
    "wrong at the tie": (
        "C10",
        (
            "def compute(x):\n    return te.compute(x.shape, lambda *i: tirx.if_then_else(x(*i) >= const_like(0.25, x),"
            " x(*i), const_like(0, x)), name='k')\n\ndef reference(x):\n    return np.where(x > 0.25, x, 0)\n"
        ),
    ),
    "axes swapped": (
        "C10",
        (
            "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i), name='k')\n\n"
            "def reference(x):\n    return x.T.reshape(x.shape) if x.ndim == 2 else x\n"
        ),
    ),
    "softmax without the largest": (
        "C10",
        (
            "def compute(x):\n    *rows, size = x.shape\n    k = te.reduce_axis((0, size), name='k')\n"
            "    power = te.compute(x.shape, lambda *i: te.exp(x(*i)), name='power')\n"
            "    total = te.compute(rows, lambda *i: te.sum(power(*i, k), axis=k), name='total')\n"
            "    return te.compute(x.shape, lambda *i: power(*i) / total(*i[:-1]), name='k')\n\n"
            "def reference(x):\n    power = np.exp(x - x.max(axis=-1, keepdims=True))\n"
            "    return power / power.sum(axis=-1, keepdims=True)\n"
        ),
    ),
    "softmax that adds the largest": (
        "C10",
        (
            "type_rule = rules.same\n\ndef compute(x):\n    *rows, size = x.shape\n"
            "    k, j = (te.reduce_axis((0, size), name=n) for n in 'kj')\n"
            "    largest = te.compute(rows, lambda *i: te.max(x(*i, k), axis=k), name='largest')\n"
            "    power = te.compute(x.shape, lambda *i: te.exp(x(*i) + largest(*i[:-1])), name='power')\n"
            "    total = te.compute(rows, lambda *i: te.sum(power(*i, j), axis=j), name='total')\n"
            "    return te.compute(x.shape, lambda *i: power(*i) / total(*i[:-1]), name='k')\n\n"
            "def reference(x):\n    power = np.exp(x - x.max(axis=-1, keepdims=True))\n"
            "    return power / power.sum(axis=-1, keepdims=True)\n"
        ),
    ),
    "rows exchanged, which shows with three axes alone": (
        "C10",
        (
            "type_rule = rules.same\n\ndef compute(x):\n    *rows, size = x.shape\n"
            "    k = te.reduce_axis((0, size), name='k')\n"
            "    total = te.compute(rows, lambda *i: te.sum(x(*i, k), axis=k), name='total')\n"
            "    return te.compute(x.shape, lambda *i: x(*i) + total(*reversed(i[:-1])), name='k')\n\n"
            "def reference(x):\n    return x + x.sum(axis=-1, keepdims=True)\n"
        ),
    ),
    "everything divided by zero": (
        "C10",
        (
            "type_rule = rules.same\n\ndef compute(x):\n    *rows, size = x.shape\n"
            "    k = te.reduce_axis((0, size), name='k')\n"
            "    largest = te.compute(rows, lambda *i: te.max(x(*i, k), axis=k), name='largest')\n"
            "    zero = te.compute(rows, lambda *i: te.sin(largest(*i) - largest(*i)), name='zero')\n"
            "    return te.compute(x.shape, lambda *i: x(*i) / zero(*i[:-1]), name='k')\n\n"
            "def reference(x):\n    return x / (x.max(axis=-1, keepdims=True) + 10)\n"
        ),
    ),
    # C11: the same bits
    "a random kernel": (
        "C11",
        (
            "def compute(x):\n"
            "    return te.extern(x.shape, [x], lambda i, o: tirx.call_packed('wrong.random', i[0], o[0]),"
            " name='k', dtype=str(x.dtype))\n"
        ),
    ),
    "a kernel that writes its input": (
        "C11",
        (
            "def compute(x):\n"
            "    return te.extern(x.shape, [x], lambda i, o: tirx.call_packed('wrong.writes', i[0], o[0]),"
            " name='k', dtype=str(x.dtype))\n"
        ),
    ),
    # C12: dtypes
    "a bare constant": (
        "C12",
        "def compute(x):\n    return te.compute(x.shape, lambda *i: te.min(x(*i), 0.0), name='k')\n",
    ),
    "a bare constant under an attribute": (
        "C12",
        (
            "class Attrs:\n    half: bool = False\n\ndef compute(x, half):\n"
            "    by = tirx.const(0.5, 'float32') if half else const_like(2, x)\n"
            "    return te.compute(x.shape, lambda *i: x(*i) * by, name='k')\n"
        ),
    ),
    "float64 by way of float32": (
        "C12",
        (
            "type_rule = rules.same\n\ndef compute(x):\n    return te.compute(x.shape, lambda *i:"
            " te.exp(x(*i).astype('float32')).astype(x.dtype), name='k')\n\ndef reference(x):\n    return np.exp(x)\n"
        ),
    ),
    "exp of integers": (
        "C12",
        (
            "examples = [{'x': np.array([1, 2], 'int32')}]\n\n"
            "def compute(x):\n    return te.compute(x.shape, lambda *i: te.exp(x(*i)), name='k')\n"
        ),
    ),
    # C13: open sizes
    "mean by a size that is guessed": (
        "C13",
        (
            "type_rule = rules.reduce()\nclass Attrs:\n    axis: int = -1\n\ndef compute(x, axis):\n"
            "    (a,) = rules.normalize_axes(axis, len(x.shape))\n    size = getattr(x.shape[a], 'value', 3)\n"
            "    k = te.reduce_axis((0, x.shape[a]), name='k')\n"
            "    total = te.compute([d for n, d in enumerate(x.shape) if n != a],"
            " lambda *i: te.sum(x(*i[:a], k, *i[a:]), axis=k), name='t')\n"
            "    return te.compute(total.shape, lambda *i: total(*i) / const_like(float(size), x), name='k')\n\n"
            "def reference(x, axis):\n    return x.mean(axis=axis)\n"
        ),
    ),
    "another branch where the size is open": (
        "C13",
        (
            "def compute(x):\n    known = isinstance(x.shape[0], tirx.IntImm)\n"
            "    return te.compute(x.shape, lambda *i: x(*i) * const_like(2 if known else 3, x), name='k')\n\n"
            "def reference(x):\n    return x * 2\n"
        ),
    ),
    # C14: pattern kinds
    "a reduction that claims to be elementwise": (
        "C14",
        (
            "pattern = 'elemwise'\ntype_rule = rules.reduce()\nclass Attrs:\n    axis: int = -1\n\n"
            "def compute(x, axis):\n"
            "    (a,) = rules.normalize_axes(axis, len(x.shape))\n    k = te.reduce_axis((0, x.shape[a]), name='k')\n"
            "    return te.compute([d for n, d in enumerate(x.shape) if n != a],"
            " lambda *i: te.sum(x(*i[:a], k, *i[a:]), axis=k), name='k')\n"
        ),
    ),
    "an elementwise operator that claims to be opaque": ("C14", "pattern = 'opaque'\n" + DOUBLE),
    "a transposition that claims to be elementwise": (
        "C14",
        (
            "pattern = 'elemwise'\n\ndef compute(x):\n"
            "    return te.compute(list(reversed(x.shape)), lambda *i: x(*reversed(i)), name='k')\n"
        ),
    ),
    # C15: passes
    "another kernel each time": (
        "C15",
        (
            "seen = []\ndef compute(x):\n    seen.append(1)\n    n = len(seen)\n"
            "    return te.compute(x.shape, lambda *i: x(*i) * const_like(n, x), name='k')\n"
        ),
    ),
    "another kernel where its input is a constant": (
        "C15",
        (
            "import itertools\ncount = itertools.count()\ndef compute(x):\n    n = next(count) // 5\n"
            "    return te.compute(x.shape, lambda *i: x(*i) + const_like(n, x), name='k')\n"
        ),
    ),
    # C16: gradients
    "gradient of the wrong sign": ("C16", gradient("return relax.op.multiply(dy, x * const_like(-2, x))")),
    "gradient too small": ("C16", gradient("return relax.op.multiply(dy, x)")),
    "gradient without dy": ("C16", gradient("return x * const_like(2, x)")),
    "gradient of another shape": ("C16", gradient("return relax.op.sum(dy)")),
    "gradient of nothing": ("C16", gradient("relax.op.multiply(dy, x)")),
    "two gradients for one tensor": ("C16", gradient("return dy, dy")),
    "gradient without its tensor": ("C16", gradient("return dy").replace("gradient(dy, x)", "gradient(dy)")),
    "gradient that is wrong on one side of a kink": (
        "C16",
        gradient(
            "return relax.op.where(relax.op.greater(x, const_like(0, x)), dy, dy)",
            "tirx.max(const_like(0, x), x(*i))",
            "np.maximum(x, 0)",
        ),
    ),
    "gradient by NumPy": ("C16", gradient("return np.multiply(2, 3)")),
    # C17: export
    "a library that needs Python": (
        "C17",
        (
            "def compute(x):\n    return te.extern(x.shape, [x], lambda i, o: tirx.call_packed('wrong.f', i[0], o[0]),"
            " name='k', dtype=str(x.dtype))\n"
        ),
    ),
    "a library that needs a C function": (
        "C17",
        (
            "def compute(x):\n"
            "    return te.compute(x.shape, lambda *i: tirx.call_extern(str(x.dtype), 'nowhere', x(*i)),"
            " name='k')\n"
        ),
    ),
    # C18: targets
    "a lowering for Metal in float64": (
        "C18",
        DOUBLE + "\ndef lower_for_metal(x):\n    return te.compute(x.shape, lambda *i:"
        " (x(*i).astype('float64') * tirx.const(2, 'float64')).astype(x.dtype), name='k')\n",
    ),
    "float64 inside, which Metal lacks": (
        "C18",
        (
            "type_rule = rules.same\n\ndef compute(x):\n    return te.compute(x.shape, lambda *i:"
            " te.exp(x(*i).astype('float64')).astype(x.dtype), name='k')\n"
        ),
    ),
    # C19: schedules
    "schedule of a loop that is not there": (
        "C19",
        DOUBLE + "\ndef schedule(sch, block):\n    sch.vectorize(sch.get_loops(block)[5])\n",
    ),
    "schedule that gains nothing": (
        "C19",
        DOUBLE + "\ndef schedule(sch, block):\n    sch.reorder(*reversed(sch.get_loops(block)))\n",
    ),
    # C20: composition
    "TVM's exp once more": (
        "C20",
        (
            "def compute(x):\n    return te.compute(x.shape, lambda *i: te.exp(x(*i)), name='k')\n\n"
            "def reference(x):\n    return np.exp(x)\n"
        ),
    ),
    "TVM's addition once more": (
        "C20",
        (
            "type_rule = rules.same\n\ndef compute(x, y):\n"
            "    return te.compute(x.shape, lambda *i: x(*i) + y(*i), name='k')\n\ndef reference(x, y):\n"
            "    return x + y\n"
        ),
    ),
}
