# ruff: noqa: F821
from __future__ import annotations

import numpy as np
import pytest
import tvm_ffi
from tvm import relax

from tvmlab import pipeline
from tvmlab.pipeline.convolution import find_convolution
from tvmlab.pipeline.kernel import blocks_of
from tvmlab.pipeline.layout import carry_layouts
from tvmlab.pipeline.packing import Packer, PanelPacker, lanes_for

RANDOM = np.random.default_rng(1)


def const(*shape):
    return relax.const(RANDOM.standard_normal(shape).astype("f4"))


@pytest.fixture
def traced():
    """Two convolutions with a pooling between them, one of which has too few channels for a vector."""
    first, second, third = const(32, 3, 3, 3), const(64, 32, 1, 1), const(5, 64, 1, 1)

    def block(x: float32[1, 3, 16, 16]):
        y = relax.op.nn.relu(relax.op.nn.conv2d(x, first, padding=1))
        y = relax.op.nn.max_pool2d(y, (2, 2), (2, 2))
        y = relax.op.nn.conv2d(y, second)
        return relax.op.flatten(relax.op.nn.conv2d(y, third))

    return pipeline.trace(pipeline.graph(block))


def shapes(module):
    """Of each call's result, in order."""
    return [
        [int(size) for size in binding.var.ty.shape.values]
        for block in module["main"].body.blocks
        for binding in block.bindings
        if isinstance(binding.value, relax.Call)
    ]


def test_images_between_kernels_stand_in_blocks_of_channels(traced):
    lanes = lanes_for(32, "float32")
    assert shapes(traced["schedule"].module) == [
        [1, 32 // lanes, 16, 16, lanes],
        [1, 32 // lanes, 8, 8, lanes],
        [1, 64 // lanes, 8, 8, lanes],
        [1, 5, 8, 8],
        [320],
    ]
    assert traced["schedule"].kernels == traced["fuse"].kernels
    x = RANDOM.standard_normal((1, 3, 16, 16)).astype("f4")
    np.testing.assert_allclose(traced.executable.run(x), traced.compiled("annotate").run(x), rtol=1e-4, atol=1e-4)


def test_the_input_is_not_changed(traced):
    module = traced["inline"].module
    before = tvm_ffi.structural_hash(module)
    carry_layouts(module)
    assert tvm_ffi.structural_hash(module) == before


def test_kernels_keep_their_names(traced):
    assert {v.name_hint for v in traced["schedule"].module.functions} == {
        v.name_hint for v in traced["inline"].module.functions
    }


def test_a_module_that_calls_kernels_in_branches_is_left_alone():
    w = const(16, 16, 1, 1)

    def block(x: float32[1, 16, 8, 8]):
        return relax.op.nn.relu(relax.op.nn.conv2d(x, w))

    module = pipeline.trace(pipeline.graph(block))["inline"].module
    both = module.clone()
    both["other"] = module["main"].with_attr("global_symbol", "other")
    assert carry_layouts(both) is both


@pytest.mark.parametrize(("channels", "dtype", "lanes"), [(3, "float32", 0), (6, "float32", 2), (16, "float16", 0)])
def test_lanes(channels, dtype, lanes):
    assert lanes_for(channels, dtype) == lanes


def test_packers():
    weights = RANDOM.standard_normal((8, 6, 3, 1))
    packed = Packer(4, 2)(weights)
    assert packed.shape == (2, 3, 3, 1, 2, 4)
    assert packed[1, 2, 0, 0, 1, 3] == weights[7, 5, 0, 0]
    assert Packer(4, 1)(weights).shape == (2, 6, 3, 1, 4)
    matrix = RANDOM.standard_normal((5, 8))
    panels = PanelPacker(4, turned=False)(matrix)
    assert panels[1, 2, 3] == matrix[2, 7]
    np.testing.assert_array_equal(PanelPacker(4, turned=True)(matrix.T.copy()), panels)


def test_a_convolution_is_found_by_what_it_does(traced):
    import tvm

    found = {}
    for variable, function in traced["inline"].module.functions.items():
        if variable.name_hint != "main":
            blocks = blocks_of(tvm.s_tir.Schedule(tvm.IRModule({"main": function})))
            found[variable.name_hint] = find_convolution(blocks)
    sizes = {name: (c.out_channels, c.group_inputs, c.groups, c.step) for name, c in found.items() if c is not None}
    assert sorted(sizes.values()) == [(5, 64, 1, 1), (32, 3, 1, 1), (64, 32, 1, 1)]
    assert [c for name, c in found.items() if "pool" in name] == [None]


def test_a_concatenation_of_blocks_asks_which_block_not_which_channel():
    """What depends on the lane would keep it from vectors."""
    first, second, third = const(32, 3, 3, 3), const(32, 3, 3, 3), const(16, 64, 1, 1)

    def block(x: float32[1, 3, 18, 18]):
        parts = [relax.op.nn.relu(relax.op.nn.conv2d(x, w)) for w in (first, second)]
        return relax.op.nn.conv2d(relax.op.concat(parts, axis=1), third)

    trace = pipeline.trace(pipeline.graph(block))
    functions = {v.name_hint: f for v, f in trace["schedule"].module.functions.items()}
    (chosen,) = [line for line in functions["concatenate"].script().splitlines() if "if_then_else(" in line]
    condition = chosen.partition("if_then_else(")[2].partition(",")[0]
    assert condition == f"T.int64({32 // lanes_for(32, 'float32')}) <= v1"
    x = RANDOM.standard_normal((1, 3, 18, 18)).astype("f4")
    np.testing.assert_allclose(trace.executable.run(x), trace.compiled("annotate").run(x), rtol=1e-4, atol=1e-4)
