"""Each rule is provoked in TVM itself, so that a new wording of TVM's shows."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import te

from tvmlab.diagnosis import explain, mend_of

X = te.placeholder((2, 3), "float32", name="x")


def reduction_inside():
    k = te.reduce_axis((0, 3), name="k")
    te.compute((2,), lambda i: te.sum(X[i, k], axis=k) + X[i, 0])


def endless():
    endless()


def one_argument_too_few():
    te.compute((2, 3))


PROVOKED = {
    "E09": one_argument_too_few,
    "E10": lambda: te.compute((2, 3), lambda i, j: X[i]),
    "E10c": reduction_inside,
    "E11": lambda: te.compute((2, 3), lambda i, j: max(0, X[i, j])),
    "E12": lambda: te.compute((2, 3), lambda i, j: np.exp(X[i, j])),
    "E13": lambda: te.compute((2, 3), lambda i, j: te.exp(X)),
    "E33": lambda: te.create_schedule([]),
    "E36": endless,
    "E37": lambda: eval("nothing_of_that_name"),
}


@pytest.mark.parametrize(("key", "provoke"), PROVOKED.items(), ids=PROVOKED.keys())
def test_a_rule_knows_what_tvm_says(key, provoke):
    with pytest.raises(Exception) as caught:
        provoke()
    found = explain(caught.value)
    assert found is not None
    assert found.key == key
    assert found.meaning
    assert found.mend


def test_groups_are_filled_in():
    assert explain(NameError("name 'foo' is not defined")).mend.startswith("define 'foo'")
    assert (
        "has 2 axes, but is read with 1 indices"
        in explain(ValueError("Need to provide 2 index in tensor but 1 was provided")).meaning
    )


def test_an_unknown_error_has_no_explanation():
    assert explain(ValueError("seven is odd")) is None
    assert mend_of(ValueError("seven is odd")) is None
