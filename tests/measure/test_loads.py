"""Loads are counted as an interpreter of the loops would count them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tvm
from tvm import s_tir, te, tirx

from tvmlab import api, ops
from tvmlab.errors import CallError
from tvmlab.measure.loads import count_loads
from tvmlab.ops import gallery


def loads_of(*tensors):
    found = count_loads(te.create_prim_func(list(tensors)))
    return {each.buffer: (each.role, each.loads, each.elements) for each in found}


def test_an_element_by_element_kernel_loads_each_once():
    x = te.placeholder((3, 5), "float32", name="x")
    assert loads_of(x, te.compute(x.shape, lambda i, j: x[i, j] * x[i, j], name="y")) == {"x": ("input", 30, 15)}


def test_a_load_under_a_condition_counts_where_it_holds_and_both_sides_of_a_select_count():
    x = te.placeholder((7,), "float32", name="x")
    guarded = te.compute((7,), lambda i: tirx.if_then_else(tirx.all(i >= 2, i % 2 == 0), x[i - 2], x[i]), name="y")
    assert loads_of(x, guarded)["x"] == ("input", 7, 7)
    one = te.compute((7,), lambda i: tirx.if_then_else(i < 2, x[i], tirx.const(0, "float32")), name="y")
    assert loads_of(x, one)["x"] == ("input", 2, 7)
    both = te.compute((7,), lambda i: tirx.Select(i < 2, x[i], x[6 - i]), name="y")
    assert loads_of(x, both)["x"] == ("input", 14, 7)


def test_conditions_that_depend_on_each_other_are_not_multiplied():
    x = te.placeholder((8,), "float32", name="x")
    zero = tirx.const(0, "float32")
    nested = te.compute((8,), lambda i: tirx.if_then_else(i < 4, tirx.if_then_else(i >= 4, x[i], zero), zero), name="y")
    assert loads_of(x, nested).get("x", ("input", 0, 8))[1] == 0


def test_a_sum_loads_its_running_total_and_a_stage_between_is_memory():
    x = te.placeholder((3, 5), "float32", name="x")
    k = te.reduce_axis((0, 5), name="k")
    doubled = te.compute(x.shape, lambda i, j: x[i, j] * tirx.const(2, "float32"), name="doubled")
    total = te.compute((3,), lambda i: te.sum(doubled[i, k], axis=k), name="total")
    found = loads_of(x, total)
    assert found == {"x": ("input", 15, 15), "total": ("result", 15, 3), "doubled": ("between", 15, 15)}


def test_a_schedule_with_a_tail_loads_what_the_plain_loops_do():
    x = te.placeholder((10,), "float32", name="x")
    function = te.create_prim_func([x, te.compute((10,), lambda i: x[i], name="y")])
    schedule = s_tir.Schedule(tvm.IRModule({"main": function}))
    (loop,) = schedule.get_loops(schedule.get_sblock("y"))
    schedule.split(loop, [None, 4])
    assert [each.loads for each in count_loads(schedule.mod["main"])] == [10]


def test_a_convolution_loads_what_loops_in_python_count():
    ops.define("lab.counted", ops.read_cell(gallery.text("depthwise_conv")))
    x, w = np.zeros((1, 2, 5, 4), "float32"), np.zeros((2, 1, 3, 3), "float32")
    inside = 2 * 5 * 4  # the padded copy loads each element once
    taps = sum(1 for _ in itertools.product(range(2), range(5), range(4), range(3), range(3)))
    loads = api.loads("lab.counted", x, w)
    assert {each.role: 0 for each in loads.buffers}.keys() == {"input", "between", "result"}
    assert loads.total == inside + 3 * taps
    assert loads.elements == 40
    assert loads.to_dict()["total"] == loads.total


def test_what_cannot_be_counted_is_told():
    ops.define("lab.counted", ops.read_cell(gallery.text("swish")))
    with pytest.raises(CallError, match="iterations"):
        api.loads("lab.counted", np.zeros((2048, 1024), "float32"))
    with pytest.raises(CallError):
        api.loads("lab.counted", np.zeros(2, "float32"), np.zeros(2, "float32"))
