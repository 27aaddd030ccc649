"""Do counted bytes explain how much fusion gains where memory is the bound?

Both sides are scheduled alike and run one kernel after the other, or one kernel for all.  Bytes are counted from the
TIR of the kernels that run, each element once.  Predicted seconds: each buffer's bytes at the bandwidth that y = 2x and
back reaches, in the same run, on a working set as large as all that was touched since that buffer was used last.
A row is bound by memory if its fused kernel gets at least two thirds of that bandwidth: else what its schedule does is
the bound (strides, or arithmetic), and no count of bytes explains it.

    python benchmarks/traffic.py [--threads 1] [--only chain] [--budget 4] [--quick] [--json FILE]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import onnx
from _timing import options, quick, row_of_rounds, write
from headline import chain, constant, model, moves
from onnx import helper
from tvm import tirx

from tvmlab import pipeline, runtime
from tvmlab.measure.inputs import make_inputs
from tvmlab.measure.roofs import bandwidth_roof
from tvmlab.measure.rounds import run_rounds
from tvmlab.measure.work import Work, count_work, sizes_of

BOUND = 0.25
REACHED = 2 / 3  # of the bandwidth
ALIKE = 1.15  # sizes closer than this have one bandwidth


@dataclass(frozen=True)
class Call:
    """One call of a kernel: what it has to do, and the buffers it was given with their bytes."""

    work: Work
    buffers: tuple[tuple[int, float], ...]


def tail(last: str, length: int) -> tuple[list[onnx.NodeProto], dict[str, Any]]:
    """Max, Mul, Max … after a value."""
    nodes = []
    for i in range(length):
        out = "y" if i == length - 1 else f"e{i}"
        nodes.append(helper.make_node(("Max", "Mul")[i % 2], [last, f"c{i % 2}"], [out]))
        last = out
    return nodes, {"c0": np.float32(-0.5), "c1": np.float32(1.01)}


def conv_tail(channels: int, out: int, side: int, length: int) -> onnx.ModelProto:
    """A convolution, 1 by 1, of few channels, whose output is all that matters."""
    nodes, constants = tail("h", length)
    nodes.insert(0, helper.make_node("Conv", ["x", "w"], ["h"]))
    weight = constant(out, channels).reshape(out, channels, 1, 1)
    shape = [1, channels, side, side]
    return model(nodes, {"x": shape}, {"y": [1, out, side, side]}, {"w": weight, **constants})


def matmul_tail(m: int, k: int, n: int, length: int) -> onnx.ModelProto:
    nodes, constants = tail("h", length)
    nodes.insert(0, helper.make_node("MatMul", ["x", "w"], ["h"]))
    return model(nodes, {"x": [m, k]}, {"y": [m, n]}, {"w": constant(k, n), **constants})


def pool_tail(channels: int, side: int, length: int) -> onnx.ModelProto:
    nodes, constants = tail("h", length)
    nodes.insert(0, helper.make_node("MaxPool", ["x"], ["h"], kernel_shape=[2, 2], strides=[2, 2]))
    small = [1, channels, side // 2, side // 2]
    return model(nodes, {"x": [1, channels, side, side]}, {"y": small}, constants)


def cases() -> Iterator[tuple[str, str, onnx.ModelProto]]:
    for size, where in ((1 << 18, "1 MiB arrays"), (1 << 20, "4 MiB arrays"), (1 << 24, "64 MiB arrays")):
        for length in (3, 8):
            yield "chains", f"chain k={length}, {where}", chain(length, size)
    yield "anchors", "conv 1x1 4->64 @224, 2 more", conv_tail(4, 64, 224, 2)
    yield "anchors", "conv 1x1 4->64 @224, 5 more", conv_tail(4, 64, 224, 5)
    yield "anchors", "conv 1x1 4->64 @512, 2 more", conv_tail(4, 64, 512, 2)
    yield "anchors", "matmul 65536x4x64, 2 more", matmul_tail(65536, 4, 64, 2)
    yield "anchors", "matmul 65536x4x64, 5 more", matmul_tail(65536, 4, 64, 5)
    yield "anchors", "max pool 64 @512, 3 more", pool_tail(64, 512, 3)
    for name, made in moves():
        if name != "qkv split L2":
            yield "moves", f"Slice-Transpose-Reshape {name}", made


def calls_of(trace: pipeline.Trace, arrays: Any) -> list[Call]:
    """The kernel calls of one run, as the virtual machine makes them."""
    functions = {v.name_hint: f for v, f in trace["schedule"].module.functions.items() if isinstance(f, tirx.PrimFunc)}
    executable = trace.executable
    found: list[Call] = []

    def told(_function, name, before, _result, *arguments) -> int:
        if before and name in functions:
            found.append(call_of(functions[name], arguments))
        return 0

    run = executable.bind(*arrays)
    run()
    executable.vm.set_instrument(told)
    try:
        run()
    finally:
        executable.vm.set_instrument(None)
    return found


def call_of(function: tirx.PrimFunc, arguments: tuple[Any, ...]) -> Call:
    tensors = [np.from_dlpack(a) for a in arguments if hasattr(a, "shape")]
    work = count_work(function, sizes_of(function, [getattr(a, "shape", a) for a in arguments]))
    given, result = tensors[:-1], tensors[-1]
    total = sum(a.nbytes for a in given) or 1
    buffers = [(a.ctypes.data, work.read * a.nbytes / total) for a in given]
    return Call(work, (*buffers, (result.ctypes.data, float(work.written))))


def reuses(calls: list[Call]) -> list[tuple[float, float]]:
    """Bytes of each access, and bytes touched since the same buffer was used last, in run after run."""
    sequence = [access for call in calls for access in call.buffers] * 2
    found = []
    for at in range(len(sequence) // 2, len(sequence)):
        pointer, size = sequence[at]
        last = max(i for i in range(at) if sequence[i][0] == pointer)
        between = dict(sequence[last:at])
        found.append((size, sum(between.values())))
    return found


def merged(distances: list[float]) -> dict[float, int]:
    """A size to measure for each distance; those that are nearly equal share one."""
    ordered = sorted(set(distances))
    groups: list[list[float]] = [[ordered[0]]]
    for before, now in pairwise(ordered):
        if now > ALIKE * before:
            groups.append([])
        groups[-1].append(now)
    return {distance: int(max(group)) for group in groups for distance in group}


def measure_row(name: str, made: onnx.ModelProto, threads: int, budget: float, repeats: int | None) -> dict[str, Any]:
    loaded = pipeline.load(made, name=name)
    arrays = make_inputs(loaded.inputs).arrays
    traces = {"unfused": pipeline.trace(loaded, engine="none"), "fused": pipeline.trace(loaded)}
    with runtime.threads(threads):
        calls = {side: calls_of(trace, arrays) for side, trace in traces.items()}
        uses = {side: reuses(made) for side, made in calls.items()}
        size_for = merged([distance for side in uses.values() for _, distance in side])
        roofs = {f"{size}": bandwidth_roof(size, threads) for size in set(size_for.values())}
        sides = {side: trace.executable.bind(*arrays) for side, trace in traces.items()}
        others = {key: roof.call for key, roof in roofs.items()}
        rounds = run_rounds({**sides, **others}, repeats=repeats, budget=budget)
    rate = {key: roof.amount / median(rounds.seconds[key]) for key, roof in roofs.items()}
    seconds = {side: sum(b / rate[str(size_for[d])] for b, d in uses[side]) for side in sides}
    predicted = seconds["unfused"] / seconds["fused"]
    row = row_of_rounds(name, rounds.of(sides), "unfused", "fused", threads)
    deviation = row["ratio"][1] / predicted - 1
    return {
        **row,
        "kernels": {side: len(made) for side, made in calls.items()},
        "bytes": {side: sum(call.work.moved for call in made) for side, made in calls.items()},
        "bandwidths": dict(sorted(rate.items(), key=lambda item: int(item[0]))),
        "predicted_ms": {side: 1e3 * s for side, s in seconds.items()},
        "predicted": predicted,
        "deviation": deviation,
        "reached": 1e3 * seconds["fused"] / row["median_ms"]["fused"],
        "within": abs(deviation) <= BOUND,
    }


def main() -> None:
    parser = options(__doc__, budget=4.0)
    quick(parser)
    given = parser.parse_args()
    print(f"{'':46} bytes predicted measured  quartiles       off by  bandwidth  unfused and fused, ms (predicted)")
    rows = []
    for group, name, made in cases():
        if given.only not in f"{group} {name}":
            continue
        for threads in given.threads:
            rows.append({**measure_row(name, made, threads, given.budget, given.repeats), "group": group})
            print(line(rows[-1]), flush=True)
    bound = [row for row in rows if row["reached"] >= REACHED]
    for what, some in (("rows", rows), ("rows bound by memory", bound)):
        print(f"{sum(row['within'] for row in some)} of {len(some)} {what} are within {BOUND:.0%}")
    write(rows, given.json)


def line(row: dict[str, Any]) -> str:
    low, middle, high = row["ratio"]
    counted = row["bytes"]["unfused"] / row["bytes"]["fused"]
    times = ", ".join(f"{row['median_ms'][s]:.3f} ({row['predicted_ms'][s]:.3f})" for s in ("unfused", "fused"))
    verdict = "within" if row["within"] else "BEYOND"
    elsewhere = "" if row["reached"] >= REACHED else ", not bound by memory"
    return (
        f"{row['case']:46} {counted:5.2f} {row['predicted']:9.2f} {middle:8.2f}  ({low:5.2f} … {high:5.2f}) "
        f"{row['deviation']:+7.0%} {row['reached']:10.0%}  {times}  {verdict}{elsewhere}"
    )


if __name__ == "__main__":
    main()
