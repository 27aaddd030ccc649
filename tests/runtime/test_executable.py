from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import tvm
import tvm_ffi
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tvm import relax, te, tirx

from tvmlab import runtime
from tvmlab.errors import CallError, PipelineError


def module_of(compute, *params):
    """A module whose main runs one kernel; a parameter is (name, shape, dtype)."""
    builder = relax.BlockBuilder()
    variables = [relax.Var(n, relax.TensorType(s, d)) for n, s, d in params]
    with builder.function("main", variables):
        with builder.dataflow():
            out = builder.emit_output(builder.call_te(compute, *variables, primfunc_name_hint="kernel"))
        builder.emit_func_output(out)
    return builder.get()


def copy(x):
    return te.compute(x.shape, lambda *i: x(*i), name="copy")  # noqa: PLW0108 - te asks the lambda for its rank


def copier(dtype, rank=2):
    return runtime.compile_module(module_of(copy, ("x", [tirx.Var(f"d{i}", "int64") for i in range(rank)], dtype)))


@pytest.fixture(scope="module")
def float_copier():
    return copier("float32")


@pytest.fixture(scope="module")
def vectorised():
    """A kernel that reads whole vectors: it dies on memory that is not aligned."""
    module = module_of(lambda x: te.compute(x.shape, lambda i: x(i) * 2, name="twice"), ("x", (1024,), "float32"))
    schedule = tvm.s_tir.Schedule(module)
    schedule.work_on("kernel")
    (loop,) = schedule.get_loops(schedule.get_sblock("twice"))
    schedule.vectorize(schedule.split(loop, [None, 16])[1])
    return runtime.compile_module(schedule.mod)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    array=hnp.arrays("float32", hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=7)),
    transpose=st.booleans(),
    step=st.sampled_from([1, 2, -1]),
    big_endian=st.booleans(),
    writeable=st.booleans(),
)
def test_any_memory_layout_gives_the_values(float_copier, array, transpose, step, big_endian, writeable):
    view = array.T if transpose else array
    view = view[::step]
    if big_endian:
        view = view.astype(">f4")
    view.flags.writeable = writeable
    np.testing.assert_array_equal(float_copier.run(view), view)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float16", "float64", "bfloat16"])
def test_dtypes_keep_their_values(dtype):
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    array = np.array([[0, 1, 2], [3, 1, 0]]).astype(kind)
    result = copier(dtype).run(array)
    assert result.dtype == kind
    np.testing.assert_array_equal(result.astype("float64"), array.astype("float64"))


def test_zero_dimensional_arrays_and_python_numbers():
    executable = copier("float32", rank=0)
    assert executable.run(np.array(2.5, "float32")) == np.float32(2.5)
    assert executable.run(2).shape == ()


@pytest.mark.parametrize("offset", [0, 4, 16, 36])
def test_unaligned_memory_is_safe(vectorised, offset):
    raw = np.zeros(8192, "uint8")
    start = -raw.ctypes.data % 64 + offset
    array = raw[start : start + 4096].view("float32")
    array[:] = np.arange(1024)
    np.testing.assert_array_equal(vectorised.run(array), 2 * np.arange(1024))


def test_results_and_arguments_are_memory_of_their_own(float_copier):
    array = np.ones((2, 3), "float32")
    first = float_copier.run(array)
    first[:] = 7
    second = float_copier.run(array)
    assert (second == 1).all()
    assert (array == 1).all()
    assert (first == 7).all()


def test_a_constant_that_is_returned_cannot_be_changed():
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        builder.emit_func_output(relax.const(np.ones(3, "float32")))
    executable = runtime.compile_module(builder.get())
    executable.run()[:] = 5
    assert (executable.run() == 1).all()


def test_an_argument_that_is_returned_is_a_copy():
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((3,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    executable = runtime.compile_module(builder.get())
    kept = executable.run(np.ones(3, "float32"))
    executable.run(np.zeros(3, "float32"))
    assert (kept == 1).all()


def test_several_outputs_come_as_a_tuple():
    executable = runtime.compile_module(
        module_of(lambda x: te.compute(x.shape, lambda i: (x(i) + 1, x(i) * 2), name="two"), ("x", (3,), "float32"))
    )
    plus, times = executable.run(np.array([1, 2, 3], "float32"))
    np.testing.assert_array_equal(plus, [2, 3, 4])
    np.testing.assert_array_equal(times, [2, 4, 6])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((np.zeros((2, 3)),), "argument 'x': expected float32, got float64[2, 3]"),
        ((np.zeros(3, "float32"),), "argument 'x': expected float32[d0, d1], got float32[3]"),
        ((), "main takes 1 arguments, got 0"),
        ((np.zeros((1, 1), "float32"),) * 2, "main takes 1 arguments, got 2"),
        (("text",), "argument 'x': expected float32[d0, d1], got str"),
        ((None,), "argument 'x': expected float32[d0, d1], got NoneType"),
    ],
)
def test_wrong_arguments_are_named(float_copier, arguments, said, capfd):
    with pytest.raises(CallError) as caught:
        float_copier.run(*arguments)
    assert caught.value.what == said
    assert caught.value.mend
    assert capfd.readouterr().err == ""


def test_a_symbolic_dimension_must_agree_between_arguments():
    n = tirx.Var("n", "int64")
    executable = runtime.compile_module(
        module_of(
            lambda x, y: te.compute(x.shape, lambda i: x(i) + y(i), name="add"),
            ("x", (n,), "float32"),
            ("y", (n,), "float32"),
        )
    )
    with pytest.raises(CallError, match=r"argument 'y': expected float32\[n\] with n = 3, got float32\[4\]"):
        executable.run(np.zeros(3, "float32"), np.zeros(4, "float32"))


def test_a_failure_inside_a_kernel_is_a_pipeline_error():
    @tvm_ffi.register_global_func("tvmlab.test.fails", override=True)
    def fails(*_):
        raise ValueError("no luck")

    x = relax.Var("x", relax.TensorType((3,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        out = builder.emit(relax.call_dps_packed("tvmlab.test.fails", [x], out_ty=relax.TensorType((3,), "float32")))
        builder.emit_func_output(out)
    executable = runtime.compile_module(builder.get())
    with pytest.raises(PipelineError, match="no luck"):
        executable.run(np.zeros(3, "float32"))


def test_an_unknown_function_is_named(float_copier):
    with pytest.raises(CallError, match="no function 'mian'"):
        float_copier.run(np.zeros((1, 1), "float32"), function="mian")


def test_compiling_leaves_the_module_as_it_was_and_prints_nothing(capfd):
    module = module_of(copy, ("x", (4,), "float32"))
    before = tvm_ffi.structural_hash(module)
    runtime.compile_module(module)
    assert tvm_ffi.structural_hash(module) == before
    assert capfd.readouterr().err == ""


def test_a_module_that_tvm_refuses_is_a_pipeline_error(capfd):
    x = relax.Var("x", relax.TensorType(None, "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.matmul(x, x)))
    with pytest.raises(PipelineError) as caught:
        runtime.compile_module(builder.get())
    assert "matmul" in caught.value.what
    assert len(str(caught.value).splitlines()) == 3
    assert capfd.readouterr().err == ""


def test_bound_calls_and_times(float_copier):
    array = np.ones((2, 3), "float32")
    call = float_copier.bind(array)
    array[:] = 0
    np.testing.assert_array_equal(call().numpy(), np.ones((2, 3)))
    seconds = float_copier.time(array, repeats=4)
    assert len(seconds) == 4
    assert min(seconds) > 0


def test_memory_that_there_is_not_is_told_in_bytes():
    n = tirx.Var("n", "int64")
    module = module_of(lambda x: te.compute((n, 10**15), lambda i, _: x(i), name="wide"), ("x", (n,), "float32"))
    executable = runtime.compile_module(module)
    x = np.zeros(4, np.float32)
    for run in (executable.run, lambda x: executable.bind(x)()):
        with pytest.raises(PipelineError, match="not enough memory") as refused:
            run(x)
        assert "float32[4, 1000000000000000], needs 16,000,000,000,000,000 bytes" in refused.value.what
        assert "smaller" in refused.value.mend


def test_a_dimension_that_nothing_gives_is_told():
    n = tirx.Var("n", "int64")
    module = module_of(copy, ("x", (n * 2,), "float32"))
    with pytest.raises(PipelineError, match="is not computed") as refused:
        runtime.compile_module(module)
    assert "alone in an input" in refused.value.mend
