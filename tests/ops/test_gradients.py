"""An operator's gradient inside TVM: several of them in a row, against differences; and what it may not return."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax

from tvmlab import ops
from tvmlab.errors import CallError, CellError, ComputeError, TvmlabError
from tvmlab.ops import gallery
from tvmlab.ops.guarded import guarded
from tvmlab.runtime import compile_module

SQUARE = "def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) * x(*i), name='square')\n"


def adjoint(build, shapes):
    """The gradient of the sum of what `build` makes, by TVM."""

    def made():
        inputs = [relax.Var(f"x{i}", relax.TensorType(s, "float64")) for i, s in enumerate(shapes)]
        builder = relax.BlockBuilder()
        with builder.function("main", inputs):
            with builder.dataflow():
                out = builder.emit_output(builder.emit(relax.op.sum(builder.emit(build(builder, *inputs)))))
            builder.emit_func_output(out)
        return relax.transform.LegalizeOps()(relax.transform.Gradient("main")(builder.get()))

    return compile_module(guarded(made, lambda error: TvmlabError(str(error))))


def test_gradients_go_through_several_operators_of_the_gallery():
    matmul, norm, swish = (
        ops.define(f"slopes.{n}", ops.read_cell(gallery.text(n))) for n in ("matmul", "rms_norm", "swish")
    )

    def build(builder, a, b, gain):
        product = builder.emit(matmul(a, b))
        return swish(builder.emit(norm(product, gain)))

    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s) for s in [(2, 3), (3, 4), (4,)]]

    def total(arrays):
        product = arrays[0] @ arrays[1]
        return swish.reference(norm.reference(product, arrays[2])).sum()

    loss, slopes = adjoint(build, [a.shape for a in arrays]).run(*arrays, function="main_adjoint")
    assert abs(loss - total(arrays)) < 1e-9
    for which, slope in enumerate(slopes):
        for place in range(slope.size):
            moved = [[a.copy() for a in arrays] for _ in range(2)]
            moved[0][which].flat[place] -= 1e-6
            moved[1][which].flat[place] += 1e-6
            assert abs((total(moved[1]) - total(moved[0])) / 2e-6 - slope.flat[place]) < 1e-6


def test_another_operator_may_be_the_gradient():
    ops.define(
        "slopes.twice", ops.read_cell("def compute(x):\n    return te.compute(x.shape, lambda *i: x(*i) + x(*i))\n")
    )
    square = ops.define(
        "slopes.square",
        ops.read_cell(
            "import tvmlab as tl\n"
            + SQUARE
            + "def gradient(dy, x):\n    return relax.op.multiply(dy, tl.ops.slopes.twice(x))\n"
        ),
    )
    _, (slope,) = adjoint(lambda _, x: square(x), [(3,)]).run(np.array([1.0, -2.0, 3.0]), function="main_adjoint")
    assert slope.tolist() == [2.0, -4.0, 6.0]


WRONG = {
    "another shape": (
        "return relax.op.sum(dy)",
        ComputeError,
        r"the gradient of x is float64\[\], but x is float64\[3\]",
    ),
    "another dtype": ("return relax.op.astype(dy, 'float32')", ComputeError, r"gradient of x is float32\[3\]"),
    "two for one": ("return dy, dy", ComputeError, "returns 2 expressions for 1 tensors"),
    "nothing": ("relax.op.exp(x)", ComputeError, "gradient returns nothing"),
    "a number": ("return 3", ComputeError, "returns int for x, not a Relax expression"),
    "it fails": ("return dy * nothing", ComputeError, "'nothing' is not defined"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_gradient_returns_is_checked_at_its_line(name):
    text, kind, message = WRONG[name]
    op = ops.define("slopes.wrong", ops.read_cell(SQUARE + f"def gradient(dy, x):\n    {text}\n", label="Cell"))
    with pytest.raises(kind, match=message) as caught:
        adjoint(lambda _, x: op(x), [(3,)])
    assert caught.value.where.startswith("Cell, line 4" if name == "nothing" else "Cell, line 5")


def test_an_operator_without_a_gradient_says_what_to_add():
    op = ops.define("slopes.none", ops.read_cell(SQUARE))
    with pytest.raises(CallError, match=r"slopes\.none has no gradient") as caught:
        adjoint(lambda _, x: op(x), [(3,)])
    assert caught.value.mend.startswith("add def gradient(dy, x):")


def test_a_gradient_takes_dy_and_the_tensors():
    with pytest.raises(CellError, match=r"gradient\(x\) does not take the gradient of the result") as caught:
        ops.define("slopes.wrong", ops.read_cell(SQUARE + "def gradient(x):\n    return x\n"))
    assert caught.value.mend == "write def gradient(dy, x):"


def test_none_is_no_gradient():
    op = ops.define(
        "slopes.scaled",
        ops.read_cell(
            "def compute(x, y):\n    return te.compute(x.shape, lambda *i: x(*i) * y(*i), name='k')\n"
            "def gradient(dy, x, y):\n    return relax.op.multiply(dy, y), None\n"
        ),
    )
    _, slopes = adjoint(lambda _, x, y: op(x, y), [(2,), (2,)]).run(
        np.ones(2), np.full(2, 3.0), function="main_adjoint"
    )
    assert [np.asarray(s).tolist() for s in slopes] == [[3.0, 3.0], [0.0, 0.0]]
