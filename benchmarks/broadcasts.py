"""Does fusion ever hurt?  The trap in which fusing a broadcast is a hundred times slower, and fifty random chains.

A small tensor goes through costly operators and is then broadcast against a large one.  Unfused, it is written once and
read again; fused and inlined, it is computed for every row.  Here tvmlab's default, which decides for each value by
itself, is timed against both ends with the same loops: nothing fused, and all that FuseOps fuses inlined.  The ratio is
the time of the better of these two over the default's, round by round: below 0.91, the default is more than 10 %
slower.

    python benchmarks/broadcasts.py [--chains 50] [--seed 0] [--budget 1] [--json FILE]
"""

from __future__ import annotations

import random
from statistics import median

import numpy as np
from _timing import options, write
from headline import model, trap
from onnx import helper

from tvmlab import measure, pipeline, runtime
from tvmlab.measure.rounds import run_rounds
from tvmlab.pipeline import stages
from tvmlab.pipeline.kernel import blocks_of
from tvmlab.pipeline.schedule import schedule_kernel
from tvmlab.records import quantile

BAR = 1 / 1.1
UNARY = ("Exp", "Tanh", "Sigmoid", "Relu", "Abs", "Neg", "Erf", "Softplus")
BINARY = ("Add", "Mul", "Max", "Sub")


def random_chain(seed: int):
    """A chain of 3 to 9 operators over operands of full, row, column, plane and scalar shapes, in random order."""
    draw = random.Random(seed)
    full = [draw.choice([1, 8, 24]), draw.choice([64, 96, 200, 512]), draw.choice([64, 160, 384, 1000])]
    forms = [full, [1, 1, full[2]], [1, full[1], 1], [full[0], 1, 1], [1, full[1], full[2]], [1]]
    inputs = {"first": draw.choice(forms[1:])}
    nodes, last, shape = [], "first", inputs["first"]
    steps = draw.randint(3, 9)
    for i in range(steps):
        if draw.random() < 0.5 and i < steps - 1:
            nodes.append(helper.make_node(draw.choice(UNARY), [last], [f"v{i}"]))
        else:
            other = full if i == steps - 1 else draw.choice(forms)
            inputs[f"x{i}"] = other
            pair = [last, f"x{i}"]
            draw.shuffle(pair)
            nodes.append(helper.make_node(draw.choice(BINARY), pair, [f"v{i}"]))
            shape = list(np.broadcast_shapes(shape, other))
        last = f"v{i}"
    nodes[-1].output[0] = "y"
    return model(nodes, inputs, {"y": shape}, {})


def all_inlined(module):
    """Each fused kernel with every producer moved into its readers, whatever that costs."""
    import tvm
    from tvm import tirx

    def inlined(function):
        schedule = tvm.s_tir.Schedule(tvm.IRModule({"main": function}))
        for block in reversed(blocks_of(schedule)[:-1]):
            schedule.compute_inline(block.rv)
        return schedule_kernel(schedule.mod["main"])

    return tvm.IRModule(
        {v: inlined(f) if isinstance(f, tirx.PrimFunc) else f for v, f in module.functions.items()},
        attrs=module.attrs,
        global_infos=module.global_infos,
    )


def sides(loaded):
    """The three builds, each a call with its inputs bound."""
    feeds = measure.make_inputs(loaded.inputs, None, 0).arrays
    builds = {
        "default": pipeline.trace(loaded).executable,
        "unfused": pipeline.trace(loaded, engine="none").executable,
        "inlined": stages.build(all_inlined(pipeline.trace(loaded)["fuse"].module)),
    }
    return {name: build.bind(*feeds) for name, build in builds.items()}


def main() -> None:
    parser = options(__doc__, budget=1.0)
    parser.add_argument("--chains", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    cases = [("97x trap 1024x1024", trap(1024, 1024, 4))]
    cases += [(f"chain {seed}", random_chain(seed)) for seed in range(given.seed, given.seed + given.chains)]
    rows = []
    for name, made in cases:
        if given.only not in name:
            continue
        loaded = pipeline.load(made, name=name)
        for threads in given.threads:
            with runtime.threads(threads):
                seconds = run_rounds(sides(loaded), budget=given.budget).seconds
            ordered = {side: sorted(times) for side, times in seconds.items()}
            better = min(("unfused", "inlined"), key=lambda side: median(seconds[side]))
            ratios = sorted(b / d for b, d in zip(seconds[better], seconds["default"], strict=True))
            row = {
                "case": name,
                "threads": threads,
                "sides": list(seconds),
                "better": better,
                "median_ms": {side: 1e3 * quantile(times, 0.5) for side, times in ordered.items()},
                "quartiles_ms": {s: [1e3 * quantile(times, q) for q in (0.25, 0.75)] for s, times in ordered.items()},
                "ratio": [quantile(ratios, q) for q in (0.25, 0.5, 0.75)],
                "repeats": len(ratios),
            }
            rows.append(row)
            times = "  ".join(f"{side} {ms:8.3f}" for side, ms in row["median_ms"].items())
            low, middle, high = row["ratio"]
            print(f"{name:20} {threads}  {times}  ratio {middle:5.2f} ({low:.2f} … {high:.2f})", flush=True)
    slow = [row["case"] for row in rows if row["ratio"][1] < BAR]
    print(f"{len(slow)} of {len(rows)} are more than 10 % slower than the better of both: {', '.join(slow) or 'none'}")
    write(rows, given.json)


if __name__ == "__main__":
    main()
