"""What this machine can do at most: bytes a second at a working set's size, and operations a second.

Memory: ``y = 2 x`` and back, over and over, on arrays that together have the size asked for; reads and writes count.
Arithmetic: multiply-and-add on registers alone, in float32.  Both are kernels of TVM on as many threads as the model.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tvmlab import runtime
from tvmlab.runtime.threads import prepare_pool

__all__ = ["Roof", "bandwidth_roof", "fitting_size", "peak_roof"]

_SMALLEST, _LARGEST = 1 << 14, 1 << 28  # bytes
_MOVED = 1 << 25  # bytes a call moves at least, so that its start does not count
_F4 = 4  # bytes
_CHAINS = 12  # independent sums: more than two units of latency 4 need, and few enough for 16 registers
_STEPS = 1 << 16

_SCALE = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(x: T.Buffer(({threads}, {vectors}, {lanes}), "float32"),
         y: T.Buffer(({threads}, {vectors}, {lanes}), "float32")):
    T.func_attr({{"tirx.noalias": True, "global_symbol": "main"}})
    for thread in T.parallel({threads}):
        for turn in range({turns}):
            for i in range({vectors}):
                for lane in T.vectorized({lanes}):
                    with T.sblock("there"):
                        t, v, l, u = T.axis.remap("SSSS", [thread, i, lane, turn])
                        y[t, v, l] = x[t, v, l] * T.float32(2)
            for i in range({vectors}):
                for lane in T.vectorized({lanes}):
                    with T.sblock("back"):
                        t, v, l, u = T.axis.remap("SSSS", [thread, i, lane, turn])
                        x[t, v, l] = y[t, v, l] * T.float32(0.5)
"""

_FMA = """
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(x: T.Buffer(({threads}, {chains}, {lanes}), "float32"),
         y: T.Buffer(({threads}, {chains}, {lanes}), "float32")):
    T.func_attr({{"tirx.noalias": True, "global_symbol": "main"}})
    for thread in T.parallel({threads}):
        with T.sblock("thread"):
            t = T.axis.spatial({threads}, thread)
            sums = T.sblock_alloc_buffer(({chains}, {lanes}), "float32")
            for chain in T.unroll({chains}):
                for lane in T.vectorized({lanes}):
                    with T.sblock("start"):
                        c, l = T.axis.remap("SS", [chain, lane])
                        sums[c, l] = x[t, c, l]
            for step in range({steps}):
                for chain in T.unroll({chains}):
                    for lane in T.vectorized({lanes}):
                        with T.sblock("step"):
                            s, c, l = T.axis.remap("SSS", [step, chain, lane])
                            sums[c, l] = sums[c, l] * T.float32(0.5) + T.float32(0.5)
            for chain in T.unroll({chains}):
                for lane in T.vectorized({lanes}):
                    with T.sblock("end"):
                        c, l = T.axis.remap("SS", [chain, lane])
                        y[t, c, l] = sums[c, l]
"""


@dataclass(frozen=True)
class Roof:
    """A call that reaches the roof, and how much one call of it moves (bytes) or computes (operations)."""

    call: Callable[[], Any]
    amount: int

    def rate(self, seconds: Iterable[float]) -> float:
        """The best that was reached in some calls, a second: a roof is what nothing goes beyond."""
        return self.amount / min(seconds)


def fitting_size(working_set: int) -> int:
    """The size at which the bandwidth of a working set is measured: a power of 2, in bytes."""
    nearest = 1 << round(math.log2(max(working_set, 1)))
    return min(max(nearest, _SMALLEST), _LARGEST)


def bandwidth_roof(size: int, threads: int) -> Roof:
    """Reads and writes of arrays that are `size` bytes together, each thread a part of its own."""
    lanes = runtime.vector_bytes() // _F4
    vectors = max(1, size // (2 * threads * lanes * _F4))
    one_way = 2 * threads * vectors * lanes * _F4
    turns = max(1, _MOVED // (2 * one_way))
    function = _compiled(_SCALE, threads=threads, vectors=vectors, lanes=lanes, turns=turns)
    return Roof(_bound(function, (threads, vectors, lanes)), 2 * one_way * turns)


def peak_roof(threads: int) -> Roof:
    """Multiply-and-add, two operations a step."""
    lanes = runtime.vector_bytes() // _F4
    function = _compiled(_FMA, threads=threads, chains=_CHAINS, lanes=lanes, steps=_STEPS)
    return Roof(_bound(function, (threads, _CHAINS, lanes)), 2 * threads * _CHAINS * lanes * _STEPS)


@functools.lru_cache(maxsize=64)
def _compiled(source: str, **numbers: int) -> Any:
    tvm = prepare_pool()
    from tvm.script import from_source

    with runtime.quiet():
        return tvm.compile(from_source(source.format(**numbers)), runtime.host_target())["main"]


def _bound(function: Any, shape: tuple[int, ...]) -> Callable[[], Any]:
    import numpy as np
    from tvm.runtime import empty

    arrays = [empty(shape, "float32") for _ in range(2)]
    for array in arrays:
        np.from_dlpack(array)[:] = 1
    return functools.partial(function, *arrays)
