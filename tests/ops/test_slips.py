"""Slips that TVM takes without a word, or that end the process: each is three lines, at the right line of the cell."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

OK = "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) * const_like(2, x), name='double')\n"


@dataclass
class Slip:
    """A cell (its line 1 is the magic), the line at fault, and words that the three lines must have."""

    body: str
    line: int
    words: tuple[str, ...]


SLIPS = {
    # P2: FLegalize that returns nothing, or the same operator again
    "compute returns nothing": Slip(
        "def compute(x):\n    te.compute(x.shape, lambda *i: x(*i))\n",
        2,
        ("compute returns nothing", "return te.compute"),
    ),
    "inner function returns nothing": Slip(
        "def compute(x):\n    def f(*i):\n        x(*i) * const_like(2, x)\n    return te.compute(x.shape, f)\n",
        5,
        ("returns nothing", "a return is missing"),
    ),
    "lambda returns nothing": Slip(
        "def compute(x):\n    return te.compute(x.shape, lambda *i: None)\n", 3, ("a return is missing",)
    ),
    "Python's sum over a tensor": Slip(
        "def compute(x):\n    return te.compute((), lambda: sum(x))\n", 3, ("looped over", "te.sum")
    ),
    "an index that is nothing": Slip(
        "def compute(x):\n    at = {}\n    return te.compute(x.shape, lambda *i: x(*(at.get(a) for a in (1, 2))))\n",
        4,
        ("a te tensor is given None", "a dict lacks"),
    ),
    "a condition that is nothing": Slip(
        "def compute(x):\n    f = lambda i: tirx.all(i > 0, None)\n"
        "    return te.compute(x.shape[:1], lambda i: tirx.if_then_else(f(i), x(i, 0), const_like(0, x)))\n",
        3,
        ("all is given None",),
    ),
    "a loop over a row": Slip(
        "def compute(x):\n    return te.compute((x.shape[0],), lambda i: max(x[i]))\n", 3, ("looped over",)
    ),
    "TVM's operator with a dict for attributes": Slip(
        "import tvm\n" + OK + "def lower_for_llvm(x):\n"
        "    return relax.Call(tvm.ir.Op.get('relax.nn.softmax'), [x], {'axis': -1})\n",
        6,
        ("softmax is called without its attributes",),
    ),
    "TVM's operator with another one's attributes": Slip(
        "import tvm\n" + OK + "def lower_for_llvm(x):\n"
        "    return relax.Call(tvm.ir.Op.get('relax.nn.softmax'), [x], relax.op.sum(x).attrs)\n",
        6,
        ("softmax is called without its attributes",),
    ),
    "own operator hidden in a branch": Slip(
        OK + "def lower_for_llvm(x):\n    return relax.If(relax.const(True), tl.ops.lab.slip(x), x)\n",
        5,
        ("a call of lab.slip itself",),
    ),
    "TVM's operator without its attributes in a rule": Slip(
        "import tvm\n"
        "def type_rule(x):\n    b = relax.BlockBuilder()\n    v = relax.Var('v', x)\n"
        "    with b.testing_scope(def_vars=[]):\n"
        "        return b.emit(relax.Call(tvm.ir.Op.get('relax.nn.softmax'), [v])).ty\n" + OK,
        7,
        ("relax.nn.softmax is called without its attributes", "relax.op.nn.softmax"),
    ),
    "lowering of nothing": Slip(
        OK + "def lower_for_llvm(x):\n    return relax.op.exp(None)\n", 5, ("lower_for_llvm fails",)
    ),
    "second output widens": Slip(
        "def compute(x):\n    a = te.compute(x.shape, lambda *i: x(*i) + x(*i))\n"
        "    b = te.compute(x.shape, lambda *i: te.min(x(*i), 0.0))\n    return a, b\n",
        4,
        ("widened float16",),
    ),
    "widening beside an integer": Slip(
        "def compute(x, at):\n    return te.compute(x.shape, lambda *i: te.min(x(*i), 0.0))\n"
        "import numpy as np\nexamples = [{'x': (2, 3), 'at': np.array([1], 'int32')}]\n",
        3,
        ("widened float16",),
    ),
    "defaults that validate refuses": Slip(
        "class Attrs:\n    k: int = 0\n    def validate(self):\n        if self.k < 1:\n"
        "            raise ValueError('k must be positive')\n"
        "def compute(x, k):\n    return te.compute(x.shape, lambda *i: x(*i))\n",
        6,
        ("k must be positive", "accept the defaults"),
    ),
    "sliced shape in a rule": Slip(
        "def type_rule(x):\n    return TensorType(x.shape[1:], x.dtype)\n" + OK, 3, ("list(x.shape)[1:]",)
    ),
    "compute returns a function": Slip(
        "def compute(x):\n    def inner(y):\n        return y\n    return inner\n", 5, ("returns a function (inner)",)
    ),
    "compute returns a string": Slip("def compute(x):\n    return 'x'\n", 3, ("returns str",)),
    "compute returns an empty tuple": Slip("def compute(x):\n    return ()\n", 3, ("returns tuple",)),
    "lowering returns nothing": Slip(
        OK + "def lower_for_llvm(x):\n    relax.op.exp(x)\n", 4, ("lower_for_llvm returns nothing",)
    ),
    "lowering returns a number": Slip(
        OK + "def lower_for_llvm(x):\n    return 3\n", 5, ("lower_for_llvm returns int",)
    ),
    "lowering returns itself": Slip(
        OK + "def lower_for_llvm(x):\n    return relax.op.exp(tl.ops.lab.slip(x))\n", 5, ("a call of lab.slip itself",)
    ),
    # P4: a rule that does not tell the truth
    "rule lies about the shape": Slip(
        "def type_rule(x):\n    return TensorType([x.shape[1], x.shape[0]], x.dtype)\n" + OK,
        3,
        ("type rule says float32[3, 2], compute makes float32[2, 3]",),
    ),
    "rule lies about the dtype": Slip(
        "def type_rule(x):\n    return TensorType(x.shape, 'float16')\n" + OK, 3, ("says float16[2, 3]",)
    ),
    "rule lies about the rank": Slip(
        "def type_rule(x):\n    return TensorType([x.shape[0]], x.dtype)\n" + OK, 3, ("says float32[2]",)
    ),
    "rule lies about the number of outputs": Slip(
        "type_rule = rules.outputs(rules.same, rules.same)\n" + OK, 2, ("(float32[2, 3], float32[2, 3])",)
    ),
    "rule lies only where sizes are symbols": Slip(
        "def type_rule(x):\n    return TensorType([2, 3], x.dtype)\n"
        "def compute(x):\n    return te.compute(x.shape, lambda i, j: x[i, j])\n",
        3,
        ("float32[n, m]",),
    ),
    "rule has a dtype that does not exist": Slip(
        "def type_rule(x):\n    return TensorType(x.shape, 'float33')\n" + OK, 3, ("float33",)
    ),
    "rule returns nothing": Slip("def type_rule(x):\n    pass\n" + OK, 2, ("type rule returns nothing",)),
    "rule returns a dtype": Slip("def type_rule(x):\n    return x.dtype\n" + OK, 3, ("type rule returns PrimType",)),
    "rule is a number": Slip("type_rule = 3\n" + OK, 2, ("type_rule is int, not a function",)),
    "rule is a factory": Slip("type_rule = rules.reduce\n" + OK, 2, ("rules.reduce()",)),
    "rule takes no attribute of that name": Slip(
        "class Attrs:\n    axis: int = 0\ndef type_rule(x, axes):\n    return x\n"
        "def compute(x, axis):\n    return te.compute(x.shape, lambda *i: x(*i))\n",
        4,
        ("does not take the tensors",),
    ),
    "rule raises": Slip("def type_rule(x):\n    return x.shape[0].nothing\n" + OK, 3, ("type_rule fails for float32",)),
    "rule calls itself": Slip("def type_rule(x):\n    return type_rule(x)\n" + OK, 3, ("calls itself without end",)),
    # P12: float16 that silently widens
    "bare zero in a minimum": Slip(
        "def compute(x):\n    return te.compute(\n        x.shape, lambda *i: te.min(x(*i), 0.0))\n",
        4,
        ("widened float16",),
    ),
    "constant of another dtype": Slip(
        "def compute(x):\n    half = tirx.const(0.5, 'float32')\n"
        "    return te.compute(x.shape, lambda *i: x(*i) * half)\n",
        4,
        ("widened float16", "const_like"),
    ),
    "attribute as a bare number": Slip(
        "class Attrs:\n    slope: float = 0.5\ndef compute(x, slope):\n"
        "    return te.compute(x.shape, lambda *i: te.max(x(*i), slope))\n",
        5,
        ("widened float16", "const_like"),
    ),
    "exp of an integer": Slip(
        "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) + te.exp(i[0]).astype(x.dtype))\n",
        3,
        ("exp is applied to int64", "astype('float32')"),
    ),
    "index beyond the end": Slip(
        "def compute(x):\n    return te.compute(\n        x.shape,\n        lambda i, j: x[i, j + 1])\n",
        5,
        ("reads x out of bounds: on axis 1 the index j + 1 runs from 1 to 3, but the size is 3",),
    ),
    "index far beyond the end": Slip(
        "def compute(x):\n    return te.compute(x.shape, lambda i, j: x[i, j * 1000000])\n", 3, ("out of bounds",)
    ),
    "negative index": Slip(
        "def compute(x):\n    return te.compute(x.shape, lambda i, j: x[i, j - 1])\n", 3, ("out of bounds",)
    ),
    # P17: an exception class of the user's own
    "exception of the user's own in compute": Slip(
        "class Odd(Exception):\n    pass\ndef compute(x):\n    raise Odd('seven is odd')\n", 5, ("Odd: seven is odd",)
    ),
    "exception of the user's own in a rule": Slip(
        "class Odd(Exception):\n    pass\ndef type_rule(x):\n    y = {}\n    return y['none']\n" + OK, 6, ("KeyError",)
    ),
    "compute leaves the process": Slip("import sys\ndef compute(x):\n    sys.exit(3)\n", 4, ("SystemExit",)),
    # P19: the order of operands is part of the meaning
    "NaN is swallowed": Slip(
        "def compute(x):\n    zero = const_like(0, x)\n"
        "    return te.compute(x.shape, lambda *i: tirx.max(x(*i), zero))\n"
        "def reference(x):\n    return np.maximum(x, 0)\n",
        4,
        ("turns a NaN into 0", "put the constant first"),
    ),
    # What would end the process
    "deeply nested expression": Slip(
        "def compute(x):\n    def f(*i):\n        v = x(*i)\n"
        "        for _ in range(20000):\n            v = v + x(*i)\n        return v\n"
        "    return te.compute(x.shape, f)\n",
        8,
        ("more than 1000 levels", "te.reduce_axis"),
    ),
    "deeply nested lets": Slip(
        "def compute(x):\n    def f(*i):\n        v = x(*i)\n        for _ in range(20000):\n"
        "            v = tirx.Let(tirx.Var('t', 'float32'), x(*i), v)\n        return v\n"
        "    return te.compute(x.shape, f)\n",
        8,
        ("more than 1000 levels",),
    ),
    "deeply nested calls": Slip(
        OK + "def lower_for_llvm(x):\n    for _ in range(20000):\n        x = relax.op.exp(x)\n    return x\n",
        7,
        ("more than 1000 levels",),
    ),
    "TVM's operator without its attributes": Slip(
        "import tvm\ndef compute(x):\n    return te.compute([], lambda: x(*[0] * len(x.shape)))\n"
        "def lower_for_llvm(x):\n    return relax.Call(tvm.ir.Op.get('relax.sum'), [x])\n",
        6,
        ("relax.sum is called without its attributes", "relax.op.sum"),
    ),
    "division by a constant zero": Slip(
        "def compute(x):\n    return te.compute(x.shape, lambda i, j: x[i // 0, j])\n", 3, ("divided by zero",)
    ),
    "endless recursion in compute": Slip("def compute(x):\n    return compute(x)\n", 3, ("calls itself without end",)),
    # the wrong tool
    "Python if on an expression": Slip(
        "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) if x(*i) > 0 else x(*i))\n",
        3,
        ("tirx.if_then_else",),
    ),
    "NumPy on an expression": Slip(
        "def compute(x):\n    return te.compute(x.shape, lambda *i: np.exp(x(*i)))\n", 3, ("te.exp",)
    ),
    "whole tensor where an element is meant": Slip(
        "def compute(x):\n    return te.compute(x.shape, lambda *i: te.exp(x))\n", 3, ("te.exp(x(*i))",)
    ),
    "too few indices": Slip(
        "def compute(x):\n    return te.compute(x.shape, lambda i, j: x[i])\n", 3, ("one index an axis",)
    ),
    "reduction inside an expression": Slip(
        "def compute(x):\n    k = te.reduce_axis((0, x.shape[-1]))\n"
        "    return te.compute(x.shape[:1], lambda i: te.sum(x[i, k], axis=k) + x[i, 0])\n",
        4,
        ("a te.compute of its own",),
    ),
    "a name of older TVM": Slip("import tvm\ndef compute(x):\n    return tvm.tir.const(1)\n", 4, ("tir is tvm.tirx",)),
    # the cell itself
    "syntax error": Slip("def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i)\n", 3, ("SyntaxError",)),
    "syntax error after blank lines": Slip("\n\n\ndef compute(x:\n    return x\n", 5, ("SyntaxError",)),
    "unknown name at the top": Slip("size = sise + 1\n" + OK, 2, ("NameError",)),
    "unknown name in compute": Slip(
        "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) * factor)\n", 3, ("'factor'",)
    ),
    "misspelt attribute in the body": Slip(
        "class Attrs:\n    slope: float = 0.1\ndef compute(x, slope):\n"
        "    return te.compute(x.shape, lambda *i: x(*i) * const_like(slop, x))\n",
        5,
        ("'slop' is not defined", "did you mean 'slope'?"),
    ),
    "misspelt part": Slip(OK + "def refrence(x):\n    return 2 * x\n", 4, ("did you mean 'reference'?",)),
    "misspelt attribute": Slip(
        "class Attrs:\n    slope: float = 0.1\ndef compute(x, slop):\n"
        "    return te.compute(x.shape, lambda *i: x(*i))\n",
        4,
        ("attribute 'slope' is not a parameter", "'slop'"),
    ),
    "tensor after attributes": Slip(
        "class Attrs:\n    slope: float = 0.1\ndef compute(x, slope, w):\n"
        "    return te.compute(x.shape, lambda *i: x(*i))\n",
        4,
        ("'w' is neither a tensor",),
    ),
    "tensor with a default": Slip("def compute(x, w=None):\n    return x\n", 2, ("cannot have a default",)),
    "attribute without a type": Slip(
        "class Attrs:\n    slope = 0.1\n" + OK, 3, ("'slope' has no type", "slope: float = 0.1")
    ),
    "attribute of a type that TVM cannot store": Slip(
        "import decimal\nclass Attrs:\n    fine: int = 1\n    exact: decimal.Decimal = decimal.Decimal(1)\n"
        "def compute(x, fine, exact):\n    return te.compute(x.shape, lambda *i: x(*i))\n",
        5,
        ("'exact' has the type Decimal, which TVM cannot store",),
    ),
    "attribute whose type does not exist": Slip(
        "class Attrs:\n    slope: 'flot' = 0.1\n" + OK.replace("(x)", "(x, slope)"), 3, ("flot",)
    ),
    "default of another type": Slip(
        "class Attrs:\n    slope: float = 'steep'\n" + OK.replace("(x)", "(x, slope)"),
        3,
        ("default of attribute 'slope'",),
    ),
    "reference fails": Slip(OK + "def reference(x):\n    return x.nothing\n", 5, ("reference fails",)),
    "reference takes other tensors": Slip(
        OK + "def reference(x, y):\n    return x\n", 4, ("does not take the tensors",)
    ),
    "pattern that does not exist": Slip(OK + "pattern = 'elemwize'\n", 4, ("'elemwise'",)),
    "examples that are none": Slip(OK + "examples = [{'y': (2, 3)}]\n", 4, ("lacks the tensor 'x'",)),
}


def error_lines(ran):
    """The three lines of an error; what to write, where the table of rules knows it, stands below them."""
    shown = [line for line in ran.out.splitlines() if line.strip()]
    assert len(shown) >= 3, ran.out
    assert len(shown) == 3 or shown[3].strip() == "write:", ran.out
    return shown[:3]


def test_a_tensor_without_axes_may_be_read_twice(notebook):
    notebook("import numpy as np\nimport tvmlab as tl")
    body = (
        "def compute(x):\n    k = te.reduce_axis((0, x.shape[0]), name='k')\n"
        "    total = te.compute((), lambda: te.sum(x[k], axis=k), name='total')\n"
        "    return te.compute(x.shape, lambda i: x[i] / total() + total(), name='k')\n"
    )
    assert notebook("%%tvm_op -q lab.twice\n" + body).error is None
    assert notebook("tl.ops.lab.twice(np.array([1, 3], 'float32')).tolist()").value == [4.25, 4.75]


@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS.keys())
def test_a_slip_is_three_lines_at_the_right_line(notebook, slip):
    notebook("import tvmlab as tl")
    ran = notebook("%%tvm_op lab.slip\n" + slip.body)
    assert ran.error is not None
    shown = error_lines(ran)
    assert shown[1].strip().startswith("at Cell In["), ran.out
    assert f"line {slip.line}:" in shown[1], ran.out
    assert shown[2].strip().startswith("mend: "), ran.out
    for word in slip.words:
        assert word in ran.out
    assert ran.err == ""
    assert notebook("%%tvm_op lab.slip -q\n" + OK).error is None, "the kernel lives"


def test_two_lowerings_that_lead_to_each_other_are_refused_at_the_second(notebook):
    notebook("import tvmlab as tl, numpy as np")
    assert notebook("%%tvm_op lab.ping -q\n" + OK).error is None
    pong = OK + "def lower_for_llvm(x):\n    return tl.ops.lab.ping(x)\n"
    assert notebook("%%tvm_op lab.pong -q\n" + pong).error is None
    ping = OK + "def lower_for_llvm(x):\n    return tl.ops.lab.pong(x)\n"
    assert notebook("%%tvm_op lab.ping -q\n" + ping).error is None, "the old pong is bound to the old ping"
    assert notebook("%%tvm_op lab.pong -q\n" + pong).error is None
    ran = notebook("tl.ops.lab.pong(np.ones((2, 3), 'float32'))")
    shown = ran.out.splitlines()
    assert "leads back to lab.p" in shown[0]
    assert "line 5:" in shown[1]
    assert ran.err == ""


CALLS = {
    "too few tensors": ("tl.ops.lab.add(x)", "takes 2 tensors, got 1"),
    "too many tensors": ("tl.ops.lab.add(x, x, x)", "takes 2 tensors, got 3"),
    "unknown attribute": ("tl.ops.lab.add(x, x, sclae=2.0)", "did you mean 'scale'?"),
    "attribute of the wrong type": ("tl.ops.lab.add(x, x, scale='two')", "'scale': expected float, got str"),
    "attribute out of range": ("tl.ops.lab.add(x, x, scale=-1.0)", "scale must be positive"),
    "strings": ("tl.ops.lab.add(np.array(['a']), np.array(['b']))", "array of dtype <U1"),
    "shapes that do not fit": ("tl.ops.lab.add(x, x[:1])", "one shape"),
    "too few tensors in a graph": ("bb.emit(tl.ops.lab.add(v))", "takes 2 tensors, got 1"),
    "a call without attributes": (
        "bb.emit(relax.Call(tvm.ir.Op.get('relax.lab.add'), [v, v]))",
        "without the attributes",
    ),
    "a call with a dict as attributes": (
        "bb.emit(relax.Call(tvm.ir.Op.get('relax.lab.add'), [v, v], {'scale': 2.0}))",
        "without the attributes",
    ),
    "a tuple where a tensor is meant": ("bb.emit(tl.ops.lab.add(relax.Tuple([v, v]), v))", "not a tensor"),
}


@pytest.mark.parametrize(("call", "words"), CALLS.values(), ids=CALLS.keys())
def test_a_wrong_call_is_three_lines_at_the_line_of_the_call(notebook, call, words):
    add = (
        "class Attrs:\n    scale: float = 1.0\n    def validate(self):\n        if self.scale <= 0:\n"
        "            raise ValueError('scale must be positive')\n"
        "type_rule = rules.same\ndef compute(x, y, scale):\n"
        "    return te.compute(x.shape, lambda *i: x(*i) + y(*i) * const_like(scale, x))\n"
    )
    assert notebook("%%tvm_op lab.add -q\n" + add).error is None
    notebook(
        "import numpy as np, tvm, tvmlab as tl\nfrom tvm import relax\nx = np.ones((2, 3), 'float32')\n"
        "v = relax.Var('v', relax.TensorType([2, 3], 'float32'))"
    )
    lines = [
        "bb = relax.BlockBuilder()",
        "with bb.function('main', [v]):",
        "    with bb.dataflow():",
        f"        {call}",
    ]
    ran = notebook("\n".join(lines) if call.startswith("bb") else f"a = 1\nb = 2\nc = 3\n{call}")
    shown = error_lines(ran)
    assert words in ran.out
    assert "line 4:" in shown[1], ran.out
    assert shown[2].strip().startswith("mend: ")


def test_a_module_with_a_wrong_call_is_not_well_formed(notebook):
    """TVM itself takes any number of arguments; the FValidate that tvmlab sets does not."""
    from tvm import relax

    import tvmlab as tl
    from tvmlab.errors import CallError

    assert notebook("%%tvm_op lab.one -q\n" + OK).error is None
    v = relax.Var("v", relax.TensorType([2, 3], "float32"))
    good = tl.ops.lab.one(v)
    bad = relax.Call(good.op, [v, v], good.attrs)
    with pytest.raises(CallError, match="takes 1 tensor, got 2"):
        good.op.get_attr("FValidate")(bad)


def test_the_kernel_can_be_interrupted_in_compute(notebook, monkeypatch):
    """A Ctrl-C is not swallowed as if it were the user's error."""
    ran = notebook("%%tvm_op lab.slip\ndef compute(x):\n    raise KeyboardInterrupt\n")
    assert isinstance(ran.error, KeyboardInterrupt)
    assert "tvmlab.errors" not in ran.out
    assert sys.exc_info() == (None, None, None)
