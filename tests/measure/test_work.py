"""Bytes and operations counted from TIR: by hand, and by an interpreter that runs every iteration."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from tvm import relax, te, tirx, topi
from tvm.tirx import PrimFunc

from tvmlab import pipeline
from tvmlab.measure.accesses import Unknown, read_accesses
from tvmlab.measure.work import FUNCTION_WEIGHT, count_work, elements, sizes_of
from tvmlab.pipeline.inlining import inline_kernel
from tvmlab.pipeline.schedule import schedule_kernel
from tvmlab.pipeline.schedule.caches import second_level_bytes
from tvmlab.runtime import vector_bytes

Interpreter = runpy.run_path(str(Path(__file__).with_name("interpreter.py")))["Interpreter"]
F4 = 4


def tensor(name, *shape, dtype="float32"):
    return te.placeholder(shape, dtype, name=name)


def kernel(result, *inputs):
    return te.create_prim_func([*inputs, result])


def conv(stride=1, padding=0, groups=1, dilation=1):
    x, w = tensor("x", 1, 4, 6, 6), tensor("w", 6, 4 // groups, 3, 3)
    return kernel(topi.nn.conv(x, w, stride, padding, dilation, groups, "NCHW", "OIHW"), x, w)


def unary(build, *shape):
    x = tensor("x", *shape)
    return kernel(build(x), x)


def matmul():
    a, b = tensor("a", 5, 7), tensor("b", 7, 3)
    return kernel(topi.matmul(a, b), a, b)


def blur():
    """Three overlapping reads of one buffer, none of which is the whole."""
    x = tensor("x", 10)
    return kernel(te.compute((6,), lambda i: x[i] + x[i + 1] + x[i + 3], name="blur"), x)


def diagonal():
    x = tensor("x", 5, 5)
    return kernel(te.compute((5,), lambda i: x[i, i] * x[i, 0], name="diagonal"), x)


def concatenated():
    x, y = tensor("x", 3, 2), tensor("y", 4, 2)
    return kernel(topi.concatenate([x, y], 0), x, y)


KERNELS = {
    "matmul": matmul,
    "conv": conv,
    "strided conv": lambda: conv(stride=2),
    "padded conv": lambda: conv(padding=1),
    "grouped conv": lambda: conv(groups=2),
    "dilated, padded, strided conv": lambda: conv(2, 2, 2, 2),
    "softmax": lambda: unary(lambda x: topi.nn.softmax(x, 1), 4, 6),
    "sum": lambda: unary(lambda x: topi.sum(x, 1), 4, 6),
    "max of all": lambda: unary(topi.max, 4, 6),
    "transpose": lambda: unary(lambda x: topi.transpose(x, (2, 0, 1)), 2, 3, 4),
    "slice": lambda: unary(lambda x: topi.strided_slice(x, [1, 0], [7, 5], [2, 3]), 8, 6),
    "slice of one corner": lambda: unary(lambda x: topi.strided_slice(x, [1, 1], [3, 4], [1, 1]), 8, 6),
    "reshape": lambda: unary(lambda x: topi.reshape(x, (4, 6)), 8, 3),
    "pad": lambda: unary(lambda x: topi.nn.pad(x, [1, 2], [0, 3], 0.0), 3, 4),
    "chain": lambda: unary(lambda x: topi.nn.relu(topi.exp(topi.add(x, tirx.const(1.0, "float32")))), 5, 5),
    "tanh": lambda: unary(topi.tanh, 5),
    "pooling": lambda: unary(lambda x: topi.nn.pool2d(x, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max"), 1, 2, 6, 6),
    "overlapping reads": blur,
    "diagonal": diagonal,
    "concatenate": concatenated,
}


@pytest.mark.parametrize("build", KERNELS.values(), ids=KERNELS)
def test_as_many_as_an_interpreter_sees(build):
    function = build()
    seen, work = Interpreter(function), count_work(function)
    given = set(function.params)
    ours = seen.writes.keys() & given
    assert work.written == F4 * sum(len(seen.writes[b]) for b in ours)
    assert work.read == F4 * sum(len(where) for b, where in seen.reads.items() if b in given - ours)
    inside = seen.writes.keys() - given
    assert work.around == F4 * sum(len(seen.writes[b]) + len(seen.reads[b]) for b in inside)
    assert (work.flops, work.functions) == (seen.done["flops"], seen.done["functions"])


@pytest.mark.parametrize("build", KERNELS.values(), ids=KERNELS)
def test_a_schedule_changes_neither_what_must_be_read_nor_what_is_written(build):
    function = build()
    scheduled = schedule_kernel(inline_kernel(function.with_attr("tirx.noalias", True)))
    before, after = count_work(function), count_work(scheduled)
    assert (after.read, after.written) == (before.read, before.written)
    assert after.around <= before.around


def test_matrix_product_by_hand():
    work = count_work(matmul())
    assert (work.read, work.written, work.around) == (F4 * (5 * 7 + 7 * 3), F4 * 5 * 3, 0)
    assert (work.flops, work.functions) == (2 * 5 * 7 * 3, 0)
    assert work.working_set == work.moved == work.read + work.written


def test_grouped_strided_padded_convolution_by_hand():
    work = count_work(conv(stride=2, padding=1, groups=2))
    assert work.read == F4 * (4 * 6 * 6 + 6 * 2 * 3 * 3)
    assert work.written == F4 * 6 * 3 * 3
    # Of the padded image, 8 by 8, it reads 7 by 7.
    assert work.around == F4 * (4 * 8 * 8 + 4 * 7 * 7)
    assert work.flops == 2 * (6 * 3 * 3) * (2 * 3 * 3)


def test_softmax_by_hand():
    rows, columns = 4, 6
    work = count_work(unary(lambda x: topi.nn.softmax(x, 1), rows, columns))
    assert work.read == work.written == F4 * rows * columns
    assert work.around == 2 * F4 * (rows + rows * columns + rows)  # the largest, the powers, their sum
    assert work.functions == rows * columns
    assert work.flops == 4 * rows * columns  # max, subtract, add, divide
    assert work.operations == work.flops + FUNCTION_WEIGHT * work.functions


def test_a_row_that_stays_in_one_loop_goes_nowhere():
    function = unary(lambda x: topi.nn.softmax(x, 1), 64, 32).with_attr("tirx.noalias", True)
    assert count_work(function).around > 0
    assert count_work(schedule_kernel(function)).around == 0


def test_what_is_fused_is_no_longer_moved():
    def block(x: "float32[64, 64]"):  # noqa: F821, UP037
        return relax.op.exp(relax.op.nn.relu(relax.op.tanh(x)))

    trace = pipeline.trace(pipeline.graph(block))
    moved = {
        stage: sum(count_work(f).moved for f in trace[stage].module.functions.values() if isinstance(f, PrimFunc))
        for stage in ("legalize", "fuse", "inline", "schedule")
    }
    one_way = F4 * 64 * 64
    assert moved == {"legalize": 6 * one_way, "fuse": 6 * one_way, "inline": 2 * one_way, "schedule": 2 * one_way}


def test_sizes_that_are_symbols_are_bound():
    n = te.var("n", "int64")
    x = tensor("x", n, 3)
    function = kernel(topi.sum(x, 1), x)
    sizes = sizes_of(function, [(7, 3), (7,)])
    assert sizes == {"n": 7}
    work = count_work(function, sizes)
    assert (work.read, work.written, work.flops) == (F4 * 21, F4 * 7, 21)
    seen = Interpreter(function, sizes)
    assert work.flops == seen.done["flops"]
    with pytest.raises(Unknown):
        count_work(function)


def test_numbers_among_the_arguments_bind_sizes_too():
    n = te.var("n", "int64")
    x = tensor("x", 2, n)
    function = te.create_prim_func([x, n, te.compute((2, n), lambda i, j: x[i, j] + 1.0)])
    assert sizes_of(function, [(2, 9), 9, (2, 9)]) == {"n": 9}


def test_an_index_from_data_may_touch_all_of_its_dimension():
    x, chosen = tensor("x", 100, 8), tensor("chosen", 5, dtype="int32")
    function = kernel(topi.take(x, chosen, 0, mode="fast"), x, chosen)
    work = count_work(function)
    assert work.read == F4 * 5 * 8 + 4 * 5
    few = tensor("few", 3, 8)
    assert count_work(kernel(topi.take(few, chosen, 0, mode="fast"), few, chosen)).read == F4 * 3 * 8 + 4 * 5


def test_calls_that_get_whole_buffers():
    x = tensor("x", 4, 5)
    made = te.extern(
        (4, 5), [x], lambda ins, outs: tirx.call_packed("nowhere", ins[0], outs[0]), dtype="float32", name="extern"
    )
    work = count_work(kernel(made, x))
    assert (work.read, work.written, work.flops) == (F4 * 20, F4 * 20, 0)


def test_requests_and_stores_past_the_caches_count_what_moves():
    """A large transpose goes past the caches, a softmax asks for its next row: they write their result, once."""
    side = 2048 if second_level_bytes() <= 1 << 21 else 8192
    x = tensor("x", side, side)
    turned = schedule_kernel(kernel(topi.transpose(x), x))
    rows = schedule_kernel(unary(topi.nn.softmax, 64, 1024))
    assert ("tvmlab_stream" in turned.script()) == (vector_bytes() == 64)
    assert "T.prefetch" in rows.script()
    for function, count in ((turned, side**2), (rows, 64 * 1024)):
        work = count_work(function, {})
        assert (work.read, work.written) == (count * F4, count * F4)


def test_large_indices_that_are_not_worked_out_are_bounded_by_the_buffer():
    x = tensor("x", 1 << 11, 1 << 11)
    flat = kernel(topi.reshape(x, (1 << 10, 1 << 12)), x)
    assert count_work(flat).read == F4 << 22


def test_dtypes_have_their_size():
    x = tensor("x", 10, dtype="float16")
    assert count_work(kernel(topi.cast(x, "float64"), x)).moved == 10 * 2 + 10 * 8
    y = tensor("y", 10, dtype="bfloat16")
    assert count_work(kernel(topi.nn.relu(y), y)).moved == 10 * 2 * 2


def test_equal_accesses_are_one():
    x = tensor("x", 10)
    function = kernel(te.compute((4,), lambda i: x[i] * x[i] + x[i], name="square"), x)
    found = read_accesses(function, {})
    assert len(found.reads) == 3
    assert len({access.key for access in found.reads}) == 1
    assert elements(found.reads, {}) == 4
    assert elements([], {}) == 0
