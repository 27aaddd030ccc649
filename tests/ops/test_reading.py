"""Which elements an element is made of: against what a compiled kernel does when one of them is NaN."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tvm import te, tirx, topi

import tvmlab as tl
from tvmlab.errors import CallError
from tvmlab.runtime import compile_module


def correlate(x, w):
    """Padded with zeros, through a tensor in between."""
    rows, columns = x.shape
    r, s = (te.reduce_axis((0, size), name) for size, name in zip(w.shape, "rs", strict=True))

    def pad(i, j):
        inside = tirx.all(i >= 1, i <= rows, j >= 1, j <= columns)
        return tirx.if_then_else(inside, x[i - 1, j - 1], tirx.const(0, "float32"))

    padded = te.compute((rows + 2, columns + 2), pad, name="padded")
    return te.compute(x.shape, lambda i, j: te.sum(padded[i + r, j + s] * w[r, s], axis=[r, s]), name="y")


def every_second_of_the_other_row(x, w):
    return te.compute((2, 2), lambda i, j: x[1 - i, 2 * j] + w[0, 0], name="y")


def softmax(x, w):
    return topi.nn.softmax(x)


def kernel(function, shapes):
    """It compiled, as a function of arrays."""
    from tvm import IRModule, relax

    builder = relax.BlockBuilder()
    inputs = [relax.Var(name, relax.TensorType(shape, "float32")) for name, shape in zip("xw", shapes, strict=True)]
    with builder.function("main", inputs):
        result = builder.emit_te(function, *inputs)
        builder.emit_func_output(result)
    module = builder.get()
    assert isinstance(module, IRModule)
    return compile_module(module).run


@pytest.mark.parametrize("function", [correlate, every_second_of_the_other_row, softmax])
def test_what_is_read_is_what_a_nan_comes_through(function):
    shapes = [(4, 5), (3, 3)]
    run = kernel(function, shapes)
    whole = [np.ones(shape, "float32") for shape in shapes]
    result = run(*whole)
    for at in ((0, 0), (1, 1), tuple(size - 1 for size in result.shape)):
        found = {tensor.name: tensor for tensor in tl.reads(function, at, shapes=shapes).tensors}
        for position, name in enumerate("xw"):
            spoilt = set()
            for index in itertools.product(*map(range, shapes[position])):
                arrays = [array.copy() for array in whole]
                arrays[position][index] = np.nan
                if np.isnan(run(*arrays)[at]):
                    spoilt.add(index)
            assert set(found[name].inside) == spoilt
            assert not found[name].outside


def shifted(x, by=1):
    return te.compute(x.shape, lambda i: x[i + by] + x[i], name="y")


def test_what_does_not_exist_is_found_and_shown_first():
    record = tl.reads(shifted, shapes=[(5,)])
    assert record.at == (4,)
    assert not record.ok
    x, y = record.tensors
    assert (x.inside, x.outside) == ({(4,): 1}, ((5,),))
    assert (y.role, y.inside) == ("output", {(4,): 1})
    assert record.headline == "shifted: y[4] reads 1 of x; 1 outside of x"
    assert tl.reads(shifted, (0,), shapes=[(5,)]).ok
    assert tl.reads(shifted, shapes=[(5,)], by=-2).at == (0,)
    assert tl.reads(shifted, shapes=[(5,)], by=0).at == (2,)  # nothing is outside: the middle


def test_how_often_what_lies_between_and_no_axes():
    def mean(x):
        i = te.reduce_axis((0, x.shape[0]), "i")
        total = te.compute((), lambda: te.sum(x[i], axis=i), name="total")
        return te.compute((), lambda: total() * total(), name="square")

    x, total, square = tl.reads(mean, shapes=[(3,)]).tensors
    assert x.inside == {(0,): 1, (1,): 1, (2,): 1}
    assert (total.role, total.inside, total.times) == ("between", {(): 2}, 2)
    assert square.shape == ()


def test_data_may_say_which():
    def gather(x, at):
        return te.compute(at.shape, lambda i: x[at[i].astype("int32")], name="y")

    x, at, _ = tl.reads(gather, (1,), shapes=[(6,), (3,)]).tensors
    assert x.by_data
    assert not x.inside
    assert at.inside == {(1,): 1}


def test_an_operator_its_example_and_its_attributes():
    @tl.op("lab.reads_roll")
    class Roll:
        class Attrs:
            by: int = 1

        def compute(x, by):
            return te.compute(x.shape, lambda *i: x(*i[:-1], tirx.floormod(i[-1] + by, x.shape[-1])), name="roll")

    record = tl.reads("lab.reads_roll", (2, 3), shapes=[(4, 5)], by=3)
    assert record.tensors[0].inside == {(2, 1): 1}
    assert tl.reads(Roll).ok


def test_what_cannot_be_asked():
    with pytest.raises(CallError, match="there is no element"):
        tl.reads(shifted, (9,), shapes=[(5,)])
    with pytest.raises(CallError, match="shapes of the inputs are needed"):
        tl.reads(shifted)
    with pytest.raises(CallError, match="fails on shapes"):
        tl.reads(shifted, shapes=[(5, 5)])
    with pytest.raises(CallError, match="returns a int"):
        tl.reads(lambda x: 1, shapes=[(5,)])
    with pytest.raises(CallError, match="is a symbol"):
        tl.reads(te.compute((te.var("n"),), lambda i: i, name="y"))
    with pytest.raises(CallError, match="too many elements"):
        tl.reads(topi.sum, shapes=[(1000, 1000)])
