"""What a call costs in safe mode: the same kernel in this process and in a forked child, taking turns.

python benchmarks/safe_mode.py [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np

import tvmlab as tl
from tvmlab.prelude import relax
from tvmlab.runtime import compile_module, isolate
from tvmlab.runtime.isolation import end_child

SIDES = ("this process", "child", "child, after a pause")
SIZES = (64, 1024)


def main() -> None:
    """Print one line a size and side."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for size in SIZES:
        taken = measure(size, 5 if options.quick else 30)
        case = f"exp of float32[{size}, {size}]"
        for name, seconds in zip(SIDES, taken, strict=True):
            low, middle, high = (1e3 * s for s in (min(seconds), statistics.median(seconds), max(seconds)))
            print(f"{case}, {name:22} median {middle:7.2f} ms  ({low:.2f} to {high:.2f}, {len(seconds)})")
            rows.append({"case": case, "side": name, "median_ms": middle, "least_ms": low, "most_ms": high})
    end_child()
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def measure(size: int, rounds: int) -> tuple[list[float], list[float], list[float]]:
    """Seconds of each call: in this process, in a child, and in a child that had time to be forked before."""
    array = np.random.default_rng(0).standard_normal((size, size)).astype("float32")

    def graph(x):
        return relax.op.exp(x)

    graph.__annotations__["x"] = f"float32[{size}, {size}]"
    module = tl.trace(tl.graph(graph))["schedule"].module
    runs = (compile_module(module).run, isolate(module).run, isolate(module).run)
    np.testing.assert_array_equal(runs[0](array), runs[1](array))
    seconds: tuple[list[float], list[float], list[float]] = ([], [], [])
    for _ in range(rounds):
        for place, (run, taken) in enumerate(zip(runs, seconds, strict=True)):
            time.sleep(0.1 if place == 2 else 0)
            started = time.perf_counter()
            run(array)
            taken.append(time.perf_counter() - started)
    return seconds


if __name__ == "__main__":
    main()
