"""A student's lowering is called behind a guard: what would end the process is an error."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax, te

from tvmlab.course import mutants
from tvmlab.course.lowerings import kernels_of, lowered, operator_of_the_course, run_lowered
from tvmlab.errors import TvmlabError
from tvmlab.runtime import is_proved_safe

CELL = mutants.cell()
X = (np.array([-3, 0, 3], "float32"),)


def test_a_composed_lowering_runs_and_adds_no_kernel_itself():
    def legalize(_bb, call):
        return relax.op.clip(call.args[0], call.attrs.lower, call.attrs.upper)

    np.testing.assert_array_equal(run_lowered(legalize, CELL, X, {"lower": -0.5}), np.float32([-0.5, 0, 1]))
    kernels, made = kernels_of(legalize, CELL, X, {})
    assert (len(kernels), made) == (1, [])


@pytest.mark.parametrize(
    ("legalize", "said"),
    [
        (lambda _bb, _call: None, "returns nothing"),
        (lambda _bb, _call: "x", "returns str, which is no Relax expression"),
        (lambda _bb, call: call, "returns a call of the operator itself"),
        (lambda _bb, call: relax.op.exp(call), "returns a call of the operator itself"),
        (lambda _bb, call: call.attrs.lowr, "lowr"),
        (lambda bb, _call: bb.call_te(5), "TypeError"),
    ],
)
def test_what_would_end_the_process_is_told(legalize, said, capfd):
    with pytest.raises(TvmlabError) as caught:
        lowered(legalize, CELL, X, {})
    assert said in caught.value.what
    assert capfd.readouterr().err == ""


def test_the_same_cell_is_read_once_and_another_one_anew():
    assert operator_of_the_course(CELL) is operator_of_the_course(CELL)
    other = operator_of_the_course(mutants.cell("no_leak"))
    assert other is not operator_of_the_course(CELL)


def test_a_kernel_that_reads_outside_ends_no_process_but_a_child():
    def far(x, *_attributes):
        return te.compute(x.shape, lambda i: x[i + (1 << 40)], name="far")

    def legalize(bb, call):
        return bb.call_te(far, call.args[0], primfunc_name_hint="far")

    with pytest.raises(TvmlabError, match="ended its process"):
        run_lowered(legalize, CELL, X, {})


def test_a_right_answer_needs_no_child():
    def legalize(bb, call):
        return bb.call_te(lambda x: te.compute(x.shape, lambda *i: x(*i) + x(*i), name="doubled"), call.args[0])

    assert is_proved_safe(lowered(legalize, CELL, X, {})[0])
