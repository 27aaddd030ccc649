"""Is the full pipeline ever slower than no fusion?  Random small networks, each of at least 0.2 ms, timed both ways.

Half of them work on images (convolution, pooling, batch normalization, residual sums), half on matrices (products,
softmax, layer normalization, transposes, reductions).  The full pipeline is timed against two builds without fusion:
one whose kernels are scheduled as well as its own, the harder peer, and one whose kernels are as TVM legalizes them.
The ratio is the peer's time over the full pipeline's, round by round: below 0.91, the pipeline is more than 10 %
slower.

    python benchmarks/random_graphs.py [--graphs 200] [--seed 0] [--budget 0.5] [--json FILE]
"""

from __future__ import annotations

import random
from statistics import median

import numpy as np
from _timing import options, write
from headline import model
from onnx import helper

from tvmlab import measure, pipeline, runtime
from tvmlab.measure.rounds import run_rounds
from tvmlab.records import quantile

LEAST = 2e-4  # seconds, of the unfused build
TOO_SLOW, FAR_TOO_SLOW = 1 / 1.1, 1 / 1.5
UNARY = ("Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Abs", "Neg", "Softplus", "HardSwish")
BINARY = ("Add", "Mul", "Sub", "Max", "Min")


class Builder:
    """A graph that grows at its end; `values` are all that may be read again, with their shapes."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.nodes: list = []
        self.constants: dict[str, np.ndarray] = {}
        self.inputs: dict[str, list[int]] = {}
        self.values: list[tuple[str, list[int]]] = []

    def constant(self, *shape: int, scale: float = 1.0) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = (self.numbers.uniform(0.5, 1.5, shape) * scale).astype("f4")
        return name

    def add(self, kind: str, reads: list[str], shape: list[int], **attributes) -> None:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, reads, [name], **attributes))
        self.values.append((name, shape))

    def elementwise(self) -> None:
        name, shape = self.values[-1]
        same = [other for other, form in self.values[:-1] if form == shape]
        choice = self.draw.random()
        if choice < 0.5:
            self.add(self.draw.choice(UNARY), [name], shape)
        elif choice < 0.75 and same:
            self.add(self.draw.choice(BINARY), [name, self.draw.choice(same)], shape)
        else:
            form = [extent if self.draw.random() < 0.5 else 1 for extent in shape]
            self.add(self.draw.choice(BINARY), [name, self.constant(*form)], shape)

    def on_image(self) -> None:
        name, (batch, channels, height, width) = self.values[-1]
        choice = self.draw.random()
        if choice < 0.35:
            kernel, out = self.draw.choice([1, 3]), self.draw.choice([8, 24, 32, 48])
            stride = self.draw.choice([1, 1, 2]) if min(height, width) > 8 else 1
            grouped = kernel == 3 and self.draw.random() < 0.3
            out, groups = (channels, channels) if grouped else (out, 1)
            weight = self.constant(out, channels // groups, kernel, kernel, scale=1 / (channels // groups * kernel**2))
            shape = [batch, out, (height - 1) // stride + 1, (width - 1) // stride + 1]
            pads = [kernel // 2] * 4
            self.add("Conv", [name, weight], shape, strides=[stride] * 2, pads=pads, group=groups)
        elif choice < 0.5:
            self.add("BatchNormalization", [name, *(self.constant(channels) for _ in range(4))], self.values[-1][1])
        elif choice < 0.6 and min(height, width) > 8:
            kind = self.draw.choice(["MaxPool", "AveragePool"])
            shape = [batch, channels, height // 2, width // 2]
            self.add(kind, [name], shape, kernel_shape=[2, 2], strides=[2, 2])
        else:
            self.elementwise()

    def on_matrix(self) -> None:
        name, (batch, rows, columns) = self.values[-1]
        choice = self.draw.random()
        if choice < 0.25:
            out = self.draw.choice([64, 96, 128, 256])
            self.add("MatMul", [name, self.constant(columns, out, scale=1 / columns)], [batch, rows, out])
        elif choice < 0.35:
            self.add("Softmax", [name], [batch, rows, columns], axis=-1)
        elif choice < 0.45:
            scale, bias = self.constant(columns), self.constant(columns)
            self.add("LayerNormalization", [name, scale, bias], [batch, rows, columns], axis=-1)
        elif choice < 0.55:
            self.add("Transpose", [name], [batch, columns, rows], perm=[0, 2, 1])
        elif choice < 0.62:
            self.add("ReduceMean", [name], [batch, rows, 1], keepdims=1)
            mean = self.values.pop()[0]
            self.add("Sub", [name, mean], [batch, rows, columns])
        else:
            self.elementwise()


def random_graph(seed: int):
    """A model of 3 to 12 nodes."""
    builder = Builder(seed)
    if builder.draw.random() < 0.5:
        side = builder.draw.choice([28, 56, 96])
        shape, step = [1, builder.draw.choice([3, 16, 32]), side, side], builder.on_image
    else:
        shape = [builder.draw.choice([1, 4]), builder.draw.choice([128, 197, 512]), builder.draw.choice([64, 250, 768])]
        step = builder.on_matrix
    builder.inputs["x"] = shape
    builder.values.append(("x", shape))
    for _ in range(builder.draw.randint(3, 12)):
        step()
    name, shape = builder.values[-1]
    return model(builder.nodes, builder.inputs, {name: shape}, builder.constants)


def builds(loaded):
    """The full pipeline and both peers, each a call with its inputs bound."""
    feeds = measure.make_inputs(loaded.inputs, None, 0).arrays
    full, apart = pipeline.trace(loaded), pipeline.trace(loaded, engine="none")
    made = {"full": full.executable, "unfused": apart.executable, "as legalized": full.compiled("legalize")}
    return {name: build.bind(*feeds) for name, build in made.items()}


def measured(name: str, loaded, threads: int, budget: float) -> dict | None:
    """The row of a graph; None if it is too quick to say anything."""
    with runtime.threads(threads):
        calls = builds(loaded)
        quick = run_rounds({"unfused": calls["unfused"]}, repeats=3).seconds["unfused"]
        if min(quick) < LEAST:
            return None
        # What is as legalized can take a thousand times as long: three rounds of it are enough.
        first = run_rounds(calls, repeats=3).seconds
        seconds = run_rounds({name: calls[name] for name in ("full", "unfused")}, budget=budget).seconds
    ordered = {side: sorted(times) for side, times in seconds.items()}
    ratios = {
        peer: sorted(p / f for p, f in zip(times[peer], times["full"], strict=True))
        for peer, times in (("unfused", seconds), ("as legalized", first))
    }
    ordered["as legalized"] = sorted(first["as legalized"])
    return {
        "case": name,
        "threads": threads,
        "sides": list(seconds),
        "median_ms": {side: 1e3 * quantile(times, 0.5) for side, times in ordered.items()},
        "quartiles_ms": {side: [1e3 * quantile(times, q) for q in (0.25, 0.75)] for side, times in ordered.items()},
        "ratio": [quantile(ratios["unfused"], q) for q in (0.25, 0.5, 0.75)],
        "ratio_as_legalized": [quantile(ratios["as legalized"], q) for q in (0.25, 0.5, 0.75)],
        "repeats": len(seconds["full"]),
    }


def main() -> None:
    parser = options(__doc__, budget=0.5)
    parser.add_argument("--graphs", type=int, default=200, help="graphs that are slow enough to count")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for threads in given.threads:
        rows: list[dict] = []
        seed = given.seed
        while len(rows) < given.graphs:
            name = f"graph {seed}"
            row = measured(name, pipeline.load(random_graph(seed), name=name), threads, given.budget)
            seed += 1
            if row is None:
                continue
            rows.append(row)
            times = "  ".join(f"{side} {ms:8.3f}" for side, ms in row["median_ms"].items())
            low, middle, high = row["ratio"]
            print(f"{name:10} {threads}  {times}  ratio {middle:6.2f} ({low:.2f} … {high:.2f})", flush=True)
        for key, peer in (("ratio", "unfused"), ("ratio_as_legalized", "as legalized")):
            ratios = [row[key][1] for row in rows]
            slow = [row["case"] for row in rows if row[key][1] < TOO_SLOW]
            far = [row["case"] for row in rows if row[key][1] < FAR_TOO_SLOW]
            print(
                f"{threads} thread(s), against {peer}: median ratio {median(ratios):.2f}, least {min(ratios):.2f}; "
                f"more than 10 % slower: {len(slow)} of {len(rows)} ({', '.join(slow) or 'none'}), "
                f"than 1.5 times: {len(far)}"
            )
    write(rows, given.json)


if __name__ == "__main__":
    main()
