"""The evaluation in NumPy against compiled kernels, its error bounds, and what it sees without running anything."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import te, tirx

from tvmlab import ops
from tvmlab.checks.inputs import rounds
from tvmlab.checks.interpreter import NotEvaluable, evaluate
from tvmlab.checks.subject import Subject, outputs_of
from tvmlab.checks.variants import configurations
from tvmlab.ops import gallery

from .right import RIGHT


@pytest.mark.parametrize("name", [*gallery.names(), *(f"composition {n}" for n in range(0, 30, 5))])
def test_values_are_those_of_the_compiled_kernel_within_the_bounds(name):
    subject = Subject(ops.define("right.op", ops.read_cell(RIGHT[name])))
    for configuration in configurations(subject, 3):
        prepared = subject.prepare(configuration)
        for each in rounds(subject, prepared, 8):
            found = prepared.evaluate(each.arrays)
            got = outputs_of(subject.run(configuration, each.arrays))
            for mine, error, kernel in zip(found.outputs, found.errors, got, strict=True):
                assert mine.dtype == kernel.dtype
                assert mine.shape == kernel.shape
                with np.errstate(all="ignore"):
                    finite = np.isfinite(mine) & np.isfinite(kernel)
                    apart = np.abs(mine.astype("float64") - kernel.astype("float64"))
                    assert (apart[finite] <= 2 * error[finite] + 1e-300).all()
                    strange = ~finite & np.isfinite(error)
                    np.testing.assert_array_equal(mine[strange], kernel[strange])


def made(body, shape=(4,), dtype="float32"):
    x = te.placeholder(shape, dtype, name="x")
    return x, te.compute(shape, lambda *i: body(x, *i), name="made")


def test_the_bound_holds_the_rounding_of_the_kernel_and_little_more():
    x, y = made(lambda x, i: (x[i] + tirx.const(1000.1, "float32")) - tirx.const(1000.1, "float32"))
    array = np.array([0.1, 0.2, -0.3, 1e-4], "float32")
    found = evaluate([y], {x: array})
    wrong = np.abs(found.outputs[0].astype("float64") - array)
    assert (wrong <= found.errors[0]).all()
    assert (found.errors[0] < 1e-3).all()


def test_a_read_outside_is_seen_and_one_behind_a_guard_is_none():
    x, y = made(lambda x, i: x[i + 1])
    assert evaluate([y], {x: np.ones(4, "float32")}).hazards == ["x is read at 4 on axis 0, whose size is 4"]
    x, y = made(lambda x, i: tirx.if_then_else(i < 3, x[i + 1], tirx.const(0, "float32")))
    found = evaluate([y], {x: np.arange(4, dtype="float32")})
    assert found.hazards == []
    assert found.outputs[0].tolist() == [1, 2, 3, 0]


def test_an_integer_division_by_zero_is_seen_and_does_not_end_the_process():
    x, y = made(lambda x, i: tirx.floordiv(tirx.const(6, "int32"), x[i]), dtype="int32")
    assert evaluate([y], {x: np.array([1, 2, 0, -1], "int32")}).hazards == ["an integer is divided by zero"]
    x, y = made(lambda x, i: tirx.truncdiv(x[i], tirx.const(-1, "int32")), dtype="int32")
    least = np.iinfo("int32").min
    assert evaluate([y], {x: np.array([1, 2, least, -1], "int32")}).hazards == ["a quotient overflows"]


def test_which_way_a_comparison_went_is_counted():
    x, y = made(lambda x, i: tirx.if_then_else(x[i] > tirx.const(1, "float32"), x[i], tirx.const(1, "float32")))
    (decision,) = evaluate([y], {x: np.array([0, 1, 2, 3], "float32")}).decisions.values()
    assert (decision.below, decision.equal, decision.above) == (1, 1, 2)


def test_precision_that_is_lost_on_the_way_is_no_excuse():
    x, y = made(lambda x, i: x[i].astype("float32").astype("float64"), dtype="float64")
    array = np.full(4, 0.1)
    excused = evaluate([y], {x: array}).errors[0]
    strict = evaluate([y], {x: array}, precision="float64").errors[0]
    wrong = np.abs(evaluate([y], {x: array}).outputs[0] - array)
    assert (wrong <= excused).all()
    assert (wrong > strict).all()


def test_what_it_does_not_know_it_does_not_evaluate():
    x = te.placeholder((4,), "float32", name="x")
    y = te.extern((4,), [x], lambda i, o: tirx.call_packed("none", i[0], o[0]), dtype="float32")
    with pytest.raises(NotEvaluable):
        evaluate([y], {x: np.ones(4, "float32")})
